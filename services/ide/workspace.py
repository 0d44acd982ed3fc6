"""A workspace: the machine an agent works on and the forge it pushes to, private to one episode."""

import asyncio
import hashlib
import stat
from collections import deque
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from services.ide import workshop
from services.ide.forge import Forge
from services.ide.images import Beginning, content_of, file_row, planted_files
from services.ide.sandbox import Sandbox
from services.ide.system import HOME
from services.ide.tables import files, protections, refs, repositories
from services.kernel.statements import Row, Statement
from services.kernel.world import World

# What tools leave behind by themselves is nobody's change.
NOISE = (".git", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache")
_DIALLED = "/run/forge/socket"
_KEY = "ide"
_LARGEST_ROW = 1 << 20
_COMMANDS_KEPT = 2000
_FILES = Statement(sa.select(files).order_by(files.c.id))
_REFS = Statement(sa.select(refs).order_by(refs.c.id))
_REPOSITORIES = Statement(sa.select(repositories).order_by(repositories.c.id))
_PROTECTIONS = Statement(sa.select(protections).order_by(protections.c.id))


class Workspace:
    """Made when first needed; gone, with everything in it, when its episode ends."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine: Sandbox | None = None
        self._forge: Forge | None = None
        self._opening = asyncio.Lock()
        self.languages: dict[str, Any] = {}
        # Lines that were run, and how they ended; None while they run.
        self.commands: deque[tuple[str, int | None]] = deque(maxlen=_COMMANDS_KEPT)

    @property
    def opened(self) -> Sandbox | None:
        return self._machine

    async def machine(self) -> Sandbox:
        if self._machine is None:
            async with self._opening:
                self._machine = self._machine or await self._lay_out()
        return self._machine

    async def forge(self) -> Forge:
        if self._forge is None:
            async with self._opening:
                self._forge = self._forge or await self._found_forge()
        return self._forge

    def close(self) -> None:
        forge = None if self._forge is None else self._forge.sandbox
        for sandbox in (self._machine, forge):
            if sandbox is not None:
                sandbox.end()
        self.languages.clear()

    async def _lay_out(self) -> Sandbox:
        beginning = await self._beginning()
        sandbox = await workshop.current().laid_out(beginning)
        sandbox.answer_dials(self._dialled)
        await sandbox.ask("answer_dials", at=_DIALLED, now=self._world.clock.now_ms())
        return sandbox

    async def _found_forge(self) -> Forge:
        beginning = await self._beginning()
        forge, known = Forge(await workshop.current().take()), self._world.find(_REPOSITORIES)
        await forge.found(beginning, known, self._world.find(_PROTECTIONS))
        # What is planted becomes part of its repository's history: that its branches moved is nobody's doing.
        planted = {one.path.partition("/")[0] for one in planted_files(self._world)}
        forge.at_first = await _standing(forge, [one for one in known if one["name"] in planted])
        return forge

    async def _beginning(self) -> Beginning:
        return await workshop.current().images.beginning(self._world)

    async def _dialled(self, number: int, asked: str) -> None:
        """A git inside speaks to the forge as it would over ssh: the two ends are joined here."""
        machine = await self.machine()
        forge = await self.forge()
        forge.join(machine, number, asked, self._world.clock.now_ms())


def of(world: World) -> Workspace:
    if _KEY not in world.beside:
        world.beside[_KEY] = Workspace(world)
    workspace: Workspace = world.beside[_KEY]
    return workspace


def closed(world: World) -> None:
    workspace: Workspace | None = world.beside.pop(_KEY, None)
    if workspace is not None:
        workspace.close()


async def settle(world: World) -> None:
    """Write down as rows what happened in the workspace: tracked and untracked, deleted, and changed in mode."""
    workspace: Workspace | None = world.beside.get(_KEY)
    if workspace is None:
        return
    if workspace.opened is not None:
        await _settle_files(world, workspace.opened)
    if workspace._forge is not None:  # noqa: SLF001 - looked at, not made: a forge nobody used has not changed
        await _settle_refs(world, workspace._forge)  # noqa: SLF001


async def _settle_files(world: World, machine: Sandbox) -> None:
    scanned = await machine.file("scan", root=HOME, without=list(NOISE))
    now = {path: (mode, digest, size) for path, mode, digest, size in scanned.head["files"] if path[0] != "."}
    before = {row["id"]: row for row in world.find(_FILES)}
    for path in sorted(before.keys() - now.keys()):
        world.remove(files, path, "file.deleted")
    for path, (mode, digest, size) in sorted(now.items()):
        row = before.get(path)
        mode = _git_mode(mode)
        if row is None or row["mode"] != mode or hashlib.sha256(content_of(row)).hexdigest() != digest:
            content = await _content(machine, path, mode, size, digest)
            world.save(files, file_row(path, mode, content), "file.changed" if row else "file.created")


async def _content(machine: Sandbox, path: str, mode: int, size: int, digest: str) -> bytes:
    """Of a link, where it leads; of what is too large to keep, its digest."""
    if size > _LARGEST_ROW:
        return f"{size} bytes, sha256 {digest}\n".encode()
    if stat.S_ISLNK(mode):
        ran = await machine.run(["readlink", "-n", "--", path], cwd=HOME, seconds=10)
        return ran.stdout
    return (await machine.file("read", path=f"{HOME}/{path}")).blob


def _git_mode(mode: int) -> int:
    """As git sees it: a link, a program, or a file."""
    if stat.S_ISLNK(mode):
        return 0o120000
    return 0o100755 if mode & 0o100 else 0o100644


async def _settle_refs(world: World, forge: Forge) -> None:
    """Of repositories that somebody wrote to: the people of an episode ask often, and to ask git takes long."""
    moved = forge.moved(world.find(_REPOSITORIES))
    owners = {repository["id"] for repository in moved}
    before: dict[str, Row] = {row["id"]: row for row in world.find(_REFS) if row["repository_id"] in owners}
    after = await _standing(forge, moved)
    for key in sorted(before.keys() - after.keys()):
        world.remove(refs, key, "ref.deleted")
    for key, sha in sorted(after.items()):
        number, _, name = key.partition(":")
        row = {"id": key, "repository_id": int(number), "name": name, "sha": sha}
        if sha != forge.at_first.get(key):
            world.save(refs, row, "ref.moved" if key in before else "ref.created")


async def _standing(forge: Forge, repositories: Sequence[Row]) -> dict[str, str]:
    """Every branch and tag, `1:refs/heads/main`, and the commit that it means."""
    return {
        f"{repository['id']}:{name}": sha
        for repository, found in zip(repositories, await forge.standing(repositories), strict=True)
        for name, sha in found.items()
    }
