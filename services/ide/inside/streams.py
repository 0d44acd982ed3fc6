"""Streams: a program whose ends are on the other side, and a socket through which programs in here reach the host."""

from __future__ import annotations

import os

from .bare import READ, Socket, finish_writing, listening
from .pipes import close, take, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .guest import Guest, Message
    from .programs import Programs

_LONGEST_HEAD = 4096


class Stream:
    """Bytes both ways between a descriptor in here and the host."""

    def __init__(self, read: int, write: int, connection: Socket | None = None) -> None:
        self.read = read
        self.write: int | None = write
        self.connection = connection

    def finish_writing(self) -> None:
        if self.connection is not None:
            finish_writing(self.connection)
        else:
            close((self.write,))
        self.write = None


class Streams:
    """All streams: those the host began have its request's number, those begun in here a negative one."""

    def __init__(self, guest: Guest, programs: Programs) -> None:
        self._guest = guest
        self._programs = programs
        self._streams: dict[int, Stream] = {}
        self._dialled = 0

    def verbs(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {"pipe": self._pipe, "flow": self._flow, "let_go": self._let_go, "answer_dials": self._answer_dials}

    def _pipe(self, message: Message, _: bytes) -> None:
        stdin_inside, stdin = os.pipe()
        out, out_inside = os.pipe()
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            self._programs.start(message, (stdin_inside, out_inside, nothing))
        finally:
            close({stdin_inside, out_inside, nothing})
        self._begin(message["id"], Stream(out, stdin))

    def _begin(self, number: int, stream: Stream) -> None:
        self._streams[number] = stream
        os.set_blocking(stream.read, False)

        def heard(pipe: int, _: int) -> None:
            received = bytearray()
            over = take(pipe, received)
            if received:
                self._guest.send({"id": number, "flow": True}, bytes(received))
            if over:
                self._guest.selector.unregister(pipe)
                self._guest.send({"id": number, "flow": False})

        self._guest.selector.register(stream.read, READ, heard)

    def _flow(self, message: Message, blob: bytes) -> None:
        stream = self._streams.get(message["to"])
        if stream is None or stream.write is None:
            return
        write_all(stream.write, blob)
        if message.get("over"):
            stream.finish_writing()

    def _let_go(self, message: Message, _: bytes) -> None:
        stream = self._streams.pop(message["to"], None)
        if stream is None:
            return
        if stream.read in self._guest.selector:
            self._guest.selector.unregister(stream.read)
        if stream.connection is not None:
            stream.connection.close()
        else:
            close({stream.read, stream.write})

    def _answer_dials(self, message: Message, _: bytes) -> None:
        ear = listening(message["at"])
        self._guest.selector.register(ear.fileno(), READ, lambda *_: self._dial(ear))
        self._guest.send({"id": message["id"]})

    def _dial(self, ear: Socket) -> None:
        connection = ear.accepted()
        connection.settimeout(1)
        head = b""
        try:
            while not head.endswith(b"\n") and len(head) < _LONGEST_HEAD:
                head += connection.recv(1) or b"\n"
        except OSError:
            connection.close()
            return
        self._dialled -= 1
        self._guest.send({"id": self._dialled, "dial": head.decode(errors="replace").strip()})
        descriptor = connection.fileno()
        connection.setblocking(False)
        self._begin(self._dialled, Stream(descriptor, descriptor, connection))
