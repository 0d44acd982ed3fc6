"""Sessions: shells with a state of their own, and the commands that run in them."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from services.ide.errors import CommandTimedOut, Conflict, NotFound, explain_guest
from services.ide.operations.processes import absolute_path, limit_seconds
from services.ide.operations.sandboxes import make_uuid
from services.ide.sandbox.sandbox import GuestRefused, Operation, Reply, Sandbox, SandboxLost
from services.ide.sandbox.system_files import HOME
from services.ide.workspace.workspace import Command, workspace_of
from services.kernel.world import World

_POLL_SECONDS = 0.05
_POLLS_AFTER_KILL = 40
_NAME = re.compile(r"[^\x00/]{1,200}")


@dataclass(frozen=True, slots=True)
class SessionCommand:
    """A command of a session: its output so far, and its exit code once it has one."""

    key: str
    stdout: str
    stderr: str
    exit_code: int | None
    line: str = ""
    # The expected pattern that its output matched, if that is why it was answered.
    matched: str | None = None

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


async def open_session(world: World, name: str, *, terminal: bool = False, cwd: str = HOME) -> None:
    if not _NAME.fullmatch(name):
        raise NotFound("a session's name has 1 to 200 characters and no slash")
    sandbox = await workspace_of(world).sandbox()
    folder, now = absolute_path(cwd), world.clock.now_ms()
    try:
        await sandbox.request("session_open", session=name, terminal=terminal, cwd=folder, now=now)
    except GuestRefused as refused:
        exists = refused.kind == "FileExistsError"
        raise (Conflict("session already exists") if exists else explain_guest(refused)) from refused


async def close_session(world: World, name: str) -> None:
    await _request(world, name, "session_close")


async def list_sessions(world: World) -> dict[str, list[SessionCommand]]:
    sandbox = await workspace_of(world).sandbox()
    sessions = (await sandbox.request("session_list")).head["sessions"]
    return {
        name: [SessionCommand(key, "", "", exit_code, line) for key, line, exit_code in commands]
        for name, commands in sorted(sessions.items())
    }


async def list_commands(world: World, name: str) -> list[SessionCommand]:
    sessions = await list_sessions(world)
    if name not in sessions:
        raise NotFound("session not found")
    return sessions[name]


async def start(world: World, name: str, line: str) -> str:
    """Start a command that runs on by itself; returns its id. Its logs can be read while it runs."""
    key = make_uuid(world.ids, "command")
    await _request(world, name, "session_run", key=key, command=line, detached=True, reads=True)
    workspace_of(world).commands.append(Command(line, None))
    return key


async def run(
    world: World,
    name: str,
    line: str,
    seconds: float | None = None,
    expect: list[str] | None = None,
    *,
    reads: bool = False,
) -> SessionCommand:
    """Waits for the command's end, or for output that was expected; past its time the command is interrupted."""
    key = make_uuid(world.ids, "command")
    arguments = {"session": name, "key": key, "command": line, "expect": expect or [], "reads": reads}
    command = await _wait(world, name, "session_run", b"", seconds, key, arguments)
    workspace_of(world).commands.append(Command(line, command.exit_code))
    return command


async def answer(world: World, name: str, text: str, seconds: float | None, expect: list[str]) -> SessionCommand:
    """Write to the program that runs in the session, and wait for its output."""
    arguments = {"session": name, "waits": True, "expect": expect}
    return await _wait(world, name, "session_input", f"{text}\n".encode(), seconds, "", arguments)


async def is_busy(world: World, name: str) -> bool:
    return any(command.exit_code is None for command in await list_commands(world, name))


async def send_input(world: World, name: str, key: str, text: str) -> None:
    command = await read_logs(world, name, key)
    if command.exit_code is not None:
        raise Conflict("command has ended")
    await _request(world, name, "session_input", text.encode())


async def read_logs(world: World, name: str, key: str, *, follow: bool = False) -> SessionCommand:
    """The output so far; with `follow`, the output at the command's end, within the time that a request may take."""
    polls = int(limit_seconds(None) / _POLL_SECONDS) if follow else 1
    for _ in range(polls):
        command = _parse(key, await _request(world, name, "session_logs", key=key))
        if command.exit_code is not None or not follow:
            break
        await asyncio.sleep(_POLL_SECONDS)
    return command


async def follow_logs(world: World, name: str, key: str) -> AsyncIterator[tuple[bytes, bytes]]:
    """What a command writes to its two outputs, as it comes, until it has ended or its session is closed."""
    since = [0, 0]
    while True:
        try:
            reply = await _request(world, name, "session_logs", key=key, since=since)
        except (NotFound, SandboxLost):
            return
        length = reply.head["out"]
        out, err = reply.blob[:length], reply.blob[length:]
        since = [since[0] + len(out), since[1] + len(err)]
        if out or err:
            yield out, err
        elif reply.head["exit"] is not None:
            return
        else:
            await asyncio.sleep(_POLL_SECONDS)


async def interrupt(world: World, name: str, *, hard: bool) -> bool:
    """Returns whether something still runs."""
    return bool((await _request(world, name, "session_interrupt", hard=hard)).head["running"])


async def _wait(
    world: World,
    name: str,
    operation: Operation,
    blob: bytes,
    seconds: float | None,
    key: str,
    arguments: dict[str, Any],
) -> SessionCommand:
    sandbox = await workspace_of(world).sandbox()
    limit, now = limit_seconds(seconds), world.clock.now_ms()
    try:
        reply = await sandbox.request_within(operation, blob, limit, now=now, **arguments)
        if reply is None:
            await _end_command(sandbox, name)
            raise CommandTimedOut("command execution timeout")
        return _parse(key, reply)
    except GuestRefused as refused:
        raise NotFound("session not found") if refused.kind == "KeyError" else explain_guest(refused) from refused


async def _end_command(sandbox: Sandbox, name: str) -> None:
    """The session survives if its shell takes commands again; a shell that loops by itself does not."""
    try:
        for _ in range(_POLLS_AFTER_KILL):
            if not (await sandbox.request("session_interrupt", session=name, hard=True)).head["running"]:
                return
            await asyncio.sleep(_POLL_SECONDS)
        await sandbox.request("session_interrupt", session=name, whole=True)
    except GuestRefused:
        return


async def _request(world: World, name: str, operation: Operation, blob: bytes = b"", **arguments: Any) -> Reply:
    sandbox = await workspace_of(world).sandbox()
    try:
        return await sandbox.request(operation, blob, session=name, now=world.clock.now_ms(), **arguments)
    except GuestRefused as refused:
        noun = "session" if refused.kind == "KeyError" and str(refused) == repr(name) else "command"
        raise NotFound(f"{noun} not found") if refused.kind == "KeyError" else explain_guest(refused) from refused


def _parse(key: str, reply: Reply) -> SessionCommand:
    head, length = reply.head, reply.head["out"]
    return SessionCommand(
        key=key,
        stdout=reply.blob[:length].decode(errors="replace"),
        stderr=reply.blob[length:].decode(errors="replace"),
        exit_code=head["exit"],
        line=head.get("command", ""),
        matched=head.get("matched"),
    )
