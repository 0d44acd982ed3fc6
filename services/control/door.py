"""Control's own door: token, body limit, Idempotency-Key, and no answer that is not a message of the wire."""

import asyncio
import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.control.problems import Conflict, Declined, TooLarge, Unauthorized, Unexpected
from services.kernel.answers import Answer
from services.kernel.telemetry import Telemetry

_log = logging.getLogger("dayshift.control")
_OPEN_PATHS = frozenset({"/health"})
_BODY_LIMIT = 1 << 20
_KEYS_KEPT = 10_000
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a key was first used for, and the answer that came or will come."""

    request: bytes
    answer: asyncio.Future[Answer]


class ControlApp:
    """Pure ASGI around control's FastAPI app."""

    def __init__(self, app: ASGIApp, token: str, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry
        self._expected = f"Bearer {token}".encode()
        self._promised: OrderedDict[str, _Promise] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        try:
            self._admit(scope)
            body = await _read(scope, receive)
            _require_json(body)
            answer = await self._answer(scope, body)
        except Declined as declined:
            answer = rendered(declined)
        await _send(answer, send)
        operation = f"{scope['method']} {getattr(scope.get('route'), 'path', 'unrouted')}"
        episode = scope.get("path_params", {}).get("episode_id", "")
        self._telemetry.answered(episode, operation, answer.status, time.perf_counter() - started)

    def _admit(self, scope: Scope) -> None:
        given = _header(scope, b"authorization") or b""
        if scope["path"] not in _OPEN_PATHS and not hmac.compare_digest(given, self._expected):
            raise Unauthorized

    async def _answer(self, scope: Scope, body: bytes) -> Answer:
        key = _header(scope, b"idempotency-key")
        if scope["method"] != "POST" or key is None:
            return await self._served(scope, body)
        if not 0 < len(key) <= _LONGEST_KEY:
            raise Declined(f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters")
        return await self._once(key.decode("latin-1"), scope, body)

    async def _once(self, key: str, scope: Scope, body: bytes) -> Answer:
        request = hashlib.sha256(b"\x1f".join((scope["path"].encode(), scope["query_string"], body))).digest()
        if (promise := self._promised.get(key)) is not None:
            if promise.request != request:
                raise Conflict("this Idempotency-Key was used with another request")
            return await asyncio.shield(promise.answer)
        promise = _Promise(request, asyncio.get_running_loop().create_future())
        self._promised[key] = promise
        try:
            answer = await self._served(scope, body)
        except BaseException:
            answer = rendered(Unexpected())
            raise
        finally:
            promise.answer.set_result(answer)
            self._forget(key, answer)
        return answer

    def _forget(self, key: str, answer: Answer) -> None:
        """A failure is not an answer worth repeating: the next request with this key tries again."""
        if answer.status >= 500 or answer.status == 429:
            self._promised.pop(key, None)
        while len(self._promised) > _KEYS_KEPT:
            self._promised.popitem(last=False)

    async def _served(self, scope: Scope, body: bytes) -> Answer:
        captured = _Captured()
        try:
            with self._telemetry.span(f"{scope['method']} {scope['path']}"):
                await self._app(scope, _replay(body), captured.send)
        except Exception:  # noqa: BLE001 - whatever it is, it becomes a 500 and never a reward
            _log.exception("failed", extra={"fields": {"method": scope["method"], "path": scope["path"]}})
            return rendered(Unexpected())
        return captured.answer()


def rendered(declined: Declined) -> Answer:
    problem = declined.problem()
    headers = {} if problem.retry_after is None else {"retry-after": str(problem.retry_after)}
    return Answer.json(declined.status, problem.model_dump(exclude_none=True), headers)


class _Captured:
    """Collects an answer, to be kept for its key and then sent."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self) -> None:
        self._status = 500
        self._headers: tuple[tuple[bytes, bytes], ...] = ()
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = tuple((k, v) for k, v in message.get("headers", ()) if k != b"content-length")
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")

    def answer(self) -> Answer:
        return Answer(self._status, self._body, self._headers)


async def _read(scope: Scope, receive: Receive) -> bytes:
    declared = _header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > _BODY_LIMIT:
        raise TooLarge
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Declined("the request ended before its body did")
        body += message.get("body", b"")
        if len(body) > _BODY_LIMIT:
            raise TooLarge
        more = message.get("more_body", False)
    return body


def _require_json(body: bytes) -> None:
    """Strictly: no NaN, no infinities, no nesting without end."""
    try:
        orjson.loads(body or b"null")
    except orjson.JSONDecodeError as error:
        raise Declined(f"the body is not JSON: {error.msg} at character {error.pos}") from error


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _send(answer: Answer, send: Send) -> None:
    headers = (*answer.headers, (b"content-length", b"%d" % len(answer.body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _header(scope: Scope, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key == name), None)
