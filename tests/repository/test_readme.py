"""What the README shows really runs, in a fresh folder with a fresh environment."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.kernel import catalog
from services.snippets import install_sdks
from tests.control.stack import PLAYGROUND, Stack
from tests.control.worlds import build_worlds
from tests.desk.office import build_office
from tests.ide.sample import build_sample
from tests.scripted_provider import ScriptedProvider
from tests.walkthrough import Reader, ReadmeReader, blocks, check_readme

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("readme")
    build_worlds(var / "worlds")
    build_office(var / "worlds")
    build_sample(var / "worlds", "standard")
    started = Stack(var, {"DAYSHIFT_WITHOUT": ""}).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    started = ScriptedProvider().start()
    yield started
    started.stop()


def test_the_readme_can_be_followed_in_a_fresh_folder(stack: Stack, provider: ScriptedProvider, tmp_path: Path) -> None:
    clone, folder = tmp_path / "dayshift", tmp_path / "agent"
    shutil.copytree(ROOT / "env_client", clone / "env_client", ignore=shutil.ignore_patterns("*.egg-info", "build"))
    folder.mkdir()
    settings = {
        "DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{stack.base}",
        "XDG_STATE_HOME": str(stack.var / "state"),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",
    }
    reader = Reader(folder, clone, settings, start=lambda: None)

    check_readme(ReadmeReader(reader, stack.base, PLAYGROUND, provider.url).follow(README))


def test_the_sdks_are_installed_before_they_are_used() -> None:
    (install,) = (block for _, block in blocks(README) if block.startswith("pip install hubspot"))

    assert install.strip() == install_sdks(catalog.products().values())
    assert README.index(install) < README.index("from hubspot import")


def test_the_first_two_blocks_are_a_short_episode_and_a_short_model_run() -> None:
    episode, model_run, *_ = (block for language, block in blocks(README) if language == "python")

    assert "Episode.open" in episode
    assert "chat.completions.create" in model_run
    assert episode.count("\n") <= 12
    assert model_run.count("\n") <= 16


def test_the_first_screen_says_what_it_is_and_shows_the_two_commands() -> None:
    first = " ".join(README.splitlines()[:25])

    for words in ("reinforcement-learning environment", "LLM agents", "make demo", "make test"):
        assert words in first
    assert README.index("docker compose up") < README.index("docs/settings.md")
