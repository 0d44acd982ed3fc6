"""The guide and the examples cannot lag: they are run."""

import inspect
import re
import runpy
from pathlib import Path

import pytest
from dayshift.env import DayshiftEnv, Info
from dayshift.registration import ENVIRONMENTS

_ROOT = Path(__file__).resolve().parents[2]
_GUIDE = (_ROOT / "docs" / "client.md").read_text()
_BLOCKS = re.findall(r"```python\n(.*?)```", _GUIDE, re.DOTALL)


@pytest.mark.usefixtures("address")
def test_the_first_example_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(_BLOCKS[0], "client.md", "exec"), {})

    assert "failed 0.0" in capsys.readouterr().out


def test_every_example_of_the_guide_is_python() -> None:
    for block in _BLOCKS:
        compile(block, "client.md", "exec")


def test_the_options_in_the_guide_are_those_of_the_environment() -> None:
    table = _GUIDE.partition("Options of `gymnasium.make`")[2].partition("`reset(seed")[0]
    documented = set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
    taken = set(inspect.signature(DayshiftEnv).parameters)

    assert documented == taken - {"products", "render_mode", "menu"}


def test_the_guide_names_every_key_of_info_and_every_environment() -> None:
    said = re.search(r"One TypedDict, `dayshift\.Info`: (.*)", _GUIDE)

    assert said is not None
    assert re.findall(r"`(\w+)`", said[1]) == list(Info.__annotations__)
    assert set(re.findall(r"`dayshift/(\w+)-v0` \|", _GUIDE)) == set(ENVIRONMENTS)


@pytest.mark.usefixtures("address")
def test_the_quickstart_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(_ROOT / "examples" / "quickstart.py"), run_name="__main__")

    assert "failed, reward 0.0" in capsys.readouterr().out


@pytest.mark.usefixtures("address")
@pytest.mark.filterwarnings("default")  # what matplotlib says about fonts is not ours to promise
def test_a_few_episodes_of_training_draw_a_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "learning.png"
    monkeypatch.setattr("sys.argv", ["train_menu.py", "--minutes", "0.02", "--plot", str(picture)])

    runpy.run_path(str(_ROOT / "examples" / "train_menu.py"), run_name="__main__")

    assert picture.read_bytes().startswith(b"\x89PNG")
