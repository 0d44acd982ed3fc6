"""The toolbox: commands, code and sessions."""

from typing import Any

from fastapi import Response

from services.ide.operations import machines, processes, sessions
from services.ide.operations.sessions import Said
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
from services.kernel.app import CurrentWorld, product_router

router = product_router()
BASE = "/toolbox/{sandboxId}"
_SESSION = BASE + "/process/session"
_ONE = _SESSION + "/{sessionId}"
_COMMAND = _ONE + "/command/{commandId}"


@router.post(BASE + "/process/execute", operation_id="ide.process.execute", response_model=Executed)
async def execute(sandboxId: str, body: ExecuteIn, world: CurrentWorld) -> Response:
    """Run one command in a fresh shell and wait for its end."""
    machine = machines.find(world, sandboxId)
    env = {**machine["env"], **(body.envs or {})}
    ran = await processes.execute(world, body.command, body.cwd, env, body.timeout)
    return Json({"exitCode": ran.exit, "result": ran.text})


@router.post(BASE + "/process/code-run", operation_id="ide.process.run_code", response_model=CodeRan)
async def run_code(sandboxId: str, body: CodeIn, world: CurrentWorld) -> Response:
    """Run a program given as text."""
    machine = machines.find(world, sandboxId)
    env = {**machine["env"], **(body.envs or {})}
    ran = await processes.run_code(world, body.code, body.language, body.argv or [], env, body.timeout)
    return Json({"exitCode": ran.exit, "result": ran.text, "artifacts": {"charts": []}})


@router.post(_SESSION, status_code=201, operation_id="ide.sessions.create")
async def create_session(sandboxId: str, body: SessionIn, world: CurrentWorld) -> Response:
    """Open a session: a shell that keeps its state between commands."""
    machines.find(world, sandboxId)
    await sessions.open_session(world, body.sessionId)
    return Response(status_code=201)


@router.get(_SESSION, operation_id="ide.sessions.list", response_model=list[SessionOut])
async def list_sessions(sandboxId: str, world: CurrentWorld) -> Response:
    """List sessions and their commands."""
    machines.find(world, sandboxId)
    found = await sessions.listed(world)
    return Json([_session(name, commands) for name, commands in found.items()])


@router.get(_ONE, operation_id="ide.sessions.get", response_model=SessionOut)
async def read_session(sandboxId: str, sessionId: str, world: CurrentWorld) -> Response:
    """Read one session."""
    machines.find(world, sandboxId)
    return Json(_session(sessionId, await sessions.one(world, sessionId)))


@router.delete(_ONE, status_code=204, operation_id="ide.sessions.delete")
async def delete_session(sandboxId: str, sessionId: str, world: CurrentWorld) -> Response:
    """End a session and whatever runs in it."""
    machines.find(world, sandboxId)
    await sessions.close_session(world, sessionId)
    return Response(status_code=204)


@router.post(_ONE + "/exec", operation_id="ide.sessions.execute", response_model=SessionRan)
async def session_execute(sandboxId: str, sessionId: str, body: SessionExecuteIn, world: CurrentWorld) -> Response:
    """Run a command in a session, waiting for its end unless `runAsync` is set."""
    machines.find(world, sandboxId)
    if body.runAsync or body.async_:
        return Json({"cmdId": await sessions.start(world, sessionId, body.command)}, 202)
    said = await sessions.run(world, sessionId, body.command)
    return Json(
        {"cmdId": said.key, "output": said.output, "stdout": said.stdout, "stderr": said.stderr, "exitCode": said.exit}
    )


@router.get(_COMMAND, operation_id="ide.sessions.command", response_model=CommandOut)
async def read_command(sandboxId: str, sessionId: str, commandId: str, world: CurrentWorld) -> Response:
    """Read one command of a session."""
    machines.find(world, sandboxId)
    return Json(_command(await sessions.logs(world, sessionId, commandId)))


@router.get(_COMMAND + "/logs", operation_id="ide.sessions.logs", response_model=LogsOut)
async def read_logs(
    sandboxId: str, sessionId: str, commandId: str, world: CurrentWorld, follow: bool = False
) -> Response:
    """What a command has said so far; with `follow`, all that it says to its end."""
    machines.find(world, sandboxId)
    said = await sessions.logs(world, sessionId, commandId, follow=follow)
    return Json({"output": said.output, "stdout": said.stdout, "stderr": said.stderr})


@router.post(_COMMAND + "/input", status_code=204, operation_id="ide.sessions.input")
async def send_input(sandboxId: str, sessionId: str, commandId: str, body: InputIn, world: CurrentWorld) -> Response:
    """Give a running command something to read."""
    machines.find(world, sandboxId)
    await sessions.send_input(world, sessionId, commandId, body.data)
    return Response(status_code=204)


def _session(name: str, commands: list[Said]) -> dict[str, Any]:
    return {"sessionId": name, "commands": [_command(command) for command in commands]}


def _command(said: Said) -> dict[str, Any]:
    about: dict[str, Any] = {"id": said.key, "command": said.command}
    return about if said.exit is None else {**about, "exitCode": said.exit}
