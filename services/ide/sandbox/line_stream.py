"""A program in a sandbox that reads and writes lines."""

import asyncio
from collections.abc import Sequence

from services.ide.sandbox.sandbox import Sandbox


class LineStream:
    """Writes to a program's standard input, and reads its standard output line by line."""

    def __init__(self, sandbox: Sandbox, argv: Sequence[str], cwd: str, longest: int | None = None) -> None:
        """A program whose line is longer than `longest` loses its sandbox."""
        self._sandbox = sandbox
        self._longest = longest
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._partial = b""
        self.has_flooded = False
        self._number = sandbox.open_stream(argv, self._on_output, cwd=cwd)

    def write(self, content: bytes) -> None:
        self._sandbox.write_stream(self._number, content)

    async def read_line(self) -> bytes | None:
        """None at the end."""
        return await self._lines.get()

    def end(self) -> None:
        """Everybody who waits for a line learns that none will come."""
        self._lines.put_nowait(None)

    def close(self) -> None:
        self._sandbox.write_stream(self._number, None)
        self._sandbox.close_stream(self._number)

    def _on_output(self, content: bytes | None) -> None:
        if content is None:
            self.end()
            return
        if self._longest is not None and len(self._partial) + len(content) > self._longest:
            self.has_flooded = True
            self._sandbox.end()
            self.end()
            return
        *lines, self._partial = (self._partial + content).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line)
