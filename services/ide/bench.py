"""What a workspace costs, ours beside SWE-ReX's: python -m services.ide.bench

Both sides speak over HTTP on loopback and are asked the same: a session, a command in it, a command outside of one.
Ours is isolated; SWE-ReX's server runs its shells as plain processes of its own user.
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

from services.ide import workshop
from services.ide.images import Image
from services.ide.limits import Limits
from services.ide.runner import Bubblewrap
from services.ide.seeding import Seed, rows_of
from services.ide.tables import schema, users
from services.kernel.template import WorldMeta, build

_ROUNDS = 40
_FILES = 500
_NOW_MS = 1_760_000_000_000
_TOKEN = "bench-credential"  # noqa: S105 - a loopback process that lives for a minute
_DOOR = "bench-door"
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
    """A tree of 500 files into a sandbox that waits for one."""
    entries = [(f"app/p{at % 25}/m{at}.py", 0o100644, f"VALUE = {at}\n".encode() * 80, 0) for at in range(_FILES)]
    image = Image.of(entries)
    house = workshop.Workshop(Bubblewrap(), Limits(), warm=2)
    await house.open()
    spent = []
    for _ in range(_ROUNDS // 2):
        sandbox = await house.take()
        await asyncio.sleep(0.15)
        began = time.perf_counter()
        await image.lay_out(sandbox)
        spent.append((time.perf_counter() - began) * 1000)
        sandbox.end()
    await house.close()
    return spent


async def runtime_ms(url: str, token: str) -> dict[str, list[float]]:
    """The same three things of whoever speaks the remote runtime's protocol."""
    headers = {"x-api-key": token}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:

        async def post(path: str, body: Mapping[str, object]) -> None:
            (await client.post(path, json=body)).raise_for_status()

        await post("/execute", {"command": "true", "shell": True})
        asked = [{"session": f"s{at}", "session_type": "bash", "startup_timeout": 30.0} for at in range(_ROUNDS // 4)]
        opened = [await _timed(partial(post, "/create_session", session)) for session in asked]
        action = {"action_type": "bash", "command": "echo hi", "session": "s0", "check": "silent", "timeout": 10}
        ran = [await _timed(partial(post, "/run_in_session", action)) for _ in range(_ROUNDS)]
        shot = {"command": "echo hi", "shell": True}
        single = [await _timed(partial(post, "/execute", shot)) for _ in range(_ROUNDS)]
    return {"open a session": opened, "command in a session": ran, "one-shot command": single}


async def _timed(what: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await what()
    return (time.perf_counter() - began) * 1000


@contextmanager
def ours(folder: Path) -> Iterator[str]:
    _build(folder)
    port = _free_port()
    settings = {"DAYSHIFT_VAR": str(folder), "DAYSHIFT_DOOR_TOKEN": _DOOR, "DAYSHIFT_IDE_PORT": str(port)}
    with _running([sys.executable, "-c", _SERVE], port, settings):
        opening = {"episode_id": "bench", "credential": _TOKEN, "seed": 1, "world": "bench"}
        headers = {"authorization": f"Bearer {_DOOR}"}
        door = f"http://127.0.0.1:{port + 10}/control/episodes"
        httpx.post(door, json=opening, headers=headers, timeout=30).raise_for_status()
        yield f"http://127.0.0.1:{port}"


@contextmanager
def theirs() -> Iterator[str]:
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
                    raise RuntimeError(f"the subject ended: {log.read()[-2000:]}")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(20)


def _build(folder: Path) -> None:
    """A repository with one file is enough: what is measured is the way there."""
    repository = folder / "notes"
    repository.mkdir()
    (repository / "README.md").write_text("# notes\n")
    who = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *who, *arguments], cwd=repository, check=True)  # noqa: S603, S607 - our own folder
    seed = Seed(1, "bench", "notes", "", repository, _NOW_MS, _NOW_MS, "localhost")
    me = {"id": 1, "login": "dev", "name": "Dev", "email": "dev@localhost", "is_me": 1}
    about = WorldMeta("ide", "bench", 1, _NOW_MS, {})
    build(folder / "worlds" / "ide-bench.sqlite", schema, about, [*rows_of(seed), (users, [me])])


def _free_port() -> int:
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 10))
            except (OSError, OverflowError):
                continue
            return port


def main() -> None:
    console = Console()
    measured = {"lay out 500 files": asyncio.run(lay_out_ms())}
    with tempfile.TemporaryDirectory() as folder, ours(Path(folder)) as url:
        measured |= asyncio.run(runtime_ms(url, _TOKEN))
    with theirs() as url:
        beside = asyncio.run(runtime_ms(url, _TOKEN))
    table = Table(title="a workspace, p50 over HTTP on loopback, in ms")
    for heading in ("what", "ours, isolated", "bar", "SWE-ReX, not isolated"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, spent in measured.items():
        mine = statistics.median(spent)
        other = f"{statistics.median(beside[name]):.1f}" if name in beside else "–"
        verdict = "ok" if mine <= _BARS[name] else "MISSED"
        table.add_row(name, f"{mine:.1f}", f"≤ {_BARS[name]:.0f} {verdict}", other)
    console.print(table)
    console.print(f"load of this machine while measured: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
