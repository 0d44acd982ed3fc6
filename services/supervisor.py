"""`python -m services up`: one process per service, started in order, watched, stopped together."""

import asyncio
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.request import urlopen

from services.control.gather import gather_all
from services.kernel import catalog
from services.kernel.config import MCP_PORT, BadSetting, Settings, reachable_host
from services.kernel.serve import PortTaken
from services.snippets import CONSOLE, CONSOLE_PORT, control_url, leave_token, take_token_away, welcome

_USUAL_BASE = 8700
# A process that ends is noticed at once; this is for one that hangs, on a machine however busy.
_START_SECONDS = 300.0
_STOP_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1
_KNOWN_TO_ONE = {"DAYSHIFT_SALT": "control", "DAYSHIFT_CONSOLE_TOKEN": CONSOLE}
_COLOURS = (36, 33, 35, 32, 34, 31)
_HOW_TO_RESTART = (
    "; its last lines are above. Stop with Ctrl-C and start anew; with RESTART=1 (make up RESTART=1, "
    "python -m services up --restart) a service that dies is started again"
)


@dataclass(eq=False)
class Child:
    """One service, and its process while it lives."""

    name: str
    health: str
    ports: tuple[tuple[str, int], ...]
    colour: int
    process: asyncio.subprocess.Process | None = None
    reading: list["asyncio.Task[None]"] = field(default_factory=list)


class StartFailed(RuntimeError):
    """A service that did not come up."""


def up(*, port_base: int | None, restart: bool) -> int:
    _leave_out_products_that_cannot_run(Settings.from_environment())
    environment = _environment(port_base)
    settings = Settings.from_environment(environment)
    # Children share the parent's secrets, whether they came from the environment or from var/.
    environment |= {
        "DAYSHIFT_CONTROL_TOKEN": settings.control_token,
        "DAYSHIFT_HARNESS_TOKEN": settings.harness_token,
        "DAYSHIFT_CONSOLE_TOKEN": settings.console_token,
    }
    # The address of another stack may be set for clients in this shell.
    environment["DAYSHIFT_CONTROL_URL"] = control_url(settings)
    children = _children(settings)
    _require_ports(children)
    _require_worlds(settings)
    try:
        return asyncio.run(_Supervisor(children, environment, settings, restart=restart).run())
    except StartFailed as error:
        print(f"dayshift: {error}", file=sys.stderr)
        return 1


