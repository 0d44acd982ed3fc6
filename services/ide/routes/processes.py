"""The toolbox: commands, code and sessions."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request, Response

from services.ide.operations import processes, sessions
from services.ide.operations.sessions import SessionCommand
from services.ide.routes.dependencies import CurrentSandbox, toolbox_router
from services.ide.schemas.toolbox import (
    CodeIn,
    CodeRan,
    CommandOut,
    Executed,
    ExecuteIn,
    InputIn,
    LogsOut,
    SessionExecuteIn,
    SessionIn,
    SessionOut,
    SessionRan,
)
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.websockets import Socket, is_handshake, upgrade

router = toolbox_router()
# Of standard output and standard error, where both come over one socket.
_OUTPUT_MARKS = (b"\x01\x01\x01", b"\x02\x02\x02")


@router.post("/toolbox/{sandboxId}/process/execute", operation_id="ide.process.execute", response_model=Executed)
async def execute(sandbox: CurrentSandbox, body: ExecuteIn, world: CurrentWorld) -> Response:
    """Run one command in a fresh shell and wait for its end."""
    env = {**sandbox["env"], **(body.envs or {})}
    result = await processes.execute(world, body.command, body.cwd, env, body.timeout)
    return Json({"exitCode": result.exit_code, "result": result.text})


@router.post("/toolbox/{sandboxId}/process/code-run", operation_id="ide.process.run_code", response_model=CodeRan)
async def run_code(sandbox: CurrentSandbox, body: CodeIn, world: CurrentWorld) -> Response:
    """Run a program given as text."""
    env = {**sandbox["env"], **(body.envs or {})}
    result = await processes.run_code(world, body.code, body.language, body.argv or [], env, body.timeout)
    return Json({"exitCode": result.exit_code, "result": result.text, "artifacts": {"charts": []}})


@router.post("/toolbox/{sandboxId}/process/session", status_code=201, operation_id="ide.sessions.create")
async def create_session(body: SessionIn, world: CurrentWorld) -> Response:
    """Open a session: a shell that keeps its state between commands."""
    await sessions.open_session(world, body.sessionId)
    return Response(status_code=201)


@router.get("/toolbox/{sandboxId}/process/session", operation_id="ide.sessions.list", response_model=list[SessionOut])
async def list_sessions(world: CurrentWorld) -> Response:
    """List sessions and their commands."""
    by_name = await sessions.list_sessions(world)
    return Json([_serialize_session(name, commands) for name, commands in by_name.items()])


@router.get(
    "/toolbox/{sandboxId}/process/session/{sessionId}", operation_id="ide.sessions.get", response_model=SessionOut
)
async def read_session(sessionId: str, world: CurrentWorld) -> Response:
    """Read one session."""
    return Json(_serialize_session(sessionId, await sessions.list_commands(world, sessionId)))


@router.delete("/toolbox/{sandboxId}/process/session/{sessionId}", status_code=204, operation_id="ide.sessions.delete")
async def delete_session(sessionId: str, world: CurrentWorld) -> Response:
    """End a session and whatever runs in it."""
    await sessions.close_session(world, sessionId)
    return Response(status_code=204)


@router.post(
    "/toolbox/{sandboxId}/process/session/{sessionId}/exec",
    operation_id="ide.sessions.execute",
    response_model=SessionRan,
)
async def session_execute(sessionId: str, body: SessionExecuteIn, world: CurrentWorld) -> Response:
    """Run a command in a session, waiting for its end unless `runAsync` is set."""
    if body.runAsync or body.async_:
        return Json({"cmdId": await sessions.start(world, sessionId, body.command)}, 202)
    command = await sessions.run(world, sessionId, body.command)
    return Json({"cmdId": command.key, **_serialize_output(command), "exitCode": command.exit_code})


@router.get(
    "/toolbox/{sandboxId}/process/session/{sessionId}/command/{commandId}",
    operation_id="ide.sessions.command",
    response_model=CommandOut,
)
async def read_command(sessionId: str, commandId: str, world: CurrentWorld) -> Response:
    """Read one command of a session."""
    return Json(_serialize_command(await sessions.read_logs(world, sessionId, commandId)))


@router.get(
    "/toolbox/{sandboxId}/process/session/{sessionId}/command/{commandId}/logs",
    operation_id="ide.sessions.logs",
    response_model=LogsOut,
)
async def read_logs(
    sessionId: str, commandId: str, request: Request, world: CurrentWorld, follow: bool = False
) -> Response:
    """What a command has said so far; with `follow`, all that it says to its end."""
    if follow and is_handshake(request):
        await sessions.read_logs(world, sessionId, commandId)
        return upgrade(request, lambda socket: _send_logs(socket, sessions.follow_logs(world, sessionId, commandId)))
    return Json(_serialize_output(await sessions.read_logs(world, sessionId, commandId, follow=follow)))


@router.post(
    "/toolbox/{sandboxId}/process/session/{sessionId}/command/{commandId}/input",
    status_code=204,
    operation_id="ide.sessions.input",
)
async def send_input(sessionId: str, commandId: str, body: InputIn, world: CurrentWorld) -> Response:
    """Give a running command something to read."""
    await sessions.send_input(world, sessionId, commandId, body.data)
    return Response(status_code=204)


async def _send_logs(socket: Socket, chunks: AsyncIterator[tuple[bytes, bytes]]) -> None:
    """Each chunk after the mark of its output, as the vendor writes it."""
    async for outputs in chunks:
        for mark, content in zip(_OUTPUT_MARKS, outputs, strict=True):
            if content:
                await socket.write(mark + content)


def _serialize_output(command: SessionCommand) -> dict[str, str]:
    return {"output": command.output, "stdout": command.stdout, "stderr": command.stderr}


def _serialize_session(name: str, commands: list[SessionCommand]) -> dict[str, Any]:
    return {"sessionId": name, "commands": [_serialize_command(command) for command in commands]}


def _serialize_command(command: SessionCommand) -> dict[str, Any]:
    document: dict[str, Any] = {"id": command.key, "command": command.line}
    return document if command.exit_code is None else {**document, "exitCode": command.exit_code}
