"""SharedLines: a file of lines to which several processes append at once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

# Windows has no such lock: one process writes a folder there.
_HAS_LOCKS = find_spec("fcntl") is not None
_BLOCK = 1 << 16


class SharedLines:
    """Appends whole lines, one writer at a time.

    A crash may leave the part of a line at the end. No writer is at work while this one holds the lock, so what has no
    end then is such a part: it is cut off, so that the next line does not continue it.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+b", buffering=0)

    def append(self, line: str) -> None:
        with self._lock():
            self._cut_torn_line()
            rest = memoryview(line.encode() + b"\n")
            while rest:
                rest = rest[self._file.write(rest) :]

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        if not _HAS_LOCKS:
            yield
            return
        import fcntl  # not on every system

        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _cut_torn_line(self) -> None:
        size = start = self._file.seek(0, os.SEEK_END)
        while start:
            end, start = start, max(0, start - _BLOCK)
            self._file.seek(start)
            if (newline := self._file.read(end - start).rfind(b"\n")) >= 0:
                if (whole := start + newline + 1) < size:
                    self._file.truncate(whole)
                return
        if size:
            self._file.truncate(0)
