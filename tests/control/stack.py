"""The whole stack as its users run it: real processes, real sockets."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx

from tests.control.worlds import build_worlds

TASK = "crm/correct-contact"
TOKEN = "control-token-of-this-test"
PLAYGROUND = "playground-of-this-test"
_ROOT = Path(__file__).resolve().parents[2]
_CONTACTS = "/crm/v3/objects/contacts"


# Below the range that the system itself draws from for outgoing connections. Every process of a test run has bases of
# its own and hands out none twice in a row, for a port that was free a moment ago may be somebody's by now.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
_BASES = cycle(range(20_000 + _WORKER * 2_400, 22_400 + _WORKER * 2_400, 30))
# Two runs at once begin at different places.
next(islice(_BASES, os.getpid() % 80, None))


def free_base() -> int:
    """A port with room above it for both APIs of every service."""
    for base in islice(_BASES, 80):
        if all(_is_free(base + offset) for offset in (*range(7), *range(11, 17))):
            return base
    raise RuntimeError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@dataclass
class Stack:
    """`python -m services up` with a small world, until `stop`."""

    var: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    base: int = field(default_factory=free_base)
    # Whose services are started.
    root: Path = _ROOT
    clients: list[httpx.Client] = field(default_factory=list)

    def start(self) -> "Stack":
        if not (self.var / "worlds").exists():
            build_worlds(self.var / "worlds")
        self.log = self.var / "log"
        self._out = self.log.open("a")
        # Several modules start their stack in one folder: what an earlier one printed does not say that this one is up.
        self._printed_before = self._out.tell()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "services", "up", "--port-base", str(self.base), *self.arguments],
            cwd=self.root,
            env=self.environment(),
            stdout=self._out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.control = httpx.Client(
            base_url=f"http://127.0.0.1:{self.base}", headers={"authorization": f"Bearer {TOKEN}"}, timeout=120
        )
        try:
            eventually(lambda: self._is_up() or self.process.poll() is not None, seconds=300, what=self.output)
            assert self._is_up(), self.output()
        except BaseException:
            self.stop()
            raise
        return self

    def _is_up(self) -> bool:
        return "Ctrl-C stops everything" in self.output()

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DAYSHIFT_")}
        return kept | {
            "DAYSHIFT_VAR": str(self.var),
            "DAYSHIFT_CONTROL_TOKEN": TOKEN,
            "DAYSHIFT_PLAYGROUND_TOKEN": PLAYGROUND,
            "DAYSHIFT_LOG": "warning",
            # Its token file is left there, and not in the home of whoever runs the tests.
            "XDG_STATE_HOME": str(self.var / "state"),
            # Two products show what a stack does, and each more service costs a second at every start.
            "DAYSHIFT_WITHOUT": "desk,ide,mcp,console",
            **self.settings,
        }

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        for client in (self.control, *self.clients):
            client.close()
        self._out.close()
        return code

    def output(self) -> str:
        """What this start has printed."""
        with self.log.open() as log:
            log.seek(self._printed_before)
            return log.read()

    def children(self) -> dict[str, int]:
        """Service → process id."""
        found = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False
        ).stdout
        return {args.split()[-1]: int(pid) for pid, args in (line.split(None, 1) for line in found.splitlines())}

    def open(self, **request: Any) -> "Attempt":
        answer = self.control.post("/v1/episodes", json={"task": TASK, "seed": 7, **request})
        assert answer.status_code == 201, answer.text
        return Attempt(self, answer.json())

    def playground(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.base + 1}", headers={"authorization": f"Bearer {PLAYGROUND}"}, timeout=120
        )


class Attempt:
    """One episode, seen by a trainer and worked on by an agent."""

    def __init__(self, stack: Stack, opened: dict[str, Any]) -> None:
        self.stack = stack
        self.opened = opened
        self.id: str = opened["episode_id"]
        access = opened["products"]["crm"]
        # Closed with the stack.
        self.agent = httpx.Client(
            base_url=access["base_url"], headers={"authorization": f"Bearer {access['credential']}"}, timeout=120
        )
        stack.clients.append(self.agent)

    @property
    def right_number(self) -> str:
        found = re.search(r"\+49 30 \d+", self.opened["brief"])
        assert found is not None
        return found[0]

    def contacts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after = "0"
        while after:
            page = self.agent.get(_CONTACTS, params={"limit": 100, "after": after, "properties": "email,phone"}).json()
            found += page["results"]
            after = page.get("paging", {}).get("next", {}).get("after")
        return found

    def contact(self) -> dict[str, Any]:
        email = re.search(r"[\w.]+@corvane\.eu", self.opened["brief"])
        assert email is not None
        return next(one for one in self.contacts() if one["properties"]["email"] == email[0])

    def update(self, contact_id: str, **properties: str) -> httpx.Response:
        return self.agent.patch(f"{_CONTACTS}/{contact_id}", json={"properties": properties})

    def solve(self) -> None:
        assert self.update(self.contact()["id"], phone=self.right_number).status_code == 200

    def get(self, path: str = "") -> Any:
        return self.stack.control.get(f"/v1/episodes/{self.id}{path}").json()

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return self.stack.control.post(f"/v1/episodes/{self.id}/{path}", json=body or {}, headers=headers)

    def submit(self) -> dict[str, Any]:
        answer = self.post("submit")
        assert answer.status_code == 200, answer.text
        verdict: dict[str, Any] = answer.json()
        return verdict


def eventually(claim: Callable[[], object], seconds: float = 15, what: Callable[[], str] | None = None) -> None:
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, what() if what else "it did not come true in time"
        time.sleep(0.05)
