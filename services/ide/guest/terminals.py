"""Terminals: programs that a person, or an agent in the place of one, types to."""

from __future__ import annotations

import fcntl
import os
import struct

from .minimal_stdlib import SIGKILL, ignore_os_errors
from .pipes import read_available, signal_tree
from .streams import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .programs import Programs
    from .server import Message, Server
    from .streams import Streams

_TIOCSWINSZ = 0x5414


class Terminals:
    """All terminals; each is a stream by the number of its request."""

    def __init__(self, server: Server, programs: Programs, streams: Streams) -> None:
        self._server = server
        self._programs = programs
        self._streams = streams
        # (pid, our end) by number.
        self._open_terminals: dict[int, tuple[int, int]] = {}

    def operations(self) -> dict[str, Callable[[Message, bytes], None]]:
        return {"terminal_open": self._open, "terminal_resize": self._resize, "terminal_close": self._close}

    def _open(self, message: Message, _: bytes) -> None:
        ours, theirs = os.openpty()
        try:
            _set_size(ours, message["rows"], message["cols"])
            pid = self._programs.start(message, (theirs, theirs, theirs), terminal=os.ttyname(theirs))
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        # It is a session of its own, which asks for the share that the whole sandbox has.
        with ignore_os_errors, open(f"/proc/{pid}/autogroup", "w") as share:  # noqa: PTH123 - pathlib is slow to import
            share.write(str(self._server.settings["nice_share"]))
        number = message["id"]
        self._open_terminals[number] = (pid, ours)
        self._server.send({"id": number, "open": True})
        self._streams.add(number, Stream(ours, os.dup(ours)))

    def on_end(self, pid: int, code: int) -> None:
        """What it wrote last comes before its exit code."""
        for number, (owner, ours) in list(self._open_terminals.items()):
            if owner == pid:
                del self._open_terminals[number]
                rest = bytearray()
                read_available(ours, rest)
                if rest:
                    self._server.send({"id": number, "open": True}, bytes(rest))
                self._server.send({"id": number, "exit": code})

    def _resize(self, message: Message, _: bytes) -> None:
        _set_size(self._open_terminals[message["to"]][1], message["rows"], message["cols"])
        self._server.send({"id": message["id"]})

    def _close(self, message: Message, _: bytes) -> None:
        signal_tree(self._open_terminals[message["to"]][0], SIGKILL)
        self._server.send({"id": message["id"]})


def _set_size(terminal: int, rows: int, cols: int) -> None:
    fcntl.ioctl(terminal, _TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
