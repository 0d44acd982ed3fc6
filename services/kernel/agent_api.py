"""The agent API: credential → episode → its fork, requests in order, one request = one savepoint."""

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from python_multipart.multipart import parse_options_header
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.types import Receive, Scope, Send

from services.kernel import credentials, websockets
from services.kernel.answers import Answer, RawHeaders
from services.kernel.asgi import BodyEnded, BodyOverLimit, find_header, read_body, send_answer
from services.kernel.changes import AGENT, SYSTEM, TIME
from services.kernel.concurrent_edits import apply_due_edits
from services.kernel.dispatch import Dispatch
from services.kernel.episodes import Episode, Episodes, FirstAnswer, Step
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
from services.kernel.product import IdempotentAnswer, RequestContext
from services.kernel.telemetry import Telemetry

REVISION_HEADER = b"x-data-revision"
_DAYS = (b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun")
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_KEY_HEADER = b"idempotency-key"
_LONGEST_KEY = 255
_NUMBER_HEADER = b"x-request-number"
_DOCUMENT_PATH = "/openapi.json"
# Shorter than clients wait for an answer.
_LONGEST_HOLD_SECONDS = 240.0
_HOLD_RETRY_AFTER = 30
# These faults replace the answer before anything is done.
_INSTEAD = frozenset({FaultKind.RATE_LIMITED, FaultKind.UNAVAILABLE, FaultKind.DROPPED})
# These faults end the connection without an answer.
_CUT = frozenset({FaultKind.DROPPED, FaultKind.TIMEOUT_AFTER_COMMIT})
_NO_ANSWER = Answer(0, b"")
# What a form may be written in. With any other codec that Python knows, reading a form can raise what is no refusal,
# or yield text that no database takes.
_CHARSETS = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"latin-1", b"latin1"})


class Dropped(Exception):
    """The planned end of a connection without an answer."""


class Extension(Protocol):
    """A further protocol at the agent API, such as MCP, at a path of its own."""

    path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def close(self) -> None: ...


