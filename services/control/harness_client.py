"""The harness API of one product process, as control calls it: HTTP/1.1 over a pool of kept connections.

HarnessError
├── Unreachable      nobody listens, or the connection broke before the answer
├── AnswerTimeout    somebody listens, but no answer came in time
└── ErrorAnswer      the product answered with an error
"""

import asyncio
import socket
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

_OPENINGS_AT_ONCE = 16
_MAX_IDLE_CONNECTIONS = 64
# The product closes a connection that was idle for a minute. Control closes it long before, so that no request meets a
# connection that is being closed.
_MAX_IDLE_SECONDS = 4.0
_MAX_HEAD_BYTES = 1 << 16
# The kernel of a machine that runs accepts a connection at once, however busy its processes are.
_CONNECT_SECONDS = 5.0
# A container that was removed closes nothing: only the silence of its kernel shows that it is gone.
_KEEPALIVE_OPTIONS = {"TCP_KEEPIDLE": 3, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 11_000}


class HarnessError(Exception):
    """A call of the harness API that did not succeed."""


class Unreachable(HarnessError):
    """Nobody listens at the address, or the connection broke before an answer came."""


class AnswerTimeout(HarnessError):
    """The product accepted the connection but did not answer in time."""


class ErrorAnswer(HarnessError):
    """The product answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class _Connection:
    """One connection, which carries one request at a time."""

    __slots__ = ("_reader", "_writer", "used_at")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.used_at = 0.0

    @property
    def is_closed(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        status = int(head[0].split(b" ", 2)[1])
        length = next((line for line in head if line[:15].lower() == b"content-length:"), b":0")
        body = await self._reader.readexactly(int(length.partition(b":")[2]))
        self.used_at = time.monotonic()
        return status, body

    def close(self) -> None:
        self._writer.close()


class HarnessClient:
    """Calls one product process. httpx would take forty times the CPU: see ADR 0009."""

    def __init__(self, url: str, token: str, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        self.url = url
        # When the product last answered anything; minus infinity: never.
        self.answered_at = float("-inf")
        # Openings come in bursts of thousands. Those beyond the slots wait here and not in the product's event loop,
        # where agents' requests and the health check would wait behind them.
        self.opening_slots = asyncio.Semaphore(_OPENINGS_AT_ONCE)
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or 80
        self._headers = f"host: {parts.netloc}\r\nauthorization: Bearer {token}\r\n"
        self._timeout = timeout
        self._idle: list[_Connection] = []

    async def get(self, path: str, timeout: float | None = None) -> Any:
        return await self._call("GET", path, b"", timeout or self._timeout, is_repeatable=True)

    async def post(
        self,
        path: str,
        message: Mapping[str, Any] | None = None,
        *,
        is_repeatable: bool = False,
        timeout: float | None = None,
    ) -> Any:
        """Send a message once; one that may be received twice without harm is sent again when a connection breaks."""
        body, longest = orjson.dumps(message or {}), timeout or self._timeout
        return await self._call("POST", path, body, longest, is_repeatable=is_repeatable)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _call(self, method: str, path: str, body: bytes, timeout: float, *, is_repeatable: bool) -> Any:
        head = (
            f"{method} {path} HTTP/1.1\r\n{self._headers}content-type: application/json\r\ncontent-length: {len(body)}"
        )
        request = head.encode() + b"\r\n\r\n" + body
        try:
            async with asyncio.timeout(timeout):
                status, content = await self._exchange(request, is_repeatable=is_repeatable)
        except TimeoutError as error:
            raise AnswerTimeout(f"{self.url} did not answer within {timeout:g} s") from error
        self.answered_at = time.monotonic()
        return read_answer(status, content)

    async def _exchange(self, request: bytes, *, is_repeatable: bool) -> tuple[int, bytes]:
        """Over a kept connection where there is one.

        A kept connection may break because the product closed it as idle. The product may also have received the
        request before, and a second one would then do the same thing twice: only what is repeatable is sent again.
        """
        idle = self._take_idle()
        if idle is not None:
            try:
                return await self._send(idle, request)
            except Unreachable:
                if not is_repeatable:
                    raise
        return await self._send(await self._connect(), request)

    async def _send(self, connection: _Connection, request: bytes) -> tuple[int, bytes]:
        try:
            answer = await connection.exchange(request)
        except (OSError, EOFError, ValueError) as error:
            connection.close()
            raise Unreachable(f"{self.url} broke the connection") from error
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        self._close_idle()
        return answer

    async def _connect(self) -> _Connection:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self._host, self._port, limit=_MAX_HEAD_BYTES)
        except (OSError, TimeoutError) as error:
            raise Unreachable(f"nobody listens at {self.url}") from error
        _set_keepalive(writer.get_extra_info("socket"))
        return _Connection(reader, writer)

    def _take_idle(self) -> _Connection | None:
        self._close_idle()
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
            connection.close()
        return None

    def _close_idle(self) -> None:
        """Close what was not used for a while: the list is in the order of last use."""
        oldest = time.monotonic() - _MAX_IDLE_SECONDS
        while self._idle and (len(self._idle) > _MAX_IDLE_CONNECTIONS or self._idle[0].used_at <= oldest):
            self._idle.pop(0).close()


def read_answer(status: int, content: bytes) -> Any:
    """Return the decoded answer; raise ErrorAnswer where the product refused."""
    answer = _decode(content)
    if status >= 400:
        message = answer.get("message") if isinstance(answer, dict) else None
        raise ErrorAnswer(status, str(message or content[:200].decode(errors="replace")))
    return answer


def _set_keepalive(connected: socket.socket) -> None:
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE_OPTIONS.items():
        # Not every system has all of them.
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _decode(content: bytes) -> Any:
    try:
        return orjson.loads(content) if content else None
    except orjson.JSONDecodeError:
        return None
