"""Where the stack is, and the two ways to drive a flow against it."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import httpx

from dayshift.control import Control
from dayshift.errors import HarnessFault, StepTimeout, Unreachable
from dayshift.flow import Flow, Incoming, Outgoing
from dayshift.http1 import IDLE_SECONDS, Pool

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8700"


@dataclass(frozen=True, slots=True)
class Address:
    """Control's address and the secret that opens it."""

    url: str
    token: str = field(repr=False)

    @classmethod
    def find(cls, url: str | None = None, token: str | None = None) -> "Address":
        """Given, else from DAYSHIFT_CONTROL_URL and DAYSHIFT_CONTROL_TOKEN, else from the stack's own folder."""
        return cls(url or os.environ.get("DAYSHIFT_CONTROL_URL", DEFAULT_URL), token or _token())

    @property
    def control(self) -> Control:
        return Control(self.url, self.token)


def _token() -> str:
    if token := os.environ.get("DAYSHIFT_CONTROL_TOKEN"):
        return token
    file = Path(os.environ.get("DAYSHIFT_VAR", "var")) / "control.token"
    return file.read_text().strip() if file.exists() else ""


class Connection:
    """Drives flows from ordinary code."""

    def __init__(
        self, address: Address | None = None, *, timeout: float = 30.0, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.address = address or Address.find()
        limits = httpx.Limits(keepalive_expiry=IDLE_SECONDS)
        self._client = httpx.Client(timeout=timeout, limits=limits, transport=transport, trust_env=False)

    def run(self, flow: Flow[T]) -> T:
        try:
            outgoing = next(flow)
            while True:
                try:
                    incoming = self._send(outgoing)
                except HarnessFault as fault:
                    outgoing = flow.throw(fault)
                else:
                    outgoing = flow.send(incoming)
        except StopIteration as done:
            result: T = done.value
            return result

    def _send(self, outgoing: Outgoing) -> Incoming:
        try:
            return _incoming(self._client.send(_request(self._client, outgoing)))
        except httpx.HTTPError as error:
            raise _fault(error, outgoing) from None

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

    def __init__(self, address: Address | None = None, *, timeout: float = 30.0, connections: int = 64) -> None:
        self.address = address or Address.find()
        self._pool = Pool(connections, timeout)

    async def run(self, flow: Flow[T]) -> T:
        try:
            outgoing = next(flow)
            while True:
                try:
                    incoming = await self._pool.send(outgoing)
                except HarnessFault as fault:
                    outgoing = flow.throw(fault)
                else:
                    outgoing = flow.send(incoming)
        except StopIteration as done:
            result: T = done.value
            return result

    async def close(self) -> None:
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _request(client: httpx.Client, outgoing: Outgoing) -> httpx.Request:
    timeout = client.timeout if outgoing.timeout is None else httpx.Timeout(outgoing.timeout, pool=None)
    return httpx.Request(
        outgoing.method,
        outgoing.url,
        headers=outgoing.headers,
        content=outgoing.content,
        extensions={"timeout": timeout.as_dict()},
    )


def _incoming(response: httpx.Response) -> Incoming:
    return Incoming(response.status_code, response.headers, response.content)


def _fault(error: httpx.HTTPError, outgoing: Outgoing) -> HarnessFault:
    where = f"{outgoing.method} {outgoing.url}"
    if isinstance(error, httpx.TimeoutException):
        return StepTimeout(f"{where} got no answer in time")
    return Unreachable(f"{where} got no answer: {error or type(error).__name__}; is the stack running?")
