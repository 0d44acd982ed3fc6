"""verifiers' nemo_gym taskset and NeMo Gym's own message types judge the resources server."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.control.stack import Stack, eventually
from tests.integrations.conftest import ROOT, Judge, Server, count_open
from tests.integrations.verifiers_runs import evaluate, read_scores
from tests.scripted_provider import ScriptedProvider
from tests.scripted_provider.scripts import Asked, solver

pytestmark = pytest.mark.integration
JUDGE = "verifiers"

Serve = Callable[..., Server]
TASK = "crm/correct-contact"


@pytest.fixture(scope="module")
def server(judge: Judge) -> Iterator[Server]:
    started = Server(judge, "nemo_gym", ("--families", "crm/")).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def rows(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    options = ("--tasks", TASK, "--seeds", "2", "--output", file)
    judge.run("-m", "dayshift.integrations.nemo_gym_rows", *options)
    return file


def test_verifiers_nemo_gym_taskset_plays_the_rows_to_their_reward(
    judge: Judge, server: Server, rows: Path, provider: ScriptedProvider, tmp_path: Path
) -> None:
    taskset = {"id": "nemo_gym", "dataset": str(rows), "task": {"resources_url": server.url}}
    traces = evaluate(judge, provider, tmp_path, {"taskset": taskset})

    assert [read_scores(trace) for trace in traces] == [{"nemo_gym": 1.0}] * 2
    assert count_open(judge.stack) == 0


def test_the_example_plays_the_rows_to_their_reward(judge: Judge, server: Server, rows: Path) -> None:
    output = judge.run(ROOT / "examples/nemo_gym_rollout.py", rows, "--url", server.url)

    assert output.splitlines() == ["reward 1.0, masked: False"] * 2


def test_every_response_keeps_the_cookie_and_verify_echoes_the_row(server: Server, rows: Path) -> None:
    row = _read_rows(rows)[0]
    with httpx.Client(base_url=server.url, trust_env=False, timeout=120) as client:
        seeded = client.post("/seed_session", json=row)
        called = [
            client.post(f"/{tool}", json=arguments)
            for tool, arguments in _solve(client, row["responses_create_params"])
        ]
        unknown = client.post("/no_such_tool", json={})
        verified = client.post("/verify", json=row | {"response": {"id": "r", "output": []}})

    result = verified.json()
    assert all("session=" in answer.headers["set-cookie"] for answer in (seeded, *called, unknown, verified))
    assert (result["reward"], result["mask_sample"], result["passed"]) == (1.0, False, 1.0)
    assert result["responses_create_params"] == row["responses_create_params"]
    assert result["response"] == {"id": "r", "output": []}
    assert unknown.text == "Nothing can be changed any more: the work is finished."


@pytest.mark.parametrize("how", ["mask", "error"])
def test_an_environment_fault_masks_the_sample_or_fails_the_request(
    breakable: Stack, serve: Serve, rows: Path, how: str
) -> None:
    broken = serve("nemo_gym", "--families", "crm/", "--unscored", how, of=breakable)
    row = _read_rows(rows)[0]

    with httpx.Client(base_url=broken.url, trust_env=False, timeout=120) as client:
        client.post("/seed_session", json=row).raise_for_status()
        os.kill(breakable.children()["crm"], signal.SIGKILL)
        client.post("/crm_contacts_list", json={})
        verified = client.post("/verify", json=row | {"response": {}})
        aggregated = client.post("/aggregate_metrics", json={"verify_responses": [verified.json()]}).json()

    if how == "error":
        assert (verified.status_code, "reward" in verified.json()) == (500, False)
        return
    result = verified.json()
    assert verified.status_code == 200
    assert (result["mask_sample"], result["instance_config"]) == (True, {"mask_sample": True})
    assert result["_ng_failure_class"] == "Unreachable"
    assert aggregated["agent_metrics"] == {"rollouts": 1, "unscored_rate": 1.0}


def test_a_session_that_is_never_verified_frees_its_episode(stack: Stack, serve: Serve, rows: Path) -> None:
    leased = serve("nemo_gym", "--families", "crm/", "--lease-seconds", "1", "--max-sessions", "1")
    row = _read_rows(rows)[0]

    httpx.post(f"{leased.url}/seed_session", json=row, trust_env=False, timeout=120).raise_for_status()
    full = httpx.post(f"{leased.url}/seed_session", json=row, trust_env=False)

    assert (full.status_code, full.json()["active_sessions"], full.json()["max_sessions"]) == (503, 1, 1)
    eventually(lambda: count_open(stack) == 0)
    httpx.post(f"{leased.url}/seed_session", json=row, trust_env=False, timeout=120).raise_for_status()


def _read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _solve(client: httpx.Client, params: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The solver's calls; the record's id comes from the answer to the first of them."""
    brief, answers = params["input"][1]["content"], []
    for _ in range(3):
        [(tool, arguments)] = solver(Asked(brief, (), tuple(answers), 1)).calls
        yield tool, json.loads(arguments)
        answers.append(client.post(f"/{tool}", json=json.loads(arguments)).text if not answers else "")
