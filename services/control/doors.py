"""The harness's doors of the products, seen from control: one keep-alive connection pool per door."""

import asyncio
import socket
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

_IDLE_KEPT = 64
# An older one may be dead, and finding out costs a round trip: it is hung up instead.
_FRESH_SECONDS = 4.0
_LONGEST_HEAD = 1 << 16
# A machine that is there takes a connection at once, however busy its programs are.
_CONNECT_SECONDS = 5.0
# A container that was removed says no goodbye: its kernel's silence, unlike a program's, means that it is gone.
_SIGNS_OF_LIFE = {"TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 11_000}


class Unreachable(Exception):
    """Nobody listens there any more, or the connection broke before an answer came."""


class Silent(Exception):
    """Somebody listens but did not answer in time."""


class Refused(Exception):
    """The product's door answered, but not with what was asked."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class _Wire:
    """One connection: requests and answers in turn."""

    __slots__ = ("_reader", "_writer", "used_at")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.used_at = 0.0

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        status = int(head[0].split(b" ", 2)[1])
        length = next((line for line in head if line[:15].lower() == b"content-length:"), b":0")
        body = await self._reader.readexactly(int(length.partition(b":")[2]))
        self.used_at = time.monotonic()
        return status, body

    def close(self) -> None:
        self._writer.close()


class Door:
    """One product process, as control may ask it. httpx would cost more than everything the door does."""

    def __init__(self, url: str, token: str, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        self.url = url
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or 80
        self._head = f"host: {parts.netloc}\r\nauthorization: Bearer {token}\r\n"
        self._timeout = timeout
        self._idle: list[_Wire] = []

    async def get(self, path: str, timeout: float | None = None) -> Any:
        return await self._asked("GET", path, b"", timeout or self._timeout)

    async def post(self, path: str, message: Mapping[str, Any] | None = None) -> Any:
        return await self._asked("POST", path, orjson.dumps(message or {}), self._timeout)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _asked(self, method: str, path: str, body: bytes, timeout: float) -> Any:
        head = f"{method} {path} HTTP/1.1\r\n{self._head}content-type: application/json\r\ncontent-length: {len(body)}"
        status, answer = await self._exchange(head.encode() + b"\r\n\r\n" + body, timeout)
        said = _decoded(answer)
        if status >= 400:
            message = said.get("message") if isinstance(said, dict) else None
            raise Refused(status, str(message or answer[:200].decode(errors="replace")))
        return said

    async def _exchange(self, request: bytes, timeout: float) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(timeout):
                while (wire := self._kept()) is not None:
                    try:
                        return await self._over(wire, request)
                    except Unreachable:
                        continue
                return await self._over(await self._connected(), request)
        except TimeoutError as error:
            raise Silent(f"{self.url} did not answer within {timeout:g} s") from error

    async def _over(self, wire: _Wire, request: bytes) -> tuple[int, bytes]:
        try:
            answer = await wire.ask(request)
        except (OSError, EOFError, ValueError) as error:
            wire.close()
            raise Unreachable(f"{self.url} broke the connection") from error
        except BaseException:
            wire.close()
            raise
        self._idle.append(wire)
        self._hang_up_idle()
        return answer

    async def _connected(self) -> _Wire:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self._host, self._port, limit=_LONGEST_HEAD)
        except (OSError, TimeoutError) as error:
            raise Unreachable(f"nobody listens at {self.url}") from error
        _watch_peer(writer.get_extra_info("socket"))
        return _Wire(reader, writer)

    def _kept(self) -> _Wire | None:
        self._hang_up_idle()
        return self._idle.pop() if self._idle else None

    def _hang_up_idle(self) -> None:
        """The longest unused stand first: what a busy moment opened must not stay open for ever."""
        oldest = time.monotonic() - _FRESH_SECONDS
        while self._idle and (len(self._idle) > _IDLE_KEPT or self._idle[0].used_at <= oldest):
            self._idle.pop(0).close()


def _watch_peer(connected: socket.socket) -> None:
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _SIGNS_OF_LIFE.items():
        # Not every system has all of them.
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _decoded(answer: bytes) -> Any:
    try:
        return orjson.loads(answer) if answer else None
    except orjson.JSONDecodeError:
        return None
