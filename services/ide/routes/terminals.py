"""The toolbox: terminals (the vendor's PTY sessions), over WebSockets."""

import asyncio
import base64
import binascii
from contextlib import suppress
from typing import Annotated, Any

import orjson
from fastapi import Query, Request, Response

from services.ide.errors import BadRequest
from services.ide.operations import terminals
from services.ide.operations.terminals import Terminal, Watcher
from services.ide.routes.dependencies import CurrentSandbox, toolbox_router
from services.ide.schemas.toolbox import TerminalCreated, TerminalIn, TerminalOut, TerminalSizeIn, TerminalsOut
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.clock import iso
from services.kernel.websockets import (
    NoHandshake,
    Socket,
    SocketClosed,
    is_handshake,
    list_offered_subprotocols,
    upgrade,
)

router = toolbox_router()
# A client that offers it is told the exit code in a message, too, and not only when the socket is closed.
_EXIT_CONTROL = "X-Daytona-Pty-Exit-Control"
# Variables travel in a subprotocol, so that no log of addresses holds them.
_ENVS_PREFIX = "X-Daytona-Pty-Envs~"
Size = Annotated[int, Query(ge=1, le=1000)]


@router.post(
    "/toolbox/{sandboxId}/process/pty",
    status_code=201,
    operation_id="ide.terminals.create",
    response_model=TerminalCreated,
)
async def create(sandbox: CurrentSandbox, body: TerminalIn, world: CurrentWorld) -> Response:
    """Open a terminal: an interactive shell that clients connect to."""
    env = {**sandbox["env"], **(body.envs or {})}
    terminal = await terminals.open_terminal(world, body.id, body.cwd, env, body.rows, body.cols)
    return Json({"sessionId": terminal.id}, 201)


@router.get("/toolbox/{sandboxId}/process/pty", operation_id="ide.terminals.list", response_model=TerminalsOut)
async def list_all(world: CurrentWorld) -> Response:
    """List terminals."""
    return Json({"sessions": [_serialize(terminal) for terminal in terminals.list_terminals(world)]})


# Declared before the paths with an id, and left out of the documents: a tool that is called once has no socket.
@router.get(
    "/toolbox/{sandboxId}/process/pty/create-connect",
    operation_id="ide.terminals.create_connect",
    include_in_schema=False,
)
async def create_and_connect(
    sandbox: CurrentSandbox,
    request: Request,
    world: CurrentWorld,
    key: Annotated[str, Query(alias="id", min_length=1)],
    cwd: str | None = None,
    rows: Size = 24,
    cols: Size = 80,
) -> Response:
    """Open a terminal and connect to it over a WebSocket."""
    if not is_handshake(request):
        raise NoHandshake
    env = {**sandbox["env"], **_read_envs(request)}
    return _connect(request, await terminals.open_terminal(world, key, cwd, env, rows, cols))


@router.get(
    "/toolbox/{sandboxId}/process/pty/{sessionId}/connect",
    operation_id="ide.terminals.connect",
    include_in_schema=False,
)
async def connect(sessionId: str, request: Request, world: CurrentWorld) -> Response:
    """Connect to a terminal over a WebSocket: messages are typed, output comes as messages."""
    return _connect(request, terminals.find(world, sessionId))


@router.get(
    "/toolbox/{sandboxId}/process/pty/{sessionId}", operation_id="ide.terminals.get", response_model=TerminalOut
)
async def read(sessionId: str, world: CurrentWorld) -> Response:
    """Read one terminal."""
    return Json(_serialize(terminals.find(world, sessionId)))


@router.post(
    "/toolbox/{sandboxId}/process/pty/{sessionId}/resize",
    operation_id="ide.terminals.resize",
    response_model=TerminalOut,
)
async def resize(sessionId: str, body: TerminalSizeIn, world: CurrentWorld) -> Response:
    """Change the size of a terminal."""
    terminal = terminals.find(world, sessionId)
    await terminal.resize(body.rows, body.cols)
    return Json(_serialize(terminal))


@router.delete("/toolbox/{sandboxId}/process/pty/{sessionId}", operation_id="ide.terminals.delete")
async def delete(sessionId: str, world: CurrentWorld) -> Response:
    """End a terminal and whatever runs in it."""
    await terminals.find(world, sessionId).kill()
    return Json({"message": "PTY session deleted"})


def _connect(request: Request, terminal: Terminal) -> Response:
    """From the moment of the answer, so that nothing is missed."""
    watcher = terminal.watch()
    with_exit = _EXIT_CONTROL in list_offered_subprotocols(request)
    subprotocol = _EXIT_CONTROL if with_exit else None
    return upgrade(request, lambda socket: _talk(socket, terminal, watcher, with_exit=with_exit), subprotocol)


async def _talk(socket: Socket, terminal: Terminal, watcher: Watcher, *, with_exit: bool) -> None:
    reading = asyncio.create_task(_read_input(socket, terminal, watcher))
    try:
        await socket.write(_control(status="connected"))
        while (content := await watcher.take()) is not None:
            await socket.write(content)
        if terminal.exit_code is None:
            return
        ending = {"exitCode": terminal.exit_code}
        if with_exit:
            await socket.write(_control(status="exited", **ending))
        await socket.close(1000, orjson.dumps(ending).decode())
    finally:
        terminal.unwatch(watcher)
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def _read_input(socket: Socket, terminal: Terminal, watcher: Watcher) -> None:
    try:
        while True:
            terminal.write(await socket.read())
    except SocketClosed:
        watcher.end()


def _control(**fields: Any) -> str:
    return orjson.dumps({"type": "control", **fields}).decode()


def _read_envs(request: Request) -> dict[str, str]:
    text = next((name for name in list_offered_subprotocols(request) if name.startswith(_ENVS_PREFIX)), None)
    if text is None:
        return {}
    encoded = text.removeprefix(_ENVS_PREFIX)
    try:
        envs = orjson.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (binascii.Error, orjson.JSONDecodeError) as error:
        raise BadRequest("the environment variables of a PTY session are no base64url of a JSON object") from error
    if not isinstance(envs, dict) or not all(isinstance(value, str) for value in envs.values()):
        raise BadRequest("the environment variables of a PTY session are texts")
    return envs


def _serialize(terminal: Terminal) -> dict[str, Any]:
    return {
        "id": terminal.id,
        "active": terminal.exit_code is None,
        "createdAt": iso(terminal.created_at),
        "cwd": terminal.cwd,
        "envs": terminal.env,
        "rows": terminal.rows,
        "cols": terminal.cols,
        "lazyStart": False,
    }
