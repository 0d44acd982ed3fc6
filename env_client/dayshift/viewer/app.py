"""The viewer's ASGI application: pages and JSON over a ViewerSource."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from dayshift.errors import UsageError
from dayshift.review.store import ReviewStore
from dayshift.viewer.api import Api, NotThere
from dayshift.viewer.security import LOCAL_HOSTS, Guard
from dayshift.viewer.source import ViewerSource

ASSETS = files("dayshift.viewer") / "assets"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
CAPABILITIES = ("review", "dashboard", "share")


def _create_constant_token() -> Callable[[Request], str]:
    token = secrets.token_urlsafe(32)
    return lambda _request: token


@dataclass(frozen=True)
class ViewerOptions:
    """What differs between the viewer of recordings and the console."""

    capabilities: tuple[str, ...] = CAPABILITIES
    # The names under which the pages may be reached; None leaves the check to whatever stands in front.
    hosts: frozenset[str] | None = LOCAL_HOSTS
    csrf_of: Callable[[Request], str] = field(default_factory=_create_constant_token)
    reviewer_of: Callable[[Request], str] = lambda _request: "me"


def create_app(
    source: ViewerSource,
    *,
    reviews: ReviewStore,
    options: ViewerOptions | None = None,
    extra_routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Builds the application; `extra_routes` come first, so that a console can add its own endpoints."""
    settings = options or ViewerOptions()
    api = Api(source, reviews, settings.capabilities, settings.csrf_of, settings.reviewer_of)
    return Starlette(
        routes=[
            *extra_routes,
            Route("/", _serve_page),
            Route("/assets/{name}", _serve_asset),
            *api.routes(),
        ],
        middleware=[
            Middleware(Guard, csrf_of=settings.csrf_of, hosts=settings.hosts),
            Middleware(GZipMiddleware, minimum_size=2_000, compresslevel=1),
        ],
        exception_handlers={UsageError: _explain_refusal, NotThere: _explain_absence},
    )


def read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


async def _serve_page(_request: Request) -> Response:
    return Response(read_asset("index.html"), media_type=_TYPES[".html"])


async def _serve_asset(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _TYPES.get(name[name.rfind(".") :])
    if kind is None or name not in {asset.name for asset in ASSETS.iterdir()}:
        return Response("there is no such file", status_code=404, media_type="text/plain")
    return Response(read_asset(name), media_type=kind, headers={"cache-control": "no-cache"})


async def _explain_refusal(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "bad_request", "message": str(error)}, status_code=400)


async def _explain_absence(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "not_found", "message": str(error)}, status_code=404)
