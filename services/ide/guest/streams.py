"""Streams: a program whose standard streams are on the other side, and a socket that leads programs to the host."""

from __future__ import annotations

import os

from .minimal_stdlib import READ, Socket, listen
from .pipes import close, read_available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .pipes import Writers
    from .programs import Programs
    from .server import Message, Server

_LONGEST_FIRST_LINE = 4096
_MOST_UNREAD = 64


class Stream:
    """Bytes in both directions between a descriptor in here and the host."""

    def __init__(self, read: int, write: int, connection: Socket | None = None) -> None:
        self.read = read
        self.write: int | None = write
        self.connection = connection

    def finish_writing(self, writers: Writers) -> None:
        """Once what was written before has been taken."""
        descriptor, self.write = self.write, None
        if descriptor is not None:
            finish = self.connection.finish_writing if self.connection is not None else lambda: close((descriptor,))
            writers.finish(descriptor, finish)


class Streams:
    """All streams: one that the host opened has its request's number, one that was opened in here a negative number."""

    def __init__(self, server: Server, programs: Programs) -> None:
        self._server = server
        self._programs = programs
        self._streams: dict[int, Stream] = {}
        self._last_connection = 0
        # Connections that have not said yet what they want, by descriptor, and what they said so far.
        self._unread: dict[int, bytearray] = {}

    def operations(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {
            "stream_open": self._open,
            "stream_data": self._write,
            "stream_close": self._close,
            "listen": self._listen,
        }

    def _open(self, message: Message, _: bytes) -> None:
        stdin_inside, stdin = os.pipe()
        out, out_inside = os.pipe()
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            self._programs.start(message, (stdin_inside, out_inside, nothing))
        finally:
            close({stdin_inside, out_inside, nothing})
        self.add(message["id"], Stream(out, stdin))

    def add(self, number: int, stream: Stream) -> None:
        self._streams[number] = stream
        os.set_blocking(stream.read, False)
        if stream.write is not None:
            os.set_blocking(stream.write, False)

        def on_output(pipe: int, _: int) -> None:
            received = bytearray()
            has_ended = read_available(pipe, received)
            if received:
                self._server.send({"id": number, "open": True}, bytes(received))
            if has_ended:
                self._server.selector.unregister(pipe)
                self._server.send({"id": number, "open": False})

        self._server.selector.register(stream.read, READ, on_output)

    def _write(self, message: Message, blob: bytes) -> None:
        stream = self._streams.get(message["to"])
        if stream is None or stream.write is None:
            return
        self._server.writers.write(stream.write, blob)
        if message.get("end"):
            stream.finish_writing(self._server.writers)

    def _close(self, message: Message, _: bytes) -> None:
        stream = self._streams.pop(message["to"], None)
        if stream is None:
            return
        if stream.read in self._server.selector:
            self._server.selector.unregister(stream.read)
        if stream.connection is not None:
            self._server.writers.forget(stream.read)
            stream.connection.close()
        else:
            if stream.write is not None:
                self._server.writers.forget(stream.write)
            close({stream.read, stream.write})

    def _listen(self, message: Message, _: bytes) -> None:
        listener = listen(message["path"])
        self._server.selector.register(listener.fileno(), READ, lambda *_: self._accept(listener))
        self._server.send({"id": message["id"]})

    def _accept(self, listener: Socket) -> None:
        try:
            connection = listener.accept_connection()
        except OSError:
            return
        connection.setblocking(False)
        if len(self._unread) >= _MOST_UNREAD:
            connection.close()
            return
        descriptor = connection.fileno()
        self._unread[descriptor] = bytearray()
        self._server.selector.register(descriptor, READ, lambda *_: self._read_first_line(connection))

    def _read_first_line(self, connection: Socket) -> None:
        """As much of it as is there: a program that writes slowly keeps nobody waiting."""
        descriptor = connection.fileno()
        first_line = self._unread[descriptor]
        try:
            while not first_line.endswith(b"\n") and len(first_line) < _LONGEST_FIRST_LINE:
                first_line += connection.recv(1) or b"\n"
        except BlockingIOError:
            return
        except OSError:
            self._forget(descriptor)
            connection.close()
            return
        self._forget(descriptor)
        self._last_connection -= 1
        number = self._last_connection
        self._server.send({"id": number, "connection": first_line.decode(errors="replace").strip()})
        self.add(number, Stream(descriptor, descriptor, connection))

    def _forget(self, descriptor: int) -> None:
        del self._unread[descriptor]
        self._server.selector.unregister(descriptor)