class _Supervisor:
    """Parent of all services."""

    def __init__(
        self, children: list[Child], environment: Mapping[str, str], settings: Settings, *, restart: bool
    ) -> None:
        self._children = children
        self._environment = environment
        self._settings = settings
        self._restart = restart
        self._stopping = asyncio.Event()
        self._print_line = _Printer(max(len(child.name) for child in children))

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stopping.set)
        watching: list[asyncio.Task[None]] = []
        try:
            # Control after the products, which it looks for as soon as it starts, and the console after the ledger.
            for group in _start_order(self._children):
                await self._unless_stopping(gather_all(*(self._start(child) for child in group)))
                watching += [
                    asyncio.create_task(self._restart_when_dead(child)) for child in group if child.process is not None
                ]
            if not self._stopping.is_set():
                leave_token(self._settings)
                print(welcome(self._settings), flush=True)
            await self._stopping.wait()
        finally:
            take_token_away(self._settings)
            for task in watching:
                task.cancel()
            await self._stop()
        return 0

    async def _unless_stopping(self, work: Awaitable[None]) -> None:
        working = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            working.result()
        else:
            working.cancel()

    async def _start(self, child: Child) -> None:
        child.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "services",
            child.name,
            env=self._environment_of(child),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # A session of its own: Ctrl-C reaches the parent alone, which then stops all in order.
            start_new_session=True,
            preexec_fn=_end_with_parent(os.getpid()),
        )
        child.reading = [asyncio.create_task(self._read(child, child.process))]
        await self._await_health(child, child.process)
        self._print_line(child, "up at port " + ", ".join(str(port) for _, port in child.ports))

    def _environment_of(self, child: Child) -> dict[str, str]:
        environment = {name: value for name, value in self._environment.items() if _may_know(child.name, name)}
        # Not whatever stack this user's clients may be pointed at.
        return environment | ({"DAYSHIFT_CONTROL_URL": control_url(self._settings)} if child.name == CONSOLE else {})

    async def _await_health(self, child: Child, process: asyncio.subprocess.Process) -> None:
        deadline = asyncio.get_running_loop().time() + _START_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            if process.returncode is not None:
                await asyncio.gather(*child.reading)
                raise StartFailed(f"{child.name} ended with code {process.returncode} while starting")
            if await asyncio.to_thread(_is_answering, child.health):
                return
            await asyncio.sleep(0.05)
        raise StartFailed(f"{child.name} did not answer at {child.health} within {_START_SECONDS:g} s")

    async def _read(self, child: Child, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None, "started with a pipe"
        while line := await _line_of(process.stdout):
            self._print_line(child, line)

    async def _restart_when_dead(self, child: Child) -> None:
        while True:
            assert child.process is not None, "started before"
            code = await child.process.wait()
            if self._stopping.is_set():
                return
            self._print_line(child, f"DIED ({_describe_exit(code)})" + ("" if self._restart else _HOW_TO_RESTART))
            if not self._restart:
                return
            await asyncio.sleep(1)
            with suppress(StartFailed):
                await self._start(child)

    async def _stop(self) -> None:
        """Stop control before the products, so that it does not record their orderly end as their death."""
        for child in reversed(self._children):
            await self._stop_one(child)

    async def _stop_one(self, child: Child) -> None:
        process = child.process
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        await asyncio.gather(*child.reading)
        self._print_line(child, "stopped")


class _Printer:
    """Prints the lines of all services, coloured on a terminal and plain in a file."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._is_coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, child: Child, line: str) -> None:
        name = f"{child.name:<{self._width}} │ "
        print(f"\033[{child.colour}m{name}\033[0m{line}" if self._is_coloured else name + line, flush=True)


async def _line_of(stream: asyncio.StreamReader) -> str:
    """The next line, whatever its length; empty at the end."""
    try:
        line = await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as rest:
        line = rest.partial
    except asyncio.LimitOverrunError as overrun:
        line = await stream.read(overrun.consumed)
    text = line.decode(errors="replace").rstrip("\n")
    return text or (" " if line else "")


def _leave_out_products_that_cannot_run(settings: Settings) -> None:
    """Start the other products where this machine lacks what one needs."""
    lacking = {
        name: because
        for name, product in catalog.products().items()
        if (because := product.missing_requirement(settings))
    }
    for name, because in lacking.items():
        print(f"dayshift: {name} is left out: {because}", file=sys.stderr, flush=True)
    if lacking:
        catalog.leave_out(list(lacking))


def _may_know(child: str, variable: str) -> bool:
    """Agents' programs run beside the products, which know neither the salt nor the console's token."""
    return _KNOWN_TO_ONE.get(variable, child) == child


def _start_order(children: list[Child]) -> list[list[Child]]:
    products = [child for child in children if child.name not in ("control", CONSOLE)]
    return [products, *([child] for name in ("control", CONSOLE) for child in children if child.name == name)]


def _environment(port_base: int | None) -> dict[str, str]:
    environment = dict(os.environ)
    if port_base is None:
        return environment
    environment["DAYSHIFT_CONTROL_PORT"] = str(port_base)
    environment["DAYSHIFT_MCP_PORT"] = str(port_base + MCP_PORT - _USUAL_BASE)
    environment["DAYSHIFT_CONSOLE_PORT"] = str(port_base + CONSOLE_PORT - _USUAL_BASE)
    for name, product in catalog.products().items():
        environment[f"DAYSHIFT_{name.upper()}_PORT"] = str(port_base + product.port - _USUAL_BASE)
    return environment


def _children(settings: Settings) -> list[Child]:
    """Products, the MCP endpoint for all of them, control, then the console; `DAYSHIFT_WITHOUT` leaves some out."""
    host, harness_host = settings.host, settings.harness_host
    colours = iter(_COLOURS * 8)
    products = []
    for name, product in sorted(catalog.products().items(), key=lambda pair: pair[1].port):
        port, harness_port = settings.port(name, product.port), settings.harness_port(name, product.port)
        health = f"http://{reachable_host(harness_host)}:{harness_port}/health"
        products.append(Child(name, health, ((host, port), (harness_host, harness_port)), next(colours)))
    gateway = []
    if not catalog.is_left_out("mcp"):
        port = settings.port("mcp", MCP_PORT)
        gateway = [Child("mcp", f"http://{reachable_host(host)}:{port}/health", ((host, port),), next(colours))]
    control = f"http://{reachable_host(host)}:{settings.control_port}/health"
    children = [*products, *gateway, Child("control", control, ((host, settings.control_port),), next(colours))]
    if not catalog.is_left_out(CONSOLE):
        port = settings.port(CONSOLE, CONSOLE_PORT)
        health = f"http://{reachable_host(harness_host)}:{port}/health"
        children.append(Child(CONSOLE, health, ((harness_host, port),), next(colours)))
    return children


def _require_ports(children: list[Child]) -> None:
    for child in children:
        for host, port in child.ports:
            if not 0 < port < 65536:
                raise BadSetting(f"{port} is not a port: choose another --port-base")
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((host, port))
                except OSError as error:
                    raise PortTaken(
                        f"port {port}, meant for {child.name}, is in use; stop what listens there or choose --port-base"
                    ) from error


def _require_worlds(settings: Settings) -> None:
    missing = _products_without_world(settings)
    if not missing:
        return
    if find_spec("fixtures.__main__") is None:
        raise BadSetting(f"there is no world for {', '.join(missing)} in {settings.worlds_folder}: run make worlds")
    print(f"dayshift: building worlds for {', '.join(missing)}, once", flush=True)
    build = [sys.executable, "-m", "fixtures", "--var", str(settings.var), "build", "small", "standard"]
    ends_with_us = _end_with_parent(os.getpid())
    built = subprocess.run(build, check=False, preexec_fn=ends_with_us)  # noqa: S603 - our own module; one thread
    if built.returncode != 0 or (missing := _products_without_world(settings)):
        raise BadSetting(f"the worlds of {', '.join(missing)} could not be built: see above, then run make worlds")


def _products_without_world(settings: Settings) -> list[str]:
    return [name for name in catalog.names() if not any(settings.worlds_folder.glob(f"{name}-*.sqlite"))]


def _end_with_parent(parent: int) -> Callable[[], None]:
    """Return a function that lets Linux end the child when its parent ends, whatever the reason."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return arrange


def _is_answering(url: str) -> bool:
    try:
        with urlopen(url, timeout=2):  # noqa: S310 - our own address
            return True
    except OSError as error:
        # A degraded service has started too: /health says what is down.
        return getattr(error, "code", None) == 503


def _describe_exit(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"code {code}"
