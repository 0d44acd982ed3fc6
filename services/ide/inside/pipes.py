"""Small verbs on descriptors and processes."""

from __future__ import annotations

import os
import time

from .bare import quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# How much of what a program says is kept; the rest is read and dropped, so that it can go on.
KEEP = 4 << 20
ONE_READ = 1 << 16


def take(pipe: int, into: bytearray) -> bool:
    """Whatever is there now; True at its end."""
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


def write_all(pipe: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        try:
            view = view[os.write(pipe, view[:ONE_READ]) :]
        except BlockingIOError:
            time.sleep(0.0005)
        except OSError:
            return


def close(descriptors: Iterable[int | None]) -> None:
    for descriptor in descriptors:
        if descriptor is not None:
            with quietly:
                os.close(descriptor)


def descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - pathlib is slow to import, and this starts often
        with quietly, open(f"/proc/{name}/stat") as file:  # noqa: PTH123 - as above
            parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    found: list[int] = []
    frontier = [pid]
    while frontier:
        frontier = [one for one, parent in parents.items() if parent in frontier]
        found += frontier
    return found


def signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with quietly:
            os.kill(pid, number)


def end_tree(pid: int, number: int) -> None:
    below = descendants(pid)
    with quietly:
        os.killpg(pid, number)
    signal_all([pid, *below], number)
