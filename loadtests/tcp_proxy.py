"""A TCP proxy between two processes that can be frozen or cut."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 1 << 16
_LOOK_EVERY_SECONDS = 0.05


class TcpProxy:
    """Forwards connections from one port to another until it is frozen or cut."""

    def __init__(self, to_port: int) -> None:
        self._to = to_port
        self._flows = threading.Event()
        self._flows.set()
        self._is_cut = False
        self._ends: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Hold all bytes back without closing anything, as when packets are dropped on the way."""
        self._flows.clear()

    def cut(self) -> None:
        """Close all connections, and every new one as soon as it is made."""
        self._is_cut = True
        for end in tuple(self._ends):
            _disconnect(end)

    def restore(self) -> None:
        self._is_cut = False
        self._flows.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(caller,), daemon=True).start()

    def _forward(self, caller: socket.socket) -> None:
        self._flows.wait()
        if self._is_cut:
            _disconnect(caller)
            return
        try:
            callee = socket.create_connection(("127.0.0.1", self._to), timeout=10)
        except OSError:
            _disconnect(caller)
            return
        callee.settimeout(None)
        self._ends |= {caller, callee}
        back = threading.Thread(target=self._copy, args=(callee, caller), daemon=True)
        back.start()
        self._copy(caller, callee)
        back.join()
        for end in (caller, callee):
            self._ends.discard(end)
            end.close()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK_BYTES):
                self._flows.wait()
                sink.sendall(chunk)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def _disconnect(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        end.close()
