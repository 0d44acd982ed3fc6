"""ConnectionPool: HTTP/1.1 for hundreds of concurrent episodes, one request per connection at a time.

httpx searches its whole pool on every request, which takes 15 ms of CPU per call at 256 episodes.
"""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import cast

from dayshift.errors import HarnessFault, StepTimeout, Unreachable, WireMismatch
from dayshift.http_flow import HttpRequest, HttpResponse

# Most servers close idle connections after 5 s; a request on a connection that is just closing would fail.
IDLE_SECONDS = 2.0
_MAX_HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a server."""

    host: str
    port: int
    is_secure: bool
    authority: str


def describe_no_connection(authority: str, error: Exception) -> str:
    if "SSL" in str(error):
        return f"no connection to {authority} over TLS: {error}; a stack speaks plain HTTP: write http://{authority}"
    return (
        f"no connection to {authority}: {error}; no stack listens there: "
        "start one (make up, or docker compose up), or set DAYSHIFT_CONTROL_URL"
    )


class ConnectionPool:
    """Opens at most `connections` connections and reuses idle ones, the last used first."""

    def __init__(self, connections: int, timeout: float) -> None:
        self._timeout = timeout
        self._free = asyncio.Semaphore(connections)
        self._idle: dict[Origin, deque[_PooledConnection]] = {}
        self._open: set[_PooledConnection] = set()

    async def send(self, request: HttpRequest) -> HttpResponse:
        origin, target = _split_url(request.url)
        timeout = self._timeout if request.timeout is None else request.timeout
        head = _encode_head(request, origin, target)
        # The timeout starts after the wait for a free connection, because the stack does not cause that wait.
        async with self._free:
            connection = await self._acquire(origin, timeout)
            try:
                response = await connection.exchange(head + request.content, timeout, request.method)
            except BaseException:
                self._discard(connection)
                raise
            self._release(connection)
            return response

    async def close(self) -> None:
        for connection in tuple(self._open):
            self._discard(connection)
        # Transports close in the next iteration of the loop; without it the garbage collector closes their sockets.
        await asyncio.sleep(0)

    async def _acquire(self, origin: Origin, timeout: float) -> "_PooledConnection":
        idle = self._idle.setdefault(origin, deque())
        now = asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if not connection.is_lost and now - connection.idle_since < IDLE_SECONDS:
                return connection
            self._discard(connection)
        return await self._connect(origin, timeout)

    async def _connect(self, origin: Origin, timeout: float) -> "_PooledConnection":
        loop = asyncio.get_running_loop()
        ssl_context = _create_ssl_context() if origin.is_secure else None
        try:
            async with asyncio.timeout(timeout):
                _, connection = await loop.create_connection(
                    lambda: _PooledConnection(origin), origin.host, origin.port, ssl=ssl_context
                )
        except TimeoutError:
            raise StepTimeout(f"no connection to {origin.authority} in {timeout:g} s") from None
        except OSError as error:
            raise Unreachable(describe_no_connection(origin.authority, error)) from None
        self._open.add(connection)
        return connection

    def _release(self, connection: "_PooledConnection") -> None:
        if connection.is_lost or connection.closes:
            self._discard(connection)
            return
        self._idle[connection.origin].append(connection)

    def _discard(self, connection: "_PooledConnection") -> None:
        connection.abort()
        self._open.discard(connection)


class _PooledConnection(asyncio.Protocol):
    """One connection, which carries one request and its response at a time."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self.is_lost = False
        self.closes = False
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpResponse] | None = None
        self._parser = ResponseParser("GET")

    async def exchange(self, request: bytes, timeout: float, method: str) -> HttpResponse:
        if self._transport is None or self.is_lost:
            raise Unreachable(f"the connection to {self.origin.authority} was closed")
        loop = asyncio.get_running_loop()
        # Set here and not when the response arrives: a policy that blocks the loop delays that moment, while the
        # server's idle timeout already runs.
        self.idle_since = loop.time()
        self._parser = ResponseParser(method)
        self._waiting = loop.create_future()
        timer = loop.call_later(timeout, self._fail, StepTimeout(f"{self.origin.authority} gave no answer in time"))
        self._transport.write(request)
        try:
            return await self._waiting
        finally:
            timer.cancel()
            self._waiting = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # TCP gives a transport that can be written to; uvloop's is of no class of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:
            # No request is pending: these bytes must not be read as the response to the next request.
            self.abort()
            self.is_lost = True
            return
        try:
            self._parser.feed(data)
        except ValueError as error:
            self._fail(WireMismatch(f"{self.origin.authority} does not speak HTTP: {error}"))
            return
        if self._parser.is_whole:
            self._finish()

    def eof_received(self) -> None:
        if self._waiting is not None and self._parser.ends_with_connection:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        why = f": {exc}" if exc else ""
        self._fail(Unreachable(f"{self.origin.authority} closed the connection before its answer was whole{why}"))

    def _finish(self) -> None:
        self.closes = self._parser.closes
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(self._parser.build_response())

    def _fail(self, fault: HarnessFault) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(fault)


