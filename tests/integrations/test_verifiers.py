"""`vf-eval` plays the package `dayshift_verifiers` with a scripted model: control opens and judges, MCP carries the calls."""

import tomllib
from pathlib import Path

import pytest

from tests.control.stack import Stack
from tests.integrations.conftest import ROOT, Judge, count_open
from tests.integrations.verifiers_runs import evaluate, evaluate_config, product_killed_in_an_episode, read_scores
from tests.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.integration
JUDGE = "verifiers"


def test_vf_eval_plays_the_example_to_the_verdicts_rewards_in_groups(
    judge: Judge, provider: ScriptedProvider, tmp_path: Path
) -> None:
    config = tomllib.loads((ROOT / "examples/verifiers_eval.toml").read_text())
    config |= {"model": "solver", "output_dir": str(tmp_path / "runs")}
    config["client"]["base_url"] = f"{provider.url}/v1"
    traces = evaluate_config(judge, tmp_path, config)

    assert [read_scores(trace) for trace in traces] == [{"verdict": 1.0}] * 4
    assert {trace["metrics"]["passed"] for trace in traces} == {1.0}
    assert "Bearer" not in "".join(file.read_text() for file in tmp_path.rglob("*.json*"))
    assert count_open(judge.stack) == 0


def test_an_environment_fault_is_an_error_of_the_rollout_and_not_a_reward(
    judge: Judge, breakable: Stack, provider: ScriptedProvider, tmp_path: Path
) -> None:
    taskset = {"id": "dayshift_verifiers", "families": ["crm/correct-contact"], "seeds": 1}
    with product_killed_in_an_episode(breakable, provider):
        [trace] = evaluate(judge.of(breakable), provider, tmp_path, {"taskset": taskset}, model="patient")

    assert trace["ok"] is False
    assert trace["rewards"] == {"verdict": None}
    assert "TaskError" in str(trace["errors"])
