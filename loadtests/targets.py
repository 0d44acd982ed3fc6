"""Targets: the stack that a run is aimed at, started here or already there."""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from loadtests.process_stats import command_line, process_tree

_START_SECONDS = 120.0
_STOP_SECONDS = 20.0
_SETTLING_SECONDS = 30.0
# Control, and room for nine products with their harness APIs ten above them.
_NEIGHBOURS = range(20)
_FIRST_PORT, _LAST_PORT = 30_000, 32_600
_reserved_ports: set[int] = set()


class NotReady(RuntimeError):
    """There is nothing to aim at."""


@dataclass(frozen=True)
class Target:
    """A running stack: where control is, and which processes it is made of, where that can be known."""

    name: str
    url: str
    token: str = field(repr=False)
    root: int | None = None
    containers: tuple[str, ...] = ()

    def pids(self) -> list[int]:
        if self.root is not None:
            return process_tree(self.root)
        return [pid for root in _pids_of(self.containers) for pid in process_tree(root)]

    def service(self, name: str) -> int:
        """The process of one service of an embedded stack."""
        for pid in self.pids():
            if command_line(pid).endswith(f"-m services {name}"):
                return pid
        raise NotReady(f"no process of {self.name} is {name}")

    def get(self, path: str) -> Any:
        request = Request(self.url + path, headers={"authorization": f"Bearer {self.token}"})  # noqa: S310 - our own stack
        with urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            return json.load(answer)

    def warm(self, tasks: Iterable[str | None], world: str) -> None:
        """One episode of each: control studies a world when a family first asks about it, once in its life."""
        for task in tasks:
            opened = self._open_episode({"task": task, "world": world})
            self.post(f"/v1/episodes/{opened['episode_id']}/close", {})

    def _open_episode(self, request: Mapping[str, Any]) -> Any:
        """As a trainer does: a stack that has just lost a replica says when to try again."""
        deadline = time.monotonic() + _SETTLING_SECONDS
        while True:
            try:
                return self.post("/v1/episodes", request)
            except HTTPError as refused:
                if refused.code != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
                    raise NotReady(f"{request} was not opened: {refused.read().decode(errors='replace')}") from refused
                time.sleep(float(refused.headers.get("retry-after", 1)))

    def post(self, path: str, message: Mapping[str, Any]) -> Any:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        request = Request(self.url + path, json.dumps(message).encode(), headers)  # noqa: S310 - our own stack
        with urlopen(request, timeout=120) as answer:  # noqa: S310 - as above
            return json.load(answer)

    def open_episodes(self) -> int:
        """As control counts them; the playground is not one of them."""
        request = Request(self.url + "/metrics", headers={"authorization": f"Bearer {self.token}"})  # noqa: S310 - our own stack
        with urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            lines = answer.read().decode().splitlines()
        return int(sum(float(line.split()[-1]) for line in lines if line.startswith("dayshift_open_episodes")))

    def families(self, product: str | None = None) -> tuple[str, ...]:
        """Those that may be trained on (some are held out for tests); a product's own, not all that touch it."""
        offered = (family["id"] for family in self.get("/v1/tasks?split=train")["families"])
        return tuple(family for family in offered if product is None or family.startswith(f"{product}/"))


@contextmanager
def start_embedded(
    worlds: Path, settings: Mapping[str, str] | None = None, *arguments: str, base: int | None = None
) -> Iterator[Target]:
    """The whole stack as processes of this machine, on free ports, in a folder of its own, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="dayshift-load-"))
    (folder / "worlds").symlink_to(worlds.resolve())
    base, token = base or free_ports(), "load-control"
    environment = {**os.environ, "DAYSHIFT_VAR": str(folder), "DAYSHIFT_CONTROL_TOKEN": token, **(settings or {})}
    environment.setdefault("DAYSHIFT_LOG", "warning")
    command = [sys.executable, "-m", "services", "up", "--port-base", str(base), *arguments]
    with (folder / "log").open("w") as out:
        started = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)  # noqa: S603 - our own module
        target = Target("embedded", f"http://127.0.0.1:{base}", token, root=started.pid)
        try:
            await_health(target, started, Path(out.name))
            yield target
        finally:
            _stop(started)
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_target(options: argparse.Namespace) -> Iterator[Target]:
    if options.compose:
        yield compose_target(
            options.url or f"http://127.0.0.1:{os.environ.get('DAYSHIFT_CONTROL_PORT', '8700')}", options.token
        )
    elif options.url:
        yield running_target(options.url, options.token)
    else:
        with start_embedded(options.worlds) as target:
            yield target


def running_target(url: str, token: str) -> Target:
    """A stack that somebody else started; its cost is known where it is the compose stack of this machine."""
    target = Target("at " + url, url.rstrip("/"), token)
    await_health(target)
    return target


def compose_target(url: str, token: str, compose: tuple[str, ...] | None = None) -> Target:
    found = subprocess.run([*(compose or compose_command()), "ps", "-q"], capture_output=True, text=True, check=True)  # noqa: S603 - docker's own tool
    containers = tuple(found.stdout.split())
    if not containers:
        raise NotReady("the compose stack is not up: docker compose up -d --wait, or make compose-test")
    target = Target("compose", url.rstrip("/"), token, containers=containers)
    await_health(target)
    return target


def compose_command() -> tuple[str, ...]:
    """Compose v2 where it is, else docker-compose."""
    probe = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)  # noqa: S607 - found on the path
    return ("docker", "compose") if probe.returncode == 0 else ("docker-compose",)


def await_health(
    target: Target,
    started: "subprocess.Popen[bytes] | None" = None,
    log: Path | None = None,
    patience: float = _START_SECONDS,
) -> None:
    deadline = time.monotonic() + patience
    answer = ""
    while time.monotonic() < deadline:
        if started is not None and started.poll() is not None:
            raise NotReady(f"the stack ended while starting: {log.read_text()[-3000:] if log else ''}")
        with suppress(OSError, HTTPException):
            if target.get("/health")["status"] == "ok":
                return
        time.sleep(0.2)
    raise NotReady(f"{target.url} is not well after {patience:g} s {answer}")


def free_ports() -> int:
    """A port whose neighbours, where products and their harness APIs will listen, are free too.

    Below those that the kernel gives to callers: a caller that is given the very port it calls meets itself.
    """
    for base in range(_FIRST_PORT + os.getpid() % 100 * 20, _LAST_PORT, 20):
        if base not in _reserved_ports and all(_is_free(base + step) for step in _NEIGHBOURS):
            _reserved_ports.add(base)
            return base
    raise NotReady("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _stop(started: "subprocess.Popen[bytes]") -> None:
    if started.poll() is None:
        started.send_signal(signal.SIGTERM)
    try:
        started.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()


def _pids_of(containers: tuple[str, ...]) -> list[int]:
    """The first process of each; one that is not running has none."""
    if not containers:
        return []
    inspected = subprocess.run(  # noqa: S603 - docker's own tool
        ["docker", "inspect", "-f", "{{.State.Pid}}", *containers],  # noqa: S607 - found on the path
        capture_output=True,
        text=True,
        check=True,
    )
    return [pid for pid in map(int, inspected.stdout.split()) if pid]
