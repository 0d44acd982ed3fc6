"""Sign-in: a token and a name become a session, which a cookie carries. Nothing else opens the console."""

import hmac
import html
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE = "dayshift_console"
SESSION_SECONDS = 12 * 3600
_OPEN_ASSETS = frozenset({"/assets/login.css", "/assets/login.js"})
_MOST_SESSIONS = 1000
_MOST_BODY = 10_000
_FAILURES, _FAILURE_SECONDS = 10, 60.0
_NAME = TypeAdapter(Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")])
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # Without a referrer, browsers send the form with the origin "null".
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who has signed in."""

    person: str
    expires: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class Sessions:
    """All sessions, in memory: a restart of the console ends them."""

    def __init__(self, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._token = token.encode()
        self._now = now
        self._by_cookie: OrderedDict[str, Session] = OrderedDict()
        self._failures: deque[float] = deque(maxlen=_FAILURES)

    @property
    def is_blocked(self) -> bool:
        """Whether too many tokens were wrong within a minute; guessing becomes pointless."""
        return len(self._failures) == _FAILURES and self._now() - self._failures[0] < _FAILURE_SECONDS

    def open(self, token: str, person: str) -> str | None:
        """Returns the cookie of a new session, or None for a wrong token."""
        if not hmac.compare_digest(token.encode(), self._token):
            self._failures.append(self._now())
            return None
        cookie = secrets.token_urlsafe(32)
        self._by_cookie[cookie] = Session(person, self._now() + SESSION_SECONDS)
        while len(self._by_cookie) > _MOST_SESSIONS:
            self._by_cookie.popitem(last=False)
        return cookie

    def find(self, request: Request) -> Session | None:
        session = self._by_cookie.get(request.cookies.get(COOKIE, ""))
        return None if session is None or session.expires < self._now() else session

    def require(self, request: Request) -> Session:
        session = self.find(request)
        assert session is not None, "the middleware lets nobody through without one"
        return session

    def close(self, request: Request) -> None:
        self._by_cookie.pop(request.cookies.get(COOKIE, ""), None)


class SignIn:
    """ASGI middleware: `/login`, its assets and `/health` are open, everything else needs a session."""

    def __init__(self, app: ASGIApp, sessions: Sessions, hosts: frozenset[str]) -> None:
        self._app = app
        self._sessions = sessions
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = await self._answer(request)
        await (self._app if response is None else response)(scope, receive, send)

    async def _answer(self, request: Request) -> Response | None:
        path, method = request.url.path, request.method
        if path == "/health":
            return JSONResponse({"status": "ok"})
        if (urlsplit(f"//{request.headers.get('host', '')}").hostname or "") not in self._hosts:
            return JSONResponse({"error": "unknown_host", "message": "name it in DAYSHIFT_CONSOLE_URL"}, 403)
        if path == "/login":
            return await self._sign_in(request) if method == "POST" else _page()
        if path == "/login/state":
            signed_in = self._sessions.find(request) is not None
            return JSONResponse({"signed_in": signed_in}, headers={"cache-control": "no-store"})
        if path in _OPEN_ASSETS:
            return None
        session = self._sessions.find(request)
        if session is None:
            if path.startswith("/api/"):
                return JSONResponse({"error": "unauthorized", "message": "sign in at /login"}, 401)
            return RedirectResponse("/login", 303, _HEADERS)
        if path == "/logout" and method == "POST":
            return self._sign_out(request, session)
        return None

    async def _sign_in(self, request: Request) -> Response:
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return _page("Sign in from the console's own page.", 403)
        if self._sessions.is_blocked:
            return _page("Too many wrong tokens. Try again in a minute.", 429)
        form = parse_qs((await _read(request)).decode("utf-8", "replace"))
        try:
            person = _NAME.validate_python(form.get("person", [""])[0].strip())
        except ValidationError:
            return _page("Enter your name: it stands in the audit log.", 422)
        cookie = self._sessions.open(form.get("token", [""])[0].strip(), person)
        if cookie is None:
            return _page("This is not the console's token.", 401)
        response = RedirectResponse("/", 303, _HEADERS)
        is_secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, cookie, SESSION_SECONDS, httponly=True, samesite="strict", secure=is_secure)
        return response

    def _sign_out(self, request: Request, session: Session) -> Response:
        if not hmac.compare_digest(request.headers.get("x-csrf-token", "").encode(), session.csrf.encode()):
            return JSONResponse({"error": "csrf", "message": "load the page again"}, 403)
        self._sessions.close(request)
        response = JSONResponse({"signed_out": True})
        response.delete_cookie(COOKIE)
        return response


async def _read(request: Request) -> bytes:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BODY:
            return b""
    return content


def _page(problem: str = "", status: int = 200) -> Response:
    warning = f'<p role="alert" class="problem">{html.escape(problem)}</p>' if problem else ""
    return HTMLResponse(_PAGE.format(warning=warning), status, _HEADERS)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in · Dayshift console</title>
<link rel="stylesheet" href="/assets/login.css">
<script type="module" src="/assets/login.js"></script>
</head>
<body>
<main>
<h1>Dayshift console</h1>
{warning}
<form method="post" action="/login">
<label for="person">Your name</label>
<input id="person" name="person" autocomplete="name" required maxlength="100">
<label for="token">The console's token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required>
<p>It is in <code>var/console.token</code>, or in <code>DAYSHIFT_CONSOLE_TOKEN</code>.</p>
<button>Sign in</button>
</form>
</main>
</body>
</html>
"""
