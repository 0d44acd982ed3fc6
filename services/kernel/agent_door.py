"""The agent's door: credential → episode → its fork, in order, one request = one savepoint."""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.types import Receive, Scope, Send

from services.kernel import colleagues, credentials
from services.kernel.answers import Answer
from services.kernel.dispatch import Dispatch
from services.kernel.episodes import Episode, Episodes, KeptAnswer, Step
from services.kernel.errors import (
    BodyTooLarge,
    Failure,
    KeyReused,
    MalformedRequest,
    RateLimited,
    Refusal,
    Unauthenticated,
    Unavailable,
    problems_of,
)
from services.kernel.faults import Fault, FaultKind
from services.kernel.product import Circumstance, Keyed
from services.kernel.telemetry import Telemetry
from services.kernel.world import World

REVISION_HEADER = b"x-data-revision"
_DAYS = (b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun")
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_KEY_HEADER = b"idempotency-key"
_LONGEST_KEY = 255
_DOCUMENT_PATH = "/openapi.json"
_SPEAK_FIRST = frozenset({FaultKind.RATE_LIMITED, FaultKind.UNAVAILABLE, FaultKind.DROPPED})
_CUT = frozenset({FaultKind.DROPPED, FaultKind.TIMEOUT_AFTER_COMMIT})
_NO_ANSWER = Answer(0, b"")


class Dropped(Exception):
    """The planned end of a connection without an answer."""


class AgentDoor:
    """Pure ASGI around a product's FastAPI app."""

    def __init__(self, api: FastAPI, episodes: Episodes, telemetry: Telemetry, body_limit: int) -> None:
        self._api = api
        self._document: Answer | None = None
        self.dispatch = Dispatch(api, episodes.product.encoding, episodes.product.suffix)
        self._episodes = episodes
        self._product = episodes.product
        self._telemetry = telemetry
        self._body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._api(scope, receive, send)
            return
        if scope["path"] == _DOCUMENT_PATH and scope["method"] == "GET":
            await _send(self.document(), send)
            return
        try:
            episode = self._enter(scope)
            body = await self._read(scope, receive)
        except Refusal as refusal:
            await _send(self._product.render(refusal, _outside(scope)), send)
            return
        async with episode.lock:
            answer = await self._answer(episode, scope, body)
        if answer is None:
            _drop(scope)
            return
        await _send(answer, send)

    def document(self) -> Answer:
        """The OpenAPI document, written once: it takes a second or more, and nobody is answered meanwhile."""
        if self._document is None:
            self._document = Answer.json(200, self._api.openapi())
        return self._document

    def _enter(self, scope: Scope) -> Episode:
        credential = credentials.presented(scope["headers"], self._product.forms)
        episode = None if credential is None else self._episodes.by_credential(credential, _address(scope))
        if episode is None:
            raise Unauthenticated
        return episode

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        declared = _header(scope, b"content-length")
        if declared is not None and declared.isdigit() and int(declared) > self._body_limit:
            raise BodyTooLarge
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise MalformedRequest("The request ended before its body did.")
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self._body_limit:
                raise BodyTooLarge
            more = message.get("more_body", False)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _answer(self, episode: Episode, scope: Scope, body: bytes) -> Answer | None:
        """None stands for a connection cut by plan."""
        # A request may have waited for the lock while the episode ended: fence here, not at the door's step.
        if episode.closed or episode.spent:
            return self._product.render(Unauthenticated(), _inside(episode, scope))
        try:
            claim = Claim.of(scope, body, self._product.key_headers)
            if claim is not None and (kept := episode.answers.get(claim.key)) is not None:
                return self._again(episode, scope, body, claim, kept)
        except Refusal as refusal:
            return self._product.render(refusal, _inside(episode, scope))
        return await self._first(episode, scope, body, claim)

    async def _first(self, episode: Episode, scope: Scope, body: bytes, claim: "Claim | None") -> Answer | None:
        started = time.perf_counter()
        episode.steps += 1
        episode.world.clock.tick()
        fault = episode.plan.strike(episode.steps)
        answer = await self._under(fault, episode, scope, body)
        if claim is not None and not _speaks_first(fault):
            if answer.status < 500 and self._product.keeps(answer):
                episode.remember(claim.key, KeptAnswer(claim.request, answer))
            answer = self._with_key(claim, answer, replayed=False)
        self._record(episode, scope, body, answer, fault, claim, time.perf_counter() - started)
        if episode.meanwhile:
            colleagues.write_due(episode.world, episode.meanwhile, episode.steps)
        if fault is None or fault.kind not in _CUT:
            return answer
        await asyncio.sleep(fault.seconds)
        return None

    async def _under(self, fault: Fault | None, episode: Episode, scope: Scope, body: bytes) -> Answer:
        if fault is None:
            return await self._serve(episode, scope, body)
        episode.faults.append(fault)
        self._telemetry.fault_injected(fault.kind)
        if fault.kind is FaultKind.DELAY:
            await asyncio.sleep(fault.seconds)
        if fault.kind is FaultKind.DROPPED:
            return _NO_ANSWER
        if _speaks_first(fault):
            return self._product.render(_planned(fault, episode.plan.rates.retry_after), _inside(episode, scope))
        return await self._serve(episode, scope, body)

    async def _serve(self, episode: Episode, scope: Scope, body: bytes) -> Answer:
        world = episode.world
        scope["world"] = world
        scope["circumstance"] = _inside(episode, scope)
        world.actor = "agent"
        try:
            with self._telemetry.span(f"{scope['method']} {scope['path']}"):
                world.begin()
                self._let_fall_due(world)
                answer, stands = await self._decide(scope, body)
                if stands:
                    world.keep()
                else:
                    world.undo()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours and not the agent's
            return self._broke(episode, scope, error)
        finally:
            world.actor = "house"
        return self._dressed(episode, answer)

    def _let_fall_due(self, world: World) -> None:
        if self._product.ticked is not None:
            world.actor = "time"
            self._product.ticked(world)
            world.actor = "agent"

    async def _decide(self, scope: Scope, body: bytes) -> tuple[Answer, bool]:
        """The answer, and whether what was written for it stands."""
        try:
            answer = await self.dispatch.answer(scope, body)
            return answer, answer.status < 400
        except (Refusal, RequestValidationError, HTTPException, MultiPartException) as error:
            refusal = as_refusal(error)
            return self._product.render(refusal, scope["circumstance"]), refusal.stands

    def _broke(self, episode: Episode, scope: Scope, error: Exception) -> Answer:
        cause = f"{type(error).__name__} in {_operation(scope)}: {error}"
        episode.break_down(cause)
        self._telemetry.broke(episode.id, cause)
        try:
            episode.world.undo()
        except Exception:  # noqa: BLE001 - a fork that cannot undo is void; the cause is recorded already
            self._episodes.close(episode)
        return self._product.render(Failure(), _inside(episode, scope))

    def _again(self, episode: Episode, scope: Scope, body: bytes, claim: "Claim", kept: KeptAnswer) -> Answer:
        if kept.request != claim.request:
            raise KeyReused
        answer = self._with_key(claim, kept.answer, replayed=True)
        self._record(episode, scope, body, answer, None, claim, 0.0, replayed=True)
        return answer

    def _with_key(self, claim: "Claim", first: Answer, *, replayed: bool) -> Answer:
        return _adding(first, self._product.keyed(Keyed(claim.key, first, replayed)))

    def _dressed(self, episode: Episode, answer: Answer) -> Answer:
        """Revision and the product's own headers, on every answer that the world gave."""
        world = episode.world
        house = ((REVISION_HEADER, b"%d" % world.revision), (b"date", _http_date(world.clock.now_ms())))
        dressed = Answer(answer.status, answer.body, (*answer.headers, *house))
        return _adding(dressed, self._product.headers(world))

    def _record(
        self,
        episode: Episode,
        scope: Scope,
        body: bytes,
        answer: Answer,
        fault: Fault | None,
        claim: "Claim | None",
        seconds: float,
        *,
        replayed: bool = False,
    ) -> None:
        operation = _operation(scope)
        episode.record(
            Step(
                operation=operation,
                method=scope["method"],
                path=scope["path"],
                query=scope["query_string"].decode("latin-1"),
                body=body,
                answer=answer,
                revision=episode.world.revision,
                clock_ms=episode.world.clock.now_ms(),
                fault=fault,
                milliseconds=seconds * 1000,
                key=None if claim is None else claim.key,
                replayed=replayed,
            )
        )
        self._telemetry.answered(episode.id, operation, answer.status, seconds)


@dataclass(frozen=True, slots=True)
class Claim:
    """An Idempotency-Key and the request that it stands for."""

    key: str
    request: bytes

    @classmethod
    def of(cls, scope: Scope, body: bytes, also: tuple[bytes, ...] = ()) -> "Claim | None":
        value = next((found for name in (_KEY_HEADER, *also) if (found := _header(scope, name)) is not None), None)
        if value is None:
            return None
        if not 0 < len(value) <= _LONGEST_KEY:
            raise MalformedRequest(f"An Idempotency-Key has 1 to {_LONGEST_KEY} characters.")
        said = b"\x1f".join((scope["method"].encode(), scope["path"].encode(), scope["query_string"], body))
        return cls(value.decode("latin-1"), hashlib.sha256(said).digest())


def as_refusal(error: Exception) -> Refusal:
    match error:
        case Refusal():
            return error
        case RequestValidationError():
            problems = problems_of(error.errors())
            return MalformedRequest("; ".join(f"{found.where}: {found.message}" for found in problems[:5]), problems)
        case HTTPException() if isinstance(error.__cause__, Refusal):
            return error.__cause__
        case HTTPException():
            return MalformedRequest(str(error.detail))
        case MultiPartException():
            return MalformedRequest(error.message)
    raise error


def _planned(fault: Fault, retry_after: int) -> Refusal:
    return RateLimited(retry_after) if fault.kind is FaultKind.RATE_LIMITED else Unavailable(retry_after)


def _adding(answer: Answer, headers: Mapping[str, str]) -> Answer:
    """What the answer says already stays as it is."""
    if not headers:
        return answer
    said = {name for name, _ in answer.headers}
    encoded = ((name.lower().encode(), value.encode("latin-1")) for name, value in headers.items())
    return Answer(answer.status, answer.body, (*answer.headers, *(pair for pair in encoded if pair[0] not in said)))


def _speaks_first(fault: Fault | None) -> bool:
    """Whether the fault answers instead of the product, before anything is done."""
    return fault is not None and fault.kind in _SPEAK_FIRST


def _drop(scope: Scope) -> None:
    """Cut the wire where the server lets us; elsewhere (in-process transports) say so by raising."""
    cut = scope.get("extensions", {}).get("dayshift.cut")
    if cut is None:
        raise Dropped
    cut["now"]()


async def _send(answer: Answer, send: Send) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = answer.headers if answer.status == 204 else (*answer.headers, length)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _header(scope: Scope, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key == name), None)


def _address(scope: Scope) -> str | None:
    client = scope.get("client")
    return None if client is None else str(client[0])


def _operation(scope: Scope) -> str:
    route: Any = scope.get("route")
    return getattr(route, "operation_id", None) or "unrouted"


def _outside(scope: Scope) -> Circumstance:
    return Circumstance(request=0, method=scope["method"], path=scope["path"], now_ms=0)


def _inside(episode: Episode, scope: Scope) -> Circumstance:
    return Circumstance(episode.steps, scope["method"], scope["path"], episode.world.clock.now_ms())


def _http_date(ms: int) -> bytes:
    """As `email.utils.formatdate` spells it, at a fifth of its cost: every answer carries one."""
    at = time.gmtime(ms // 1000)
    spelt = (_DAYS[at.tm_wday], at.tm_mday, _MONTHS[at.tm_mon - 1], at.tm_year, at.tm_hour, at.tm_min, at.tm_sec)
    return b"%b, %02d %b %04d %02d:%02d:%02d GMT" % spelt
