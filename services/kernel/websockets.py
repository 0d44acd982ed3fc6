"""WebSockets of the agent API: the handshake is a request like any other, and then both sides speak.

A route answers the handshake with `upgrade(…)`. Authentication, order, faults, the step and its record are therefore
those of every request; what is sent over the socket afterwards is no further step.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from starlette.types import Message, Receive, Scope, Send

from services.kernel.answers import Answer
from services.kernel.errors import Refusal

_SWITCHING = 101
_GOING_AWAY = 1001
_HANDSHAKE = "handshake"
_UPGRADE = "upgrade"


class NoHandshake(Refusal):
    """websocket: the client is not using the websocket protocol"""

    status = 400


class SocketClosed(Exception):
    """The other side is gone."""


class Socket:
    """An accepted WebSocket."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._is_closed = False

    async def read(self) -> bytes:
        """The next message; raises SocketClosed at the end."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            self._is_closed = True
            raise SocketClosed
        content: bytes | None = message.get("bytes")
        return content if content is not None else str(message.get("text") or "").encode()

    async def write(self, content: bytes | str) -> None:
        key = "bytes" if isinstance(content, bytes) else "text"
        await self._deliver({"type": "websocket.send", key: content})

    async def close(self, code: int = 1000, reason: str = "") -> None:
        if not self._is_closed:
            with suppress(SocketClosed):
                await self._deliver({"type": "websocket.close", "code": code, "reason": reason})
            self._is_closed = True

    async def _deliver(self, message: Message) -> None:
        if self._is_closed:
            raise SocketClosed
        try:
            await self._send(message)
        except (OSError, RuntimeError) as error:
            # The server's own words for a peer that has gone meanwhile.
            self._is_closed = True
            raise SocketClosed from error


Talk = Callable[[Socket], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What follows a handshake."""

    talk: Talk
    subprotocol: str | None


def is_handshake(request: Request) -> bool:
    return _HANDSHAKE in request.scope


def list_offered_subprotocols(request: Request) -> list[str]:
    offered: list[str] = request.scope.get("subprotocols", [])
    return offered


def upgrade(request: Request, talk: Talk, subprotocol: str | None = None) -> Response:
    if not is_handshake(request):
        raise NoHandshake
    request.scope[_UPGRADE] = Upgrade(talk, subprotocol)
    return Response(status_code=_SWITCHING)


def handshake_scope(scope: Scope) -> Scope:
    """The handshake as the request that it is."""
    return {**scope, "type": "http", "method": "GET", _HANDSHAKE: True}


async def converse(scope: Scope, answer: Answer | None, receive: Receive, send: Send) -> None:
    """Accepts the socket of a handshake that was answered, or refuses it with that answer; None: without one."""
    await receive()
    planned: Upgrade | None = scope.get(_UPGRADE)
    if answer is None:
        await send({"type": "websocket.close", "code": _GOING_AWAY})
    elif answer.status != _SWITCHING or planned is None:
        await _refuse(answer, send)
    else:
        headers: list[Any] = list(answer.headers)
        await send({"type": "websocket.accept", "subprotocol": planned.subprotocol, "headers": headers})
        socket = Socket(receive, send)
        try:
            await planned.talk(socket)
        except SocketClosed:
            return
        finally:
            await socket.close()


async def _refuse(answer: Answer, send: Send) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = [*answer.headers, length]
    await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": answer.body})
