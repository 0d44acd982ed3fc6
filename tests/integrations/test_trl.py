"""TRL's GRPOTrainer trains on groups, with a tiny model that really generates."""

import json
from pathlib import Path

import pytest

from tests.control.stack import Stack
from tests.integrations.conftest import ROOT, Judge, count_open

pytestmark = pytest.mark.integration
JUDGE = "trl"


def test_the_members_of_a_group_have_one_instance_and_a_reward_each(judge: Judge) -> None:
    group = judge.run_script("trl_group.py", 0)

    assert (group["rewards"], group["briefs"]) == ([1.0, 0.0, 0.0], 1)
    assert {"crm_contacts_search", "crm_contacts_update", "finish_work"} <= set(group["tools"])
    assert count_open(judge.stack) == 0


def test_an_environment_fault_is_no_reward_at_all(judge: Judge, breakable: Stack) -> None:
    group = judge.of(breakable).run_script("trl_group.py", breakable.children()["crm"])

    assert group["rewards"] == [1.0, 0.0, None]


def test_grpo_trains_on_rollouts_that_a_model_generates(judge: Judge, tmp_path: Path) -> None:
    options = ("--steps", 2, "--group", 2, "--completion-tokens", 32, "--into", tmp_path)
    output = judge.run(ROOT / "examples/train_trl.py", *options, seconds=900, CUDA_VISIBLE_DEVICES="")

    log = [entry for entry in json.loads((tmp_path / "log.json").read_text()) if "reward" in entry]
    assert output.splitlines()[-1].startswith("2 steps, rewards [")
    assert len(log) == 2
    assert all(entry["rewards/Dayshift/mean"] == entry["reward"] for entry in log)
    assert all(entry["completions/mean_length"] > 0 for entry in log)
