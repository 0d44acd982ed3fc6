"""peers: side by side with OpenEnv's own server, in one run on one machine."""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import httpx
from dayshift.wire import Opened
from rich.console import Console
from rich.table import Table

from loadtests.ceiling import Shot, measure
from loadtests.machine_description import describe_machine
from loadtests.process_stats import read_stats
from loadtests.targets import NotReady, Target, free_ports, start_embedded
from loadtests.websocket import Socket

_PACKAGE = "openenv-core"
_SESSIONS = 32
_HELD = 200
_RESETS = 50
_CONTACTS = "/crm/v3/objects/contacts"

# The smallest environment that OpenEnv's server takes: it does nothing at all.
_EMPTY_ENVIRONMENT = """
import sys
import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

class Nothing(Action):
    message: str = ""

class Silence(Observation):
    pass

class Empty(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    def reset(self, *args, **options):
        return Silence(done=False, reward=0.0)
    def step(self, action, *args, **options):
        return Silence(done=False, reward=0.0)
    @property
    def state(self):
        return State(episode_id="one", step_count=0)

app = create_fastapi_app(Empty, Nothing, Silence, max_concurrent_envs=1000)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """One server over one protocol."""

    who: str
    work: str
    steps_per_second: float
    reset_ms: float
    session_kb: float
    tool: str


def peers(options: argparse.Namespace) -> int:
    console = Console()
    ours = _ours(options)
    theirs = _theirs(options, console)
    _print(console, [*ours, *theirs])
    options.reports.mkdir(parents=True, exist_ok=True)
    kept = {"machine": describe_machine(), "figures": [asdict(one) for one in (*ours, *theirs)]}
    (options.reports / "peers.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False))
    bar = max((one.steps_per_second for one in theirs if one.who == "OpenEnv over HTTP"), default=None)
    if bar is None:
        return 1
    return 0 if ours[0].steps_per_second >= bar else 1


def _ours(options: argparse.Namespace) -> list[Figures]:
    with start_embedded(options.worlds) as target, httpx.Client(timeout=60, trust_env=False) as client:
        reset_ms = median(_reset(client, target, options.world, number) for number in range(_RESETS))
        before = read_stats(target.pids()).memory_mb
        opened = [opened_episode(client, target, options.world, number) for number in range(_HELD)]
        session_kb = (read_stats(target.pids()).memory_mb - before) * 1024 / _HELD
        base, people = opened[0].products["crm"].base_url, people_of(client, opened[0])
        credentials = [one.products["crm"].credential for one in opened[:_SESSIONS]]
        kinds = {
            "Dayshift over HTTP": (
                "get, search, list of 25 and update, evenly, on real rows",
                _mixed(credentials, people),
            ),
            "Dayshift, reads by id": ("one contact with its properties", _reads(credentials, people)),
        }
        found = []
        for who, (work, shots) in kinds.items():
            measure(base, shots, 1.0)
            ceiling = measure(base, shots, options.seconds)
            if ceiling.refused:
                raise NotReady(f"{ceiling.refused} requests of {who} were refused")
            found.append(Figures(who, work, ceiling.per_second, reset_ms, session_kb, ceiling.tool))
        return found


def _reset(client: httpx.Client, target: Target, world: str, seed: int) -> float:
    began = time.perf_counter()
    opened = opened_episode(client, target, world, seed)
    took = (time.perf_counter() - began) * 1000
    client.post(f"{target.url}/v1/episodes/{opened.episode_id}/close", headers=_control(target)).raise_for_status()
    return took


def opened_episode(client: httpx.Client, target: Target, world: str, seed: int) -> Opened:
    request = {"task": None, "seed": seed, "world": world}
    answer = client.post(f"{target.url}/v1/episodes", json=request, headers=_control(target))
    answer.raise_for_status()
    return Opened.model_validate_json(answer.content)


def people_of(client: httpx.Client, opened: Opened) -> list[str]:
    access = opened.products["crm"]
    page = client.get(f"{access.base_url}{_CONTACTS}?limit=100", headers=_agent(access.credential))
    page.raise_for_status()
    return [found["id"] for found in page.json()["results"]]


def _mixed(credentials: list[str], people: list[str]) -> list[Shot]:
    shots = []
    for at, person in enumerate(people):
        headers = {**_agent(credentials[at % len(credentials)]), "content-type": "application/json"}
        condition = {"propertyName": "hs_object_id", "operator": "EQ", "value": person}
        search = json.dumps({"filterGroups": [{"filters": [condition]}], "limit": 25})
        change = json.dumps({"properties": {"jobtitle": f"Buyer {at}"}})
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


def _theirs(options: argparse.Namespace, console: Console) -> list[Figures]:
    try:
        python = _installed(options.venv)
    except subprocess.CalledProcessError as error:
        console.print(f"{_PACKAGE} could not be installed, so there is nothing to compare with: {error.stderr[-500:]}")
        return []
    with _empty_server(python) as (port, pid):
        shot = Shot("POST", "/step", {"content-type": "application/json"}, json.dumps({"action": {"message": "x"}}))
        base = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
            client.post("/reset", json={}).raise_for_status()
            reset_ms = median(_timed(lambda: client.post("/reset", json={}).raise_for_status()) for _ in range(_RESETS))
        measure(base, [shot], 1.0)
        http = measure(base, [shot], options.seconds)
        steps, ws_reset_ms, session_kb = asyncio.run(_over_websockets(port, pid, options.seconds))
    work = "nothing: an empty environment"
    return [
        Figures("OpenEnv over HTTP", work, http.per_second, reset_ms, 0.0, http.tool),
        Figures("OpenEnv over WebSockets", work, steps, ws_reset_ms, session_kb, "our own client in Python"),
    ]


async def _over_websockets(port: int, pid: int, seconds: float) -> tuple[float, float, float]:
    """Steps a second at 32 sessions, milliseconds of a reset, and KB a session held."""
    before = read_stats([pid]).memory_mb
    sockets = [await Socket.open(port, "/ws") for _ in range(_HELD)]
    resets = [await _reset_of(one) for one in sockets]
    session_kb = (read_stats([pid]).memory_mb - before) * 1024 / _HELD
    until = time.perf_counter() + seconds
    counts = await asyncio.gather(*(_step(one, until) for one in sockets[:_SESSIONS]))
    for one in sockets:
        one.close()
    return sum(counts) / seconds, median(resets), session_kb


async def _reset_of(socket: Socket) -> float:
    began = time.perf_counter()
    await socket.call({"type": "reset", "data": {}})
    return (time.perf_counter() - began) * 1000


async def _step(socket: Socket, until: float) -> int:
    done = 0
    while time.perf_counter() < until:
        answer = await socket.call({"type": "step", "data": {"message": "x"}})
        if answer["type"] != "observation":
            raise NotReady(f"OpenEnv answered {answer}")
        done += 1
    return done


@contextmanager
def _empty_server(python: Path) -> Iterator[tuple[int, int]]:
    port = free_ports()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(_EMPTY_ENVIRONMENT)
        script.flush()
        # What it says of sockets that close without a word is not ours to show.
        started = subprocess.Popen([str(python), script.name, str(port)], stderr=subprocess.DEVNULL)  # noqa: S603 - our own script
        try:
            _await_health(port, started)
            yield port, started.pid
        finally:
            started.terminate()
            started.wait(20)


def _await_health(port: int, started: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        if started.poll() is not None:
            break
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise NotReady("OpenEnv's server did not start")


def _installed(venv: Path) -> Path:
    """In an environment of its own, kept for the next run: it brings a hundred packages that are not ours."""
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True, text=True)  # noqa: S603
    if not any(venv.glob("lib/*/site-packages/openenv/core")):
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", _PACKAGE]
        subprocess.run(install, check=True, capture_output=True, text=True)  # noqa: S603 - into that environment alone
    return python


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _agent(credential: str) -> dict[str, str]:
    return {"authorization": f"Bearer {credential}"}


def _control(target: Target) -> dict[str, str]:
    return {"authorization": f"Bearer {target.token}"}


def _print(console: Console, found: list[Figures]) -> None:
    table = Table(title=f"side by side: {_SESSIONS} connections, memory at {_HELD} sessions, {describe_machine()}")
    for heading in ("", "a step does", "steps/s", "reset ms", "KB a session", "measured by"):
        table.add_column(heading, justify="left" if heading in ("", "a step does", "measured by") else "right")
    for one in found:
        session = f"{one.session_kb:,.0f}" if one.session_kb else "shared"
        table.add_row(one.who, one.work, f"{one.steps_per_second:,.0f}", f"{one.reset_ms:.2f}", session, one.tool)
    console.print(table)
