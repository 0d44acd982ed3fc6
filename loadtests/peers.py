"""peers: side by side with OpenEnv's own server, in one run on one machine."""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import cycle
from statistics import median
from typing import Any

import httpx
import orjson
import uvloop
from dayshift.wire import Opened
from rich.console import Console
from rich.table import Table

from loadtests.ceiling import Shot, measure
from loadtests.machine_description import describe_machine
from loadtests.peer_servers import EMPTY_ENVIRONMENT, PACKAGE, install_openenv, run_server
from loadtests.process_stats import cpu_seconds, read_stats
from loadtests.targets import NotReady, Target, start_embedded
from loadtests.websocket import Socket, encode_frame

_SESSIONS = 32
_HELD = 200
_RESETS = 50
_CONTACTS = "/crm/v3/objects/contacts"
_OVER_HTTP, _OVER_SOCKETS = "Dayshift over HTTP", "Dayshift's OpenEnv server over WebSockets"
_SERVER_OVER_HTTP = "Dayshift's OpenEnv server over HTTP"
_THEIRS_OVER_HTTP, _THEIRS_OVER_SOCKETS = "OpenEnv over HTTP", "OpenEnv over WebSockets"
_MIXED_WORK, _READS = "get, search, list of 25 and update, evenly, on real rows", "one contact with its properties"
_HTTP_TOOL = "wrk" if shutil.which("wrk") else "raw sockets in Python"
_SOCKET_TOOL = "our own client in Python"
_ROUNDS = 3
# How many times the rate of OpenEnv's empty step a real one must reach, over the same protocol.
_BARS = {
    _OVER_HTTP: (_THEIRS_OVER_HTTP, 1.5),
    f"{_SERVER_OVER_HTTP}, reads by id": (_THEIRS_OVER_HTTP, 1.5),
    f"{_OVER_SOCKETS}, reads by id": (_THEIRS_OVER_SOCKETS, 1.0),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """Steps a second, and the CPU that all processes of the server took for one."""

    per_second: float
    cpu_us: float


Run = Callable[[float], Rate]


@dataclass(frozen=True, slots=True)
class Figures:
    """One server over one protocol."""

    who: str
    work: str
    steps_per_second: float
    cpu_us: float
    reset_ms: float
    session_kb: float
    tool: str


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured of one server over one protocol."""

    who: str
    work: str
    reset_ms: float
    session_kb: float
    tool: str
    run: Run


def peers(options: argparse.Namespace) -> int:
    console = Console()
    with ExitStack() as running:
        cases = [*_theirs(running, options, console), *_ours(running, options)]
        figures = _measure_in_turn(cases, options.seconds)
    _print(console, figures)
    options.reports.mkdir(parents=True, exist_ok=True)
    kept = {"machine": describe_machine(), "figures": [asdict(one) for one in figures]}
    (options.reports / "peers.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False))
    return 0 if _meets_bars(console, {one.who: one.steps_per_second for one in figures}) else 1


def _meets_bars(console: Console, rates: dict[str, float]) -> bool:
    if _THEIRS_OVER_HTTP not in rates:
        return False
    missed = 0
    for mine, (other, bar) in _BARS.items():
        ratio = rates[mine] / rates[other]
        missed += ratio < bar
        console.print(f"{mine}: {ratio:.2f} × {other}, empty (≥ {bar} {'ok' if ratio >= bar else 'MISSED'})")
    return not missed


def _measure_in_turn(cases: list[Case], seconds: float) -> list[Figures]:
    """Measures each case several times, one after the other: what else the machine does then meets all alike."""
    for case in cases:
        case.run(1.0)
    rates: dict[str, list[Rate]] = {case.who: [] for case in cases}
    for _ in range(_ROUNDS):
        for case in cases:
            rates[case.who].append(case.run(seconds / _ROUNDS))
    return [_summarize(case, rates[case.who]) for case in cases]


def _summarize(case: Case, rates: list[Rate]) -> Figures:
    per_second, cpu_us = median(rate.per_second for rate in rates), median(rate.cpu_us for rate in rates)
    return Figures(case.who, case.work, per_second, cpu_us, case.reset_ms, case.session_kb, case.tool)


def _ours(running: ExitStack, options: argparse.Namespace) -> list[Case]:
    target = running.enter_context(start_embedded(options.worlds))
    with httpx.Client(timeout=60, trust_env=False) as client:
        reset_ms = median(_reset(client, target, options.world, number) for number in range(_RESETS))
        before = read_stats(target.pids()).memory_mb
        opened = [open_episode(client, target, options.world, number) for number in range(_HELD)]
        session_kb = (read_stats(target.pids()).memory_mb - before) * 1024 / _HELD
        base, people = opened[0].products["crm"].base_url, people_of(client, opened[0])
    credentials = [one.products["crm"].credential for one in opened[:_SESSIONS]]
    pids = target.pids()
    mixed = _over_http(base, _mix(credentials, people), pids)
    reads = _over_http(base, _reads(credentials, people), pids)
    return [
        Case(_OVER_HTTP, _MIXED_WORK, reset_ms, session_kb, _HTTP_TOOL, mixed),
        Case("Dayshift, reads by id", _READS, reset_ms, session_kb, _HTTP_TOOL, reads),
        *_as_openenv(running, options, target, people),
    ]


def _as_openenv(running: ExitStack, options: argparse.Namespace, target: Target, people: list[str]) -> list[Case]:
    """The same work through the client's OpenEnv server, which is one more process beside the stack."""
    settings = {"DAYSHIFT_CONTROL_URL": target.url, "DAYSHIFT_CONTROL_TOKEN": target.token}
    command = [sys.executable, "-m", "dayshift.integrations.openenv", "--families", "crm/", "--world", options.world]
    port, pid = running.enter_context(run_server(command, settings))
    base, free_play, actions = f"http://127.0.0.1:{port}", {"task": ""}, _actions(people)
    with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
        opened = [client.post("/reset", json=free_play).raise_for_status() for _ in range(_SESSIONS)]
        episodes = [answer.json()["metadata"]["episode_id"] for answer in opened]
        again = {**free_play, "episode_id": episodes[0]}
        reset_ms = median(_time(lambda: client.post("/reset", json=again)) for _ in range(_RESETS))
    socket_reset_ms, session_kb = uvloop.run(_hold_sockets(port, pid, free_play))
    reads = [action for action in actions if action["tool_name"].endswith("_get")]
    pids = [pid, *target.pids()]
    cases = []
    for suffix, work, chosen in (("", _MIXED_WORK, actions), (", reads by id", _READS, reads)):
        over_http = _over_http(base, _as_shots(chosen, episodes), pids)
        over_sockets = _over_sockets(port, free_play, chosen, pids)
        cases += [
            Case(f"{_SERVER_OVER_HTTP}{suffix}", work, reset_ms, 0.0, _HTTP_TOOL, over_http),
            Case(f"{_OVER_SOCKETS}{suffix}", work, socket_reset_ms, session_kb, _SOCKET_TOOL, over_sockets),
        ]
    return cases


def _as_shots(actions: list[dict[str, Any]], episodes: list[str]) -> list[Shot]:
    return [
        Shot("POST", "/step", {"content-type": "application/json"}, json.dumps({"action": action, "episode_id": one}))
        for action, one in zip(actions, cycle(episodes), strict=False)
    ]


def _actions(people: list[str]) -> list[dict[str, Any]]:
    actions: list[dict[str, Any]] = []
    for index, person in enumerate(people):
        condition = {"propertyName": "hs_object_id", "operator": "EQ", "value": person}
        search = {"filterGroups": [{"filters": [condition]}], "limit": 25}
        change = {"contactId": person, "properties": {"jobtitle": f"Buyer {index}"}}
        actions += [
            {"tool_name": "crm_contacts_get", "arguments": {"contactId": person}},
            {"tool_name": "crm_contacts_search", "arguments": search},
            {"tool_name": "crm_contacts_list", "arguments": {"limit": 25}},
            {"tool_name": "crm_contacts_update", "arguments": change},
        ]
    return actions


def _reset(client: httpx.Client, target: Target, world: str, seed: int) -> float:
    began = time.perf_counter()
    opened = open_episode(client, target, world, seed)
    took = (time.perf_counter() - began) * 1000
    client.post(f"{target.url}/v1/episodes/{opened.episode_id}/close", headers=_control(target)).raise_for_status()
    return took


def open_episode(client: httpx.Client, target: Target, world: str, seed: int) -> Opened:
    request = {"task": None, "seed": seed, "world": world}
    answer = client.post(f"{target.url}/v1/episodes", json=request, headers=_control(target))
    answer.raise_for_status()
    return Opened.model_validate_json(answer.content)


def people_of(client: httpx.Client, opened: Opened) -> list[str]:
    access = opened.products["crm"]
    page = client.get(f"{access.base_url}{_CONTACTS}?limit=100", headers=_agent(access.credential))
    page.raise_for_status()
    return [found["id"] for found in page.json()["results"]]


def _mix(credentials: list[str], people: list[str]) -> list[Shot]:
    shots = []
    for index, person in enumerate(people):
        headers = {**_agent(credentials[index % len(credentials)]), "content-type": "application/json"}
        condition = {"propertyName": "hs_object_id", "operator": "EQ", "value": person}
        search = json.dumps({"filterGroups": [{"filters": [condition]}], "limit": 25})
        change = json.dumps({"properties": {"jobtitle": f"Buyer {index}"}})
        shots += [
            Shot("GET", f"{_CONTACTS}/{person}", headers),
            Shot("POST", f"{_CONTACTS}/search", headers, search),
            Shot("GET", f"{_CONTACTS}?limit=25", headers),
            Shot("PATCH", f"{_CONTACTS}/{person}", headers, change),
        ]
    return shots


def _reads(credentials: list[str], people: list[str]) -> list[Shot]:
    return [
        Shot("GET", f"{_CONTACTS}/{person}", _agent(credentials[at % len(credentials)]))
        for at, person in enumerate(people)
    ]


def _theirs(running: ExitStack, options: argparse.Namespace, console: Console) -> list[Case]:
    try:
        python = install_openenv(options.venv)
    except subprocess.CalledProcessError as error:
        console.print(f"{PACKAGE} could not be installed, so there is nothing to compare with: {error.stderr[-500:]}")
        return []
    port, pid = running.enter_context(run_server([str(python), "-c", EMPTY_ENVIRONMENT], {}))
    shot = Shot("POST", "/step", {"content-type": "application/json"}, json.dumps({"action": {"message": "x"}}))
    base = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
        client.post("/reset", json={}).raise_for_status()
        reset_ms = median(_time(lambda: client.post("/reset", json={}).raise_for_status()) for _ in range(_RESETS))
    socket_reset_ms, session_kb = uvloop.run(_hold_sockets(port, pid, {}))
    work, empty = "nothing: an empty environment", _over_sockets(port, {}, [{"message": "x"}], [pid])
    return [
        Case(_THEIRS_OVER_HTTP, work, reset_ms, 0.0, _HTTP_TOOL, _over_http(base, [shot], [pid])),
        Case(_THEIRS_OVER_SOCKETS, work, socket_reset_ms, session_kb, _SOCKET_TOOL, empty),
    ]


def _over_http(base: str, shots: list[Shot], pids: list[int]) -> Run:
    def run(seconds: float) -> Rate:
        before = _cpu_seconds(pids)
        ceiling = measure(base, shots, seconds)
        if ceiling.refused:
            raise NotReady(f"{ceiling.refused} requests to {base} were refused")
        return Rate(ceiling.per_second, (_cpu_seconds(pids) - before) * 1e6 / (ceiling.per_second * seconds))

    return run


def _over_sockets(port: int, choices: dict[str, Any], actions: list[dict[str, Any]], pids: list[int]) -> Run:
    frames = [encode_frame({"type": "step", "data": action}) for action in actions]

    async def step_all(seconds: float) -> Rate:
        sockets = [await Socket.open(port, "/ws") for _ in range(_SESSIONS)]
        for socket in sockets:
            await _reset_of(socket, choices)
        before, until = _cpu_seconds(pids), time.perf_counter() + seconds
        steps = (_step(socket, frames[number:] + frames[:number], until) for number, socket in enumerate(sockets))
        steps_done = sum(await asyncio.gather(*steps))
        cpu_us = (_cpu_seconds(pids) - before) * 1e6 / steps_done
        for socket in sockets:
            socket.close()
        return Rate(steps_done / seconds, cpu_us)

    return lambda seconds: uvloop.run(step_all(seconds))


async def _hold_sockets(port: int, pid: int, choices: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds of a reset, and KB a session held."""
    before = read_stats([pid]).memory_mb
    sockets = [await Socket.open(port, "/ws") for _ in range(_HELD)]
    resets = [await _reset_of(socket, choices) for socket in sockets]
    session_kb = (read_stats([pid]).memory_mb - before) * 1024 / _HELD
    for socket in sockets:
        socket.close()
    return median(resets), session_kb


async def _reset_of(socket: Socket, choices: dict[str, Any]) -> float:
    began = time.perf_counter()
    answer = await socket.call({"type": "reset", "data": choices})
    if answer["type"] != "observation":
        raise NotReady(f"a reset was answered with {answer}")
    return (time.perf_counter() - began) * 1000


async def _step(socket: Socket, frames: list[bytes], until: float) -> int:
    count = 0
    for frame in cycle(frames):
        if time.perf_counter() >= until:
            break
        answer = orjson.loads(await socket.exchange(frame))
        if answer["type"] != "observation" or answer["data"]["done"]:
            raise NotReady(f"a step was answered with {answer}")
        count += 1
    return count


def _cpu_seconds(pids: list[int]) -> float:
    return sum(map(cpu_seconds, pids))


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _agent(credential: str) -> dict[str, str]:
    return {"authorization": f"Bearer {credential}"}


def _control(target: Target) -> dict[str, str]:
    return {"authorization": f"Bearer {target.token}"}


def _print(console: Console, figures: list[Figures]) -> None:
    table = Table(title=f"side by side: {_SESSIONS} connections, memory at {_HELD} sessions, {describe_machine()}")
    for heading in ("", "a step does", "steps/s", "CPU µs a step", "reset ms", "KB a session", "measured by"):
        table.add_column(heading, justify="left" if heading in ("", "a step does", "measured by") else "right")
    for row in figures:
        session = f"{row.session_kb:,.0f}" if row.session_kb else "shared"
        rate, cpu_us = f"{row.steps_per_second:,.0f}", f"{row.cpu_us:.0f}"
        table.add_row(row.who, row.work, rate, cpu_us, f"{row.reset_ms:.2f}", session, row.tool)
    console.print(table)
