"""Sessions: shells with a state of their own, and the commands given to them."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from services.ide import workspace
from services.ide.errors import CommandTimedOut, Conflict, NotFound, of_guest
from services.ide.operations.machines import drawn_id
from services.ide.operations.processes import absolute, bounded, machine_of
from services.ide.sandbox import GuestRefused, Reply, Sandbox
from services.ide.system import HOME
from services.kernel.world import World

_LOOK_SECONDS = 0.05
_LOOKS_AFTER_KILL = 40
_NAME = re.compile(r"[^\x00/]{1,200}")


@dataclass(frozen=True, slots=True)
class Said:
    """A command's output, and its exit code once it has one."""

    key: str
    stdout: str
    stderr: str
    exit: int | None
    command: str = ""
    matched: str | None = None

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


async def open_session(world: World, name: str, *, terminal: bool = False, cwd: str = HOME) -> None:
    if not _NAME.fullmatch(name):
        raise NotFound("a session's name has 1 to 200 characters and no slash")
    machine = await machine_of(world)
    try:
        await machine.ask("session_open", session=name, terminal=terminal, cwd=absolute(cwd), now=world.clock.now_ms())
    except GuestRefused as refused:
        raise (
            Conflict("session already exists") if refused.kind == "FileExistsError" else of_guest(refused)
        ) from refused


async def close_session(world: World, name: str) -> None:
    await _asked(world, name, "session_close")


async def listed(world: World) -> dict[str, list[Said]]:
    machine = await machine_of(world)
    found = (await machine.ask("session_list")).head["sessions"]
    return {
        name: [Said(key, "", "", code, text) for key, text, code in commands]
        for name, commands in sorted(found.items())
    }


async def one(world: World, name: str) -> list[Said]:
    found = await listed(world)
    if name not in found:
        raise NotFound("session not found")
    return found[name]


async def start(world: World, name: str, command: str) -> str:
    """Runs on by itself; its logs can be read while it does."""
    key = drawn_id("command", world.ids.next("command"))
    await _asked(world, name, "session_run", key=key, command=command, detached=True, reads=True)
    workspace.of(world).commands.append((command, None))
    return key


async def run(
    world: World,
    name: str,
    command: str,
    seconds: float | None = None,
    expect: list[str] | None = None,
    *,
    reads: bool = False,
) -> Said:
    """Waits for the command's end, or for something it was expected to say; past its time it is interrupted."""
    key = drawn_id("command", world.ids.next("command"))
    about = {"session": name, "key": key, "command": command, "expect": expect or [], "reads": reads}
    said = await _waited(world, name, "session_run", b"", seconds, key, about)
    workspace.of(world).commands.append((command, said.exit))
    return said


async def answer(world: World, name: str, text: str, seconds: float | None, expect: list[str]) -> Said:
    """Something to read for the program that runs in the session, and what it says to that."""
    about = {"session": name, "waits": True, "expect": expect}
    return await _waited(world, name, "session_input", f"{text}\n".encode(), seconds, "", about)


async def is_busy(world: World, name: str) -> bool:
    return any(command.exit is None for command in await one(world, name))


async def send_input(world: World, name: str, key: str, text: str) -> None:
    said = await logs(world, name, key)
    if said.exit is not None:
        raise Conflict("command has ended")
    await _asked(world, name, "session_input", text.encode())


async def logs(world: World, name: str, key: str, *, follow: bool = False) -> Said:
    """So far; or, to follow it, at its end, as far as anybody waits that long."""
    looks = int(bounded(None) / _LOOK_SECONDS) if follow else 1
    for _ in range(looks):
        said = _said(key, await _asked(world, name, "session_logs", key=key))
        if said.exit is not None or not follow:
            break
        await asyncio.sleep(_LOOK_SECONDS)
    return said


async def interrupt(world: World, name: str, *, hard: bool) -> bool:
    """Whether something still runs."""
    return bool((await _asked(world, name, "session_interrupt", hard=hard)).head["running"])


async def _waited(
    world: World, name: str, op: str, blob: bytes, seconds: float | None, key: str, about: dict[str, Any]
) -> Said:
    machine = await machine_of(world)
    try:
        reply = await machine.waiting(op, blob, bounded(seconds), now=world.clock.now_ms(), **about)
        if reply is None:
            await _end_command(machine, name)
            raise CommandTimedOut("command execution timeout")
        return _said(key, reply)
    except GuestRefused as refused:
        raise NotFound("session not found") if refused.kind == "KeyError" else of_guest(refused) from refused


async def _end_command(machine: Sandbox, name: str) -> None:
    """The session survives if its shell can be had back; a shell that loops by itself cannot."""
    try:
        for _ in range(_LOOKS_AFTER_KILL):
            if not (await machine.ask("session_interrupt", session=name, hard=True)).head["running"]:
                return
            await asyncio.sleep(_LOOK_SECONDS)
        await machine.ask("session_interrupt", session=name, whole=True)
    except GuestRefused:
        return


async def _asked(world: World, name: str, op: str, blob: bytes = b"", **about: Any) -> Reply:
    machine = await machine_of(world)
    try:
        return await machine.ask(op, blob, session=name, now=world.clock.now_ms(), **about)
    except GuestRefused as refused:
        what = "session" if refused.kind == "KeyError" and str(refused) == repr(name) else "command"
        raise NotFound(f"{what} not found") if refused.kind == "KeyError" else of_guest(refused) from refused


def _said(key: str, reply: Reply) -> Said:
    head, out = reply.head, reply.head["out"]
    return Said(
        key=key,
        stdout=reply.blob[:out].decode(errors="replace"),
        stderr=reply.blob[out:].decode(errors="replace"),
        exit=head["exit"],
        command=head.get("command", ""),
        matched=head.get("matched"),
    )
