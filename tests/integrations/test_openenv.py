"""OpenEnv's own validator and client, and verifiers' taskset, judge the OpenEnv server."""

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.control.stack import Stack, eventually
from tests.integrations.conftest import ROOT, Judge, Server, count_open
from tests.integrations.verifiers_runs import evaluate, read_scores
from tests.judges import python_of
from tests.scripted_provider import ScriptedProvider
from tests.scripted_provider.scripts import Asked, solver

pytestmark = pytest.mark.integration
JUDGE = "openenv"

Serve = Callable[..., Server]
TASK = "crm/correct-contact"
SESSIONS = 256


@pytest.fixture(scope="module")
def server(judge: Judge) -> Iterator[Server]:
    started = Server(judge, "openenv", ("--families", "crm/")).start()
    yield started
    started.stop()


def test_openenvs_validator_accepts_the_server(judge: Judge, server: Server) -> None:
    report = judge.run_tool("openenv", "validate", "--url", server.url)

    assert "Verdict: PASS" in report
    assert report.count("PASS ") == 6


def test_openenvs_client_plays_an_episode_to_its_reward(judge: Judge, server: Server) -> None:
    played = judge.run_script("openenv_episode.py", server.url)

    assert (played["reward"], played["outcome"], played["task"]) == (1.0, "passed", TASK)
    assert played["tools"] == ["description", "input_schema", "name"]
    assert played["unknown_tool"] == "tool_not_found"
    assert "VALIDATION_ERROR" in played["invalid"]
    assert played["state"] == {"episode_id": "mine", "step_count": 4}


def test_the_example_plays_an_episode_to_its_reward(judge: Judge, server: Server) -> None:
    output = judge.run(ROOT / "examples/openenv_client.py", "--url", server.url)

    assert output.splitlines()[-1] == "passed, reward 1.0"


def test_an_environment_fault_is_an_error_frame_and_never_a_reward(breakable: Stack, serve: Serve) -> None:
    broken = serve("openenv", "--families", "crm/", of=breakable)

    failures = broken.judge.run_script("openenv_fault.py", broken.url, breakable.children()["crm"])

    assert len(failures) == 2
    assert all("EXECUTION_ERROR" in failure for failure in failures), failures


def test_verifiers_openenv_taskset_plays_against_the_server(
    judge: Judge, server: Server, provider: ScriptedProvider, tmp_path: Path
) -> None:
    taskset = {"id": "openenv", "base_url": server.url, "resets": [{"task": TASK, "seed": 3}]}
    player = Judge(judge.stack, python_of("verifiers_openenv"))
    [trace] = evaluate(player, provider, tmp_path, {"taskset": taskset, "agent": "player"}, model="openenv-solver")

    assert read_scores(trace) == {"openenv_reward": 1.0}


def test_at_capacity_the_answer_names_the_numbers(stack: Stack, serve: Serve) -> None:
    small = serve("openenv", "--families", "crm/", "--max-sessions", "2")

    async def fill() -> tuple[dict[str, Any], httpx.Response]:
        async with _open(small), _open(small), _open(small) as third:
            frame = json.loads(await third.recv())
            async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
                return frame, await client.post(f"{small.url}/reset", json={"seed": 1})

    frame, over_http = asyncio.run(fill())

    assert (frame["type"], frame["data"]["code"]) == ("error", "CAPACITY_REACHED")
    assert (frame["data"]["active_sessions"], frame["data"]["max_sessions"]) == (2, 2)
    assert (over_http.status_code, over_http.headers["retry-after"]) == (503, "5")
    assert over_http.json()["detail"]["max_sessions"] == 2


def test_what_is_dropped_half_open_or_never_closed_frees_its_episode(stack: Stack, serve: Serve) -> None:
    leased = serve("openenv", "--families", "crm/", "--lease-seconds", "2")
    before = count_open(stack)

    async def abandon() -> None:
        silent, dropped = await connect(_address(leased)), await connect(_address(leased))
        for connection in (silent, dropped):
            await _ask(connection, "reset", {"task": TASK, "seed": 1})
        async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
            (await client.post(f"{leased.url}/reset", json={"task": TASK, "seed": 2})).raise_for_status()
        assert count_open(stack) == before + 3
        # A reset connection: no close frame, no answer.
        dropped.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        dropped.transport.abort()
        await asyncio.to_thread(eventually, lambda: count_open(stack) == before)
        last = json.loads(await silent.recv())
        assert last["data"]["code"] == "SESSION_ERROR"

    asyncio.run(abandon())


