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


def run(code: str, stack: Stack) -> str:
    here = {
        "DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{stack.base}",
        "DAYSHIFT_CONTROL_TOKEN": TOKEN,
    }
    code = re.sub(r":87(\d\d)", lambda port: f":{stack.base + int(port[1])}", code).replace(
        '"playground"', f'"{PLAYGROUND}"'
    )
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
def test_every_python_block_runs_against_a_started_stack(stack: Stack, block: int) -> None:
    output = run(blocks("python")[block], stack)

    if block == 0:
        assert "passed 1.0" in output
        assert " True record " in output


def test_the_first_screen_shows_the_two_commands() -> None:
    first = README[:1200]

    assert "make demo" in first
    assert "make test" in first
