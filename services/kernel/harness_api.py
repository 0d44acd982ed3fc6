"""The harness API of a product: open, plant, verify, diff, advance, close. Only control calls it."""

import hmac

from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.kernel import checks
from services.kernel.answers import Json
from services.kernel.asgi import find_header
from services.kernel.episodes import EpisodeExists, UnknownEpisode, UnknownWorld
from services.kernel.harness_messages import (
    ActorRequestsMessage,
    AdvanceMessage,
    FindMessage,
    HoldMessage,
    OpenMessage,
    VerifyMessage,
)
from services.kernel.product_host import ProductHost
from services.kernel.trusted_app import TrustedApp

_STATUS_BY_ERROR: dict[type[Exception], int] = {
    UnknownEpisode: 404,
    UnknownWorld: 422,
    checks.UnknownCheck: 422,
    EpisodeExists: 409,
    ValueError: 422,
}
_unauthorized = Response(status_code=401)


class HarnessGuard:
    """Admits callers who hold the harness API's secret; all others learn nothing, not even which paths exist."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health" and not self._admits(scope):
            await _unauthorized(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        return hmac.compare_digest(find_header(scope, b"authorization") or b"", self._expected)


def create_harness_api(host: ProductHost, token: str) -> ASGIApp:
    api = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)

    @api.get("/health")
    async def health() -> Response:
        return Json(host.health(), 200 if host.fatal is None else 503)

    @api.get("/metrics")
    async def metrics() -> Response:
        return Response(host.metrics(), media_type="text/plain; version=0.0.4")

    @api.get("/control/episodes")
    async def summary() -> Response:
        host.episodes.list_for_control()
        return Json({"instance": host.instance, "episodes": host.summary()})

    @api.post("/control/episodes")
    async def open_episode(message: OpenMessage) -> Response:
        return Json(await host.open(message), 201)

    @api.get("/control/episodes/{episode_id}")
    async def state(episode_id: str) -> Response:
        return Json(host.state(host.episodes.by_id(episode_id)))

    @api.post("/control/episodes/{episode_id}/advance")
    async def advance(episode_id: str, message: AdvanceMessage) -> Response:
        return Json(await host.advance(host.episodes.by_id(episode_id), message.to_ms))

    @api.get("/control/episodes/{episode_id}/news")
    async def news(episode_id: str, since: int) -> Response:
        return Json({"news": await host.news(host.episodes.by_id(episode_id), since)})

    @api.post("/control/episodes/{episode_id}/verify")
    async def verify(episode_id: str, message: VerifyMessage) -> Response:
        return Json(await host.verify(host.episodes.by_id(episode_id), message))

    @api.post("/control/episodes/{episode_id}/find")
    async def find(episode_id: str, message: FindMessage) -> Response:
        return Json(await host.find(host.episodes.by_id(episode_id), message))

    @api.post("/control/episodes/{episode_id}/actors")
    async def serve_actors(episode_id: str, message: ActorRequestsMessage) -> Response:
        return Json(await host.serve_actors(host.episodes.by_id(episode_id), message))

    @api.get("/control/episodes/{episode_id}/diff")
    async def diff(episode_id: str) -> Response:
        return Json(await host.diff(host.episodes.by_id(episode_id)))

    @api.get("/control/episodes/{episode_id}/trajectory")
    async def trajectory(episode_id: str) -> Response:
        return Json({"steps": host.trajectory(host.episodes.by_id(episode_id))})

    @api.get("/control/episodes/{episode_id}/tail")
    async def tail(episode_id: str, after_step: int = 0, after_revision: int = 0) -> Response:
        return Json(host.tail(host.episodes.by_id(episode_id), after_step, after_revision))

    @api.post("/control/episodes/{episode_id}/hold")
    async def hold(episode_id: str, message: HoldMessage) -> Response:
        return Json(host.hold(host.episodes.by_id(episode_id), message))

    @api.post("/control/episodes/{episode_id}/close")
    async def close(episode_id: str) -> Response:
        return Json(await host.close(host.episodes.by_id(episode_id)))

    return HarnessGuard(TrustedApp(api, _STATUS_BY_ERROR), token)
