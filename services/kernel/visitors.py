"""Visitors: people other than the agent who use the same product in the same episode, such as the company's customers.

They come through the harness's door and meet the product's own routes and rules, but cost the agent nothing: no step,
no tick of the clock, no planned failure.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from services.kernel.agent_door import as_refusal
from services.kernel.answers import Answer
from services.kernel.app import create_api
from services.kernel.clock import WatchedClock
from services.kernel.dispatch import Dispatch
from services.kernel.errors import Refusal
from services.kernel.forks import Unrepeatable
from services.kernel.product import Circumstance, Product
from services.kernel.world import World

CUSTOMER = "customer"
_FOUND = 200
_SHOWN, _MOST_SHOWN = "shown to visitors", 256


@dataclass(frozen=True, slots=True)
class Visit:
    """One request in somebody's own name."""

    user: int
    actor: str
    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody was shown, and the questions to the rows that it came from."""

    answer: Answer
    deeds: list[tuple[str, Any, list[tuple[Any, ...]] | None]]


class Visitors:
    """The product's routes as visitors reach them: the agent's own where there is a door for agents."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._dispatch: Dispatch | None = None

    def share(self, dispatch: Dispatch) -> None:
        """Made once for both: it takes most of a second, and nobody is answered meanwhile."""
        self._dispatch = dispatch

    async def serve(self, world: World, visit: Visit) -> Answer:
        world.actor = visit.actor
        world.visitor = visit.user
        world.begin()
        now_ms = world.clock.now_ms()
        try:
            answer, stands = await (
                self._look(world, visit) if visit.method == "GET" else self._decide(world, visit, now_ms)
            )
            if stands:
                world.keep()
            else:
                world.undo()
        except BaseException:
            world.undo()
            raise
        finally:
            world.actor = "house"
            world.visitor = None
        return answer

    async def _look(self, world: World, visit: Visit) -> tuple[Answer, bool]:
        """People look again and again while time passes; most often at what nobody has changed meanwhile."""
        shown: dict[Hashable, Seen] = world.beside.setdefault(_SHOWN, {})
        key = visit.actor, visit.user, visit.path, urlencode(visit.query)
        if (seen := shown.get(key)) is not None and world.still_answers(seen.deeds):
            return seen.answer, True
        clock = world.clock
        watched = world.clock = WatchedClock(clock.now_ms())
        try:
            with world.overheard() as heard:
                answer, stands = await self._decide(world, visit, clock.now_ms())
        except Unrepeatable:
            world.clock = clock
            return await self._decide(world, visit, clock.now_ms())
        finally:
            world.clock = clock
        if answer.status == _FOUND and not watched.looked_at and not heard.took_back and len(shown) < _MOST_SHOWN:
            shown[key] = Seen(answer, heard.deeds)
        return answer, stands

    async def _decide(self, world: World, visit: Visit, now_ms: int) -> tuple[Answer, bool]:
        scope, body = _scope(world, visit, now_ms)
        try:
            answer = await self._served().answer(scope, body)
            return answer, answer.status < 400
        except (Refusal, RequestValidationError, HTTPException) as error:
            refusal = as_refusal(error)
            return self._product.render(refusal, scope["circumstance"]), refusal.stands

    def _served(self) -> Dispatch:
        if self._dispatch is None:
            self._dispatch = Dispatch(create_api(self._product), self._product.encoding, self._product.suffix)
        return self._dispatch


def _scope(world: World, visit: Visit, now_ms: int) -> tuple[Scope, bytes]:
    body = b"" if visit.body is None else orjson.dumps(visit.body)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": visit.method,
        "path": visit.path,
        "raw_path": visit.path.encode(),
        "query_string": urlencode(visit.query).encode(),
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": ("localhost", 80),
        "extensions": {},
        "world": world,
        "circumstance": Circumstance(world.request, visit.method, visit.path, now_ms),
    }, body
