"""The remote runtime: nine calls onto the same sessions, programs and files."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass

from services.ide.errors import CommandTimedOut, Conflict, Forbidden, NotFound, Transferred
from services.ide.operations import processes, sessions, tree
from services.ide.sandbox import Ran
from services.kernel.errors import Refusal
from services.kernel.world import World

_ERRORS = "swerex.exceptions."
_SYNTAX_SECONDS = 5.0
_PLAIN = re.compile(r"[\w ./=:,+-]*")
_RESERVED = frozenset(
    (
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "until",
        "case",
        "esac",
        "select",
        "function",
    )
)
_CONTROL = re.compile(r"\x1b[@-_][0-?]*[ -/]*[@-~]")
_KINDS: tuple[tuple[type[Refusal], str], ...] = (
    (NotFound, "builtins.FileNotFoundError"),
    (Forbidden, "builtins.PermissionError"),
)


@dataclass(frozen=True, slots=True)
class Observed:
    """What a session said to an action."""

    output: str
    exit: int | None
    matched: str = ""


async def create_session(world: World, name: str, sources: list[str]) -> str:
    try:
        await sessions.open_session(world, name, terminal=True)
    except Conflict as taken:
        raise Transferred(_ERRORS + "SessionExistsError", f"session {name} already exists") from taken
    said = [(await sessions.run(world, name, f"source {path}")).output for path in sources]
    return "".join(said)


async def close_session(world: World, name: str) -> None:
    try:
        await sessions.close_session(world, name)
    except NotFound as missing:
        raise _no_session(name) from missing


async def run(
    world: World, name: str, command: str, seconds: float | None, check: str, expect: list[str], about: str
) -> Observed:
    await _require_syntax(world, command)
    try:
        said = await sessions.run(world, name, command, seconds, expect, reads=True)
    except NotFound as missing:
        raise _no_session(name) from missing
    except CommandTimedOut as late:
        raise _timed_out(command, seconds) from late
    output = _clean(said.output)
    if check == "raise" and said.exit:
        words = f"Command {command!r} failed with exit code {said.exit}. Here is the output:\n{output!r}"
        raise Transferred(_ERRORS + "NonZeroExitCodeError", f"{about}: {words}" if about else words)
    return Observed(output, None if check == "ignore" else said.exit, said.matched or "")


async def interact(world: World, name: str, text: str, seconds: float | None, expect: list[str]) -> Observed:
    """A program that goes on: what it says until it says what was expected, or until it ends."""
    try:
        if await sessions.is_busy(world, name):
            said = await sessions.answer(world, name, text, seconds, expect)
        else:
            said = await sessions.run(world, name, text, seconds, expect, reads=True)
    except NotFound as missing:
        raise _no_session(name) from missing
    except CommandTimedOut as late:
        raise _timed_out(text, seconds) from late
    return Observed(_clean(said.output).strip(), 0, said.matched or "")


async def interrupt(world: World, name: str, seconds: float, tries: int) -> Observed:
    """Ctrl-C until nothing runs any more; then by force."""
    try:
        for attempt in range(max(1, min(tries, 10)) + 1):
            if not await sessions.interrupt(world, name, hard=attempt >= tries):
                return Observed("", 0)
            await asyncio.sleep(min(seconds, 1.0))
        running = await sessions.is_busy(world, name)
    except NotFound as missing:
        raise _no_session(name) from missing
    if running:
        raise Transferred(_ERRORS + "CommandTimeoutError", "Failed to interrupt session")
    return Observed("", 0)


async def execute(
    world: World,
    command: str | list[str],
    cwd: str | None,
    env: Mapping[str, str],
    seconds: float | None,
    *,
    shell: bool,
    merged: bool,
) -> Ran:
    line = command if isinstance(command, str) else " ".join(command)
    argv = ["/bin/bash", "-c", line] if shell else ([command] if isinstance(command, str) else command)
    try:
        ran = await processes.run(world, argv, cwd=cwd, env=env, seconds=seconds, merged=merged)
    except Refusal as refusal:
        raise _transferred(refusal) from refusal
    if ran.timed_out:
        raise _timed_out(line, seconds)
    return ran


async def read(world: World, path: str, encoding: str | None, errors: str | None) -> str:
    try:
        content = await tree.read(world, path)
        return content.decode(encoding or "utf-8", errors or "strict")
    except Refusal as refusal:
        raise _transferred(refusal) from refusal
    except (UnicodeDecodeError, LookupError) as error:
        raise Transferred("builtins.OSError", str(error)) from error


async def write(world: World, path: str, content: bytes) -> None:
    try:
        await tree.write(world, path, content)
    except Refusal as refusal:
        raise _transferred(refusal) from refusal


async def unpack(world: World, path: str, archive: bytes) -> None:
    try:
        await tree.unpack(world, path, archive)
    except Refusal as refusal:
        raise _transferred(refusal) from refusal


async def _require_syntax(world: World, command: str) -> None:
    """As the runtime does before it runs anything; a line without anything but words needs no looking at."""
    if _PLAIN.fullmatch(command) and not _RESERVED & set(command.split()):
        return
    ran = await processes.run(world, ["/bin/bash", "-n"], stdin=f"{command}\n".encode(), seconds=_SYNTAX_SECONDS)
    if ran.exit:
        told = {"bash_stdout": ran.text, "bash_stderr": ran.complaint}
        words = (
            f"Error (exit code {ran.exit}) while checking bash command \n{command!r}\n---- Stderr ----\n{ran.complaint}"
        )
        raise Transferred(_ERRORS + "BashIncorrectSyntaxError", words, told)


def _clean(text: str) -> str:
    return _CONTROL.sub("", text).replace("\r\n", "\n")


def _transferred(refusal: Refusal) -> Transferred:
    name = next((path for kind, path in _KINDS if isinstance(refusal, kind)), "builtins.OSError")
    return Transferred(name, refusal.message)


def _no_session(name: str) -> Transferred:
    return Transferred(_ERRORS + "SessionDoesNotExistError", f"session {name!r} does not exist")


def _timed_out(command: str, seconds: float | None) -> Transferred:
    return Transferred(
        _ERRORS + "CommandTimeoutError", f"timeout after {seconds} seconds while running command {command!r}"
    )
