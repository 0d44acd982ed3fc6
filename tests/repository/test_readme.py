"""What the README shows really runs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.stack import PLAYGROUND, TOKEN, Stack
from tests.control.worlds import build_worlds
from tests.desk.office import build_office
from tests.ide.sample import build_sample
from tests.scripted_provider import ScriptedProvider

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("readme")
    build_worlds(var / "worlds")
    build_office(var / "worlds")
    build_sample(var / "worlds", "standard")
    started = Stack(var, {"DAYSHIFT_WITHOUT": ""}).start()
    yield started
    started.stop()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedProvider]:
    started = ScriptedProvider().start()
    yield started
    started.stop()


def run(code: str, stack: Stack, provider: ScriptedProvider) -> str:
    here = {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{stack.base}",
        "DAYSHIFT_CONTROL_TOKEN": TOKEN,
    }
    code = re.sub(r":87(\d\d)", lambda port: f":{stack.base + int(port[1])}", code).replace(
        '"playground"', f'"{PLAYGROUND}"'
    )
    # The scripted model that solves this task.
    code = code.replace('"gpt-5"', '"solver"')
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **here},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("block", range(len(blocks("python"))))
def test_every_python_block_runs_against_a_started_stack(stack: Stack, provider: ScriptedProvider, block: int) -> None:
    output = run(blocks("python")[block], stack, provider)

    if block <= 1:
        assert "passed 1.0" in output


def test_the_first_two_blocks_are_a_short_episode_and_a_short_model_run() -> None:
    episode, model_run, *_ = blocks("python")

    assert "Episode.open" in episode
    assert "chat.completions.create" in model_run
    assert episode.count("\n") <= 12
    assert model_run.count("\n") <= 16


def test_the_first_screen_says_what_it_is_and_shows_the_two_commands() -> None:
    first = " ".join(README.splitlines()[:25])

    for words in ("reinforcement-learning environment", "LLM agents", "make demo", "make test"):
        assert words in first
    assert README.index("docker compose up") < README.index("docs/settings.md")
