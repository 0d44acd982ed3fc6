"""What verifiers learns through the servers of other protocols from an episode whose environment fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.control.stack import Stack
from tests.integrations.conftest import Judge, Server
from tests.integrations.verifiers_runs import evaluate, product_killed_in_an_episode
from tests.judges import python_of
from tests.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.integration
JUDGE = "verifiers"

Serve = Callable[..., Server]
TASK = "crm/correct-contact"


def test_the_nemo_gym_taskset_gives_no_reward(
    judge: Judge, breakable: Stack, serve: Serve, provider: ScriptedProvider, tmp_path: Path
) -> None:
    """It knows no mask, so the server is told to fail the request."""
    broken = serve("nemo_gym", "--families", "crm/", "--unscored", "error", of=breakable)
    rows = tmp_path / "rows.jsonl"
    options = ("--tasks", TASK, "--seeds", "1", "--output", rows)
    broken.judge.run("-m", "dayshift.integrations.nemo_gym_rows", *options)
    taskset = {"id": "nemo_gym", "dataset": str(rows), "task": {"resources_url": broken.url}}
    with product_killed_in_an_episode(breakable, provider):
        [trace] = evaluate(judge, provider, tmp_path, {"taskset": taskset}, model="patient")

    assert trace["ok"] is False
    assert trace["errors"]
    assert not any(trace["rewards"].values())


def test_the_openenv_taskset_gives_no_reward(breakable: Stack, provider: ScriptedProvider, tmp_path: Path) -> None:
    player = Judge(breakable, python_of("verifiers_openenv"))
    broken = Server(Judge(breakable, python_of("openenv")), "openenv", ("--families", "crm/")).start()
    taskset = {"id": "openenv", "base_url": broken.url, "resets": [{"task": TASK, "seed": 3}]}
    try:
        with product_killed_in_an_episode(breakable, provider):
            [trace] = evaluate(player, provider, tmp_path, {"taskset": taskset, "agent": "player"}, "openenv-patient")
    finally:
        broken.stop()

    assert trace["ok"] is False
    assert trace["errors"]
    assert not any(trace["rewards"].values())
