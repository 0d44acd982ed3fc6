"""HTTP/1.1 for hundreds of episodes at once: one request per connection at a time, connections counted and reused.

Ours, because httpx searches its whole pool on every request: at 256 episodes that took 15 ms of CPU per call.
"""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field
from functools import cache, lru_cache

from dayshift.errors import HarnessFault, StepTimeout, Unreachable, WireMismatch
from dayshift.flow import Incoming, Outgoing

# Servers drop idle connections after 5 s as a rule; reusing one at that very moment would look like a fault of theirs.
IDLE_SECONDS = 2.0
_LARGEST_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Who is spoken to."""

    host: str
    port: int
    is_secure: bool
    authority: str


class Pool:
    """At most so many connections, idle ones reused, the last used first."""

    def __init__(self, connections: int, timeout: float) -> None:
        self._timeout = timeout
        self._free = asyncio.Semaphore(connections)
        self._idle: dict[Origin, deque[_Line]] = {}
        self._open: set[_Line] = set()

    async def send(self, outgoing: Outgoing) -> Incoming:
        origin, target = _addressed(outgoing.url)
        timeout = self._timeout if outgoing.timeout is None else outgoing.timeout
        head = _head(outgoing, origin, target)
        # The wait for a free connection is ours, not the stack's: it does not count as a timeout.
        async with self._free:
            line = await self._line(origin, timeout)
            try:
                incoming = await line.ask(head + outgoing.content, timeout, outgoing.method)
            except BaseException:
                self._drop(line)
                raise
            self._put_back(line)
            return incoming

    async def close(self) -> None:
        for line in tuple(self._open):
            self._drop(line)
        # Transports close in the loop's next turn; leaving before would leave their sockets to the collector.
        await asyncio.sleep(0)

    async def _line(self, origin: Origin, timeout: float) -> "_Line":
        idle = self._idle.setdefault(origin, deque())
        now = asyncio.get_running_loop().time()
        while idle:
            line = idle.pop()
            if not line.is_lost and now - line.idle_since < IDLE_SECONDS:
                return line
            self._drop(line)
        return await self._opened(origin, timeout)

    async def _opened(self, origin: Origin, timeout: float) -> "_Line":
        loop = asyncio.get_running_loop()
        secure = _trusted() if origin.is_secure else None
        try:
            async with asyncio.timeout(timeout):
                _, line = await loop.create_connection(lambda: _Line(origin), origin.host, origin.port, ssl=secure)
        except TimeoutError:
            raise StepTimeout(f"no connection to {origin.authority} in {timeout:g} s") from None
        except OSError as error:
            raise Unreachable(f"no connection to {origin.authority}: {error}; is the stack running?") from None
        self._open.add(line)
        return line

    def _put_back(self, line: "_Line") -> None:
        if line.is_lost or line.closes:
            self._drop(line)
            return
        self._idle[line.origin].append(line)

    def _drop(self, line: "_Line") -> None:
        line.hang_up()
        self._open.discard(line)


class _Line(asyncio.Protocol):
    """One connection: a request, its whole answer, and again."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self.is_lost = False
        self.closes = False
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Incoming] | None = None
        self._answer = Answer("GET")

    async def ask(self, request: bytes, timeout: float, method: str) -> Incoming:
        if self._transport is None or self.is_lost:
            raise Unreachable(f"the connection to {self.origin.authority} was closed")
        loop = asyncio.get_running_loop()
        # Not when the answer was noticed: a policy that blocks the loop delays that, while the server's patience runs.
        self.idle_since = loop.time()
        self._answer = Answer(method)
        self._waiting = loop.create_future()
        alarm = loop.call_later(timeout, self._fail, StepTimeout(f"{self.origin.authority} gave no answer in time"))
        self._transport.write(request)
        try:
            return await self._waiting
        finally:
            alarm.cancel()
            self._waiting = None

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "TCP gives a transport that can be written to"
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:
            # Nobody asked: whatever this is, it must not be taken for the answer to the next question.
            self.hang_up()
            self.is_lost = True
            return
        try:
            self._answer.feed(data)
        except ValueError as error:
            self._fail(WireMismatch(f"{self.origin.authority} does not speak HTTP: {error}"))
            return
        if self._answer.is_whole:
            self._finish()

    def eof_received(self) -> None:
        if self._waiting is not None and self._answer.ends_with_connection:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        why = f": {exc}" if exc else ""
        self._fail(Unreachable(f"{self.origin.authority} closed the connection before its answer was whole{why}"))

    def _finish(self) -> None:
        self.closes = self._answer.closes
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(self._answer.incoming())

    def _fail(self, fault: HarnessFault) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(fault)


@dataclass(slots=True)
class Answer:
    """An answer as it arrives, in whatever pieces."""

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
            if len(self._buffer) > _LARGEST_HEAD:
                raise ValueError("its head has no end")
            return
        self._read_body()

    def incoming(self) -> Incoming:
        return Incoming(self.status, self.headers, bytes(self._body))

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise ValueError(f"it began with {first[:40]!r}")
        status = int(rest[:3])
        if status < 200:
            # An interim answer: the real one follows.
            return
        self.status = status
        self.headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        self._missing = self._length()

    def _length(self) -> int | None:
        if self.method == "HEAD" or self.status in {204, 304}:
            return 0
        said = self.headers.get("content-length")
        if said is None or "transfer-encoding" in self.headers:
            return None
        if not said.isdigit():
            raise ValueError(f"its length is {said[:20]!r}")
        return int(said)

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
                raise ValueError("it said more than it announced")
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
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()


@lru_cache(maxsize=1024)
def _origin(scheme: str, authority: str) -> Origin:
    if scheme not in {"http", "https"} or not authority:
        raise Unreachable(f"{scheme}://{authority} is no address to speak HTTP to")
    host, _, port = authority.rpartition(":") if authority.rpartition(":")[2].isdigit() else (authority, "", "")
    usual = 443 if scheme == "https" else 80
    return Origin(host.strip("[]"), int(port or usual), scheme == "https", authority)


def _addressed(url: str) -> tuple[Origin, str]:
    scheme, _, rest = url.partition("://")
    authority, slash, target = rest.partition("/")
    return _origin(scheme, authority), slash + target or "/"


def _head(outgoing: Outgoing, origin: Origin, target: str) -> bytes:
    lines = [f"{outgoing.method} {target} HTTP/1.1", f"host: {origin.authority}"]
    lines += [f"{name}: {value}" for name, value in outgoing.headers.items()]
    if outgoing.content or outgoing.method not in {"GET", "HEAD", "DELETE"}:
        lines.append(f"content-length: {len(outgoing.content)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1:
        raise Unreachable("a line break inside a header or an address cannot be sent")
    return f"{head}\r\n\r\n".encode("latin-1")
