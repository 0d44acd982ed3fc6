"""The first process of a sandbox: starts programs, keeps sessions, reads and writes files, all on request.

Everything that touches what somebody wrote in here happens in here: a symbolic link or a `..` can only lead to other
places of the same sandbox. Requests come over one channel as frames: length of JSON, length of blob, JSON, blob.

It starts with every sandbox. Here, and in the modules that it imports, nothing is imported for its names alone, modules
that only some requests need are imported by those, and `minimal_stdlib` replaces what is slow to import.
"""

from __future__ import annotations

import mmap
import os
import resource
import struct
import sys
import time

from . import minimal_stdlib
from .files import ACTIONS
from .minimal_stdlib import READ, WRITE, Selector, Socket, TimeLimit
from .pipes import Writers, read_available
from .programs import Programs
from .sessions import Sessions
from .streams import Streams
from .terminals import Terminals

HEAD = struct.Struct(">II")
_ONE_READ = 1 << 20
_RETRY_SECONDS = 0.12
# Less than the host waits for an answer.
_FILE_SECONDS = 25.0
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    Message = dict[str, Any]

    class Channel(Protocol):
        """The way to the host."""

        def fileno(self) -> int: ...

        def recv(self, size: int, /) -> bytes: ...

        def send(self, content: bytes, /) -> int: ...


class StandardStreams:
    """The channel of a container: its standard input and output."""

    def __init__(self) -> None:
        os.set_blocking(0, False)

    def fileno(self) -> int:
        return 0

    def recv(self, size: int, /) -> bytes:
        return os.read(0, size)

    def send(self, content: bytes, /) -> int:
        return os.write(1, content)


