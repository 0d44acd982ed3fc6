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

from tests.ide.sample import build_sample

DOOR_TOKEN = "door-of-the-stand"
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
class Opened:
    """One episode and its credential."""

    stand: "Stand"
    id: str
    token: str

    @property
    def url(self) -> str:
        return self.stand.url

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {self.token}", **headers}, timeout=60)

    def control(self, verb: str, **body: Any) -> dict[str, Any]:
        answer = self.stand.door.post(f"/control/episodes/{self.id}/{verb}", json=body)
        answer.raise_for_status()
        told: dict[str, Any] = answer.json()
        return told

    def diff(self) -> dict[str, Any]:
        told: dict[str, Any] = self.stand.door.get(f"/control/episodes/{self.id}/diff").json()
        return told

    def verify(self, *checks: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        asked = [{"name": name, "arguments": arguments} for name, arguments in checks]
        told = self.control("verify", checks=asked)
        assert told["broken"] is None, told["broken"]
        found: list[dict[str, Any]] = told["findings"]
        return found

    def execute(self, command: str, **more: Any) -> dict[str, Any]:
        with self.client() as client:
            answer = client.post("/execute", json={"command": command, "shell": True, **more})
            answer.raise_for_status()
            told: dict[str, Any] = answer.json()
            return told

    def close(self) -> None:
        self.stand.door.post(f"/control/episodes/{self.id}/close", json={})


@dataclass
class Stand:
    """A running service and its two doors."""

    url: str
    door: httpx.Client
    pid: int
    opened: list[Opened] = field(default_factory=list)

    def open(self, planted: list[dict[str, Any]] | None = None, seed: int = 7) -> Opened:
        number = next(_NUMBERS)
        token = f"dtn_stand_{number}_secret"
        body = {
            "episode_id": f"e{number}",
            "credential": token,
            "seed": seed,
            "world": "small",
            "planted": planted or [],
        }
        self.door.post("/control/episodes", json=body).raise_for_status()
        self.opened.append(Opened(self, f"e{number}", token))
        return self.opened[-1]

    def close_all(self) -> None:
        for one in self.opened:
            one.close()
        self.opened.clear()


@contextmanager
def stand(folder: Path, **environment: str) -> Iterator[Stand]:
    build_sample(folder)
    port = free_port()
    settings = {"DAYSHIFT_VAR": str(folder), "DAYSHIFT_DOOR_TOKEN": DOOR_TOKEN, "DAYSHIFT_IDE_PORT": str(port)}
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN], env={**os.environ, **settings, **environment}, stdout=log, stderr=log
    )
    door = httpx.Client(
        base_url=f"http://127.0.0.1:{port + 10}", headers={"authorization": f"Bearer {DOOR_TOKEN}"}, timeout=120
    )
    try:
        _await(door, process, folder / "log")
        yield Stand(f"http://127.0.0.1:{port}", door, process.pid)
    finally:
        door.close()
        process.terminate()
        process.wait(20)
        log.close()


def free_port() -> int:
    """With its tenth neighbour free."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 10))
            except (OSError, OverflowError):
                continue
            return port


def _await(door: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the IDE ended: {log.read_text()[-3000:]}")
        try:
            if door.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError("the IDE did not start")
