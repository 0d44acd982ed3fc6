"""A stack for a demonstration or a measurement: `python -m services up` on free ports, stopped at the end."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dayshift
from dayshift.connection import Address, Connection

from services.kernel.config import Settings

_START_SECONDS = 300.0
_STOP_SECONDS = 60.0
# Control, nine products, and their harness APIs ten above them.
_PORTS_NEEDED = 20


@contextmanager
def start_stack(home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Address]:
    """Run a stack whose ledger and secrets lie in `home`, so that another stack may run beside it."""
    base, log = _free_base(), home / "stack.log"
    own = {"DAYSHIFT_VAR": str(home), "XDG_STATE_HOME": str(home / "state")}
    variables = {**os.environ, "DAYSHIFT_LOG": "warning", **(environment or {}), **own}
    address = Address(f"http://127.0.0.1:{base}", Settings.from_environment(variables).control_token)
    with log.open("w") as out:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "services", "up", "--port-base", str(base)],
            env=variables,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            _await_health(process, address, log)
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_STOP_SECONDS)


def share_worlds(settings: Settings, home: Path) -> None:
    """Let a stack in `home` use the worlds that are built already."""
    home.mkdir(parents=True, exist_ok=True)
    worlds = home / "worlds"
    if not worlds.is_symlink():
        worlds.symlink_to(settings.worlds_folder.resolve(), target_is_directory=True)


def _await_health(process: "subprocess.Popen[bytes]", address: Address, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    with Connection(address) as connection:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if connection.run(address.control.health()).status == "ok":
                    return
            except dayshift.HarnessFault:
                pass
            time.sleep(0.1)
    raise SystemExit(f"the stack did not start; the end of {log}:\n{log.read_text()[-2000:]}")


def _free_base() -> int:
    for base in range(20_000 + os.getpid() % 10_000, 60_000, _PORTS_NEEDED):
        if all(_is_free(base + offset) for offset in range(_PORTS_NEEDED)):
            return base
    raise SystemExit("no free ports were found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
