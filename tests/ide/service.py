"""The IDE as a process, with as many episodes as a test opens."""

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from services.kernel.config import SandboxSettings
from tests.ide.sample import build_sample

HARNESS_TOKEN = "harness-of-the-tests"
_RUN = """
import sys
from services.ide.product import product
from services.kernel.config import Settings
from services.kernel.product import CannotStart
from services.kernel.serve import run_product
try:
    run_product(product, Settings.from_environment())
except CannotStart as error:
    sys.exit(str(error))
"""
_NUMBERS = itertools.count(1)


@dataclass
class Episode:
    """One episode and its credential."""

    service: "IdeService"
    id: str
    token: str

    @property
    def url(self) -> str:
        return self.service.url

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"authorization": f"Bearer {self.token}", **headers}, timeout=300
        )

    def control(self, verb: str, **body: Any) -> dict[str, Any]:
        answer = self.service.harness.post(f"/control/episodes/{self.id}/{verb}", json=body)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content

    def diff(self) -> dict[str, Any]:
        diff: dict[str, Any] = self.service.harness.get(f"/control/episodes/{self.id}/diff").json()
        return diff

    def verify(self, *checks: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        answer = self.control("verify", checks=[{"name": name, "arguments": arguments} for name, arguments in checks])
        assert answer["broken"] is None, answer["broken"]
        findings: list[dict[str, Any]] = answer["findings"]
        return findings

    def execute(self, command: str, **more: Any) -> dict[str, Any]:
        with self.client() as client:
            answer = client.post("/execute", json={"command": command, "shell": True, **more})
            answer.raise_for_status()
            result: dict[str, Any] = answer.json()
            return result

    def close(self) -> None:
        self.service.harness.post(f"/control/episodes/{self.id}/close", json={})


@dataclass
class IdeService:
    """A running service: the agent API's URL, and a client of the harness API."""

    url: str
    harness: httpx.Client
    pid: int
    opened: list[Episode] = field(default_factory=list)

    def open(self, planted: list[dict[str, Any]] | None = None, seed: int = 7) -> Episode:
        number = next(_NUMBERS)
        token = f"dtn_tests_{number}_secret"
        body = {
            "episode_id": f"e{number}",
            "credential": token,
            "seed": seed,
            "world": "small",
            "planted": planted or [],
        }
        self.harness.post("/control/episodes", json=body).raise_for_status()
        self.opened.append(Episode(self, f"e{number}", token))
        return self.opened[-1]

    def close_all(self) -> None:
        for episode in self.opened:
            episode.close()
        self.opened.clear()


@contextmanager
def run_service(folder: Path, **environment: str) -> Iterator[IdeService]:
    build_sample(folder)
    port = free_port()
    settings = {
        "DAYSHIFT_VAR": str(folder),
        "DAYSHIFT_WHEELS": str(SandboxSettings.from_environment().wheels),
        "DAYSHIFT_HARNESS_TOKEN": HARNESS_TOKEN,
        "DAYSHIFT_IDE_PORT": str(port),
    }
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN], env={**os.environ, **settings, **environment}, stdout=log, stderr=log
    )
    harness = httpx.Client(
        base_url=f"http://127.0.0.1:{port + 10}", headers={"authorization": f"Bearer {HARNESS_TOKEN}"}, timeout=120
    )
    try:
        _wait_until_healthy(harness, process, folder / "log")
        yield IdeService(f"http://127.0.0.1:{port}", harness, process.pid)
    finally:
        harness.close()
        process.terminate()
        process.wait(20)
        log.close()


def free_port() -> int:
    """A port p such that p + 10, the harness API's, is free as well."""
    while True:
        with socket.socket() as agent, socket.socket() as harness:
            agent.bind(("127.0.0.1", 0))
            port: int = agent.getsockname()[1]
            try:
                harness.bind(("127.0.0.1", port + 10))
            except (OSError, OverflowError):
                continue
            return port


def _wait_until_healthy(harness: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    # Two minutes: on a busy machine an interpreter alone takes a while to start.
    for _ in range(2400):
        if process.poll() is not None:
            raise RuntimeError(f"the IDE ended: {log.read_text()[-3000:]}")
        try:
            if harness.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError("the IDE did not start")
