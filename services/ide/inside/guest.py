"""The first process of a sandbox: starts programs, keeps sessions, reads and writes files, all on request.

Everything that touches what somebody wrote in here happens in here: a symbolic link or a `..` can only lead to other
places of the same sandbox. Requests come over one channel as frames: length of JSON, length of blob, JSON, blob.

It starts with every sandbox, so that here, and in its neighbours, nothing is imported for its names alone, what only
some requests need is imported by them, and the rest is `bare`.
"""

from __future__ import annotations

import mmap
import os
import resource
import struct
import sys
import time

from . import bare
from .bare import READ, WRITE, Selector, Socket
from .pipes import take
from .programs import Programs
from .shells import Shells
from .streams import Streams
from .tree import ACTIONS

HEAD = struct.Struct(">II")
_AT_ONCE = 1 << 20
_ASK_AGAIN_SECONDS = 0.12
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


class Guest:
    """One loop over the host's channel, the pipes of programs and the end of programs."""

    def __init__(self, channel: Channel, settings: Message, share: int | None, hands: Socket | None = None) -> None:
        self.settings = settings
        self.selector = Selector()
        # What the host's clock said, and what this machine's said then: files are dated by the former.
        self.moments: list[tuple[int, int]] = [(time.time_ns(), 0)]
        self.now = 0
        self._channel = channel
        self._hands = hands
        self._share = share
        self._inbox = bytearray()
        self._outbox = bytearray()
        self._programs = Programs(self)
        self._shells = Shells(self, self._programs)
        self._streams = Streams(self, self._programs)
        self._verbs: dict[str, Callable[[Message, bytes], None]] = {
            **self._programs.verbs(),
            **self._shells.verbs(),
            **self._streams.verbs(),
            "file": self._file,
        }

    def send(self, message: Message, blob: bytes = b"") -> None:
        text = bare.dumps(message)
        self._outbox += HEAD.pack(len(text), len(blob)) + text + blob
        self._flush()

    def loop(self) -> None:
        self.selector.register(self._channel.fileno(), READ, self._on_channel)
        self._hear_of_ends()
        self.send({"id": 0, "ready": True})
        while True:
            self.selector.tell(None if self._share is None else _ASK_AGAIN_SECONDS)
            self._ask_for_less()

    def _hear_of_ends(self) -> None:
        woken, waker = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(waker, False)
        bare.wake_at_ends(waker)

        def reap(pipe: int, _: int) -> None:
            take(pipe, bytearray())
            for pid, code in self._programs.reaped():
                self._shells.ended(pid)
                self._programs.ended(pid, code)

        self.selector.register(woken, READ, reap)

    def _flush(self) -> None:
        while self._outbox:
            try:
                sent = self._channel.send(bytes(self._outbox[:_AT_ONCE]))
            except BlockingIOError:
                break
            except OSError:
                sys.exit(0)
            del self._outbox[:sent]
        self.selector.modify(self._channel.fileno(), READ | WRITE if self._outbox else READ)

    def _on_channel(self, _: int, events: int) -> None:
        if events & WRITE:
            self._flush()
        if not events & READ:
            return
        try:
            received = self._channel.recv(_AT_ONCE)
        except BlockingIOError:
            return
        if not received:
            sys.exit(0)
        self._inbox += received
        self._read_frames()

    def _read_frames(self) -> None:
        at = 0
        while len(self._inbox) - at >= HEAD.size:
            text, blob = HEAD.unpack_from(self._inbox, at)
            start = at + HEAD.size
            end = start + text + blob
            if len(self._inbox) < end:
                break
            self._serve(bare.loads(self._inbox[start : start + text]), bytes(self._inbox[start + text : end]))
            at = end
        del self._inbox[:at]

    def _serve(self, message: Message, blob: bytes) -> None:
        if "now" in message:
            self.now = message["now"]
            self.moments.append((time.time_ns(), self.now))
        try:
            self._verbs[message["op"]](message, blob)
        except Exception as error:  # noqa: BLE001 - a request that fails is answered, whatever the reason
            reason = getattr(error, "strerror", None) or str(error)
            told = {"kind": type(error).__name__, "message": reason, "path": getattr(error, "filename", None)}
            self.send({"id": message["id"], "error": told})

    def _ask_for_less(self) -> None:
        """Where the kernel shares the machine out by session, being nice is between those of one session only.

        All of this sandbox is one, so it asks once, as the kernel lets it: seldom, and then to try again later.
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
        if message.get("handed") and self._hands is not None:
            blob = handed(self._hands)
        told, content = ACTIONS[message["action"]](message, blob, self.moments)
        self.send({"id": message["id"], **told}, content)


def handed(hands: Socket) -> Any:
    """The memory behind a descriptor that the host has sent already."""
    descriptor = hands.received_descriptor()
    try:
        # All of it is about to be read: told so, the kernel maps it at once and not page by page.
        return mmap.mmap(descriptor, 0, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=mmap.PROT_READ)
    finally:
        os.close(descriptor)


def share_of_the_machine() -> int | None:
    """Opened while this process may still be looked into; None where sessions have no share of their own."""
    try:
        return os.open("/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None


def settle(limits: dict[str, int]) -> None:
    """Limits that nothing started from here can lift, and no way for a neighbour to look into this process."""
    for name, wanted in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(number)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(number, (value, value))
    bare.hide()
    os.umask(0o022)


def main() -> None:
    settings: Message = bare.loads(sys.argv[1].encode())
    channels = [int(number) for number in sys.argv[2:4] if number != "-"]
    bare.close_inherited(set(channels))
    share = share_of_the_machine()
    settle(settings["limits"])
    if not channels:
        Guest(StandardStreams(), settings, share).loop()
    channel, hands = (Socket(fileno=number) for number in channels)
    for end in (channel, hands):
        os.set_inheritable(end.fileno(), False)
    channel.setblocking(False)
    Guest(channel, settings, share, hands).loop()
