"""Cable: a wire between two processes that can be frozen or cut."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_PIECE = 1 << 16
_LOOK_EVERY_SECONDS = 0.05


class Cable:
    """Carries connections from one port to another, as long as it is whole."""

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
        """Nothing arrives any more, and nobody is told: as when packets are dropped on the way."""
        self._flows.clear()

    def cut(self) -> None:
        """Connections end, and new ones end as soon as they are made."""
        self._is_cut = True
        for end in tuple(self._ends):
            _hang_up(end)

    def mend(self) -> None:
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
            threading.Thread(target=self._carry, args=(caller,), daemon=True).start()

    def _carry(self, caller: socket.socket) -> None:
        self._flows.wait()
        if self._is_cut:
            _hang_up(caller)
            return
        try:
            callee = socket.create_connection(("127.0.0.1", self._to), timeout=10)
        except OSError:
            _hang_up(caller)
            return
        callee.settimeout(None)
        self._ends |= {caller, callee}
        back = threading.Thread(target=self._pump, args=(callee, caller), daemon=True)
        back.start()
        self._pump(caller, callee)
        back.join()
        for end in (caller, callee):
            self._ends.discard(end)
            end.close()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(_PIECE):
                self._flows.wait()
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        end.close()
