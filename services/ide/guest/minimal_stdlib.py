"""The parts of the standard library that the first process of a sandbox needs, without what they import.

`json`, `socket`, `signal`, `selectors`, `subprocess` and `ctypes` make enumerations, patterns and classes when they are
imported: two thirds of the time that the start of a sandbox took. The private modules that they wrap are part of the
same interpreter, and enough.
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

    # Takes a descriptor that is ready, and READ, WRITE or both.
    Handler = Callable[[int, int], None]

READ, WRITE = 1, 2
SIGINT, SIGKILL = 2, 9
# Python ignores these two, and the programs that it starts would inherit that.
_RESTORED_SIGNALS = (_signal.SIGPIPE, _signal.SIGXFSZ)
_PR_SET_DUMPABLE = 4
_LAST_STANDARD_STREAM = 2
_DESCRIPTOR = struct.Struct("i")


class _IgnoreOSErrors:
    """A context in which a refusal of the operating system does not matter."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> bool:
        return kind is not None and issubclass(kind, OSError)


ignore_os_errors = _IgnoreOSErrors()


class _JsonSettings:
    """How json reads."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} is not JSON")


_make_scanner: Any = _json.make_scanner
_scan = _make_scanner(_JsonSettings())
_encode: Any = _json.make_encoder(None, _refuse, _json.encode_basestring_ascii, None, ": ", ", ", False, False, True)


def loads(content: bytes | bytearray) -> Any:
    return _scan(content.decode(), 0)[0]


def dumps(value: Any) -> bytes:
    """Bytes of names that are no UTF-8 are written as replacement characters: no reader of JSON takes them."""
    text = "".join(_encode(value, 0))
    if "\\udc" in text:
        text = "".join(_encode(_readable(value), 0))
    return text.encode()


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return os.fsencode(value).decode(errors="replace") if any(map(_is_raw_byte, value)) else value
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_raw_byte(character: str) -> bool:
    return "\udc80" <= character <= "\udcff"


class Selector:
    """Descriptors, and the handlers that are called when they are ready."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        # Without these nothing can go on: they stay registered, whatever their handlers raise.
        self.essential: set[int] = set()

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._handlers

    def register(self, descriptor: int, events: int, handler: Handler) -> None:
        self._epoll.register(descriptor, _epoll_events(events))
        self._handlers[descriptor] = handler

    def modify(self, descriptor: int, events: int) -> None:
        self._epoll.modify(descriptor, _epoll_events(events))

    def unregister(self, descriptor: int) -> None:
        del self._handlers[descriptor]
        with ignore_os_errors:
            self._epoll.unregister(descriptor)

    def wait(self, seconds: float | None) -> None:
        """Wait until something happens, and call the handlers; a handler may unregister others."""
        for descriptor, events in self._epoll.poll(seconds):
            handle = self._handlers.get(descriptor)
            if handle is None:
                continue
            try:
                # Readers and writers alike learn of an end or an error.
                handle(descriptor, READ * bool(events & ~select.EPOLLOUT) | WRITE * bool(events & ~select.EPOLLIN))
            except Exception:  # noqa: BLE001 - what a program wrote must not end the process that serves the others
                if descriptor in self._handlers and descriptor not in self.essential:
                    self.unregister(descriptor)


def _epoll_events(events: int) -> int:
    return select.EPOLLIN * bool(events & READ) | select.EPOLLOUT * bool(events & WRITE)


class Socket(_socket.socket):
    """A connection, or a socket that accepts connections."""

    def accept_connection(self) -> Socket:
        descriptor, _ = self._accept()  # type: ignore[attr-defined]  # what socket.accept calls
        return Socket(fileno=descriptor)

    def receive_descriptor(self) -> int:
        """The one that was sent along with one byte."""
        _, sent, _, _ = self.recvmsg(1, _socket.CMSG_LEN(_DESCRIPTOR.size))
        (_level, _kind, content), *_ = sent
        descriptor: int = _DESCRIPTOR.unpack(content[: _DESCRIPTOR.size])[0]
        return descriptor

    def finish_writing(self) -> None:
        with ignore_os_errors:
            self.shutdown(_socket.SHUT_WR)


def listen(path: str) -> Socket:
    listener = Socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(16)
    return listener


def ignore_interrupts() -> None:
    """Anything in here may send them; by default Python ends. A handler is not inherited, as ignoring would be."""
    _signal.signal(_signal.SIGINT, lambda *_: None)


class TookTooLong(Exception):
    """Not an OSError: whoever expects a refusal of the operating system must not take it for one."""


class TimeLimit:
    """A context that ends with TookTooLong after some seconds.

    A call that waits in the kernel ends at once; matching a regular expression looks for signals now and then.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_on = False

    def __enter__(self) -> None:
        self._is_on = True
        _signal.signal(_signal.SIGALRM, self._on_signal)
        _signal.setitimer(_signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        self._is_on = False
        _signal.setitimer(_signal.ITIMER_REAL, 0)

    def _on_signal(self, *_: object) -> None:
        """Anything in here may send it at any time: outside of the context it means nothing."""
        if self._is_on:
            self._is_on = False
            raise TookTooLong("Operation timed out")


def write_byte_when_programs_end(descriptor: int) -> None:
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)


def spawn(
    argv: list[str], env: Mapping[str, str], ends: Sequence[int], keep: Sequence[int], terminal: str | None = None
) -> int:
    """Start a program in the current folder, in a group of its own; only `ends` and `keep` are open in it."""
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    program = _locate(argv[0], env.get("PATH", ""))
    if terminal is not None:
        # The terminal that the leader of a session opens first controls it.
        streams = [(os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0), *((os.POSIX_SPAWN_DUP2, 0, end) for end in (1, 2))]
        return os.posix_spawn(program, argv, env, file_actions=streams, setsid=True, setsigdef=_RESTORED_SIGNALS)
    return os.posix_spawn(
        program,
        argv,
        env,
        file_actions=[(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(ends)],
        setpgroup=0,
        setsigdef=_RESTORED_SIGNALS,
    )


def _locate(program: str, path: str) -> str:
    if "/" in program:
        return program
    places = [f"{folder}/{program}" for folder in path.split(":")]
    # A file that may not be executed is taken where there is no other: the refusal then names it.
    files = sorted(
        (place for place in places if os.path.isfile(place)),  # noqa: PTH113 - pathlib is slow to import
        key=lambda place: not os.access(place, os.X_OK),
    )
    if not files:
        raise FileNotFoundError(2, "No such file or directory", program)
    return files[0]


def close_inherited(keep: set[int]) -> None:
    """All but `keep` and the standard streams: programs that are started here would inherit them."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib is slow to import
        if (descriptor := int(name)) > _LAST_STANDARD_STREAM and descriptor not in keep:
            # One of them is the listing's own, which is gone by now.
            with ignore_os_errors:
                os.close(descriptor)


def forbid_inspection() -> None:
    """No other process of the same user may look into this one."""
    this_program: Any = None
    prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), "prctl")
    if _ctypes.call_function(prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0)):
        raise OSError("the first process of a sandbox can be looked into")
