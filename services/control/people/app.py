"""Serves the pages for people before the control API, and passes their requests on to the playground alone."""

import asyncio
from importlib.resources import files

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from services.control.control import Control
from services.control.people.pages import render_api, render_overview
from services.kernel.answers import Answer
from services.kernel.asgi import BodyEnded, BodyOverLimit, find_header, read_body, send_answer

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
# Swagger UI is part of a package, so that a browser loads nothing from elsewhere.
_ASSETS = {
    "swagger-ui-bundle.js": ("fastapi_offline", "static/swagger-ui-bundle.js"),
    "swagger-ui.css": ("fastapi_offline", "static/swagger-ui.css"),
    **{name: ("services.control.people", f"assets/{name}") for name in ("page.css", "page.js", "api.js", "icon.svg")},
}
_TYPES = {"js": b"text/javascript; charset=utf-8", "css": b"text/css; charset=utf-8", "svg": b"image/svg+xml"}
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_PASSED_ON = ("content-type", "accept", "idempotency-key", "if-match")
_BODY_LIMIT = 1 << 20
_ANSWER_LIMIT = 16 << 20
_SECONDS = 60.0


class PeoplePages:
    """`/` for browsers and everything below `/docs`; all other requests go to the control API."""

    def __init__(self, app: ASGIApp, control: Control) -> None:
        self._app = app
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_for_people(scope):
            await self._app(scope, receive, send)
            return
        await send_answer(await self._answer(scope, receive), send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path = scope["path"].strip("/")
        if path.startswith("docs/api/"):
            return await self._pass_on(scope, receive)
        if scope["method"] not in {"GET", "HEAD"}:
            return _plain(405, "these pages can only be read")
        if path.startswith("docs/assets/"):
            return await asyncio.to_thread(_read_asset, path.removeprefix("docs/assets/"))
        host = (find_header(scope, b"host") or b"").decode("latin-1")
        return self._render(path.removeprefix("docs").strip("/"), host, is_overview=not path)

    def _render(self, product: str, host: str, *, is_overview: bool) -> Answer:
        playground = self._control.playground.describe()
        if is_overview:
            families = self._control.families(None, None, None)
            products = self._control.replicas.products
            return _html(render_overview(playground, products, self._control.settings, families, host))
        if not product:
            return Answer(307, b"", ((b"location", f"/docs/{next(iter(playground.products))}".encode()), *_SAFE))
        if product not in playground.products:
            return _plain(404, f"no product is called {product[:100]}")
        return _html(render_api(product, playground))

    async def _pass_on(self, scope: Scope, receive: Receive) -> Answer:
        """To a product of the playground, for whoever sends its credential; another page's script cannot send one."""
        # As it was sent: a decoded path may hold other slashes and question marks.
        sent = bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        product, _, path = sent.removeprefix("/docs/api/").partition("/")
        credential = (find_header(scope, b"authorization") or b"").decode("latin-1").removeprefix("Bearer ")
        access = self._control.playground.access(credential)
        if access is None or product not in access.products:
            return _plain(401, "the playground's credential is missing or wrong, or the product is not up")
        if scope["method"] not in _METHODS:
            return _plain(405, "this method is not passed on")
        try:
            body = await read_body(scope, receive, _BODY_LIMIT)
            query = scope["query_string"].decode("latin-1")
            address = f"{access.products[product].base_url}/{path}{'?' if query else ''}{query}"
            return await _request(scope, address, credential, body)
        except (BodyOverLimit, BodyEnded):
            return _plain(413, "the body is too large, or it ended early")
        except httpx.HTTPError as error:
            return _plain(502, f"{product} gave no answer: {type(error).__name__}")


async def _request(scope: Scope, address: str, credential: str, body: bytes) -> Answer:
    headers = {
        name: value.decode("latin-1") for name in _PASSED_ON if (value := find_header(scope, name.encode())) is not None
    }
    headers["authorization"] = f"Bearer {credential}"
    # One client for each: people ask rarely, and nothing is left open.
    async with (
        httpx.AsyncClient(timeout=_SECONDS, trust_env=False) as client,
        client.stream(scope["method"], address, headers=headers, content=body) as response,
    ):
        content = b""
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _ANSWER_LIMIT:
                return _plain(502, "the answer is too large for this page")
        kind = response.headers.get("content-type", "application/octet-stream").encode("latin-1", "replace")
        return Answer(response.status_code, content, ((b"content-type", kind), *_SAFE))


def _is_for_people(scope: Scope) -> bool:
    """A browser asks for HTML; programs that ask control for `/` get its own answer."""
    path: str = scope["path"]
    if path == "/":
        return scope["method"] in {"GET", "HEAD"} and b"text/html" in (find_header(scope, b"accept") or b"")
    return path == "/docs" or path.startswith("/docs/")


def _read_asset(name: str) -> Answer:
    if name not in _ASSETS:
        return _plain(404, "there is no such file")
    package, path = _ASSETS[name]
    content = files(package).joinpath(path).read_bytes()
    return Answer(200, content, ((b"content-type", _TYPES[name.rpartition(".")[2]]), *_SAFE))


def _html(page: str) -> Answer:
    return Answer(200, page.encode(), ((b"content-type", b"text/html; charset=utf-8"), *_SAFE))


def _plain(status: int, text: str) -> Answer:
    return Answer(status, f"{text}\n".encode(), ((b"content-type", b"text/plain; charset=utf-8"), *_SAFE))
