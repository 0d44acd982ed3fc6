"""What the first process of a sandbox needs of the standard library, without what that brings along.

`json`, `socket`, `signal`, `selectors`, `subprocess` and `ctypes` make enumerations, patterns and classes when they are
imported: two thirds of what the start of a sandbox took. What they wrap is part of the same interpreter, and enough.
"""

from __future__ import annotations

import _ctypes
import _json
import _signal  # type: ignore[import-not-found]  # part of every interpreter, and without a stub
import _socket
import os
import select
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Of a descriptor that has something to say, and READ, WRITE or both.
    Heard = Callable[[int, int], None]

READ, WRITE = 1, 2
SIGINT, SIGKILL = 2, 9
# Python ignores these two, and what it starts would inherit that.
_GIVEN_BACK = (_signal.SIGPIPE, _signal.SIGXFSZ)
_PR_SET_DUMPABLE = 4
_STANDARD = 2
_ONE = struct.Struct("i")


class _Quietly:
    """What the operating system refuses here is no news."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> bool:
        return kind is not None and issubclass(kind, OSError)


quietly = _Quietly()


class _Reading:
    """How json reads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _unknown(value: object) -> None:
    raise TypeError(f"{type(value).__name__} is not JSON")


_scanner: Any = _json.make_scanner
_read = _scanner(_Reading())
_written: Any = _json.make_encoder(None, _unknown, _json.encode_basestring_ascii, None, ": ", ", ", False, False, True)


def loads(content: bytes | bytearray) -> Any:
    return _read(content.decode(), 0)[0]


def dumps(value: Any) -> bytes:
    return "".join(_written(value, 0)).encode()


class Selector:
    """Descriptors, and who is told when they have something to say."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._told: dict[int, Heard] = {}

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._told

    def register(self, descriptor: int, wanted: int, heard: Heard) -> None:
        self._epoll.register(descriptor, _events(wanted))
        self._told[descriptor] = heard

    def modify(self, descriptor: int, wanted: int) -> None:
        self._epoll.modify(descriptor, _events(wanted))

    def unregister(self, descriptor: int) -> None:
        del self._told[descriptor]
        with quietly:
            self._epoll.unregister(descriptor)

    def tell(self, seconds: float | None) -> None:
        """Wait until something happens, and tell; who is told may take others off."""
        for descriptor, events in self._epoll.poll(seconds):
            heard = self._told.get(descriptor)
            if heard is not None:
                # An end or an error is met by whoever reads, and by whoever writes.
                heard(descriptor, READ * bool(events & ~select.EPOLLOUT) | WRITE * bool(events & ~select.EPOLLIN))


def _events(wanted: int) -> int:
    return select.EPOLLIN * bool(wanted & READ) | select.EPOLLOUT * bool(wanted & WRITE)


class Socket(_socket.socket):
    """A connection; of what is accepted, a new one."""

    def accepted(self) -> Socket:
        descriptor, _ = self._accept()  # type: ignore[attr-defined]  # what socket.accept calls
        return Socket(fileno=descriptor)

    def received_descriptor(self) -> int:
        """The one that was sent along with one byte."""
        _, sent, _, _ = self.recvmsg(1, _socket.CMSG_LEN(_ONE.size))
        (_level, _kind, content), *_ = sent
        descriptor: int = _ONE.unpack(content[: _ONE.size])[0]
        return descriptor


def listening(at: str) -> Socket:
    made = Socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    made.bind(at)
    made.listen(16)
    return made


def finish_writing(connection: Socket) -> None:
    with quietly:
        connection.shutdown(_socket.SHUT_WR)


def wake_at_ends(waker: int) -> None:
    """Whenever a program has ended, a byte is written here."""
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(waker, warn_on_full_buffer=False)


def started(argv: list[str], env: Mapping[str, str], ends: Sequence[int], keep: Sequence[int]) -> int:
    """A program in the folder where we are, in a group of its own; only `ends` and `keep` are open in it."""
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    return os.posix_spawn(
        _found(argv[0], env.get("PATH", "")),
        argv,
        env,
        file_actions=[(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(ends)],
        setpgroup=0,
        setsigdef=_GIVEN_BACK,
    )


def _found(program: str, path: str) -> str:
    if "/" in program:
        return program
    places = [f"{folder}/{program}" for folder in path.split(":")]
    # What is there and may not be run is told of as such.
    found = sorted(
        (place for place in places if os.path.isfile(place)),  # noqa: PTH113 - pathlib is slow to import
        key=lambda place: not os.access(place, os.X_OK),
    )
    if not found:
        raise FileNotFoundError(2, "No such file or directory", program)
    return found[0]


def close_inherited(keep: set[int]) -> None:
    """All but our own: whatever is started from here would have them too."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is slow to import
        if (descriptor := int(name)) > _STANDARD and descriptor not in keep:
            # One of them is the listing's own, which is gone by now.
            with quietly:
                os.close(descriptor)


def hide() -> None:
    """No neighbour of the same user may look into this process."""
    ourselves: Any = None
    prctl = _ctypes.dlsym(_ctypes.dlopen(ourselves, 0), "prctl")
    if _ctypes.call_function(prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0)):
        raise OSError("the first process of a sandbox can be looked into")
