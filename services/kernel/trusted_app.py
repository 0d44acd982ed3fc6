"""Routes for our own processes, declared by FastAPI and served past its stack: a submit makes fifty calls here."""

from collections.abc import Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.types import Receive, Scope, Send

from services.kernel.answers import Answer
from services.kernel.asgi import BodyEnded, read_body, replay_body, send_answer
from services.kernel.dispatch import Dispatch
from services.kernel.errors import MalformedRequest, MethodNotAllowed, NoSuchRoute, UnsupportedMediaType

# Requests that no route has seen yet: FastAPI words these refusals.
_LEFT_TO_FASTAPI = (NoSuchRoute, MethodNotAllowed, MalformedRequest, UnsupportedMediaType, RequestValidationError)


class TrustedApp:
    """An ASGI app with the routes of a FastAPI app, for trusted callers."""

    def __init__(self, api: FastAPI, status_by_error: Mapping[type[Exception], int]) -> None:
        self._api = api
        self._dispatch = Dispatch(api)
        # Errors that callers expect, and the status of each.
        self._status_by_error = status_by_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._api(scope, receive, send)
            return
        try:
            body = await read_body(scope, receive)
        except BodyEnded:
            return
        try:
            answer = await self._dispatch.answer(scope, body)
        except _LEFT_TO_FASTAPI:
            await self._api(scope, replay_body(body), send)
            return
        except tuple(self._status_by_error) as error:
            answer = self._render(error)
        await send_answer(answer, send)

    def _render(self, error: Exception) -> Answer:
        status = next(self._status_by_error[kind] for kind in type(error).__mro__ if kind in self._status_by_error)
        return Answer.json(status, {"error": type(error).__name__, "message": str(error)})
