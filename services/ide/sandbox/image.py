"""An image: a whole tree of files as bytes, laid out in a sandbox with one request."""

import fcntl
import os
import weakref
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from services.ide.sandbox.sandbox import Sandbox
from services.ide.sandbox.system_files import HOME

# fcntl.h: against sealing anew, shrinking, growing and writing.
_ADD_SEALS, _NO_CHANGE = 1033, 1 | 2 | 4 | 8


class ImageEntry(NamedTuple):
    """One file, link or empty folder of an image; `seconds` is its date since 1970, 0 for that of the layout."""

    path: str
    mode: int
    content: bytes
    seconds: int = 0


class Image:
    """An index with [path, mode, size, seconds] of each entry, and their contents one after the other."""

    def __init__(self, index: bytes, contents: bytes) -> None:
        self.size = len(index) + len(contents)
        self._index_size = len(index)
        # Until it becomes memory of the kernel's, which all sandboxes share.
        self._bytes: bytes | None = index + contents
        self._sealed: int | None = None

    @classmethod
    def of(cls, entries: Iterable[ImageEntry]) -> "Image":
        index, contents = [], []
        for path, mode, content, seconds in entries:
            index.append([path, mode, len(content), seconds])
            contents.append(content)
        return cls(orjson.dumps(index), b"".join(contents))

    async def lay_out(self, sandbox: Sandbox, root: str = HOME) -> None:
        """Sent as memory that nobody can change, where the sandbox takes that: nothing is copied on the way."""
        if sandbox.descriptor_socket is None:
            await sandbox.request_file("put", self._content(), root=root, index=self._index_size)
            return
        sandbox.send_descriptor(self._descriptor())
        await sandbox.request_file("put", root=root, index=self._index_size, has_descriptor=True)

    def _content(self) -> bytes:
        if self._bytes is None:
            return os.pread(self._descriptor(), self.size, 0)
        return self._bytes

    def _descriptor(self) -> int:
        if self._sealed is None:
            self._sealed = os.memfd_create("image", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
            with os.fdopen(os.dup(self._sealed), "wb") as file:
                file.write(self._content())
            fcntl.fcntl(self._sealed, _ADD_SEALS, _NO_CHANGE)
            weakref.finalize(self, os.close, self._sealed)
            self._bytes = None
        return self._sealed