@dataclass(slots=True)
class ResponseParser:
    """Parses a response from the pieces in which it arrives."""

    method: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    is_whole: bool = False
    _buffer: bytearray = field(default_factory=bytearray)
    _body: bytearray = field(default_factory=bytearray)
    _missing: int | None = None

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close" or self.ends_with_connection

    @property
    def ends_with_connection(self) -> bool:
        return self.status > 0 and self._missing is None and "transfer-encoding" not in self.headers

    def feed(self, data: bytes) -> None:
        self._buffer += data
        while self.status == 0 and (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            self._read_head(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
        if self.status == 0:
            if len(self._buffer) > _MAX_HEAD_BYTES:
                raise ValueError("its head has no end")
            return
        self._read_body()

    def build_response(self) -> HttpResponse:
        return HttpResponse(self.status, self.headers, bytes(self._body))

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise ValueError(f"it began with {first[:40]!r}")
        status = int(rest[:3])
        if status < 200:
            # This is an interim response; the final one follows.
            return
        self.status = status
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self._missing = self._parse_length()

    def _parse_length(self) -> int | None:
        if self.method == "HEAD" or self.status in {204, 304}:
            return 0
        length = self.headers.get("content-length")
        if length is None or "transfer-encoding" in self.headers:
            return None
        if not length.isdigit():
            raise ValueError(f"its length is {length[:20]!r}")
        return int(length)

    def _read_body(self) -> None:
        if self._missing is not None:
            self._read_counted(self._missing)
        elif "transfer-encoding" in self.headers:
            self._read_chunks()
        else:
            self._body += self._buffer
            self._buffer.clear()

    def _read_counted(self, length: int) -> None:
        if len(self._buffer) >= length:
            if len(self._buffer) > length:
                raise ValueError("its body is longer than its content-length")
            self._body, self._buffer, self.is_whole = self._buffer, bytearray(), True

    def _read_chunks(self) -> None:
        while (end := self._buffer.find(b"\r\n")) >= 0:
            size = int(bytes(self._buffer[:end]).partition(b";")[0], 16)
            if len(self._buffer) < end + 2 + size + 2:
                return
            self._body += self._buffer[end + 2 : end + 2 + size]
            del self._buffer[: end + 2 + size + 2]
            if size == 0:
                self.is_whole = True
                return


@cache
def _create_ssl_context() -> ssl.SSLContext:
    return ssl.create_default_context()


@lru_cache(maxsize=1024)
def _parse_origin(scheme: str, authority: str) -> Origin:
    if scheme not in {"http", "https"} or not authority:
        raise Unreachable(f"{scheme}://{authority} is not an HTTP address")
    host, _, port = authority.rpartition(":") if authority.rpartition(":")[2].isdigit() else (authority, "", "")
    default_port = 443 if scheme == "https" else 80
    return Origin(host.strip("[]"), int(port or default_port), scheme == "https", authority)


def _split_url(url: str) -> tuple[Origin, str]:
    scheme, _, rest = url.partition("://")
    authority, slash, target = rest.partition("/")
    return _parse_origin(scheme, authority), slash + target or "/"


def _encode_head(request: HttpRequest, origin: Origin, target: str) -> bytes:
    headers = {"host": origin.authority, **request.headers}
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if request.content or request.method not in {"GET", "HEAD", "DELETE"}:
        lines.append(f"content-length: {len(request.content)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1:
        raise Unreachable("a line break inside a header or an address cannot be sent")
    return f"{head}\r\n\r\n".encode("latin-1")
