"""The servers of a peers' run: OpenEnv's own with an empty environment, and the client's that speaks OpenEnv."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from loadtests.targets import NotReady, free_ports

PACKAGE, _VERSION = "openenv", "0.10.0"
# The smallest environment that OpenEnv's server takes: it does nothing at all.
EMPTY_ENVIRONMENT = """
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


@contextmanager
def run_server(command: list[str], settings: dict[str, str]) -> Iterator[tuple[int, int]]:
    """Runs a server; OpenEnv's takes its port as the last argument, ours by an option."""
    port = free_ports()
    place = ["--port", str(port)] if settings else [str(port)]
    # What it says of sockets that close without a word is not ours to show.
    started = subprocess.Popen([*command, *place], stderr=subprocess.DEVNULL, env={**os.environ, **settings})  # noqa: S603 - our own command
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
    raise NotReady("a server that speaks OpenEnv did not start")


def install_openenv(venv: Path) -> Path:
    """In an environment of its own, kept for the next run: it brings a hundred packages that are not ours."""
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, capture_output=True, text=True)  # noqa: S603
    if not any(venv.glob(f"lib/*/site-packages/{PACKAGE}-{_VERSION}.dist-info")):
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{PACKAGE}=={_VERSION}"]
        subprocess.run(install, check=True, capture_output=True, text=True)  # noqa: S603 - into that environment alone
    return python
