"""The pages' endpoints for open episodes: overview, tail, pause, take over, close, approvals, audit."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from dayshift.control_client import ControlClient
from dayshift.errors import ControlRefused, DayshiftError, UsageError
from dayshift.http_flow import HttpFlow, HttpRequest
from dayshift.wire import DecisionRequest, EpisodeState, LiveOverview, Message, Tail
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from services.console.link import ControlLink, explain, read_object
from services.console.login import Sessions
from services.console.play import Players
from services.console.service_metrics import MetricsHistory

# Each stream asks control once in every interval, so their number bounds what onlookers cost.
MOST_STREAMS = 16
TAIL_SECONDS = 0.5
OVERVIEW_SECONDS = 2.0
_METRICS_SECONDS = 5.0

Handler = Callable[[Request], Awaitable[Response]]


class LiveApi:
    """Onlookers' and operators' endpoints."""

    def __init__(self, link: ControlLink, harness_token: str, sessions: Sessions, players: Players) -> None:
        self._link = link
        self._harness_token = harness_token
        self._sessions = sessions
        self._players = players
        self._metrics = MetricsHistory()
        self._overview: tuple[float, dict[str, Any]] | None = None
        self._overview_lock = asyncio.Lock()
        self._streams = 0

    def routes(self) -> list[Route]:
        return [
            Route("/api/live", explain_errors(self.overview)),
            Route("/api/live/events", explain_errors(self.overview_events)),
            Route("/api/live/{episode_id}/events", explain_errors(self.tail_events)),
            Route("/api/live/{episode_id}/tail", explain_errors(self.tail)),
            Route("/api/live/{episode_id}/close", explain_errors(self.close), methods=["POST"]),
            Route("/api/live/{episode_id}/pause", explain_errors(self.pause), methods=["POST"]),
            Route("/api/live/{episode_id}/resume", explain_errors(self.resume), methods=["POST"]),
            Route("/api/live/{episode_id}/takeover", explain_errors(self.take_over), methods=["POST"]),
            Route("/api/live/{episode_id}/act", explain_errors(self.act), methods=["POST"]),
            Route("/api/approvals", explain_errors(self.approvals)),
            Route("/api/approvals/{approval_id}", explain_errors(self.decide), methods=["POST"]),
            Route("/api/audit", explain_errors(self.audit)),
        ]

    @property
    def _control(self) -> ControlClient:
        return self._link.address.control

    async def overview(self, _request: Request) -> Response:
        return JSONResponse(await self._look())

    async def overview_events(self, request: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            async with self._one_stream():
                while not await request.is_disconnected():
                    try:
                        yield _event("overview", await self._look())
                    except DayshiftError as error:
                        yield _event("problem", {"message": str(error)})
                    await asyncio.sleep(OVERVIEW_SECONDS)

        return self._stream(events())

    async def tail_events(self, request: Request) -> Response:
        episode_id = request.path_params["episode_id"]
        first = await self._link.run(self._control.tail(episode_id, {}))

        async def events() -> AsyncIterator[bytes]:
            tail, pause = first, 0.0
            async with self._one_stream():
                yield _event("tail", tail.model_dump(mode="json"))
                while not await request.is_disconnected():
                    await asyncio.sleep(pause)
                    try:
                        news = await self._follow(episode_id, tail)
                    except DayshiftError as error:
                        # Control may be busy: the onlooker is told, and the next look goes on from the same marks.
                        yield _event("problem", {"message": str(error)})
                        pause = OVERVIEW_SECONDS
                        continue
                    if isinstance(news, EpisodeState):
                        yield _event("ended", news.model_dump(mode="json"))
                        return
                    tail, pause = news, 0.0 if news.steps else TAIL_SECONDS
                    if tail.steps or any(tail.changes.values()):
                        yield _event("tail", tail.model_dump(mode="json"))
                    else:
                        # A line without meaning: whoever has gone is noticed by it.
                        yield b": waiting\n\n"

        return self._stream(events())

    async def _follow(self, episode_id: str, tail: Tail) -> Tail | EpisodeState:
        """Returns what came after this tail, or the state of an episode that is no longer open."""
        try:
            return await self._link.run(self._control.tail(episode_id, tail.next))
        except ControlRefused:
            return await self._link.run(self._control.state(episode_id))

    async def tail(self, request: Request) -> Response:
        return await self._forward(self._control.tail(request.path_params["episode_id"], {}))

    async def close(self, request: Request) -> Response:
        return await self._forward(self._control.close_for(request.path_params["episode_id"], self._person(request)))

    async def pause(self, request: Request) -> Response:
        return await self._forward(self._control.pause(request.path_params["episode_id"], self._person(request)))

    async def resume(self, request: Request) -> Response:
        self._players.forget(request.path_params["episode_id"])
        return await self._forward(self._control.resume(request.path_params["episode_id"], self._person(request)))

    async def take_over(self, request: Request) -> Response:
        """Gives the person the agent's context; credentials stay here, and calls go through `act`."""
        return JSONResponse(await self._players.take_over(request.path_params["episode_id"], self._person(request)))

    async def act(self, request: Request) -> Response:
        body = await read_object(request)
        return JSONResponse(await self._players.act(request.path_params["episode_id"], self._person(request), body))

    async def approvals(self, _request: Request) -> Response:
        return await self._forward(self._control.approvals())

    async def decide(self, request: Request) -> Response:
        body = await read_object(request)
        try:
            message = DecisionRequest.model_validate({**body, "person": self._person(request)})
        except ValidationError as error:
            raise UsageError(f"the decision is not valid: {error.errors()[0]['msg']}") from error
        return await self._forward(self._control.decide(request.path_params["approval_id"], message))

    async def audit(self, request: Request) -> Response:
        return await self._forward(self._control.audit(request.query_params.get("episode")))

    def _person(self, request: Request) -> str:
        return self._sessions.require(request).person

    async def _forward(self, flow: HttpFlow[Any]) -> Response:
        message: Message = await self._link.run(flow)
        return Response(message.model_dump_json(), media_type="application/json")

    async def _look(self) -> dict[str, Any]:
        """Asked once for all onlookers."""
        async with self._overview_lock:
            if self._overview is None or time.monotonic() - self._overview[0] > OVERVIEW_SECONDS / 2:
                self._overview = (time.monotonic(), await self._read_overview())
            return self._overview[1]

    async def _read_overview(self) -> dict[str, Any]:
        live, health, waiting = await asyncio.gather(
            self._link.run(self._control.live()),
            self._link.run(self._control.health()),
            self._link.run(self._control.approvals()),
        )
        overview: dict[str, Any] = live.model_dump(mode="json")
        metrics = await self._scrape(live)
        overview["services"] = [
            {"product": "control", "instance": "", "state": health.status, "episodes": len(live.episodes)}
            | metrics.get("control", {})
        ] + [
            service.model_dump(exclude={"harness_url"}) | metrics.get(service.instance, {}) for service in live.services
        ]
        overview["ledger"], overview["registry"] = health.ledger, health.registry
        overview["approvals"] = waiting.model_dump(mode="json")["approvals"]
        return overview

    async def _scrape(self, live: LiveOverview) -> dict[str, Any]:
        addresses = {"control": (f"{self._link.address.url}/metrics", self._link.address.token)}
        addresses |= {each.instance: (f"{each.harness_url}/metrics", self._harness_token) for each in live.services}
        texts = await asyncio.gather(*(self._fetch(url, token) for url, token in addresses.values()))
        self._metrics.forget_others(addresses)
        pairs = zip(addresses, texts, strict=True)
        return {name: self._metrics.note(name, text) for name, text in pairs if text is not None}

    async def _fetch(self, url: str, token: str) -> str | None:
        request = HttpRequest("GET", url, {"authorization": f"Bearer {token}"}, b"", _METRICS_SECONDS)
        try:
            response = await self._link.send(request)
        except DayshiftError:
            return None
        return response.content.decode() if response.status == 200 else None

    def _stream(self, events: AsyncIterator[bytes]) -> Response:
        if self._streams >= MOST_STREAMS:
            message = f"{MOST_STREAMS} pages follow live already; close one"
            return JSONResponse({"error": "too_many_streams", "message": message}, 503, {"retry-after": "5"})
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    @asynccontextmanager
    async def _one_stream(self) -> AsyncIterator[None]:
        """Counted from the first event on: a stream that nobody reads never begins."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1


def explain_errors(handler: Handler) -> Handler:
    """Errors of control and of products become answers."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except DayshiftError as error:
            return explain(error)

    return answer


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
