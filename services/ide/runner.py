"""Isolation: who starts sandboxes, and the refusal to start without one who can."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import orjson

from services.ide import seccomp
from services.ide.limits import Limits
from services.ide.sandbox import Sandbox, SandboxLost
from services.ide.system import HOME, INSIDE, NoInterpreter, System

# Whom a service that runs as root becomes before anything of an agent's runs.
_NOBODY = 65534
_START_SECONDS = 20.0
_ENDING_SECONDS = 0.002
_ENVIRONMENT = {
    "HOME": HOME,
    "USER": "dev",
    "LOGNAME": "dev",
    "SHELL": "/bin/bash",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    # Sessions have a terminal and nobody to page for.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUTF8": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


class NoIsolation(RuntimeError):
    """Nothing here can isolate a program: the service must not start."""


class Runner(Protocol):
    """Starts sandboxes of one kind."""

    name: str
    # Where the programs of `inside` are to be imported from, inside.
    toolbox: str

    async def start(self, limits: Limits) -> Sandbox: ...

    async def check(self) -> None:
        """Raises NoIsolation with what to install where it cannot work."""

    async def close(self) -> None: ...


def guest_settings(limits: Limits, env: Mapping[str, str]) -> str:
    settings = {
        "home": HOME,
        "env": {**_ENVIRONMENT, **env},
        "limits": limits.inside(),
        "cpu_seconds": limits.cpu_seconds,
        "nice": limits.nice,
        "nice_share": limits.nice_share,
    }
    return orjson.dumps(settings).decode()


def guest_command(python: str, limits: Limits, *channels: str) -> list[str]:
    start = f"import sys; sys.path.insert(0, {INSIDE!r}); from inside.guest import main; main()"
    return [python, "-I", "-S", "-c", start, guest_settings(limits, {}), *channels]


class Bubblewrap:
    """Linux namespaces through bubblewrap: no network, no other processes, a read-only system, memory for a disk."""

    name = "bubblewrap"
    toolbox = INSIDE

    def __init__(self) -> None:
        self._system: System | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._filter = seccomp.program()

    async def check(self) -> None:
        for binary, package in (("bwrap", "bubblewrap"), ("git", "git"), ("rg", "ripgrep")):
            if shutil.which(binary) is None:
                raise NoIsolation(f"{binary} is not installed: apt-get install {package}")
        try:
            sandbox = await self.start(Limits())
        except (OSError, NoInterpreter, TimeoutError) as error:
            raise NoIsolation(f"bubblewrap cannot start a sandbox here: {error}") from error
        sandbox.end()

    async def start(self, limits: Limits) -> Sandbox:
        ours, theirs = socket.socketpair()
        hands, their_hands = socket.socketpair()
        ours.setblocking(False)
        sandbox = Sandbox()
        sandbox.hands = hands
        # Memory, not a pipe: nobody has to read it, and it tells in the end why there was no beginning.
        last_words = os.memfd_create("said")
        try:
            with theirs, their_hands:
                process = self._begin(limits, (theirs.fileno(), their_hands.fileno()), last_words)
            # Who has ended is asked for here, not by a signal for each: nobody waits for the answer.
            self._processes = [*(one for one in self._processes if one.poll() is None), process]
            wire = SocketWire(process, sandbox)
            await asyncio.get_running_loop().create_connection(lambda: wire, sock=ours)
            await self._awaited(sandbox, last_words)
        except BaseException:
            ours.close()
            hands.close()
            raise
        finally:
            os.close(last_words)
        return sandbox

    def _begin(self, limits: Limits, channels: tuple[int, int], said: int) -> subprocess.Popen[bytes]:
        """Without the event loop's own way: that copies the tables of all our memory first, and everybody waits."""
        seccomp_end = self._filter_pipe()
        try:
            return subprocess.Popen(  # noqa: S603 - bubblewrap, by a command of our own
                self._command(limits, channels, seccomp_end),
                env={},
                pass_fds=tuple(fd for fd in (*channels, seccomp_end) if fd is not None),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        finally:
            if seccomp_end is not None:
                os.close(seccomp_end)

    async def _awaited(self, sandbox: Sandbox, last_words: int) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.shield(sandbox.ready)
        except (SandboxLost, TimeoutError) as error:
            said = os.pread(last_words, 2000, 0).decode(errors="replace").strip()
            raise OSError(said or str(error)) from error
        finally:
            if not sandbox.ready.done() or sandbox.over is not None:
                sandbox.end()

    async def close(self) -> None:
        """Nothing of ours runs on when we are gone."""
        for process in self._processes:
            process.kill()
        while self._processes:
            # Also for the sockets' sake, which the loop closes in its own time.
            await asyncio.sleep(_ENDING_SECONDS)
            self._processes = [one for one in self._processes if one.poll() is None]

    def _filter_pipe(self) -> int | None:
        if self._filter is None:
            return None
        read_end, write_end = os.pipe()
        os.write(write_end, self._filter)
        os.close(write_end)
        return read_end

    def _no_more_users(self) -> tuple[str, ...]:
        """No user namespaces inside. In a container the switch for them cannot be reached; the filter says no too."""
        if not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY:
            return ("--disable-userns",)
        if self._filter is None:
            raise OSError("/proc/sys is read-only and no system call filter is known for this processor")
        return ()

    def _command(self, limits: Limits, channels: tuple[int, int], seccomp_end: int | None) -> list[str]:
        if self._system is None:
            self._system = System()
        system = self._system
        command = [
            *_as_nobody(),
            *("bwrap", "--unshare-all", "--unshare-user", *self._no_more_users(), "--uid", "1000", "--gid", "1000"),
            *("--hostname", "devbox", "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"),
            *("--ro-bind", "/usr", "/usr", "--ro-bind", str(system.local), "/usr/local"),
            *("--ro-bind", str(system.etc), "/etc"),
            *("--ro-bind-try", "/etc/alternatives", "/etc/alternatives"),
            *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
            *("--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/sbin", "/sbin"),
            *("--proc", "/proc", "--dev", "/dev"),
            *_memory(limits.shared, "/dev/shm"),  # noqa: S108 - inside
            *_memory(limits.scratch, "/tmp"),  # noqa: S108 - inside
            *_memory(limits.home, HOME),
            *_memory(1 << 20, "/run"),
            *("--dir", "/run/forge"),
        ]
        if Path("/usr/lib64").exists():
            command += ["--symlink", "usr/lib64", "/lib64"]
        for outside, inside in system.own_interpreter():
            command += ["--ro-bind", outside, inside]
        if seccomp_end is not None:
            command += ["--seccomp", str(seccomp_end)]
        command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME]
        return [*command, *guest_command(system.python, limits, *map(str, channels))]


