"""Programs: one command from start to end."""

from collections.abc import Mapping, Sequence

from services.ide.errors import CommandTimedOut, explain_guest
from services.ide.sandbox.pool import current_pool
from services.ide.sandbox.sandbox import GuestRefused, ProcessResult
from services.ide.sandbox.system_files import HOME
from services.ide.workspace.workspace import Command, workspace_of
from services.kernel.world import World

_INTERPRETERS = {"python": ("python3", "-c"), "bash": ("/bin/bash", "-c"), "javascript": ("node", "-e")}


async def execute(
    world: World, command: str, cwd: str | None, env: Mapping[str, str], seconds: float | None
) -> ProcessResult:
    """Run a command line in a shell; its two outputs come as one, in the order they were written."""
    result = await run(world, ["/bin/bash", "-c", command], cwd=cwd, env=env, seconds=seconds, merged=True)
    return _require_in_time(result)


async def run_code(
    world: World, code: str, language: str, arguments: Sequence[str], env: Mapping[str, str], seconds: float | None
) -> ProcessResult:
    interpreter = _INTERPRETERS.get(language, _INTERPRETERS["python"])
    result = await run(world, [*interpreter, code, *arguments], env=env, seconds=seconds, merged=True)
    return _require_in_time(result)


async def run(
    world: World,
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
    merged: bool = False,
    stdin: bytes = b"",
) -> ProcessResult:
    workspace = workspace_of(world)
    sandbox = await workspace.sandbox()
    try:
        result = await sandbox.run(
            argv,
            cwd=absolute_path(cwd or HOME),
            env=env,
            seconds=limit_seconds(seconds),
            merged=merged,
            stdin=stdin,
            now_ms=world.clock.now_ms(),
        )
    except GuestRefused as refused:
        raise explain_guest(refused) from refused
    workspace.commands.append(Command(" ".join(argv), result.exit_code))
    return result


def limit_seconds(seconds: float | None) -> float:
    """No request waits longer than the limits allow; 0 and less mean no wish of one's own."""
    most = current_pool().limits.wall_seconds
    return min(seconds, most) if seconds and seconds > 0 else most


def absolute_path(path: str) -> str:
    """Paths that do not start at the root start at home."""
    return path if path.startswith("/") else f"{HOME}/{path}".rstrip("/.")


def _require_in_time(result: ProcessResult) -> ProcessResult:
    if result.timed_out:
        raise CommandTimedOut("command execution timeout")
    return result
