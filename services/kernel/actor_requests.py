"""Requests of people other than the agent who use the same product in the same episode, such as customers.

They come through the harness API and reach the product's own routes and rules, but cost the agent nothing: no step, no
tick of the clock, no planned fault.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from services.kernel.agent_api import as_refusal
from services.kernel.answers import Answer
from services.kernel.app import create_api
from services.kernel.changes import SYSTEM
from services.kernel.clock import WatchedClock
from services.kernel.dispatch import Dispatch
from services.kernel.errors import Refusal
from services.kernel.forks import ExecutedStatement, NotCacheable
from services.kernel.product import Product, RequestContext
from services.kernel.world import World

_OK = 200
# Where a world keeps what was shown to people, and how much of it.
_ATTACHMENT, _MOST_KEPT = "answers to actors", 256


@dataclass(frozen=True, slots=True)
class ActorRequest:
    """One request in the name of a user."""

    user: int
    actor: str
    method: str
    path: str
    query: dict[str, str]
    # The body on the wire, in the vendor's own names.
    body: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """What somebody was shown, and the reads that it came from."""

    answer: Answer
    statements: list[ExecutedStatement]


class ActorRequests:
    """Serves them through the agent API's own dispatch where there is one."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._shared: Dispatch | None = None

    def share(self, dispatch: Dispatch) -> None:
        """Building a dispatch takes most of a second and blocks everybody, so both sides use one."""
        self._shared = dispatch

    async def serve(self, world: World, request: ActorRequest) -> Answer:
        world.actor = request.actor
        world.acting_user = request.user
        world.begin()
        now_ms = world.clock.now_ms()
        try:
            answer, keeps_writes = await (
                self._read(world, request) if request.method == "GET" else self._route(world, request, now_ms)
            )
            if keeps_writes:
                world.keep()
            else:
                world.undo()
        except BaseException:
            world.undo()
            raise
        finally:
            world.actor = SYSTEM
            world.acting_user = None
        return answer

    async def _read(self, world: World, request: ActorRequest) -> tuple[Answer, bool]:
        """People look again and again while time passes, most often at what nobody has changed."""
        cache: dict[Hashable, CachedAnswer] = world.attachments.setdefault(_ATTACHMENT, {})
        key = request.actor, request.user, request.path, urlencode(request.query)
        if (cached := cache.get(key)) is not None and world.reads_unchanged(cached.statements):
            return cached.answer, True
        clock = world.clock
        watched = world.clock = WatchedClock(clock.now_ms())
        try:
            with world.record_statements() as fork:
                answer, keeps_writes = await self._route(world, request, clock.now_ms())
        except NotCacheable:
            world.clock = clock
            return await self._route(world, request, clock.now_ms())
        finally:
            world.clock = clock
        if answer.status == _OK and not watched.looked_at and not fork.has_undone and len(cache) < _MOST_KEPT:
            cache[key] = CachedAnswer(answer, fork.statements)
        return answer, keeps_writes

    async def _route(self, world: World, request: ActorRequest, now_ms: int) -> tuple[Answer, bool]:
        scope, body = _scope(world, request, now_ms)
        try:
            answer = await self._dispatch().answer(scope, body)
            return answer, answer.status < 400
        except (Refusal, RequestValidationError, HTTPException) as error:
            refusal = as_refusal(error)
            return self._product.render(refusal, scope["context"]), refusal.stands

    def _dispatch(self) -> Dispatch:
        if self._shared is None:
            self._shared = Dispatch(create_api(self._product), self._product.encoding, self._product.suffix)
        return self._shared


def _scope(world: World, request: ActorRequest, now_ms: int) -> tuple[Scope, bytes]:
    body = b"" if request.body is None else orjson.dumps(request.body)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": urlencode(request.query).encode(),
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": ("localhost", 80),
        "extensions": {},
        "world": world,
        "context": RequestContext(world.request, request.method, request.path, now_ms),
    }, body