class SocketWire(asyncio.Protocol):
    """A socket pair whose other end is the guest's."""

    def __init__(self, process: subprocess.Popen[bytes], sandbox: Sandbox) -> None:
        self._process = process
        self._sandbox = sandbox
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]  # uvloop's transports do not inherit from asyncio's
        self._sandbox.connected(self)

    def data_received(self, data: bytes) -> None:
        self._sandbox.received(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._sandbox.lost("the sandbox ended")

    def write(self, content: bytes) -> None:
        if self._transport is not None:
            self._transport.write(content)

    def end(self) -> None:
        self._process.kill()
        if self._transport is not None:
            self._transport.abort()

    def processes(self) -> list[int]:
        return _family(self._process.pid)


def _memory(size: int, where: str) -> tuple[str, ...]:
    return ("--size", str(size), "--tmpfs", where)


def _as_nobody() -> tuple[str, ...]:
    """As root no limit on processes holds and /proc has doors: nothing of an agent's runs as root, even mapped."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--inh-caps=-all", "--")


def _family(pid: int) -> list[int]:
    found, frontier = [], [pid]
    while frontier:
        found += frontier
        frontier = [child for parent in frontier for child in _children(parent)]
    return found


def _children(pid: int) -> list[int]:
    """Asked twenty times a second of whatever runs: plain calls, no objects for paths."""
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as said
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123 - as said
                children += map(int, file.read().split())
    return children


def chosen(environment: Mapping[str, str]) -> Runner:
    """By setting: bubblewrap, or one container per workspace."""
    wanted = environment.get("DAYSHIFT_SANDBOX", "bubblewrap")
    if wanted == "bubblewrap":
        return Bubblewrap()
    if wanted == "docker":
        # Late: who runs on bubblewrap needs no engine and no SDK for one.
        from services.ide.containers import Containers

        return Containers.from_environment(environment)
    raise NoIsolation(f"DAYSHIFT_SANDBOX={wanted!r} is neither bubblewrap nor docker")
