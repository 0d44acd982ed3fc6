"""Files and folders of the workspace: everything happens inside, so a link can only lead to other places inside."""

import re
from dataclasses import dataclass
from typing import Any

import orjson

from services.ide.errors import BadRequest, NotFound, of_guest
from services.ide.operations.processes import absolute, machine_of, run
from services.ide.sandbox import GuestRefused, Reply
from services.ide.system import HOME
from services.kernel.world import World

_MOST_MATCHES = 5000
_LONGEST_LINE = 4096


@dataclass(frozen=True, slots=True)
class Match:
    """One line that a pattern matched."""

    file: str
    line: int
    content: str


async def info(world: World, path: str) -> dict[str, Any]:
    found: dict[str, Any] = (await _file(world, "info", path=absolute(path))).head["info"]
    return found


async def listing(world: World, path: str, depth: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await _file(world, "list", path=absolute(path), depth=depth)).head["files"]
    return found


async def read(world: World, path: str) -> bytes:
    return (await _file(world, "read", path=absolute(path))).blob


async def write(world: World, path: str, content: bytes) -> None:
    await _file(world, "write", content, path=absolute(path))


async def unpack(world: World, path: str, archive: bytes) -> None:
    await _file(world, "unzip", archive, path=absolute(path))


async def make_folder(world: World, path: str, mode: str) -> None:
    await _file(world, "make_folder", path=absolute(path), mode=_mode(mode))


async def move(world: World, source: str, destination: str) -> None:
    await _file(world, "move", source=absolute(source), destination=absolute(destination))


async def delete(world: World, path: str, *, recursive: bool) -> None:
    await _file(world, "delete", path=absolute(path), recursive=recursive)


async def permit(world: World, path: str, mode: str | None, owner: str | None, group: str | None) -> None:
    bits = _mode(mode) if mode else None
    await _file(world, "permit", path=absolute(path), mode=bits, owner=owner, group=group)


async def glob(world: World, path: str, pattern: str) -> list[str]:
    found: list[str] = (await _file(world, "glob", path=absolute(path), pattern=pattern)).head["files"]
    return found


async def grep(world: World, path: str, pattern: str) -> list[Match]:
    """ripgrep: a pattern that would take for ever elsewhere is linear there."""
    where = absolute(path)
    argv = ["rg", "--json", "--sort=path", "--hidden", "--glob=!.git", "--max-columns", str(_LONGEST_LINE)]
    ran = await run(world, [*argv, "-e", pattern, "--", where], seconds=30)
    if ran.exit == 2:
        missing = "No such file" in ran.complaint
        raise NotFound(f"{where}: no such file or directory") if missing else BadRequest(ran.complaint.strip())
    return [found for line in ran.stdout.splitlines() if (found := _match(line)) is not None][:_MOST_MATCHES]


async def replace(world: World, files: list[str], pattern: str, new: str) -> list[tuple[str, str | None]]:
    """(file, what went wrong) each. The pattern is taken as it stands, not as an expression."""
    if not pattern:
        raise BadRequest("pattern must not be empty")
    done: list[tuple[str, str | None]] = []
    for file in files:
        try:
            content = await read(world, file)
            await write(world, file, content.replace(pattern.encode(), new.encode()))
        except (NotFound, BadRequest) as refused:
            done.append((file, refused.message))
        else:
            done.append((file, None))
    return done


def home() -> str:
    return HOME


async def _file(world: World, action: str, blob: bytes = b"", **about: Any) -> Reply:
    machine = await machine_of(world)
    for value in about.values():
        if isinstance(value, str) and "\0" in value:
            raise BadRequest("a path has no null character")
    try:
        return await machine.file(action, blob, now=world.clock.now_ms(), **about)
    except GuestRefused as refused:
        raise of_guest(refused) from refused


def _match(line: bytes) -> Match | None:
    event = orjson.loads(line)
    if event["type"] != "match":
        return None
    about = event["data"]
    return Match(_text(about["path"]), about["line_number"] or 0, _text(about["lines"]).rstrip("\n"))


def _text(told: dict[str, str]) -> str:
    return told.get("text", "")


def _mode(text: str) -> int:
    if not re.fullmatch(r"0?[0-7]{3,4}", text):
        raise BadRequest(f"{text!r} is not a mode such as 755")
    return int(text, 8)
