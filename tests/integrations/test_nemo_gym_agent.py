"""NeMo Gym's own agent plays a row against the resources server."""

from pathlib import Path

import pytest

from tests.control.stack import free_base
from tests.integrations.conftest import Judge, Server
from tests.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.integration
JUDGE = "nemo_gym_agent"


def test_nemo_gyms_simple_agent_plays_a_row_to_its_reward(
    judge: Judge, provider: ScriptedProvider, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    options = ("--tasks", "crm/correct-contact", "--seeds", "1", "--output", rows)
    judge.run("-m", "dayshift.integrations.nemo_gym_rows", *options)
    server = Server(judge, "nemo_gym", ("--families", "crm/")).start()
    try:
        played = judge.run_script("nemo_gym_agent.py", rows, server.url, provider.url, free_base())
    finally:
        server.stop()

    assert (played["reward"], played["error"]) == (1.0, None)
    assert played["metrics"]["mean/reward"] == 1.0
