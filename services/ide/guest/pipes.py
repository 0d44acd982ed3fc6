"""Functions on descriptors and processes."""

from __future__ import annotations

import os

from .minimal_stdlib import WRITE, ignore_os_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .minimal_stdlib import Selector

# How much of a program's output is kept; the rest is read and dropped, so that the program can go on.
KEEP = 4 << 20
ONE_READ = 1 << 16
_MOST_QUEUED = 64 << 20


def read_available(pipe: int, into: bytearray) -> bool:
    """Read what is there now; returns whether the pipe has ended."""
    while len(into) <= KEEP:
        try:
            received = os.read(pipe, ONE_READ)
        except BlockingIOError:
            return False
        except OSError:
            return True
        if not received:
            return True
        into += received
    return False


class Writers:
    """Writes to descriptors whose readers may be slow, or never read: what does not fit now is written later."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        # By descriptor: its twin, which the selector watches, and what is left to write.
        self._queues: dict[int, tuple[int, bytearray]] = {}
        self._at_end: dict[int, Callable[[], None]] = {}

    def write(self, pipe: int, content: bytes) -> None:
        """The descriptor does not block. What nobody reads for too long is dropped."""
        if pipe in self._queues:
            buffer = self._queues[pipe][1]
            buffer += content[: max(0, _MOST_QUEUED - len(buffer))]
            return
        buffer = bytearray(content)
        if _write_some(pipe, buffer):
            # A twin, since the descriptor itself may be watched for reading.
            twin = os.dup(pipe)
            self._queues[pipe] = (twin, buffer)
            self._selector.register(twin, WRITE, lambda *_: self._go_on(pipe))

    def finish(self, pipe: int, at_end: Callable[[], None]) -> None:
        """Call `at_end` once everything is written."""
        if pipe in self._queues:
            self._at_end[pipe] = at_end
        else:
            at_end()

    def forget(self, pipe: int) -> None:
        """For a descriptor that is about to be closed."""
        self._at_end.pop(pipe, None)
        if pipe in self._queues:
            twin, _ = self._queues.pop(pipe)
            self._selector.unregister(twin)
            os.close(twin)

    def _go_on(self, pipe: int) -> None:
        twin, left = self._queues[pipe]
        if not _write_some(twin, left):
            at_end = self._at_end.pop(pipe, None)
            self.forget(pipe)
            if at_end is not None:
                at_end()


def _write_some(pipe: int, buffer: bytearray) -> bool:
    """Write what fits, and remove it; returns whether something is left for later."""
    while buffer:
        try:
            del buffer[: os.write(pipe, buffer[:ONE_READ])]
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def close(descriptors: Iterable[int | None]) -> None:
    for descriptor in descriptors:
        if descriptor is not None:
            with ignore_os_errors:
                os.close(descriptor)


def descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - pathlib is slow to import, and this starts often
        with ignore_os_errors, open(f"/proc/{name}/stat") as file:  # noqa: PTH123 - as above
            parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    pids: list[int] = []
    frontier = [pid]
    while frontier:
        frontier = [child for child, parent in parents.items() if parent in frontier]
        pids += frontier
    return pids


def signal_all(pids: Iterable[int], signal: int) -> None:
    for pid in pids:
        with ignore_os_errors:
            os.kill(pid, signal)


def signal_tree(pid: int, signal: int) -> None:
    below = descendants(pid)
    with ignore_os_errors:
        os.killpg(pid, signal)
    signal_all([pid, *below], signal)
