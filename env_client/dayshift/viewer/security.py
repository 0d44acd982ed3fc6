"""What protects the pages: a strict content security policy, and checks of host, origin and CSRF token."""

import hmac
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSRF_HEADER = "x-csrf-token"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# The only hosts of a viewer on one's own machine: another name that leads here is DNS rebinding.
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


class Guard:
    """Refuses foreign hosts and origins and writes without the CSRF token, and adds the security headers."""

    def __init__(
        self, app: ASGIApp, *, csrf_of: Callable[[Request], str], hosts: frozenset[str] | None = LOCAL_HOSTS
    ) -> None:
        self._app = app
        self._csrf_of = csrf_of
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        problem = self._find_problem(Request(scope))
        if problem is not None:
            await problem(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)

    def _find_problem(self, request: Request) -> JSONResponse | None:
        headers = request.headers
        if self._hosts is not None and _host_of(headers) not in self._hosts:
            return _refuse("unknown_host", "this address is not one of the viewer's")
        if request.method in _SAFE_METHODS:
            return None
        if (origin := headers.get("origin")) is not None and urlsplit(origin).netloc != headers.get("host"):
            return _refuse("foreign_origin", "writes come from the viewer's own pages alone")
        if not hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), self._csrf_of(request).encode()):
            return _refuse("csrf", "the CSRF token is missing or wrong: load the page again")
        return None


def _host_of(headers: Headers) -> str:
    return urlsplit(f"//{headers.get('host', '')}").hostname or ""


def _refuse(error: str, message: str) -> JSONResponse:
    return JSONResponse({"error": error, "message": message}, status_code=403)