class Server:
    """One loop over the host's channel, the pipes of programs and the end of programs."""

    def __init__(
        self, channel: Channel, settings: Message, share: int | None, descriptor_socket: Socket | None = None
    ) -> None:
        self.settings = settings
        self.selector = Selector()
        self.writers = Writers(self.selector)
        # (this machine's time, the host's time) at each request: files are dated by the latter.
        self.moments: list[tuple[int, int]] = [(time.time_ns(), 0)]
        self.now = 0
        self._channel = channel
        self._descriptor_socket = descriptor_socket
        self._share = share
        self._inodes = 0
        self._inbox = bytearray()
        self._outbox = bytearray()
        self._programs = Programs(self)
        self._sessions = Sessions(self, self._programs)
        self._streams = Streams(self, self._programs)
        self._terminals = Terminals(self, self._programs, self._streams)
        self._operations: dict[str, Callable[[Message, bytes], None]] = {
            **self._programs.operations(),
            **self._sessions.operations(),
            **self._streams.operations(),
            **self._terminals.operations(),
            "file": self._file,
        }

    def send(self, message: Message, blob: bytes = b"") -> None:
        text = minimal_stdlib.dumps(message)
        self._outbox += HEAD.pack(len(text), len(blob)) + text + blob
        self._flush()

    def serve(self) -> None:
        minimal_stdlib.ignore_interrupts()
        self.selector.essential.add(self._channel.fileno())
        self.selector.register(self._channel.fileno(), READ, self._on_channel)
        self._watch_for_ends()
        self.send({"id": 0, "ready": True})
        while True:
            has_programs = self._programs.has_any()
            self.selector.wait(_RETRY_SECONDS if has_programs or self._share is not None else None)
            self._lower_share()
            if has_programs and self._holds_too_many_files():
                self._programs.end_all()

    def _holds_too_many_files(self) -> bool:
        """No mount that bubblewrap makes bounds them. Whoever removes files of too many may go on."""
        statuses = [os.statvfs(mount) for mount in self.settings["mounts"]]
        before, self._inodes = self._inodes, sum(status.f_files - status.f_ffree for status in statuses)
        most = self.settings["inodes"]
        return self._inodes > most and (self._inodes > before or self._inodes > 2 * most)

    def _watch_for_ends(self) -> None:
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        minimal_stdlib.write_byte_when_programs_end(write_end)

        def on_end(pipe: int, _: int) -> None:
            read_available(pipe, bytearray())
            for pid, code in self._programs.reap():
                self._sessions.on_end(pid)
                self._terminals.on_end(pid, code)
                self._programs.on_end(pid, code)

        self.selector.essential.add(read_end)
        self.selector.register(read_end, READ, on_end)

    def _flush(self) -> None:
        while self._outbox:
            try:
                count = self._channel.send(bytes(self._outbox[:_ONE_READ]))
            except BlockingIOError:
                break
            except OSError:
                sys.exit(0)
            del self._outbox[:count]
        self.selector.modify(self._channel.fileno(), READ | WRITE if self._outbox else READ)

    def _on_channel(self, _: int, events: int) -> None:
        if events & WRITE:
            self._flush()
        if not events & READ:
            return
        try:
            received = self._channel.recv(_ONE_READ)
        except BlockingIOError:
            return
        if not received:
            sys.exit(0)
        self._inbox += received
        self._read_frames()

    def _read_frames(self) -> None:
        while len(self._inbox) >= HEAD.size:
            text, blob = HEAD.unpack_from(self._inbox)
            start = HEAD.size
            end = start + text + blob
            if len(self._inbox) < end:
                break
            message = minimal_stdlib.loads(self._inbox[start : start + text])
            content = bytes(self._inbox[start + text : end])
            del self._inbox[:end]
            self._handle(message, content)

    def _handle(self, message: Message, blob: bytes) -> None:
        if "now" in message:
            self.now = message["now"]
            self.moments.append((time.time_ns(), self.now))
        try:
            self._operations[message["op"]](message, blob)
        except Exception as error:  # noqa: BLE001 - a request that fails is answered, whatever the reason
            reason = getattr(error, "strerror", None) or str(error)
            path = getattr(error, "filename", None)
            place = path if isinstance(path, str) else None
            refusal = {"kind": type(error).__name__, "message": reason, "path": place}
            self.send({"id": message["id"], "error": refusal})

    def _lower_share(self) -> None:
        """Where the kernel shares the machine out by session, niceness counts only within a session.

        All of this sandbox is one session, so it asks once for a smaller share. The kernel allows that seldom, and
        refuses in between: then it is tried again later.
        """
        if self._share is None:
            return
        try:
            os.write(self._share, str(self.settings["nice_share"]).encode())
        except BlockingIOError:
            return
        except OSError:
            pass
        os.close(self._share)
        self._share = None

    def _file(self, message: Message, blob: bytes) -> None:
        if message.get("has_descriptor") and self._descriptor_socket is not None:
            blob = map_memory(self._descriptor_socket.receive_descriptor())
        # Whoever works here may put a pipe where a file is expected: waiting for it would stop everything else.
        with TimeLimit(_FILE_SECONDS):
            result, content = ACTIONS[message["action"]](message, blob, self.moments)
        self.send({"id": message["id"], **result}, content)


def map_memory(descriptor: int) -> Any:
    """The memory behind a descriptor, which is closed."""
    try:
        # All of it is about to be read: with MAP_POPULATE the kernel maps it at once and not page by page.
        return mmap.mmap(descriptor, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)
    finally:
        os.close(descriptor)


def open_share() -> int | None:
    """Opened while this process may still be looked into; None where sessions have no share of their own."""
    try:
        return os.open("/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None


def apply_limits(limits: dict[str, int]) -> None:
    """Nothing that is started from here can lift them."""
    for name, limit in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(number, (value, value))


def main() -> None:
    settings: Message = minimal_stdlib.loads(sys.argv[1].encode())
    descriptors = [int(number) for number in sys.argv[2:4] if number != "-"]
    minimal_stdlib.close_inherited(set(descriptors))
    share = open_share()
    apply_limits(settings["limits"])
    minimal_stdlib.forbid_inspection()
    os.umask(0o022)
    if not descriptors:
        Server(StandardStreams(), settings, share).serve()
    channel, descriptor_socket = (Socket(fileno=number) for number in descriptors)
    for end in (channel, descriptor_socket):
        os.set_inheritable(end.fileno(), False)
    channel.setblocking(False)
    Server(channel, settings, share, descriptor_socket).serve()
