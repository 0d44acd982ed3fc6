"""A workspace: the sandbox that an agent works in and the git server that it pushes to, private to one episode."""

import asyncio
import hashlib
from collections import deque
from typing import Any, NamedTuple

import sqlalchemy as sa

from services.ide.code_host.git_server import GitServer
from services.ide.rows import FilePath, ProtectionRow, RefRow, RepositoryId
from services.ide.sandbox.image import Image
from services.ide.sandbox.pool import current_pool
from services.ide.sandbox.sandbox import Sandbox
from services.ide.sandbox.system_files import HOME
from services.ide.tables import files, protections, refs
from services.ide.workspace.files import ALL_FILES, file_content, find_planted_files, make_file_row
from services.ide.workspace.images import ALL_REPOSITORIES, ImageStore
from services.kernel.statements import Statement
from services.kernel.world import World

# Files that tools write by themselves are nobody's change: caches, environments, built and installed packages.
# No package of the company has a folder of such a name, and what is in them is never graded.
_CACHES = (".git", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis")
_TOOLS = (".venv", "venv", "node_modules", "build", "dist", ".tox", ".nox", ".eggs", "htmlcov", ".coverage")
_IGNORED = (*_CACHES, *_TOOLS)
# `guest.ssh` connects to it.
_CODE_HOST_SOCKET = "/run/forge/socket"
_KEY = "ide"
# What is kept of a workspace as rows: an agent may write as many files as fit into its home.
_LARGEST_ROW = 1 << 20
_MOST_FILES = 2000
_MOST_BYTES = 8 << 20
# The row that stands for new files beyond that.
_FURTHER_FILES = FilePath("(further new files)")
_COMMANDS_KEPT = 2000
_REFS = Statement(sa.select(refs).order_by(refs.c.id), RefRow)
_PROTECTIONS = Statement(sa.select(protections).order_by(protections.c.id), ProtectionRow)
# One for the process: images depend on rows alone.
_images = ImageStore()


class Command(NamedTuple):
    """A command line that was run; the exit code is None for one that runs on."""

    line: str
    exit_code: int | None


class Workspace:
    """Its sandboxes are started when they are first needed, and end with their episode."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = asyncio.Lock()
        self.opened_sandbox: Sandbox | None = None
        self.opened_git_server: GitServer | None = None
        # Language servers by project.
        self.languages: dict[str, Any] = {}
        # Terminals by their id.
        self.terminals: dict[str, Any] = {}
        self.commands: deque[Command] = deque(maxlen=_COMMANDS_KEPT)
        # How often a program tried to leave the sandbox, at the last look.
        self.outward_attempts = 0

    async def sandbox(self) -> Sandbox:
        if self.opened_sandbox is None:
            async with self._lock:
                self.opened_sandbox = self.opened_sandbox or await self._open_sandbox()
        return self.opened_sandbox

    async def git_server(self) -> GitServer:
        if self.opened_git_server is None:
            async with self._lock:
                self.opened_git_server = self.opened_git_server or await self._open_git_server()
        return self.opened_git_server

    def close(self) -> None:
        if self.opened_sandbox is not None:
            self.opened_sandbox.end()
        if self.opened_git_server is not None:
            self.opened_git_server.sandbox.end()
        self.languages.clear()
        self.terminals.clear()

    async def _open_sandbox(self) -> Sandbox:
        images = await _images.initial_images(self._world)
        sandbox = await current_pool().take_with_home(images)
        sandbox.set_connection_handler(self._join_git_server)
        await sandbox.request("listen", path=_CODE_HOST_SOCKET, now=self._world.clock.now_ms())
        return sandbox

    async def _open_git_server(self) -> GitServer:
        images = await _images.initial_images(self._world)
        sandbox, repositories = await current_pool().take(), self._world.find(ALL_REPOSITORIES)
        await images.lay_out_server(sandbox)
        server = GitServer(sandbox, repositories)
        await server.install_hooks(repositories, self._world.find(_PROTECTIONS))
        # A plant becomes part of its repository's history: that its branches moved is not the agent's doing.
        planted = {file.path.partition("/")[0] for file in find_planted_files(self._world)}
        server.planted_refs = await server.refs_by_id([row for row in repositories if row["name"] in planted])
        return server

    async def _join_git_server(self, number: int, command: str) -> None:
        """A git in the sandbox speaks to the git server as it would over ssh."""
        sandbox = await self.sandbox()
        server = await self.git_server()
        server.join(sandbox, number, command, self._world.clock.now_ms())


def workspace_of(world: World) -> Workspace:
    if _KEY not in world.attachments:
        world.attachments[_KEY] = Workspace(world)
    workspace: Workspace = world.attachments[_KEY]
    return workspace


async def list_installed_images(world: World) -> list[Image]:
    """What is installed in a home folder beside the repositories."""
    return await _images.kit_images(world)


def close_workspace(world: World) -> None:
    workspace: Workspace | None = world.attachments.pop(_KEY, None)
    if workspace is not None:
        workspace.close()


async def write_rows(world: World) -> None:
    """Write down as rows what changed in the workspace: files, tracked or not, their modes, branches and tags."""
    workspace: Workspace | None = world.attachments.get(_KEY)
    if workspace is None:
        return
    if workspace.opened_sandbox is not None:
        workspace.outward_attempts = await _write_files(world, workspace.opened_sandbox)
    if workspace.opened_git_server is not None:
        await _write_refs(world, workspace.opened_git_server)


async def _write_files(world: World, sandbox: Sandbox) -> int:
    """The guest compares; only what differs crosses, within bounds. Others are served between the rows.

    Returns what the guest says beside: how often programs tried to leave the sandbox.
    """
    before = {row["id"]: (row["mode"], file_content(row)) for row in world.find(ALL_FILES)}
    digests = {path: [mode, hashlib.sha256(content).hexdigest()] for path, (mode, content) in before.items()}
    scan = await sandbox.request_file(
        "scan",
        root=HOME,
        known=digests,
        without=list(_IGNORED),
        most_files=max(0, _MOST_FILES - len(before)),
        most_bytes=max(0, _MOST_BYTES - sum(len(content) for _, content in before.values())),
        largest=_LARGEST_ROW,
    )
    for path in scan.head["gone"]:
        if path != _FURTHER_FILES:
            world.remove(files, path, "file.deleted")
    position = 0
    for path, mode, size, digest, length in scan.head["files"]:
        content = scan.blob[position : position + length] if length >= 0 else _summarize(size, digest)
        position += max(0, length)
        if before.get(path) != (mode, content):
            world.save(files, make_file_row(path, mode, content), "file.changed" if path in before else "file.created")
            await asyncio.sleep(0)
    if not scan.head["is_complete"] and _FURTHER_FILES not in before:
        note = f"There are more than {_MOST_FILES} files; the others are not listed.\n".encode()
        world.save(files, make_file_row(_FURTHER_FILES, 0o100644, note), "file.created")
    return int(scan.head["outward"])


def _summarize(size: int, digest: str) -> bytes:
    """In place of what is too large to keep."""
    return f"{size} bytes{', sha256 ' if digest else ''}{digest}\n".encode()


async def _write_refs(world: World, server: GitServer) -> None:
    """Of repositories that were written to: the state is read often during an episode, and git takes long."""
    roots = server.take_written(world.find(ALL_REPOSITORIES))
    owners = {repository["id"] for repository in roots}
    before = {row["id"] for row in world.find(_REFS) if row["repository_id"] in owners}
    after = await server.refs_by_id(roots)
    for key in sorted(before - after.keys()):
        world.remove(refs, key, "ref.deleted")
    for key, sha in sorted(after.items()):
        number, _, name = key.partition(":")
        row: RefRow = {"id": key, "repository_id": RepositoryId(int(number)), "name": name, "sha": sha}
        if sha != server.planted_refs.get(key):
            world.save(refs, row, "ref.moved" if key in before else "ref.created")
