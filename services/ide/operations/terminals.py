"""Terminals: interactive shells, which any number of clients watch and type to."""

import asyncio
from collections.abc import Mapping

from services.ide.errors import BadRequest, Conflict, NotFound, explain_guest
from services.ide.operations.processes import absolute_path
from services.ide.operations.sandboxes import make_uuid
from services.ide.sandbox.sandbox import GuestRefused, Reply, Sandbox, SandboxLost
from services.ide.sandbox.system_files import HOME
from services.ide.workspace.workspace import Command, Workspace, workspace_of
from services.kernel.world import World

_SHELL = ("/bin/bash", "-i")
_MOST_TERMINALS = 16
# Of one client that does not read; it is then cut off.
_MOST_UNREAD = 4 << 20
_LONGEST_ID = 200
_LONGEST_LINE = 20_000


class Watcher:
    """One client of a terminal: the output that it has not taken yet."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._unread = 0
        self._has_ended = False

    def put(self, content: bytes) -> None:
        self._unread += len(content)
        if self._unread > _MOST_UNREAD:
            self.end()
        if not self._has_ended:
            self._queue.put_nowait(content)

    def end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._queue.put_nowait(None)

    async def take(self) -> bytes | None:
        """None at the end."""
        content = await self._queue.get()
        self._unread -= len(content or b"")
        return content


class Terminal:
    """One shell on a terminal."""

    def __init__(self, key: str, cwd: str, env: Mapping[str, str], rows: int, cols: int, created_at: int) -> None:
        self.id = key
        self.cwd = cwd
        self.env = dict(env)
        self.rows = rows
        self.cols = cols
        self.created_at = created_at
        self.exit_code: int | None = None
        self._watchers: set[Watcher] = set()
        self._sandbox: Sandbox | None = None
        self._number = 0
        self._started = asyncio.Event()
        self._typed = b""
        self._ending: asyncio.Task[None] | None = None

    async def start(self, workspace: Workspace, now_ms: int) -> None:
        self._sandbox = sandbox = await workspace.sandbox()
        self._workspace = workspace
        self._number, ended = sandbox.open_terminal(
            _SHELL,
            self._on_output,
            cwd=self.cwd,
            env={"TERM": "xterm-256color", **self.env},
            rows=self.rows,
            cols=self.cols,
            now=now_ms,
        )
        started = asyncio.create_task(self._started.wait())
        await asyncio.wait((started, ended), return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        if ended.done() and (error := ended.result().head.get("error")) is not None:
            sandbox.close_stream(self._number)
            raise explain_guest(GuestRefused(error["kind"], error["message"], error["path"]))
        self._ending = asyncio.create_task(self._await_end(ended))

    def watch(self) -> Watcher:
        watcher = Watcher()
        self._watchers.add(watcher)
        if self.exit_code is not None:
            watcher.end()
        return watcher

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)

    def write(self, content: bytes) -> None:
        """Lines that are typed are commands of the workspace, as those of sessions are."""
        if self._sandbox is None or self._sandbox.end_reason is not None or self.exit_code is not None:
            return
        *lines, rest = (self._typed + content).replace(b"\r", b"\n").split(b"\n")
        self._typed = rest[-_LONGEST_LINE:]
        self._workspace.commands.extend(Command(line.decode(errors="replace"), None) for line in lines if line.strip())
        self._sandbox.write_stream(self._number, content)

    async def resize(self, rows: int, cols: int) -> None:
        await self._request("terminal_resize", rows=rows, cols=cols)
        self.rows, self.cols = rows, cols

    async def kill(self) -> None:
        await self._request("terminal_close")
        if self._ending is not None:
            await self._ending

    async def _request(self, operation: str, **arguments: int) -> None:
        if self._sandbox is None:
            raise NotFound("PTY session not found")
        try:
            await self._sandbox.request(operation, to=self._number, **arguments)  # type: ignore[arg-type]  # one of two
        except GuestRefused as refused:
            raise NotFound("PTY session not found") from refused

    def _on_output(self, content: bytes | None) -> None:
        self._started.set()
        if content:
            for watcher in self._watchers:
                watcher.put(content)

    async def _await_end(self, ended: asyncio.Future[Reply]) -> None:
        try:
            self.exit_code = (await ended).head["exit"]
            if self._sandbox is not None:
                self._sandbox.close_stream(self._number)
        except SandboxLost:
            self.exit_code = 137
        self._workspace.terminals.pop(self.id, None)
        for watcher in self._watchers:
            watcher.end()


async def open_terminal(
    world: World, key: str | None, cwd: str | None, env: Mapping[str, str], rows: int, cols: int
) -> Terminal:
    workspace = workspace_of(world)
    key = key or make_uuid(world.ids, "terminal")
    if len(key) > _LONGEST_ID or "/" in key:
        raise BadRequest(f"a PTY session's id has at most {_LONGEST_ID} characters and no slash")
    if key in workspace.terminals:
        raise Conflict("PTY session already exists")
    if len(workspace.terminals) >= _MOST_TERMINALS:
        raise BadRequest(f"there are {_MOST_TERMINALS} PTY sessions already; kill one first")
    terminal = Terminal(key, absolute_path(cwd or HOME), env, rows, cols, world.clock.now_ms())
    await terminal.start(workspace, world.clock.now_ms())
    workspace.terminals[key] = terminal
    return terminal


def list_terminals(world: World) -> list[Terminal]:
    terminals: dict[str, Terminal] = workspace_of(world).terminals
    return [terminals[key] for key in sorted(terminals)]


def find(world: World, key: str) -> Terminal:
    terminal: Terminal | None = workspace_of(world).terminals.get(key)
    if terminal is None:
        raise NotFound("PTY session not found")
    return terminal
