"""The address of the stack, and the two connections (blocking and async) that drive an `HttpFlow` against it."""

import os
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urlsplit

from dayshift.connection_pool import IDLE_SECONDS, ConnectionPool, describe_no_connection
from dayshift.control_client import ControlClient
from dayshift.control_token import TokenCandidate, find_candidates, is_token
from dayshift.errors import HarnessFault, StepTimeout, Unreachable, UsageError
from dayshift.http_flow import ANSWER_SECONDS, HttpFlow, HttpRequest, HttpResponse

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8700"


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of control and the token that control accepts."""

    url: str
    token: str = field(repr=False)
    # Tried in order where control refuses the token: a file may be that of an earlier stack.
    others: tuple[TokenCandidate, ...] = field(default=(), repr=False)
    source: str = field(default="the caller", repr=False)

    def __post_init__(self) -> None:
        _require_url(self.url)
        for token in (self.token, *(other.token for other in self.others)):
            _require_token(token)

    @classmethod
    def find(cls, url: str | None = None, token: str | None = None) -> "Address":
        """Takes the arguments, else DAYSHIFT_CONTROL_URL and DAYSHIFT_CONTROL_TOKEN, else what this machine has."""
        url = url or os.environ.get("DAYSHIFT_CONTROL_URL") or DEFAULT_URL
        if token:
            return cls(url, token)
        _require_url(url)
        match find_candidates(url):
            case (first, *others):
                return cls(url, first.token, tuple(others), first.source)
            case _:
                raise UsageError(f"there is no token for {url}: set DAYSHIFT_CONTROL_TOKEN to that stack's token")

    @property
    def control(self) -> ControlClient:
        return ControlClient(self.url, (TokenCandidate(self.token, self.source), *self.others))


def _require_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address:
        raise UsageError(f"{url!r} is not the address of a stack: write it as {DEFAULT_URL}")


def _require_token(token: str) -> None:
    if not is_token(token):
        # Without the value: an error message is no place for a secret.
        raise UsageError("a control token is printable ASCII in one line: set DAYSHIFT_CONTROL_TOKEN to such a one")


class Connection:
    """Drives flows from blocking code."""

    def __init__(
        self,
        address: Address | None = None,
        *,
        timeout: float = ANSWER_SECONDS,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        # Imported here because httpx takes a fifth of the time that `import dayshift` may take.
        import httpx

        self.address = address or Address.find()
        limits = httpx.Limits(keepalive_expiry=IDLE_SECONDS)
        self._client = httpx.Client(timeout=timeout, limits=limits, transport=transport, trust_env=False)

    def run(self, flow: HttpFlow[T]) -> T:
        try:
            request = next(flow)
            while True:
                try:
                    response = self._send(request)
                except HarnessFault as fault:
                    request = flow.throw(fault)
                else:
                    request = flow.send(response)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _send(self, request: HttpRequest) -> HttpResponse:
        import httpx  # as in __init__

        timeout = None if request.timeout is None else httpx.Timeout(request.timeout, pool=None)
        try:
            response = self._client.send(
                httpx.Request(
                    request.method,
                    request.url,
                    headers=request.headers,
                    content=request.content,
                    extensions={"timeout": (timeout or self._client.timeout).as_dict()},
                )
            )
        except httpx.TimeoutException:
            raise StepTimeout(f"{request.method} {request.url} got no answer in time") from None
        except httpx.ConnectError as error:
            raise Unreachable(describe_no_connection(urlsplit(request.url).netloc, error)) from None
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(
                f"{request.method} {request.url} got no answer: {reason}; the service may have stopped meanwhile"
            ) from None
        return HttpResponse(response.status_code, response.headers, response.content)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncConnection:
    """Drives flows from coroutines; one bounded pool serves hundreds of episodes."""

    def __init__(
        self, address: Address | None = None, *, timeout: float = ANSWER_SECONDS, connections: int = 64
    ) -> None:
        self.address = address or Address.find()
        self._pool = ConnectionPool(connections, timeout)

    async def run(self, flow: HttpFlow[T]) -> T:
        try:
            request = next(flow)
            while True:
                try:
                    response = await self._pool.send(request)
                except HarnessFault as fault:
                    request = flow.throw(fault)
                else:
                    request = flow.send(response)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def close(self) -> None:
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
