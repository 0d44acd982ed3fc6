"""The client of the `openreward` package judges the ORS server."""

from collections.abc import Callable

import pytest

from tests.control.stack import Stack, eventually
from tests.integrations.conftest import ROOT, Judge, Server, count_open

pytestmark = pytest.mark.integration
JUDGE = "ors"

Serve = Callable[..., Server]


def test_the_example_plays_an_episode_to_its_reward_and_leaves_none_open(judge: Judge, serve: Serve) -> None:
    before = count_open(judge.stack)
    server = serve("ors", "--task", "crm/correct-contact")
    output = judge.run(ROOT / "examples/ors_client.py", "--url", server.url)

    assert output.splitlines()[-1] == "passed, reward 1.0"
    eventually(lambda: count_open(judge.stack) == before)


def test_an_environment_fault_fails_the_call_and_is_never_a_reward(breakable: Stack, serve: Serve) -> None:
    broken = serve("ors", "--families", "crm/correct-contact", of=breakable)
    result = broken.judge.run_script("ors_fault.py", broken.url, breakable.children()["crm"])

    assert result["failure"] == "ToolFailed"
    assert (result["reward"], result["refused"][:7]) == (None, "error: ")
    assert {"crm_contacts_search", "crm_contacts_update", "finish_work"} <= set(result["tools"])
