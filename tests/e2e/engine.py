"""Starts the compose stack on a Docker engine, under its own project name and ports."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from dayshift.control_token import COMPOSE_DEFAULT

from services.kernel import catalog
from tests.control.stack import free_base

ROOT = Path(__file__).resolve().parents[2]
# What compose takes where nobody sets a token: clients on this machine find it by themselves.
TOKEN = COMPOSE_DEFAULT
PLAYGROUND = "playground-of-this-run"
_ENGINE = ROOT / ".ci" / "docker-engine"
_IMAGES = ("python:3.11-slim-bookworm", "postgres:15-bookworm", "redis:7-bookworm")
_HOW = (
    "no Docker engine answers: install Docker (docker.io and docker-compose on Debian, Docker Desktop elsewhere),"
    " start it, and run make compose-test again; as root on Debian, .ci/docker-engine does it"
)


def require_engine() -> None:
    """Starts an engine and fetches the base images where that is possible, and fails with the remedy where not."""
    can_install = os.geteuid() == 0 and shutil.which("apt-get") is not None
    if not _answers() and can_install:
        subprocess.run([str(_ENGINE), "up"], check=True)
    if not _answers():
        pytest.fail(_HOW, pytrace=False)
    if can_install and not all(_has(image) for image in _IMAGES):
        subprocess.run([str(_ENGINE), "images"], check=True)


def _answers() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def _has(image: str) -> bool:
    return subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode == 0


@dataclass
class Composed:
    """The compose stack, from `up` to `down`."""

    base: int = field(default_factory=free_base)
    project: str = field(default_factory=lambda: f"dayshift-e2e-{os.getpid()}")

    def __post_init__(self) -> None:
        probe = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        self._tool = ["docker", "compose"] if probe.returncode == 0 else ["docker-compose"]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DAYSHIFT_")},
            "COMPOSE_PROJECT_NAME": self.project,
            "DAYSHIFT_PLAYGROUND_TOKEN": PLAYGROUND,
            "DAYSHIFT_CONTROL_PORT": str(self.base),
            "DAYSHIFT_CONSOLE_PORT": str(self.base + 5),
            "DAYSHIFT_MCP_PORT": str(self.base + 6),
            **{
                f"DAYSHIFT_{name.upper()}_PORT": str(self.base + product.port - 8700)
                for name, product in catalog.products().items()
            },
            "DAYSHIFT_RELAY": f"{self.base + 11}-{self.base + 13}",
            "DAYSHIFT_LOG": "warning",
        }
        self.control = httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=120)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.base}"

    def __call__(self, *arguments: str, folder: Path = ROOT) -> str:
        done = subprocess.run(
            [*self._tool, *arguments], cwd=folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def start(self) -> None:
        # One image for every service: docker-compose 1.29 would build it once for each of them.
        self("build", "control")
        self("up", "-d")
        self.await_health(300)

    def stop(self) -> None:
        self.control.close()
        self("down", "-v", "--timeout", "15")

    def await_health(self, seconds: float = 90) -> None:
        self.eventually(self.is_well, seconds)

    def is_well(self) -> bool:
        try:
            return self.control.get("/health").status_code == 200
        except httpx.HTTPError:
            return False

    def eventually(self, claim: Any, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not claim():
            assert time.monotonic() < deadline, self("logs", "--tail", "40")
            time.sleep(0.25)

    def containers(self, service: str) -> list[str]:
        return self("ps", "-q", service).split()

    def inspect(self, container: str) -> dict[str, Any]:
        output = subprocess.run(["docker", "inspect", container], capture_output=True, text=True, check=True).stdout
        inspected: dict[str, Any] = json.loads(output)[0]
        return inspected

    def run_in(self, container: str, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["docker", "exec", container, *command], capture_output=True, text=True, check=False)

    def open(self, **request: Any) -> dict[str, Any]:
        """Opens an episode as a trainer does: while the stack is not ready, control says when to try again."""
        answers: list[httpx.Response] = []

        def is_open() -> bool:
            answers.append(self.control.post("/v1/episodes", json={"task": None, "world": "small", **request}))
            return answers[-1].status_code != 503

        self.eventually(is_open, 60)
        assert answers[-1].status_code == 201, answers[-1].text
        opened: dict[str, Any] = answers[-1].json()
        return opened
