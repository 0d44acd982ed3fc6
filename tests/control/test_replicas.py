"""Several processes of one product, found through a real Redis."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.control.stack import Stack, eventually, free_base


def test_episodes_spread_over_replicas_and_only_those_of_a_dead_one_are_lost(
    start: Callable[..., Stack], redis_url: str
) -> None:
    stack = start(DAYSHIFT_REDIS_URL=redis_url)
    second = str(free_base() + 1)
    process = subprocess.Popen(
        [sys.executable, "-m", "services", "crm"],
        cwd=Path(__file__).resolve().parents[2],
        env={**stack.environment(), "DAYSHIFT_CRM_PORT": second},
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: _addresses(stack) == {str(stack.base + 1), second}, seconds=40)
        attempts = [stack.open() for _ in range(8)]
        there = [one for one in attempts if str(one.agent.base_url.port) == second]
        here = [one for one in attempts if one not in there]
        assert len(there) >= 2
        assert len(here) >= 2
        for one in attempts:
            one.solve()

        process.send_signal(signal.SIGKILL)

        eventually(lambda: all(one.get().get("outcome") == "unscored" for one in there))
        assert {one.get()["because"] for one in there} == {"crm process died"}
        assert {one.submit()["reward"] for one in here} == {1.0}
        eventually(lambda: _addresses(stack) == {str(stack.base + 1)})
        assert stack.control.get("/health").status_code == 200
    finally:
        process.kill()
        process.wait()


def _addresses(stack: Stack) -> set[str]:
    attempts = [stack.open() for _ in range(4)]
    for one in attempts:
        one.post("close")
    return {str(one.agent.base_url.port) for one in attempts}
