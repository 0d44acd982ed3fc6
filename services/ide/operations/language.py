"""The language server: jedi in the workspace's own sandbox, one process per project."""

import asyncio
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from services.ide import workshop, workspace
from services.ide.errors import BadRequest, NotFound
from services.ide.operations.processes import absolute
from services.ide.sandbox import Sandbox
from services.kernel.world import World

_SECONDS = 20.0
_START = "import sys; sys.path.insert(0, {!r}); from inside.symbols import main; main()"


class Server:
    """Asks line by line."""

    def __init__(self, machine: Sandbox, project: str) -> None:
        self.project = project
        self._machine = machine
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._partial = b""
        self._number = machine.pipe(
            ["python3", "-I", "-c", _START.format(workshop.current().runner.toolbox)], self._heard, cwd=project
        )

    async def ask(self, **request: Any) -> list[dict[str, Any]]:
        self._machine.say(self._number, orjson.dumps({"project": self.project, **request}) + b"\n")
        try:
            async with asyncio.timeout(_SECONDS):
                line = await self._lines.get()
        except TimeoutError:
            line = None
        if line is None:
            raise BadRequest("the language server does not answer; start it again")
        told = orjson.loads(line)
        if "error" in told:
            raise BadRequest(told["error"])
        found: list[dict[str, Any]] = told["result"]
        return found

    def stop(self) -> None:
        self._machine.say(self._number, None)
        self._machine.let_go(self._number)

    def _heard(self, content: bytes | None) -> None:
        if content is None:
            self._lines.put_nowait(None)
            return
        *lines, self._partial = (self._partial + content).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line)


async def start(world: World, language: str, project: str) -> None:
    _require_language(language)
    held = workspace.of(world)
    path = absolute(project)
    if path not in held.languages:
        held.languages[path] = Server(await held.machine(), path)


async def stop(world: World, project: str) -> None:
    server: Server | None = workspace.of(world).languages.pop(absolute(project), None)
    if server is not None:
        server.stop()


async def completions(world: World, project: str, uri: str, line: int, character: int) -> list[dict[str, Any]]:
    return await _server(world, project).ask(ask="completions", path=_path(uri), line=line, character=character)


async def document_symbols(world: World, project: str, uri: str) -> list[dict[str, Any]]:
    return await _server(world, project).ask(ask="symbols", path=_path(uri))


async def workspace_symbols(world: World, project: str, query: str) -> list[dict[str, Any]]:
    return await _server(world, project).ask(ask="search", query=query)


def require(world: World, language: str, project: str) -> None:
    _require_language(language)
    _server(world, project)


def _require_language(language: str) -> None:
    if language != "python":
        raise BadRequest(f"no language server for {language} is installed")


def _server(world: World, project: str) -> Server:
    server: Server | None = workspace.of(world).languages.get(absolute(project))
    if server is None:
        raise NotFound("no language server runs for this project; start it first")
    return server


def _path(uri: str) -> str:
    return absolute(unquote(urlsplit(uri).path) if uri.startswith("file:") else uri)
