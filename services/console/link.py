"""ControlLink: the console's connection to control and to the products, and its errors as answers."""

import json
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from dayshift.connection import Address, AsyncConnection
from dayshift.errors import ControlRefused, DayshiftError, HarnessFault, UsageError
from dayshift.http_flow import HttpFlow, HttpRequest, HttpResponse
from dayshift.wire import ProductAccess
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

T = TypeVar("T")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_BODY = 1_000_000


class ControlLink:
    """Calls of control in the console's name."""

    def __init__(self, url: str, token: str) -> None:
        self.address = Address(url, token)
        self._connection = AsyncConnection(self.address, connections=16)
        self._host = urlsplit(url).hostname or ""

    async def run(self, flow: HttpFlow[T]) -> T:
        return await self._connection.run(flow)

    async def send(self, request: HttpRequest) -> HttpResponse:
        return await self._connection.run(_send_once(request))

    async def close(self) -> None:
        await self._connection.close()

    def reachable(self, access: ProductAccess) -> ProductAccess:
        """Agents reach products at this machine's ports; a console in a container reaches them at control's host."""
        return access.model_copy(
            update={"base_url": self._move(access.base_url), "openapi_url": self._move(access.openapi_url)}
        )

    def _move(self, url: str) -> str:
        parts = urlsplit(url)
        if parts.hostname not in _LOOPBACK or self._host in _LOOPBACK:
            return url
        return urlunsplit(parts._replace(netloc=f"{self._host}:{parts.port}"))


def _send_once(request: HttpRequest) -> HttpFlow[HttpResponse]:
    return (yield request)


def explain(error: DayshiftError) -> Response:
    """An error of control or of a product as the pages show it."""
    if isinstance(error, ControlRefused):
        return JSONResponse({"error": error.problem.error, "message": error.problem.message}, error.status)
    if isinstance(error, UsageError):
        return JSONResponse({"error": "bad_request", "message": str(error)}, 400)
    status = 503 if isinstance(error, HarnessFault) else 502
    return JSONResponse({"error": "unavailable", "message": str(error)}, status)


async def read_object(request: Request) -> dict[str, Any]:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BODY:
            raise UsageError(f"the body is longer than {_MOST_BODY} bytes")
    try:
        body = json.loads(content or b"{}")
    except ValueError as error:
        raise UsageError("the body is not JSON") from error
    if not isinstance(body, dict):
        raise UsageError("the body is not a JSON object")
    return body
