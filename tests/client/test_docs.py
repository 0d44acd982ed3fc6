"""The guides and the examples are run and compared with the code."""

import inspect
import re
import runpy
import tomllib
from pathlib import Path

import gymnasium
import pytest
from dayshift.env import DayshiftEnv
from dayshift.observation import Info
from dayshift.team_runner import TeamInfo, TeamOptions, TeamRunner

_ROOT = Path(__file__).resolve().parents[2]
_GUIDE = (_ROOT / "docs" / "client.md").read_text()
_TEAM_GUIDE = (_ROOT / "docs" / "orchestrator.md").read_text()
_README = (_ROOT / "env_client" / "README.md").read_text()
_BLOCKS = re.findall(r"```python\n(.*?)```", _GUIDE, re.DOTALL)


@pytest.mark.usefixtures("address")
def test_the_first_example_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(_BLOCKS[0], "client.md", "exec"), {})

    assert "failed 0.0" in capsys.readouterr().out


@pytest.mark.usefixtures("address")
def test_the_episode_of_the_readme_has_ten_lines_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})

    assert block.count("\n") == 10
    assert "failed 0.0" in capsys.readouterr().out


def test_every_example_of_the_guide_is_python() -> None:
    for block in _BLOCKS:
        compile(block, "client.md", "exec")


def test_the_options_in_the_guide_are_those_of_the_environment() -> None:
    table = _GUIDE.partition("`gymnasium.make` takes these options")[2].partition("`reset(seed")[0]
    documented = set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
    parameters = set(inspect.signature(DayshiftEnv).parameters)

    assert documented == parameters - {"products", "render_mode", "menu"}


def test_the_guide_names_every_key_of_info_and_every_environment() -> None:
    keys = re.search(r"`dayshift\.Info`: (.*)", _GUIDE)
    registered = {env_id for env_id in gymnasium.registry if env_id.startswith("dayshift/")}

    assert keys is not None
    assert re.findall(r"`(\w+)`", keys[1]) == list(Info.__annotations__)
    assert {f"dayshift/{name}-v0" for name in re.findall(r"`dayshift/(\w+)-v0` \|", _GUIDE)} == registered


def test_the_guide_to_teams_names_every_key_of_info() -> None:
    keys = re.search(r"`dayshift\.TeamInfo`: (.*)", _TEAM_GUIDE)

    assert keys is not None
    assert re.findall(r"`(\w+)`", keys[1]) == list(TeamInfo.__annotations__)


def test_the_typed_options_of_a_team_are_those_that_its_runner_takes() -> None:
    assert set(TeamOptions.__annotations__) == set(inspect.signature(TeamRunner).parameters)


def test_the_guide_and_the_readme_name_every_supported_version() -> None:
    classifiers = tomllib.loads((_ROOT / "env_client" / "pyproject.toml").read_text())["project"]["classifiers"]
    named = [text.rpartition(" ")[2] for text in classifiers if text.startswith("Programming Language :: Python :: 3.")]
    sentence = f"Python {', '.join(named[:-1])} and {named[-1]}"

    assert sentence in _GUIDE
    assert sentence in _README


@pytest.mark.usefixtures("address")
def test_the_quickstart_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(_ROOT / "examples" / "quickstart.py"), run_name="__main__")

    assert "passed, reward 1.0" in capsys.readouterr().out


@pytest.mark.usefixtures("address")
@pytest.mark.filterwarnings("default")  # matplotlib warns about fonts of this machine
def test_a_few_episodes_of_training_plot_a_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "learning.png"
    monkeypatch.setattr("sys.argv", ["train_menu.py", "--minutes", "0.02", "--plot", str(picture)])

    runpy.run_path(str(_ROOT / "examples" / "train_menu.py"), run_name="__main__")

    assert picture.read_bytes().startswith(b"\x89PNG")
