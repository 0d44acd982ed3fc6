"""Sandboxes of Linux namespaces, through bubblewrap."""

import asyncio
import os
import shutil
import socket
import subprocess
from contextlib import suppress

from services.ide.sandbox import seccomp
from services.ide.sandbox.host_programs import MissingPrograms
from services.ide.sandbox.interpreters import NoInterpreter
from services.ide.sandbox.isolation import NoIsolation, guest_settings, guest_start
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.sandbox import Sandbox, SandboxLost
from services.ide.sandbox.system_files import HOME, TOOLBOX, SystemFiles
from services.kernel.config import SandboxSettings

# The user that a service which runs as root becomes before anything of an agent's runs.
_NOBODY = 65534
_START_SECONDS = 20.0
_POLL_SECONDS = 0.002


class Bubblewrap:
    """Isolates with namespaces: no network, no other processes, a read-only system, and memory for a disk."""

    name = "bubblewrap"
    toolbox = TOOLBOX

    def __init__(self, settings: SandboxSettings | None = None) -> None:
        self._settings = settings or SandboxSettings()
        self._system: SystemFiles | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._filter = seccomp.build_filter()

    async def check(self) -> None:
        if shutil.which("bwrap") is None:
            raise NoIsolation("bwrap is not installed: apt-get install bubblewrap")
        try:
            # Off the loop: it takes seconds when it is done for the first time.
            self._system = await asyncio.to_thread(self._find_system)
            sandbox = await self.start(Limits())
        except (MissingPrograms, NoInterpreter) as error:
            raise NoIsolation(str(error)) from error
        except (OSError, TimeoutError) as error:
            raise NoIsolation(f"bubblewrap cannot start a sandbox here: {error}") from error
        sandbox.end()

    async def start(self, limits: Limits) -> Sandbox:
        channel, guest_channel = socket.socketpair()
        descriptors, guest_descriptors = socket.socketpair()
        channel.setblocking(False)
        sandbox = Sandbox()
        sandbox.descriptor_socket = descriptors
        # Memory, not a pipe: nobody has to read it, and it explains a start that failed.
        error_output = os.memfd_create("stderr")
        try:
            with guest_channel, guest_descriptors:
                guest_ends = (guest_channel.fileno(), guest_descriptors.fileno())
                process = self._start_process(limits, guest_ends, error_output)
            # Ended processes are collected here, not by a signal for each: nobody waits for them.
            self._processes = [*self._living(), process]
            connection = SocketConnection(process, sandbox)
            await asyncio.get_running_loop().create_connection(lambda: connection, sock=channel)
            await self._await_ready(sandbox, error_output)
        except BaseException:
            # Also a start that is cancelled half-way: whoever owns the socket by now closes it.
            if not sandbox.is_connected:
                channel.close()
            sandbox.end()
            raise
        finally:
            os.close(error_output)
        return sandbox

    async def close(self) -> None:
        """Returns when no process of ours runs any more."""
        for process in self._processes:
            process.kill()
        while self._processes:
            # Also for the sockets' sake, which the loop closes in its own time.
            await asyncio.sleep(_POLL_SECONDS)
            self._processes = self._living()

    def _living(self) -> list[subprocess.Popen[bytes]]:
        return [process for process in self._processes if process.poll() is None]

    def _start_process(self, limits: Limits, guest_ends: tuple[int, int], error_output: int) -> subprocess.Popen[bytes]:
        """Without the event loop's own way: that copies the tables of all our memory first, and everybody waits."""
        filter_end = self._filter_pipe()
        try:
            return subprocess.Popen(  # noqa: S603 - bubblewrap, by a command of our own
                self._command(limits, guest_ends, filter_end),
                env={},
                pass_fds=tuple(fd for fd in (*guest_ends, filter_end) if fd is not None),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=error_output,
            )
        finally:
            if filter_end is not None:
                os.close(filter_end)

    async def _await_ready(self, sandbox: Sandbox, error_output: int) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.shield(sandbox.ready)
        except (SandboxLost, TimeoutError) as error:
            message = os.pread(error_output, 2000, 0).decode(errors="replace").strip()
            raise OSError(message or str(error)) from error
        finally:
            if not sandbox.ready.done() or sandbox.end_reason is not None:
                sandbox.end()

    def _filter_pipe(self) -> int | None:
        if self._filter is None:
            return None
        read_end, write_end = os.pipe()
        os.write(write_end, self._filter)
        os.close(write_end)
        return read_end

    def _disable_user_namespaces(self) -> tuple[str, ...]:
        """In a container the kernel's switch for them cannot be written; there the filter alone refuses them."""
        if not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY:
            return ("--disable-userns",)
        if self._filter is None:
            raise OSError("/proc/sys is read-only and no system call filter is known for this processor")
        return ()

    def _find_system(self) -> SystemFiles:
        return SystemFiles(self._settings.wheels, self._settings.built)

    def _command(self, limits: Limits, guest_ends: tuple[int, int], filter_end: int | None) -> list[str]:
        if self._system is None:
            self._system = self._find_system()
        system = self._system
        command = [
            *_become_nobody(),
            *("bwrap", "--unshare-all", "--unshare-user", *self._disable_user_namespaces()),
            *("--uid", "1000", "--gid", "1000"),
            *("--hostname", "devbox", "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"),
            *("--ro-bind", str(system.root), "/", "--ro-bind", str(system.toolbox), TOOLBOX),
            *("--proc", "/proc", "--dev", "/dev"),
            *_mount_memory(limits.shared, "/dev/shm"),  # noqa: S108 - inside
            *_mount_memory(limits.scratch, "/tmp"),  # noqa: S108 - inside
            *_mount_memory(limits.home, HOME),
            *_mount_memory(1 << 20, "/run"),
            *("--dir", "/run/forge"),
        ]
        if filter_end is not None:
            command += ["--seccomp", str(filter_end)]
        command += ["--remount-ro", "/dev", "--chdir", HOME]
        guest = [system.python, "-I", "-S", "-c", guest_start(TOOLBOX), guest_settings(limits, {})]
        return [*command, *guest, *map(str, guest_ends)]


class SocketConnection(asyncio.Protocol):
    """A socket pair whose other end is the guest's."""

    def __init__(self, process: subprocess.Popen[bytes], sandbox: Sandbox) -> None:
        self._process = process
        self._sandbox = sandbox
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]  # uvloop's transports do not inherit from asyncio's
        self._sandbox.connect(self)

    def data_received(self, data: bytes) -> None:
        self._sandbox.receive(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._sandbox.lose("the sandbox ended")

    def write(self, content: bytes) -> None:
        if self._transport is not None:
            self._transport.write(content)

    def end(self) -> None:
        self._process.kill()
        if self._transport is not None:
            self._transport.abort()

    def process_ids(self) -> list[int]:
        pids, frontier = [], [self._process.pid]
        while frontier:
            pids += frontier
            frontier = [child for parent in frontier for child in _children(parent)]
        return pids


def _mount_memory(size: int, path: str) -> tuple[str, ...]:
    return ("--size", str(size), "--tmpfs", path)


def _become_nobody() -> tuple[str, ...]:
    """No limit on processes holds for root, and /proc lets root through: nothing of an agent's runs as root."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--inh-caps=-all", "--")


def _children(pid: int) -> list[int]:
    """Called twenty times a second for whatever runs: plain calls, no objects for paths."""
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - see above
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123 - see above
                children += map(int, file.read().split())
    return children
