"""The language server: jedi in the workspace's own sandbox, one process per project."""

import asyncio
from typing import Any, Literal, TypedDict
from urllib.parse import unquote, urlsplit

import orjson

from services.ide.errors import BadRequest, NotFound
from services.ide.operations.processes import absolute_path
from services.ide.sandbox.line_stream import LineStream
from services.ide.sandbox.pool import current_pool
from services.ide.sandbox.sandbox import Sandbox
from services.ide.workspace.workspace import workspace_of
from services.kernel.world import World

_SECONDS = 20.0
_START = "import sys; sys.path.insert(0, {!r}); from guest.symbols import main; main()"


class Completion(TypedDict):
    """A name that fits at a place, as the protocol of language servers has it."""

    label: str
    kind: int
    detail: str
    insertText: str


class Position(TypedDict):
    """A place in a file; both count from 0."""

    line: int
    character: int


class Range(TypedDict):
    """From a place to another."""

    start: Position
    end: Position


class Location(TypedDict):
    """A piece of a file."""

    uri: str
    range: Range


class Symbol(TypedDict):
    """A definition."""

    name: str
    kind: int
    location: Location


class LanguageServer:
    """A process that answers requests line by line."""

    def __init__(self, sandbox: Sandbox, project: str) -> None:
        self._project = project
        command = ["python3", "-I", "-c", _START.format(current_pool().runner.toolbox)]
        self._stream = LineStream(sandbox, command, project)

    async def request(self, kind: Literal["completions", "symbols", "search"], **arguments: Any) -> list[Any]:
        self._stream.write(orjson.dumps({"project": self._project, "kind": kind, **arguments}) + b"\n")
        try:
            async with asyncio.timeout(_SECONDS):
                line = await self._stream.read_line()
        except TimeoutError:
            line = None
        if line is None:
            raise BadRequest("the language server does not answer; start it again")
        reply = orjson.loads(line)
        if "error" in reply:
            raise BadRequest(reply["error"])
        items: list[Any] = reply["result"]
        return items

    def stop(self) -> None:
        self._stream.close()


async def start(world: World, language: str, project: str) -> None:
    _require_language(language)
    workspace = workspace_of(world)
    path = absolute_path(project)
    if path not in workspace.languages:
        workspace.languages[path] = LanguageServer(await workspace.sandbox(), path)


async def stop(world: World, project: str) -> None:
    server: LanguageServer | None = workspace_of(world).languages.pop(absolute_path(project), None)
    if server is not None:
        server.stop()


async def completions(world: World, project: str, uri: str, line: int, character: int) -> list[Completion]:
    server = _server(world, project)
    return await server.request("completions", path=_path(uri), line=line, character=character)


async def document_symbols(world: World, project: str, uri: str) -> list[Symbol]:
    return await _server(world, project).request("symbols", path=_path(uri))


async def workspace_symbols(world: World, project: str, query: str) -> list[Symbol]:
    return await _server(world, project).request("search", query=query)


def require(world: World, language: str, project: str) -> None:
    _require_language(language)
    _server(world, project)


def _require_language(language: str) -> None:
    if language != "python":
        raise BadRequest(f"no language server for {language} is installed")


def _server(world: World, project: str) -> LanguageServer:
    server: LanguageServer | None = workspace_of(world).languages.get(absolute_path(project))
    if server is None:
        raise NotFound("no language server runs for this project; start it first")
    return server


def _path(uri: str) -> str:
    return absolute_path(unquote(urlsplit(uri).path) if uri.startswith("file:") else uri)
