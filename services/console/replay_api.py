"""The pages' endpoints for replay: serve a step again, copy it, and open an episode at its state."""

from typing import Any

from dayshift.errors import UsageError
from dayshift.trajectory import Trajectory
from dayshift.viewer.source import ViewerSource
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from services.console.link import read_object
from services.console.live_api import explain_errors
from services.console.replay import Replayer, find_step, make_curl, make_sdk_snippet


class ReplayApi:
    """Replays of recorded episodes."""

    def __init__(self, source: ViewerSource, replayer: Replayer, product_urls: dict[str, str]) -> None:
        self._source = source
        self._replayer = replayer
        self._product_urls = product_urls

    def routes(self) -> list[Route]:
        return [
            Route("/api/episodes/{key}/replay", explain_errors(self.replay), methods=["POST"]),
            Route("/api/episodes/{key}/playground", explain_errors(self.fork), methods=["POST"]),
            Route("/api/episodes/{key}/steps/{number:int}/snippet", explain_errors(self.snippet)),
        ]

    async def replay(self, request: Request) -> Response:
        trajectory, last = await self._read(request)
        return JSONResponse(await self._replayer.replay(trajectory, last))

    async def fork(self, request: Request) -> Response:
        trajectory, last = await self._read(request)
        return JSONResponse(await self._replayer.fork(trajectory, last))

    async def snippet(self, request: Request) -> Response:
        trajectory = await self._trajectory(request)
        step = find_step(trajectory.steps, request.path_params["number"])
        match request.query_params.get("form", "curl"):
            case "curl":
                text = make_curl(step, self._product_urls.get(step.product, "https://example.com"))
            case "sdk":
                text = make_sdk_snippet(trajectory, step)
            case other:
                raise UsageError(f"there is no snippet called {other[:40]!r}: there are curl and sdk")
        return JSONResponse({"text": text})

    async def _read(self, request: Request) -> tuple[Trajectory, int]:
        body: dict[str, Any] = await read_object(request)
        trajectory = await self._trajectory(request)
        last = body.get("step", len(trajectory.steps))
        if not isinstance(last, int) or isinstance(last, bool):
            raise UsageError("step is a number")
        return trajectory, last

    async def _trajectory(self, request: Request) -> Trajectory:
        trajectory = await self._source.trajectory(request.path_params["key"])
        if trajectory is None:
            raise UsageError("there is no such episode")
        return trajectory
