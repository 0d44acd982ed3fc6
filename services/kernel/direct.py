"""Routes for the house itself, declared by FastAPI and served past its stack: a submission passes here fifty times."""

from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.types import Message, Receive, Scope, Send

from services.kernel.answers import Answer
from services.kernel.dispatch import Dispatch
from services.kernel.errors import MalformedRequest, MethodNotAllowed, NoSuchRoute, UnsupportedMediaType

# What is wrong with a request before any route has seen it: FastAPI has words for that.
_TURNED_AWAY = (NoSuchRoute, MethodNotAllowed, MalformedRequest, UnsupportedMediaType, RequestValidationError)


class Direct:
    """An app with the routes of another, for callers who know them."""

    def __init__(self, api: FastAPI, explained: Mapping[type[Exception], int]) -> None:
        self._api = api
        self._dispatch = Dispatch(api)
        # Errors that are part of the conversation, and the status that each is told with.
        self._explained = explained

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._api(scope, receive, send)
            return
        body = await _whole(receive)
        if body is None:
            return
        try:
            answer = await self._dispatch.answer(scope, body)
        except _TURNED_AWAY:
            await self._api(scope, _again(body), send)
            return
        except tuple(self._explained) as raised:
            answer = self._explanation(raised)
        headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _explanation(self, raised: Exception) -> Answer:
        status = next(self._explained[kind] for kind in type(raised).__mro__ if kind in self._explained)
        return Answer.json(status, {"error": type(raised).__name__, "message": str(raised)})


async def _whole(receive: Receive) -> bytes | None:
    """None: whoever asked has gone."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _again(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