class AgentApi:
    """Pure ASGI around a product's FastAPI app."""

    def __init__(self, api: FastAPI, episodes: Episodes, telemetry: Telemetry, body_limit: int) -> None:
        self._api = api
        self._document: Answer | None = None
        self.dispatch = Dispatch(api, episodes.product.encoding, episodes.product.suffix)
        self._episodes = episodes
        self.product = episodes.product
        self._public_host = episodes.product.public_host
        self._telemetry = telemetry
        self.body_limit = body_limit
        self.extension: Extension | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._open_socket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._api(scope, receive, send)
            return
        if scope["path"] == _DOCUMENT_PATH and scope["method"] == "GET":
            await send_answer(self.document(), send)
            return
        if self.extension is not None and scope["path"] == self.extension.path:
            await self.extension(scope, receive, send)
            return
        try:
            episode = self.authenticate(scope)
            body = await self._read_body(scope, receive)
        except Refusal as refusal:
            await send_answer(self.refuse(scope, refusal), send)
            return
        answer = await self.answer_in_turn(episode, scope, body)
        if answer is None:
            _cut_connection(scope)
            return
        await send_answer(answer, send)

    async def _open_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        handshake = websockets.handshake_scope(scope)
        try:
            episode = self.authenticate(handshake)
        except Refusal as refusal:
            answer: Answer | None = self.refuse(handshake, refusal)
        else:
            answer = await self.answer_in_turn(episode, handshake, b"")
        await websockets.converse(handshake, answer, receive, send)

    async def answer_in_turn(self, episode: Episode, scope: Scope, body: bytes) -> Answer | None:
        """Answers after a person who holds the episode and after earlier requests; None cuts the connection."""
        if episode.hold is not None:
            try:
                await self._await_release(episode, scope)
            except Refusal as refusal:
                return self.refuse(scope, refusal)
        async with episode.lock:
            return await self.handle(episode, scope, body)

    async def handle(self, episode: Episode, scope: Scope, body: bytes) -> Answer | None:
        """Answers one request of the agent, under the episode's lock. None means that a fault cuts the connection."""
        # 1. Admit: the episode may have ended while the request waited for the lock, or the key was answered before.
        if episode.closed or episode.is_out_of_steps:
            return self.product.render(Unauthenticated(), _context(episode, scope))
        try:
            key = IdempotencyKey.of(scope, body, self.product.key_headers)
            if key is not None and (first := episode.answers.get(key.value)) is not None:
                return self._repeat(episode, scope, body, key, first)
        except Refusal as refusal:
            return self.product.render(refusal, _context(episode, scope))

        # 2. Apply the fault plan: a fault may delay the answer, replace it, or cut the connection after it.
        started = time.perf_counter()
        episode.steps += 1
        episode.tick(find_header(scope, _NUMBER_HEADER))
        fault = episode.plan.strike(episode.steps)
        if fault is not None:
            await self._note_fault(episode, fault)

        # 3. Execute: the product's route decides, and the request's writes stand or fall together.
        is_replaced = fault is not None and fault.kind in _INSTEAD
        if fault is not None and is_replaced:
            answer = self._render_fault(fault, episode, scope)
        else:
            answer = await self._execute(episode, scope, body)

        # 4. Respond: keep the answer for its key, record the step, let colleagues write, and send.
        if key is not None and not is_replaced:
            if answer.status < 500 and self.product.keeps_answer(answer):
                episode.remember(key.value, FirstAnswer(key.request, answer))
            answer = self._with_key_headers(key, answer, replayed=False)
        self._record(episode, scope, body, answer, fault, key, time.perf_counter() - started)
        if episode.concurrent_edits:
            self._apply_concurrent_edits(episode)
        if fault is None or fault.kind not in _CUT:
            return answer
        await asyncio.sleep(fault.seconds)
        return None

    def document(self) -> Answer:
        """The OpenAPI document, written once: it takes a second or more, and blocks everybody meanwhile."""
        if self._document is None:
            self._document = Answer.json(200, self._api.openapi())
        return self._document

    def refuse(self, scope: Scope, refusal: Refusal) -> Answer:
        """The refusal of a request that belongs to no episode."""
        return self.product.render(refusal, _context_outside(scope))

    def authenticate(self, scope: Scope) -> Episode:
        credential = credentials.find_credential(scope["headers"], self.product.credential_formats)
        episode = None if credential is None else self._episodes.by_credential(credential, _address(scope))
        if episode is None:
            raise Unauthenticated
        return episode

    async def _await_release(self, episode: Episode, scope: Scope) -> None:
        """Waits while somebody holds the episode; beyond the limit the agent reads that the service is down for now."""
        credential = credentials.find_credential(scope["headers"], self.product.credential_formats) or ""
        while (held := episode.hold) is not None and held.admitted != credentials.digest(credential):
            try:
                await asyncio.wait_for(held.released.wait(), _LONGEST_HOLD_SECONDS)
            except TimeoutError:
                raise Unavailable(_HOLD_RETRY_AFTER) from None

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        try:
            return await read_body(scope, receive, self.body_limit)
        except BodyOverLimit:
            raise BodyTooLarge from None
        except BodyEnded:
            raise MalformedRequest("The request ended before its body did.") from None

    async def _note_fault(self, episode: Episode, fault: Fault) -> None:
        episode.faults.append(fault)
        self._telemetry.fault_injected(fault.kind)
        if fault.kind is FaultKind.DELAY:
            await asyncio.sleep(fault.seconds)

    def _render_fault(self, fault: Fault, episode: Episode, scope: Scope) -> Answer:
        if fault.kind is FaultKind.DROPPED:
            return _NO_ANSWER
        retry_after = episode.plan.rates.retry_after
        refusal = RateLimited(retry_after) if fault.kind is FaultKind.RATE_LIMITED else Unavailable(retry_after)
        return self.product.render(refusal, _context(episode, scope))

    async def _execute(self, episode: Episode, scope: Scope, body: bytes) -> Answer:
        """Runs the route inside the request's savepoint. An exception that is no refusal breaks the episode."""
        world = episode.world
        is_routed = False
        if find_header(scope, b"host") == self._public_host:
            # The company's own address, where TLS ends before us: links that are built from it are https.
            scope["scheme"] = "https"
        scope["world"] = world
        scope["context"] = _context(episode, scope)
        try:
            with self._telemetry.span(scope["method"], scope["path"]):
                world.begin()
                if self.product.on_tick is not None:
                    world.actor = TIME
                    self.product.on_tick(world)
                world.actor = AGENT
                is_routed = True
                answer, keeps_writes = await self._route(scope, body)
                if keeps_writes:
                    world.keep()
                else:
                    world.undo()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is our bug, whoever brought it about
            return self._break_episode(episode, scope, error, by_agent=is_routed)
        finally:
            world.actor = SYSTEM
        return self._with_world_headers(episode, answer)

    async def _route(self, scope: Scope, body: bytes) -> tuple[Answer, bool]:
        """Returns the answer, and whether what was written for it is kept."""
        try:
            _check_charset(scope)
            answer = await self.dispatch.answer(scope, body)
            return answer, answer.status < 400
        except (Refusal, RequestValidationError, HTTPException, MultiPartException) as error:
            refusal = as_refusal(error)
            return self.product.render(refusal, scope["context"]), refusal.stands

    def _break_episode(self, episode: Episode, scope: Scope, error: Exception, *, by_agent: bool) -> Answer:
        """`by_agent`: the agent's request broke us, and not what fell due before it."""
        cause = f"{type(error).__name__} in {_operation(scope)}: {error}"
        episode.break_down(cause, by_agent=by_agent)
        self._telemetry.broke(episode.id, cause)
        try:
            episode.world.undo()
        except Exception:  # noqa: BLE001 - a fork that cannot undo is void; the cause is recorded already
            self._episodes.close(episode)
        return self.product.render(Failure(), _context(episode, scope))

    def _apply_concurrent_edits(self, episode: Episode) -> None:
        """The agent's own request stands whatever happens here; an edit that fails breaks the episode."""
        try:
            apply_due_edits(episode.world, episode.concurrent_edits, episode.steps)
        except Exception as error:  # noqa: BLE001 - a planned edit that fails is our failure and not the agent's
            cause = f"{type(error).__name__} in a concurrent edit after step {episode.steps}: {error}"
            episode.break_down(cause)
            self._telemetry.broke(episode.id, cause)

    def _repeat(self, episode: Episode, scope: Scope, body: bytes, key: "IdempotencyKey", first: FirstAnswer) -> Answer:
        """Answers a request that came back under its Idempotency-Key with the first answer."""
        if first.request != key.request:
            raise KeyReused
        answer = self._with_key_headers(key, first.answer, replayed=True)
        self._record(episode, scope, body, answer, None, key, 0.0, replayed=True)
        return answer

    def _with_key_headers(self, key: "IdempotencyKey", first: Answer, *, replayed: bool) -> Answer:
        further = self.product.key_answer_headers(IdempotentAnswer(key.value, first, replayed))
        return Answer(first.status, first.body, _with_further(first.headers, further))

    def _with_world_headers(self, episode: Episode, answer: Answer) -> Answer:
        """Adds the revision, the date and the product's own headers to an answer that comes from the world."""
        world = episode.world
        revision, date = b"%d" % world.revision, _http_date(world.clock.now_ms())
        headers = (*answer.headers, (REVISION_HEADER, revision), (b"date", date))
        return Answer(answer.status, answer.body, _with_further(headers, self.product.headers(world)))

    def _record(
        self,
        episode: Episode,
        scope: Scope,
        body: bytes,
        answer: Answer,
        fault: Fault | None,
        key: "IdempotencyKey | None",
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
                key=None if key is None else key.value,
                replayed=replayed,
            )
        )
        self._telemetry.count_answer(episode.id, operation, answer.status, seconds)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key and a digest of the request that it stands for."""

    value: str
    request: bytes

    @classmethod
    def of(cls, scope: Scope, body: bytes, other_headers: tuple[bytes, ...] = ()) -> "IdempotencyKey | None":
        value = find_header(scope, _KEY_HEADER)
        for name in other_headers:
            value = find_header(scope, name) if value is None else value
        if value is None:
            return None
        if not 0 < len(value) <= _LONGEST_KEY:
            raise MalformedRequest(f"An Idempotency-Key has 1 to {_LONGEST_KEY} characters.")
        request = b"\x1f".join((scope["method"].encode(), scope["path"].encode(), scope["query_string"], body))
        return cls(value.decode("latin-1"), hashlib.sha256(request).digest())


def as_refusal(error: Exception) -> Refusal:
    match error:
        case Refusal():
            return error
        case RequestValidationError():
            problems = problems_of(error.errors())
            message = "; ".join(f"{problem.where}: {problem.message}" for problem in problems[:5])
            return MalformedRequest(message, problems)
        case HTTPException() if isinstance(error.__cause__, Refusal):
            return error.__cause__
        case HTTPException():
            return MalformedRequest(str(error.detail))
        case MultiPartException():
            return MalformedRequest(error.message)
    raise error


def _check_charset(scope: Scope) -> None:
    """Refuses a multipart body in a charset that is not taken, before any route reads it."""
    media = find_header(scope, b"content-type")
    if media is None or b"multipart" not in media.lower():
        return
    charset = parse_options_header(media)[1].get(b"charset", b"utf-8")
    if charset.lower() not in _CHARSETS:
        raise MalformedRequest("The charset of the multipart body is not supported.")


def _with_further(headers: RawHeaders, further: Mapping[str, str]) -> RawHeaders:
    """Adds headers that the answer does not have yet."""
    if not further:
        return headers
    present, added = dict(headers), []
    for name, value in further.items():
        raw_name = name.lower().encode()
        if raw_name not in present:
            added.append((raw_name, value.encode("latin-1")))
    return (*headers, *added)


def _cut_connection(scope: Scope) -> None:
    """Aborts the connection where the server lets us; in-process transports get an exception instead."""
    cut = scope.get("extensions", {}).get("dayshift.cut")
    if cut is None:
        raise Dropped
    cut["now"]()


def _address(scope: Scope) -> str | None:
    client = scope.get("client")
    return None if client is None else str(client[0])


def _operation(scope: Scope) -> str:
    route: Any = scope.get("route")
    return getattr(route, "operation_id", None) or "unrouted"


def _context_outside(scope: Scope) -> RequestContext:
    """The context of a request that belongs to no episode."""
    return RequestContext(request=0, method=scope["method"], path=scope["path"], now_ms=0)


def _context(episode: Episode, scope: Scope) -> RequestContext:
    return RequestContext(episode.steps, scope["method"], scope["path"], episode.world.clock.now_ms())


def _http_date(ms: int) -> bytes:
    """Formats a date as `email.utils.formatdate` does, at a fifth of its cost: every answer carries one."""
    time_ = time.gmtime(ms // 1000)
    day, month = _DAYS[time_.tm_wday], _MONTHS[time_.tm_mon - 1]
    clock = (time_.tm_hour, time_.tm_min, time_.tm_sec)
    return b"%b, %02d %b %04d %02d:%02d:%02d GMT" % (day, time_.tm_mday, month, time_.tm_year, *clock)
