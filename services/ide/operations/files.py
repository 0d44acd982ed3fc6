"""Files and folders of the workspace: everything happens inside, so that a link can only lead to places inside."""

import re
from dataclasses import dataclass
from typing import Any, TypedDict

import orjson

from services.ide.errors import BadRequest, NotFound, explain_guest
from services.ide.operations.processes import absolute_path, run
from services.ide.sandbox.sandbox import FileAction, GuestRefused, Reply
from services.ide.workspace.workspace import workspace_of
from services.kernel.world import World

_MOST_MATCHES = 5000
_LONGEST_LINE = 4096


class FileInfo(TypedDict):
    """A file or folder, as the guest describes it."""

    name: str
    path: str
    folder: bool
    size: int
    mode: str
    permissions: str
    owner: str
    group: str
    modified_ms: int


@dataclass(frozen=True, slots=True)
class Match:
    """One line that a pattern matched."""

    file: str
    line: int
    content: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """One file of a replacement, and why it failed, if it did."""

    file: str
    error: str | None = None


async def info(world: World, path: str) -> FileInfo:
    description: FileInfo = (await _request(world, "info", path=absolute_path(path))).head["info"]
    return description


async def list_folder(world: World, path: str, depth: int) -> list[FileInfo]:
    descriptions: list[FileInfo] = (await _request(world, "list", path=absolute_path(path), depth=depth)).head["files"]
    return descriptions


async def read(world: World, path: str) -> bytes:
    return (await _request(world, "read", path=absolute_path(path))).blob


async def write(world: World, path: str, content: bytes) -> None:
    await _request(world, "write", content, path=absolute_path(path))


async def unpack(world: World, path: str, archive: bytes) -> None:
    await _request(world, "unzip", archive, path=absolute_path(path))


async def make_folder(world: World, path: str, mode: str) -> None:
    await _request(world, "make_folder", path=absolute_path(path), mode=_parse_mode(mode))


async def move(world: World, source: str, destination: str) -> None:
    await _request(world, "move", source=absolute_path(source), destination=absolute_path(destination))


async def delete(world: World, path: str, *, recursive: bool) -> None:
    await _request(world, "delete", path=absolute_path(path), recursive=recursive)


async def permit(world: World, path: str, mode: str | None, owner: str | None, group: str | None) -> None:
    bits = _parse_mode(mode) if mode else None
    await _request(world, "permit", path=absolute_path(path), mode=bits, owner=owner, group=group)


async def glob(world: World, path: str, pattern: str) -> list[str]:
    paths: list[str] = (await _request(world, "glob", path=absolute_path(path), pattern=pattern)).head["files"]
    return paths


async def grep(world: World, path: str, pattern: str) -> list[Match]:
    """With ripgrep: its time is linear for every pattern."""
    root = absolute_path(path)
    argv = ["rg", "--json", "--sort=path", "--hidden", "--glob=!.git", "--max-columns", str(_LONGEST_LINE)]
    result = await run(world, [*argv, "-e", pattern, "--", root], seconds=30)
    if result.exit_code == 2:
        is_missing = "No such file" in result.error_text
        raise NotFound(f"{root}: no such file or directory") if is_missing else BadRequest(result.error_text.strip())
    matches = (_parse_match(line) for line in result.stdout.split(b"\n") if line)
    return [match for match in matches if match is not None][:_MOST_MATCHES]


async def replace(world: World, files: list[str], pattern: str, new: str) -> list[Replacement]:
    """The pattern is taken as it stands, not as an expression."""
    if not pattern:
        raise BadRequest("pattern must not be empty")
    replacements: list[Replacement] = []
    for file in files:
        try:
            content = await read(world, file)
            await write(world, file, content.replace(pattern.encode(), new.encode()))
        except (NotFound, BadRequest) as refused:
            replacements.append(Replacement(file, refused.message))
        else:
            replacements.append(Replacement(file))
    return replacements


async def _request(world: World, action: FileAction, blob: bytes = b"", **arguments: Any) -> Reply:
    sandbox = await workspace_of(world).sandbox()
    for value in arguments.values():
        if isinstance(value, str) and "\0" in value:
            raise BadRequest("a path has no null character")
    try:
        return await sandbox.request_file(action, blob, now=world.clock.now_ms(), **arguments)
    except GuestRefused as refused:
        raise explain_guest(refused) from refused


def _parse_match(line: bytes) -> Match | None:
    """None for what is no match, and for a line that was cut: of long output only the beginning is kept."""
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if event["type"] != "match":
        return None
    data = event["data"]
    content: str = data["lines"].get("text", "")
    return Match(data["path"].get("text", ""), data["line_number"] or 0, content.rstrip("\n"))


def _parse_mode(text: str) -> int:
    if not re.fullmatch(r"0?[0-7]{3,4}", text):
        raise BadRequest(f"{text!r} is not a mode such as 755")
    return int(text, 8)
