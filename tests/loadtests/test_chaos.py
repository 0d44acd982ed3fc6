"""Chaos: one fault for real, and that what is left behind is seen."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loadtests.leftovers import OpenResources
from loadtests.process_stats import read_stats
from tests.company import WORLD, small_company

_ROOT = Path(__file__).resolve().parents[2]
_OPENS = """
import os, socket, sys
files = [open(os.devnull) for _ in range(7)]
pairs = [socket.socketpair() for _ in range(4)]
memory = [os.memfd_create("kept") for _ in range(5)]
print("opened", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_restarted_redis_costs_openings_and_nothing_else(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    worlds = small_company(tmp_path_factory) / "worlds"
    fault = "Redis restarted"
    command = [sys.executable, "-m", "loadtests", "chaos", "--fault", fault, "--seconds", "16", "--qps", "120"]
    where = ["--world", WORLD, "--worlds", str(worlds), "--reports", str(tmp_path)]

    # Without the IDE, whose sandboxes a short run would mostly wait for.
    env = {**os.environ, "DAYSHIFT_WITHOUT": "ide"}
    done = subprocess.run(
        [*command, *where], cwd=_ROOT, env=env, capture_output=True, text=True, timeout=400, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads((tmp_path / "chaos.json").read_text())["faults"]
    assert found["fault"] == fault
    assert (found["wrong_answers"], found["unexplained"], found["leaked"]) == (0, [], [])
    assert found["episodes_unharmed"] > 0
    # Whoever wanted to begin while it was down was told so, and nobody after it was back.
    assert found["recovery_seconds"] < 5


def test_what_is_open_is_counted_by_kind_and_memory_is_neither() -> None:
    quiet = [sys.executable, "-c", "import sys; print('opened', flush=True); sys.stdin.read()"]
    counted = []
    for command in (quiet, [sys.executable, "-c", _OPENS]):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
            assert one.stdout is not None
            one.stdout.readline()
            counted.append(read_stats([one.pid]))
            one.communicate()
    (before, after) = counted

    assert after.connections - before.connections == 8
    assert after.open_files - before.open_files == 15


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (OpenResources(forks=1, connections=124, files=324), []),
        (OpenResources(forks=3, connections=100, files=300), ["2 forks"]),
        (OpenResources(forks=1, connections=125, files=300), ["25 connections"]),
        (OpenResources(forks=1, connections=100, files=400), ["100 files"]),
    ],
)
def test_more_than_comes_and_goes_is_left_behind(after: OpenResources, left: list[str]) -> None:
    assert after.leftovers_since(OpenResources(forks=1, connections=100, files=300)) == left
