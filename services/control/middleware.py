"""ASGI middleware of the control API: token, body limit and Idempotency-Key; every answer is a message of the wire."""

import asyncio
import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from services.control.problems import ApiProblem, Conflict, TooLarge, Unauthorized, Unexpected
from services.kernel.answers import Answer
from services.kernel.asgi import (
    BodyEnded,
    BodyOverLimit,
    CapturedAnswer,
    find_header,
    read_body,
    replay_body,
    send_answer,
)
from services.kernel.telemetry import Telemetry

_log = logging.getLogger("dayshift.control")
_OPEN_PATHS = frozenset({"/health"})
_BODY_LIMIT = 1 << 20
_KEYS_KEPT = 10_000
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class _FirstUse:
    """The first request of a key, and the answer that came or will come."""

    request: bytes
    answer: asyncio.Future[Answer]


class ControlMiddleware:
    """Wraps control's FastAPI app in pure ASGI."""

    def __init__(self, app: ASGIApp, token: str, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry
        self._expected = f"Bearer {token}".encode()
        self._first_uses: OrderedDict[str, _FirstUse] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        try:
            self._authenticate(scope)
            body = await _read(scope, receive)
            _require_json(body)
            answer = await self._answer(scope, body)
        except ApiProblem as problem:
            answer = render_problem(problem)
        await send_answer(answer, send)
        operation = f"{scope['method']} {getattr(scope.get('route'), 'path', 'unrouted')}"
        episode = scope.get("path_params", {}).get("episode_id", "")
        self._telemetry.count_answer(episode, operation, answer.status, time.perf_counter() - started)

    def _authenticate(self, scope: Scope) -> None:
        authorization = find_header(scope, b"authorization") or b""
        if scope["path"] not in _OPEN_PATHS and not hmac.compare_digest(authorization, self._expected):
            raise Unauthorized

    async def _answer(self, scope: Scope, body: bytes) -> Answer:
        key = find_header(scope, b"idempotency-key")
        if scope["method"] != "POST" or key is None:
            return await self._call_app(scope, body)
        if not 0 < len(key) <= _LONGEST_KEY:
            raise ApiProblem(f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters")
        return await self._answer_once(key.decode("latin-1"), scope, body)

    async def _answer_once(self, key: str, scope: Scope, body: bytes) -> Answer:
        request = hashlib.sha256(b"\x1f".join((scope["path"].encode(), scope["query_string"], body))).digest()
        if (first_use := self._first_uses.get(key)) is not None:
            if first_use.request != request:
                raise Conflict("this Idempotency-Key was used with another request")
            return await asyncio.shield(first_use.answer)
        first_use = _FirstUse(request, asyncio.get_running_loop().create_future())
        self._first_uses[key] = first_use
        try:
            answer = await self._call_app(scope, body)
        except BaseException:
            answer = render_problem(Unexpected())
            raise
        finally:
            first_use.answer.set_result(answer)
            self._forget(key, answer)
        return answer

    def _forget(self, key: str, answer: Answer) -> None:
        """A failure is not repeated: the next request with this key tries again."""
        if answer.status >= 500 or answer.status == 429:
            self._first_uses.pop(key, None)
        while len(self._first_uses) > _KEYS_KEPT:
            self._first_uses.popitem(last=False)

    async def _call_app(self, scope: Scope, body: bytes) -> Answer:
        captured = CapturedAnswer()
        try:
            with self._telemetry.span(scope["method"], scope["path"]):
                await self._app(scope, replay_body(body), captured.send)
            return captured.answer()
        except Exception:  # noqa: BLE001 - any exception becomes a 500 and never a reward
            _log.exception("failed", extra={"fields": {"method": scope["method"], "path": scope["path"]}})
            return render_problem(Unexpected())


def render_problem(problem: ApiProblem) -> Answer:
    body = problem.as_wire()
    headers = {} if body.retry_after is None else {"retry-after": str(body.retry_after)}
    return Answer.json(problem.status, body.model_dump(exclude_none=True), headers)


async def _read(scope: Scope, receive: Receive) -> bytes:
    try:
        return await read_body(scope, receive, _BODY_LIMIT)
    except BodyOverLimit:
        raise TooLarge from None
    except BodyEnded:
        raise ApiProblem("the request ended before its body did") from None


def _require_json(body: bytes) -> None:
    """Refuses what is not strict JSON: NaN, infinities, nesting without end."""
    try:
        orjson.loads(body or b"null")
    except orjson.JSONDecodeError as error:
        raise ApiProblem(f"the body is not JSON: {error.msg} at character {error.pos}") from error
