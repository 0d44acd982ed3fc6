"""The remote runtime: nine calls on the same sessions, programs and files."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from services.ide.errors import CommandTimedOut, Conflict, Forbidden, NotFound, RuntimeFailed
from services.ide.operations import files, processes, sessions
from services.ide.sandbox.sandbox import ProcessResult
from services.kernel.errors import Refusal
from services.kernel.world import World

# What to do about an exit code that is not 0.
CheckMode = Literal["raise", "silent", "ignore"]
_ERRORS = "swerex.exceptions."
_SYNTAX_SECONDS = 5.0
_PLAIN_WORDS = re.compile(r"[\w ./=:,+-]*")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "in", "do", "done", "while", "until", "case", "esac"}
    | {"select", "function"}
)
_CONTROL = re.compile(r"\x1b[@-_][0-?]*[ -/]*[@-~]")
# The exception that the client raises for a refusal.
_EXCEPTIONS: tuple[tuple[type[Refusal], str], ...] = (
    (NotFound, "builtins.FileNotFoundError"),
    (Forbidden, "builtins.PermissionError"),
)


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of an action in a session."""

    output: str
    exit_code: int | None
    matched: str = ""


async def create_session(world: World, name: str, sources: list[str]) -> str:
    try:
        await sessions.open_session(world, name, terminal=True)
    except Conflict as taken:
        raise RuntimeFailed(_ERRORS + "SessionExistsError", f"session {name} already exists") from taken
    outputs = [(await sessions.run(world, name, f"source {path}")).output for path in sources]
    return "".join(outputs)


async def close_session(world: World, name: str) -> None:
    try:
        await sessions.close_session(world, name)
    except NotFound as missing:
        raise _no_session(name) from missing


async def run(
    world: World, name: str, line: str, seconds: float | None, check: CheckMode, expect: list[str], error_message: str
) -> Observation:
    await _require_syntax(world, line)
    try:
        command = await sessions.run(world, name, line, seconds, expect, reads=True)
    except NotFound as missing:
        raise _no_session(name) from missing
    except CommandTimedOut as late:
        raise _make_timeout(line, seconds) from late
    output = _remove_control_codes(command.output)
    if check == "raise" and command.exit_code:
        words = f"Command {line!r} failed with exit code {command.exit_code}. Here is the output:\n{output!r}"
        words = f"{error_message}: {words}" if error_message else words
        raise RuntimeFailed(_ERRORS + "NonZeroExitCodeError", words)
    return Observation(output, None if check == "ignore" else command.exit_code, command.matched or "")


async def interact(world: World, name: str, text: str, seconds: float | None, expect: list[str]) -> Observation:
    """Write to a program that goes on, and wait until it prints what was expected, or ends."""
    try:
        if await sessions.is_busy(world, name):
            command = await sessions.answer(world, name, text, seconds, expect)
        else:
            command = await sessions.run(world, name, text, seconds, expect, reads=True)
    except NotFound as missing:
        raise _no_session(name) from missing
    except CommandTimedOut as late:
        raise _make_timeout(text, seconds) from late
    return Observation(_remove_control_codes(command.output).strip(), 0, command.matched or "")


async def interrupt(world: World, name: str, seconds: float, tries: int) -> Observation:
    """Ctrl-C until nothing runs any more; then by force."""
    try:
        for attempt in range(max(1, min(tries, 10)) + 1):
            if not await sessions.interrupt(world, name, hard=attempt >= tries):
                return Observation("", 0)
            await asyncio.sleep(min(seconds, 1.0))
        running = await sessions.is_busy(world, name)
    except NotFound as missing:
        raise _no_session(name) from missing
    if running:
        raise RuntimeFailed(_ERRORS + "CommandTimeoutError", "Failed to interrupt session")
    return Observation("", 0)


async def execute(
    world: World,
    command: str | list[str],
    cwd: str | None,
    env: Mapping[str, str],
    seconds: float | None,
    *,
    shell: bool,
    merged: bool,
) -> ProcessResult:
    line = command if isinstance(command, str) else " ".join(command)
    argv = ["/bin/bash", "-c", line] if shell else ([command] if isinstance(command, str) else command)
    try:
        result = await processes.run(world, argv, cwd=cwd, env=env, seconds=seconds, merged=merged)
    except Refusal as refusal:
        raise _as_exception(refusal) from refusal
    if result.timed_out:
        raise _make_timeout(line, seconds)
    return result


async def read(world: World, path: str, encoding: str | None, errors: str | None) -> str:
    try:
        content = await files.read(world, path)
        return content.decode(encoding or "utf-8", errors or "strict")
    except Refusal as refusal:
        raise _as_exception(refusal) from refusal
    except (UnicodeDecodeError, LookupError) as error:
        raise RuntimeFailed("builtins.OSError", str(error)) from error


async def write(world: World, path: str, content: bytes) -> None:
    try:
        await files.write(world, path, content)
    except Refusal as refusal:
        raise _as_exception(refusal) from refusal


async def unpack(world: World, path: str, archive: bytes) -> None:
    try:
        await files.unpack(world, path, archive)
    except Refusal as refusal:
        raise _as_exception(refusal) from refusal


async def _require_syntax(world: World, command: str) -> None:
    """As the original does before it runs anything; a line of plain words needs no check."""
    if _PLAIN_WORDS.fullmatch(command) and not _RESERVED & set(command.split()):
        return
    result = await processes.run(world, ["/bin/bash", "-n"], stdin=f"{command}\n".encode(), seconds=_SYNTAX_SECONDS)
    if result.exit_code:
        streams = {"bash_stdout": result.text, "bash_stderr": result.error_text}
        words = (
            f"Error (exit code {result.exit_code}) while checking bash command \n{command!r}\n"
            f"---- Stderr ----\n{result.error_text}"
        )
        raise RuntimeFailed(_ERRORS + "BashIncorrectSyntaxError", words, streams)


def _remove_control_codes(text: str) -> str:
    return _CONTROL.sub("", text).replace("\r\n", "\n")


def _as_exception(refusal: Refusal) -> RuntimeFailed:
    name = next((path for kind, path in _EXCEPTIONS if isinstance(refusal, kind)), "builtins.OSError")
    return RuntimeFailed(name, refusal.message)


def _no_session(name: str) -> RuntimeFailed:
    return RuntimeFailed(_ERRORS + "SessionDoesNotExistError", f"session {name!r} does not exist")


def _make_timeout(command: str, seconds: float | None) -> RuntimeFailed:
    return RuntimeFailed(
        _ERRORS + "CommandTimeoutError", f"timeout after {seconds} seconds while running command {command!r}"
    )
