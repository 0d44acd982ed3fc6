"""What the tests of the adapters stand on: a stack, a scripted model, and the judge's own Python."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from dayshift.wire import MenuItem

from tests.client.faulty_server import FaultyServer, answer
from tests.company import small_company
from tests.control.stack import TOKEN, Stack, free_base
from tests.integrations.numeric import Trainer
from tests.judges import python_of
from tests.scripted_provider import ScriptedProvider

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "judge_scripts"
_WITH_MCP = {"DAYSHIFT_WITHOUT": "desk,ide"}


@dataclass
class Judge:
    """The trainer's Python, which knows a stack by its environment."""

    stack: Stack
    python: Path

    def of(self, stack: Stack) -> "Judge":
        """The same Python at another stack."""
        return Judge(stack, self.python)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DAYSHIFT_")}
        return kept | {
            "DAYSHIFT_CONTROL_URL": f"http://127.0.0.1:{self.stack.base}",
            "DAYSHIFT_CONTROL_TOKEN": TOKEN,
            "PYTHONPATH": str(ROOT),
            # uv, which some trainers start themselves.
            "PATH": f"{self.python.parent}:{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            "OPENAI_API_KEY": "none",
            **more,
        }

    def run(self, *command: object, seconds: float = 300, **environment: str) -> str:
        done = subprocess.run(
            [str(self.python), *map(str, command)],
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def run_script(self, name: str, *arguments: object, **environment: str) -> Any:
        """The script's last line is its result as JSON."""
        return json.loads(self.run(SCRIPTS / name, *arguments, **environment).splitlines()[-1])

    def run_tool(self, name: str, *arguments: object, seconds: float = 300, **environment: str) -> str:
        """A command that the trainer's package installs."""
        return self.run(self.python.parent / name, *arguments, seconds=seconds, **environment)


@dataclass
class Server:
    """`python -m dayshift.integrations.NAME` until `stop`."""

    judge: Judge
    name: str
    arguments: tuple[str, ...] = ()
    port: int = field(default_factory=free_base)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Server":
        self.process = subprocess.Popen(
            [
                str(self.judge.python),
                "-m",
                f"dayshift.integrations.{self.name}",
                "--port",
                str(self.port),
                *self.arguments,
            ],
            env=self.judge.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 240
        while True:
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline, f"{self.name} does not answer"
            try:
                httpx.get(f"{self.url}/", trust_env=False)
                return self
            except httpx.HTTPError:
                time.sleep(0.05)

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=30)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(tmp_path_factory.mktemp("adapters"), _WITH_MCP).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def judge(request: pytest.FixtureRequest, stack: Stack) -> Judge:
    """The trainer whose environment the module names in JUDGE."""
    return Judge(stack, python_of(request.module.JUDGE))


@pytest.fixture(scope="session")
def provider() -> Iterator[ScriptedProvider]:
    started = ScriptedProvider().start()
    yield started
    started.stop()


@pytest.fixture
def breakable(tmp_path: Path) -> Iterator[Stack]:
    """A stack of this test alone, whose products may be killed."""
    started = Stack(tmp_path, _WITH_MCP).start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def trainer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    """A numeric trainer at a stack with the small company."""
    stack = Stack(small_company(tmp_path_factory), {"DAYSHIFT_WITHOUT": "ide"}).start()
    yield Trainer(python_of(request.module.JUDGE), f"http://127.0.0.1:{stack.base}")
    stack.stop()


@pytest.fixture
def broken_at_times() -> Iterator[FaultyServer]:
    """A stack whose product breaks at the third call: without masks most choices of a menu are no call at all."""
    server = FaultyServer(menu=[MenuItem(operation="crm.contacts.get", arguments={"contactId": "1"})])
    server.script = [*[answer()] * 2, answer(500, revision=None), answer()]
    server.start()
    yield server
    server.stop()


@pytest.fixture
def serve(judge: Judge) -> Iterator[Callable[..., Server]]:
    """Starts a server of this test alone."""
    with ExitStack() as stopped:

        def started(name: str, *arguments: str, of: Stack | None = None) -> Server:
            server = Server(judge if of is None else judge.of(of), name, arguments).start()
            stopped.callback(server.stop)
            return server

        yield started


def count_open(stack: Stack) -> int:
    """How many episodes control holds."""
    number: int = stack.control.get("/v1/report").json()["open"]
    return number
