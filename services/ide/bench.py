"""What a workspace costs, swe_rex SWE-ReX's: python -m services.ide.bench

Both serve the same requests over HTTP on loopback: a session, a command in it, a command outside of one.
Dayshift's is isolated; SWE-ReX's server runs its shells as plain processes of its own user.
"""

import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from services.ide.rows import RepositoryId, UserId, UserRow
from services.ide.sandbox.bubblewrap import Bubblewrap
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.pool import SandboxPool
from services.ide.tables import schema, users
from services.ide.workspace.local_repository import LocalRepository
from services.kernel.template import WorldMeta, build

_ROUNDS = 40
_FILES = 500
_NOW_MS = 1_760_000_000_000
_TOKEN = "bench-credential"  # noqa: S105 - a loopback process that lives for a minute
_HARNESS_TOKEN = "bench-harness"  # noqa: S105 - as above
_BARS = {
    "lay out 500 files": 10.0,
    "open a session": 40.0,
    "command in a session": 15.0,
    "one-shot command": 20.0,
}
_SERVE = """
from services.ide.product import product
from services.kernel.config import Settings
from services.kernel.serve import run_product
run_product(product, Settings.from_environment())
"""


async def lay_out_ms() -> list[float]:
    """Time to lay out a tree of 500 files in a sandbox that runs already."""
    image = Image.of(
        ImageEntry(f"app/p{number % 25}/m{number}.py", 0o100644, f"VALUE = {number}\n".encode() * 80)
        for number in range(_FILES)
    )
    pool = SandboxPool(Bubblewrap(), Limits(), warm=2)
    await pool.open()
    durations = []
    for _ in range(_ROUNDS // 2):
        sandbox = await pool.take()
        await asyncio.sleep(0.15)
        start = time.perf_counter()
        await image.lay_out(sandbox)
        durations.append((time.perf_counter() - start) * 1000)
        sandbox.end()
    await pool.close()
    return durations


async def runtime_ms(url: str, token: str) -> dict[str, list[float]]:
    """Times of three requests to a server that speaks the remote runtime's protocol."""
    headers = {"x-api-key": token}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:

        async def post(path: str, body: Mapping[str, object]) -> None:
            (await client.post(path, json=body)).raise_for_status()

        await post("/execute", {"command": "true", "shell": True})
        names = [f"s{number}" for number in range(_ROUNDS // 4)]
        sessions = [{"session": name, "session_type": "bash", "startup_timeout": 30.0} for name in names]
        action = {"action_type": "bash", "command": "echo hi", "session": "s0", "check": "silent", "timeout": 10}
        one_shot = {"command": "echo hi", "shell": True}
        return {
            "open a session": [await _time_ms(partial(post, "/create_session", session)) for session in sessions],
            "command in a session": [await _time_ms(partial(post, "/run_in_session", action)) for _ in range(_ROUNDS)],
            "one-shot command": [await _time_ms(partial(post, "/execute", one_shot)) for _ in range(_ROUNDS)],
        }


async def _time_ms(call: Callable[[], Awaitable[None]]) -> float:
    start = time.perf_counter()
    await call()
    return (time.perf_counter() - start) * 1000


@contextmanager
def serve_dayshift(folder: Path) -> Iterator[str]:
    _build(folder)
    port = _free_port()
    settings = {"DAYSHIFT_VAR": str(folder), "DAYSHIFT_HARNESS_TOKEN": _HARNESS_TOKEN, "DAYSHIFT_IDE_PORT": str(port)}
    with _running([sys.executable, "-c", _SERVE], port, settings):
        opening = {"episode_id": "bench", "credential": _TOKEN, "seed": 1, "world": "bench"}
        headers = {"authorization": f"Bearer {_HARNESS_TOKEN}"}
        episodes = f"http://127.0.0.1:{port + 10}/control/episodes"
        httpx.post(episodes, json=opening, headers=headers, timeout=30).raise_for_status()
        yield f"http://127.0.0.1:{port}"


@contextmanager
def serve_swe_rex() -> Iterator[str]:
    port = _free_port()
    server = shutil.which("swerex-remote", path=str(Path(sys.executable).parent)) or "swerex-remote"
    with _running([server, "--host", "127.0.0.1", "--port", str(port), "--auth-token", _TOKEN], port, {}):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _running(command: list[str], port: int, settings: dict[str, str]) -> Iterator[None]:
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log)  # noqa: S603 - our own commands
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                if process.poll() is not None:
                    log.seek(0)
                    raise RuntimeError(f"the server ended: {log.read()[-2000:]}")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(20)


def _build(folder: Path) -> None:
    """A repository with one file is enough: its content is not measured."""
    repository = folder / "notes"
    repository.mkdir()
    (repository / "README.md").write_text("# notes\n")
    who = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *who, *arguments], cwd=repository, check=True)  # noqa: S603, S607 - our own folder
    source = LocalRepository(RepositoryId(1), "bench", "notes", "", repository, _NOW_MS, _NOW_MS, "localhost")
    me: UserRow = {"id": UserId(1), "login": "dev", "name": "Dev", "email": "dev@localhost", "is_me": 1}
    about = WorldMeta("ide", "bench", 1, _NOW_MS, {})
    build(folder / "worlds" / "ide-bench.sqlite", schema, about, [*source.rows(), (users, [me])])


def _free_port() -> int:
    while True:
        with socket.socket() as agent, socket.socket() as harness:
            agent.bind(("127.0.0.1", 0))
            port: int = agent.getsockname()[1]
            try:
                harness.bind(("127.0.0.1", port + 10))
            except (OSError, OverflowError):
                continue
            return port


def main() -> None:
    console = Console()
    measured = {"lay out 500 files": asyncio.run(lay_out_ms())}
    with tempfile.TemporaryDirectory() as folder, serve_dayshift(Path(folder)) as url:
        measured |= asyncio.run(runtime_ms(url, _TOKEN))
    with serve_swe_rex() as url:
        swe_rex = asyncio.run(runtime_ms(url, _TOKEN))
    table = Table(title="a workspace, p50 over HTTP on loopback, in ms")
    for heading in ("what", "Dayshift, isolated", "bar", "SWE-ReX, not isolated"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, durations in measured.items():
        median = statistics.median(durations)
        other = f"{statistics.median(swe_rex[name]):.1f}" if name in swe_rex else "–"
        verdict = "ok" if median <= _BARS[name] else "MISSED"
        table.add_row(name, f"{median:.1f}", f"≤ {_BARS[name]:.0f} {verdict}", other)
    console.print(table)
    console.print(f"load of this machine while measured: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
