"""HUD's runtime serves the environment, and its client, its grades and its trainer judge it."""

import re

import pytest

from tests.control.stack import Stack, eventually
from tests.integrations.conftest import ROOT, Judge, count_open

pytestmark = pytest.mark.integration
JUDGE = "hud"


def test_the_example_plays_groups_at_once_to_their_rewards_and_leaves_none_open(judge: Judge) -> None:
    before = count_open(judge.stack)
    output = judge.run(ROOT / "examples/hud_rollout.py", "--seeds", 2, "--group", 2)

    runs = re.findall(r"^(\S+) passed, reward 1\.0$", output, re.MULTILINE)
    assert sorted(runs) == [f"crm-correct-contact-train-{seed}" for seed in (0, 0, 1, 1)]
    eventually(lambda: count_open(judge.stack) == before)


def test_an_environment_fault_leaves_a_run_that_huds_trainer_refuses(judge: Judge, breakable: Stack) -> None:
    result = judge.of(breakable).run_script("hud_fault.py", breakable.children()["crm"])

    assert (result["is_error"], result["status"]) == (True, "error")
    assert "hud rpc error -32000" in result["error"]
    assert result["learned"].startswith("refused: ")


def test_one_environment_plays_one_task_and_frees_what_its_client_left(judge: Judge) -> None:
    before = count_open(judge.stack)
    result = judge.run_script("hud_sessions.py")

    assert result["prompt"] > 100
    assert {"crm_contacts_search", "crm_contacts_update", "finish_work"} <= set(result["tools"])
    # Those that the known solution uses, two others, and what ends the work or lets time pass.
    assert len(result["tools"]) < 10
    assert "1/1 sessions active" in result["refusal"]
    assert result["refused"] > 0
    eventually(lambda: count_open(judge.stack) == before)
