"""TRL's GRPOTrainer trains on groups, with a tiny model that really generates."""

import json
from pathlib import Path

import pytest

from tests.control.stack import Stack
from tests.integrations.conftest import ROOT, Judge, count_open

pytestmark = pytest.mark.integration
JUDGE = "trl"


def test_the_members_of_a_group_have_one_instance_and_a_reward_each(judge: Judge) -> None:
    group = judge.run_script("trl_group.py")

    assert (group["rewards"], group["briefs"]) == ([1.0, 0.0, 0.0], 1)
    assert {"crm_contacts_search", "crm_contacts_update", "finish_work"} <= set(group["tools"])
    # The surface `task` shows what known solutions use, which the records of the episodes say.
    assert group["assisted"] == [True]
    assert group["metrics"]["dayshift/pass_rate"] == pytest.approx(1 / 3)
    assert count_open(judge.stack) == 0


def test_grpo_learns_nothing_from_a_member_whose_environment_failed(
    judge: Judge, breakable: Stack, tmp_path: Path
) -> None:
    learned = judge.of(breakable).run_script("trl_fault.py", tmp_path, breakable.children()["crm"])

    assert learned["rewards"] == [1.0, 0.0, None]
    solved, left, failed = learned["advantages"]
    # As in a group of two: a reward of 0 for the third would have moved the baseline, and the model away from it.
    assert solved == pytest.approx(-left, abs=1e-3)
    assert (solved > 0.5, failed) == (True, 0.0)
    assert learned["mean"] == pytest.approx(0.5)
    assert learned["unscored_rate"] == pytest.approx(1 / 3)


def test_grpo_trains_on_rollouts_that_a_model_generates(judge: Judge, tmp_path: Path) -> None:
    options = ("--steps", 2, "--group", 2, "--completion-tokens", 32, "--into", tmp_path)
    output = judge.run(ROOT / "examples/train_trl.py", *options, seconds=900, CUDA_VISIBLE_DEVICES="")

    log = [entry for entry in json.loads((tmp_path / "log.json").read_text()) if "reward" in entry]
    assert output.splitlines()[-1].startswith("2 steps, rewards [")
    assert len(log) == 2
    assert all(entry["rewards/Dayshift/mean"] == entry["reward"] for entry in log)
    assert all(entry["completions/mean_length"] > 0 for entry in log)