def test_256_sessions_at_once_are_answered_rightly_and_none_leaks(stack: Stack, server: Server) -> None:
    before = count_open(stack)

    async def play_all() -> tuple[int, list[float]]:
        all_open = asyncio.Barrier(SESSIONS + 1)

        async def count() -> int:
            await all_open.wait()
            number = await asyncio.to_thread(count_open, stack)
            await all_open.wait()
            return number

        counting = asyncio.create_task(count())
        rewards = await asyncio.gather(*(_play(server, seed, all_open) for seed in range(SESSIONS)))
        return await counting, rewards

    open_at_once, rewards = asyncio.run(play_all())

    assert open_at_once == before + SESSIONS
    assert rewards == [1.0] * SESSIONS
    eventually(lambda: count_open(stack) == before)


def test_plain_http_keeps_a_session_by_its_id_and_makes_no_call_twice(server: Server) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=120) as client:
        opened = client.post("/reset", json={"task": TASK, "seed": 5}).json()
        episode = opened["metadata"]["episode_id"]
        step = {"episode_id": episode, "request_id": "one", "action": {"tool_name": "crm_contacts_list"}}
        first, again = client.post("/step", json=step), client.post("/step", json=step)
        state = client.get("/state", params={"episode_id": episode}).json()
        nameless = client.post("/step", json={"action": {"tool_name": "crm_contacts_list"}})
        unknown = client.post("/reset", json={"tasks": TASK})

    assert opened["observation"]["brief"]
    assert first.content == again.content
    assert state == {"episode_id": episode, "step_count": 1}
    assert (nameless.status_code, unknown.status_code) == (422, 422)
    assert "episode_id" in nameless.text


def test_a_request_that_is_sent_again_before_its_answer_makes_one_call(server: Server) -> None:
    async def send_twice() -> tuple[list[httpx.Response], dict[str, Any], httpx.Response]:
        async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=120) as client:
            opened = (await client.post("/reset", json={"task": TASK, "seed": 6})).json()
            episode = opened["metadata"]["episode_id"]
            step = {"episode_id": episode, "request_id": "one", "action": {"tool_name": "crm_contacts_list"}}
            answers = await asyncio.gather(*(client.post("/step", json=step) for _ in range(8)))
            state = (await client.get("/state", params={"episode_id": episode})).json()
            await client.post("/reset", json={"task": TASK, "seed": 7, "episode_id": episode})
            other = {**step, "action": {"tool_name": "crm_owners_list"}}
            return answers, state, await client.post("/step", json=other)

    answers, state, of_next_episode = asyncio.run(send_twice())

    assert len({answer.content for answer in answers}) == 1
    assert state["step_count"] == 1
    assert of_next_episode.json()["observation"]["tool_name"] == "crm_owners_list"


def test_openenvs_validator_accepts_the_manifest_and_its_application_starts(judge: Judge) -> None:
    folder = ROOT / "examples/openenv"
    report = judge.run_tool("openenv", "validate", folder, "--level", "static")
    [named] = re.findall(r"^app: (\S+)$", (folder / "openenv.yaml").read_text(), re.MULTILINE)
    module, factory = named.split(":")
    made = judge.run("-c", f"import {module} as server; print(type(server.{factory}()).__name__)")

    assert "Verdict: PASS" in report
    assert made.strip() == "FastAPI"


def test_the_task_api_lists_what_reset_takes(server: Server) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=120) as client:
        [name] = client.get("/list_environments").json()
        splits = [split["name"] for split in client.get(f"/{name}/splits").json()]
        number = client.post(f"/{name}/num_tasks", json={"split": "train"}).json()["num_tasks"]
        tasks = client.post(f"/{name}/task_range", json={"split": "train", "stop": 50}).json()["tasks"]
        missing = client.post(f"/{name}/task", json={"split": "train", "index": number})
        chosen = next(task for task in tasks if task["task"] == TASK)
        opened = client.post("/reset", json=chosen)

    assert splits == ["train", "validation", "test"]
    assert number > len(tasks) == 50
    assert missing.status_code == 400
    assert {name: opened.json()["metadata"][name] for name in chosen} == chosen


def _address(server: Server) -> str:
    return f"ws://127.0.0.1:{server.port}/ws"


def _open(server: Server) -> connect:
    return connect(_address(server), open_timeout=60, max_size=None)


async def _ask(connection: ClientConnection, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    await connection.send(json.dumps({"type": kind, "data": data}))
    answer = json.loads(await connection.recv())
    assert answer["type"] == "observation", answer
    result: dict[str, Any] = answer["data"]
    return result


async def _play(server: Server, seed: int, all_open: asyncio.Barrier) -> float:
    """Returns the reward; goes on when all are open, and when they have been counted."""
    async with _open(server) as connection:
        brief = (await _ask(connection, "reset", {"task": TASK, "seed": seed}))["observation"]["brief"]
        await all_open.wait()
        await all_open.wait()
        answers: list[str] = []
        while True:
            [(tool, arguments)] = solver(Asked(brief, (), tuple(answers), 1)).calls
            stepped = await _ask(connection, "step", {"tool_name": tool, "arguments": json.loads(arguments)})
            if stepped["done"]:
                return float(stepped["reward"])
            answers.append(stepped["observation"]["result"])
