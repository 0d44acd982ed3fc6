"""Programs: one command from start to end."""

from collections.abc import Mapping, Sequence

from services.ide import workshop, workspace
from services.ide.errors import CommandTimedOut, of_guest
from services.ide.sandbox import GuestRefused, Ran, Sandbox
from services.ide.system import HOME
from services.kernel.world import World

_INTERPRETERS = {"python": ("python3", "-c"), "bash": ("/bin/bash", "-c"), "javascript": ("node", "-e")}


async def execute(world: World, command: str, cwd: str | None, env: Mapping[str, str], seconds: float | None) -> Ran:
    """A line for a shell; what it says on both its outputs comes in the order it was said."""
    ran = await run(world, ["/bin/bash", "-c", command], cwd=cwd, env=env, seconds=seconds, merged=True)
    if ran.timed_out:
        raise CommandTimedOut("command execution timeout")
    return ran


async def run_code(
    world: World, code: str, language: str, arguments: Sequence[str], env: Mapping[str, str], seconds: float | None
) -> Ran:
    interpreter = _INTERPRETERS.get(language, _INTERPRETERS["python"])
    ran = await run(world, [*interpreter, code, *arguments], env=env, seconds=seconds, merged=True)
    if ran.timed_out:
        raise CommandTimedOut("command execution timeout")
    return ran


async def run(
    world: World,
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
    merged: bool = False,
    stdin: bytes = b"",
) -> Ran:
    held = workspace.of(world)
    machine = await held.machine()
    try:
        ran = await machine.run(
            argv,
            cwd=absolute(cwd or HOME),
            env=env,
            seconds=bounded(seconds),
            merged=merged,
            stdin=stdin,
            now_ms=world.clock.now_ms(),
        )
    except GuestRefused as refused:
        raise of_guest(refused) from refused
    held.commands.append((" ".join(argv), ran.exit))
    return ran


async def machine_of(world: World) -> Sandbox:
    return await workspace.of(world).machine()


def bounded(seconds: float | None) -> float:
    """Nobody waits longer than the house allows; 0 and less mean no wish of one's own."""
    most = workshop.current().limits.wall_seconds
    return min(seconds, most) if seconds and seconds > 0 else most


def absolute(path: str) -> str:
    """Paths that do not start at the root start at home."""
    return path if path.startswith("/") else f"{HOME}/{path}".rstrip("/.")
