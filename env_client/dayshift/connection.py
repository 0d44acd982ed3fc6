"""The address of the stack, and the two connections (blocking and async) that drive an `HttpFlow` against it."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from dayshift.connection_pool import IDLE_SECONDS, ConnectionPool
from dayshift.control_client import ControlClient
from dayshift.errors import HarnessFault, StepTimeout, Unreachable
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

    @classmethod
    def find(cls, url: str | None = None, token: str | None = None) -> "Address":
        """Takes the arguments, else DAYSHIFT_CONTROL_URL and DAYSHIFT_CONTROL_TOKEN, else the stack's own folder."""
        return cls(url or os.environ.get("DAYSHIFT_CONTROL_URL", DEFAULT_URL), token or _find_token())

    @property
    def control(self) -> ControlClient:
        return ControlClient(self.url, self.token)


def _find_token() -> str:
    if token := os.environ.get("DAYSHIFT_CONTROL_TOKEN"):
        return token
    file = Path(os.environ.get("DAYSHIFT_VAR", "var")) / "control.token"
    return file.read_text().strip() if file.exists() else ""


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
        except httpx.HTTPError as error:
            reason = error or type(error).__name__
            raise Unreachable(
                f"{request.method} {request.url} got no answer: {reason}; is the stack running?"
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
