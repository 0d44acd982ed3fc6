"""A product as a real process with two real sockets."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from tests.kernel.pantry import build_pantry

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from services.kernel.config import Settings
from services.kernel.faults import PLANS, FaultKind, FaultRates
from services.kernel.serve import run_product
from tests.kernel.pantry import product

PLANS["cutting"] = FaultRates(shares=((FaultKind.DROPPED, 1.0),), longest_run=1)
settings = Settings(var=Path(sys.argv[1]), harness_token="harness-secret", log_level="info")
run_product(replace(product, port=int(sys.argv[2])), settings)
"""


def free_port() -> int:
    """A port whose neighbour ten above is free too."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                two.bind(("127.0.0.1", port + 10))
            except (OSError, OverflowError):
                continue
            return port


class Running:
    """A pantry process and how to talk to it."""

    def __init__(self, folder: Path, port: int, log: int | None = None) -> None:
        self.port = port
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folder), str(port)],
            stderr=self.log if log is None else log,
            env={**os.environ, "PYTHONPATH": "."},
        )
        self.harness = httpx.Client(
            base_url=f"http://127.0.0.1:{port + 10}", headers={"authorization": "Bearer harness-secret"}, timeout=120
        )
        self.agent = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"authorization": "Bearer pk_one_secret"}, timeout=120
        )

    def await_health(self) -> None:
        for _ in range(1200):
            try:
                assert self.harness.get("/health").status_code == 200
                return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(self.read_log())

    def open(self, **opening: object) -> None:
        body = {"episode_id": "e1", "credential": "pk_one_secret", "seed": 3, "world": "small", **opening}
        assert self.harness.post("/control/episodes", json=body).status_code == 201

    def read_log(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def stop(self) -> None:
        self.harness.close()
        self.agent.close()
        self.stop_process()
        if self.process.stderr is not None:
            self.process.stderr.close()
        self.log.close()

    def stop_process(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    build_pantry(tmp_path / "worlds")
    service = Running(tmp_path, free_port())
    service.await_health()
    yield service
    service.stop()


def test_the_agents_socket_has_no_harness_api_and_the_harness_socket_no_product(running: Running) -> None:
    running.open()
    inside = [running.agent.get(path).status_code for path in ("/control/episodes", "/health", "/metrics")]
    outside = [
        httpx.get(
            f"http://127.0.0.1:{running.port + 10}{path}", headers={"authorization": "Bearer pk_one_secret"}
        ).status_code
        for path in ("/control/episodes", "/shelves/1")
    ]

    assert running.agent.get("/shelves/1").status_code == 200
    assert inside == [404, 404, 404]
    assert outside == [401, 401]
    assert running.harness.get("/shelves/1").status_code == 404


def test_a_planned_cut_ends_the_connection_without_a_byte(running: Running) -> None:
    running.open(faults="cutting")

    with pytest.raises(httpx.RemoteProtocolError):
        running.agent.get("/shelves/1")
    assert running.agent.get("/shelves/1").status_code == 200


def test_answers_carry_the_episodes_time_and_no_name_of_the_server(running: Running) -> None:
    running.open()
    headers = running.agent.get("/shelves/1").headers

    assert headers["date"] == "Thu, 09 Oct 2025 08:53:21 GMT"
    assert "server" not in headers


def test_logs_are_json_lines_without_secrets(running: Running) -> None:
    running.open()
    running.agent.get("/shelves/1")
    running.stop_process()
    log = running.read_log()
    (line,) = [line for line in map(json.loads, log.splitlines()) if line["event"] == "answered"]

    assert (line["operation"], line["status"]) == ("pantry.shelves.get", 200)
    assert (line["level"], line["logger"]) == ("info", "dayshift.pantry")
    assert abs(datetime.fromisoformat(line["time"]).timestamp() - time.time_ns() / 1e9) < 600
    assert "pk_one_secret" not in log
    assert "harness-secret" not in log


def test_a_reader_who_stops_reading_the_log_stops_nobody_else(tmp_path: Path) -> None:
    build_pantry(tmp_path / "worlds")
    service = Running(tmp_path, free_port(), log=subprocess.PIPE)
    try:
        service.await_health()
        service.open()
        # A pipe holds 64 KiB: more lines than that, and nobody drains it.
        answers = {service.agent.get("/shelves/1", timeout=10).status_code for _ in range(1500)}

        assert answers == {200}
        assert service.harness.get("/health", timeout=10).status_code == 200
    finally:
        service.stop()


def test_a_port_in_use_is_named(running: Running, tmp_path: Path) -> None:
    second = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), str(running.port)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, "PYTHONPATH": "."},
    )

    assert second.returncode != 0
    assert f"port {running.port}" in second.stderr


def test_one_signal_stops_both_sockets(running: Running) -> None:
    running.process.send_signal(signal.SIGINT)

    assert running.process.wait(60) == 0
