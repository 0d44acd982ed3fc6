"""Images: whole trees as bytes, made from an episode's rows and laid out in a sandbox in one go."""

import asyncio
import base64
import fcntl
import hashlib
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import sqlalchemy as sa

from services.ide.history import History, git_index
from services.ide.memory import Remembered
from services.ide.sandbox import Sandbox
from services.ide.system import HOME
from services.ide.tables import files, histories, repositories, users
from services.kernel.statements import Row, Statement
from services.kernel.world import World

FORGE = f"{HOME}/repositories"
_REPOSITORIES = Statement(sa.select(repositories).order_by(repositories.c.id))
_FILES = Statement(sa.select(files).order_by(files.c.id))
_ME = Statement(sa.select(users).where(users.c.is_me == 1).limit(1))
_KEPT_BYTES = 8 << 20
# The index is younger than the files it speaks of: git then takes its word.
_INDEX_AFTER_SECONDS = 60
_CORE = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {bare}\n"
_CLONE = (
    _CORE.format(bare="false") + "\tlogallrefupdates = true\n"
    '[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    '[branch "{branch}"]\n\tremote = origin\n\tmerge = refs/heads/{branch}\n'
)
_BARE = _CORE.format(bare="true") + "[http]\n\treceivepack = true\n"
# fcntl.h: against sealing anew, shrinking, growing and writing.
_ADD_SEALS, _NO_CHANGE = 1033, 1 | 2 | 4 | 8
Listed = tuple[str, int, bytes, int]


class Image:
    """[path, mode, size, time] of each file, and their contents one after the other."""

    def __init__(self, index: bytes, contents: bytes) -> None:
        self.size = len(index) + len(contents)
        self._index = len(index)
        # Until it is handed over as memory of the kernel's, which all sandboxes share.
        self._bytes: bytes | None = index + contents
        self._sealed: int | None = None

    @classmethod
    def of(cls, entries: Iterable[Listed]) -> "Image":
        listed, contents = [], []
        for path, mode, content, seconds in entries:
            listed.append([path, mode, len(content), seconds])
            contents.append(content)
        return cls(orjson.dumps(listed), b"".join(contents))

    async def lay_out(self, sandbox: Sandbox, root: str = HOME) -> None:
        """Handed over as memory that nobody can change, where the sandbox takes that: nothing is copied on the way."""
        if sandbox.hands is None:
            await sandbox.file("put", self._held(), root=root, index=self._index)
            return
        sandbox.hand_over(self._descriptor())
        await sandbox.file("put", root=root, index=self._index, handed=True)

    def _held(self) -> bytes:
        if self._bytes is None:
            return os.pread(self._descriptor(), self.size, 0)
        return self._bytes

    def _descriptor(self) -> int:
        if self._sealed is None:
            self._sealed = os.memfd_create("image", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
            with os.fdopen(os.dup(self._sealed), "wb") as file:
                file.write(self._held())
            fcntl.fcntl(self._sealed, _ADD_SEALS, _NO_CHANGE)
            weakref.finalize(self, os.close, self._sealed)
            self._bytes = None
        return self._sealed


@dataclass(frozen=True, slots=True)
class Part:
    """One repository: the programmer's clone of it, and the code host's own."""

    home: Image
    forge: Image

    @property
    def size(self) -> int:
        return self.home.size + self.forge.size


@dataclass(frozen=True, slots=True)
class Beginning:
    """What an episode starts from: the programmer's home, and the code host's repositories. Equal where its key is."""

    key: str
    home: tuple[Image, ...] = field(compare=False)
    forge: tuple[Image, ...] = field(compare=False)

    async def lay_out_home(self, sandbox: Sandbox) -> None:
        await _lay_out(self.home, sandbox, HOME)

    async def lay_out_forge(self, sandbox: Sandbox) -> None:
        await _lay_out(self.forge, sandbox, FORGE)


async def _lay_out(images: Sequence[Image], sandbox: Sandbox, root: str) -> None:
    """All asked for before the first answer: each is handed over and asked for in one breath, so none is mistaken."""
    await asyncio.gather(*(image.lay_out(sandbox, root) for image in images))


def content_of(row: Row) -> bytes:
    if row["text"] is not None:
        return str(row["text"]).encode()
    return base64.b64decode(row["base64"] or "")


def file_row(path: str, mode: int, content: bytes) -> Row:
    try:
        return {"id": path, "mode": mode, "text": content.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"id": path, "mode": mode, "text": None, "base64": base64.b64encode(content).decode()}


@dataclass(frozen=True, slots=True)
class Planted:
    """One file that differs from the template's."""

    path: str
    before: bytes | None
    after: bytes | None


def planted_files(world: World) -> list[Planted]:
    """By the house, before the agent came; what it did since is not part of the beginning."""
    ends: dict[str, tuple[Row | None, Row | None]] = {}
    for change in world.changes():
        if change.table == files.name and change.actor != "agent":
            path = str(change.row_id)
            ends[path] = (ends[path][0] if path in ends else change.before, change.after)
    return [
        Planted(path, None if before is None else content_of(before), None if after is None else content_of(after))
        for path, (before, after) in sorted(ends.items())
        if before != after
    ]


class Images:
    """Beginnings, made from a world's rows and its plant, and kept while they are in use.

    Repository by repository: a plant in one of them leaves the others as they were made before.
    """

    def __init__(self) -> None:
        self._parts: Remembered[Part] = Remembered(_KEPT_BYTES, lambda part: part.size)

    async def beginning(self, world: World) -> Beginning:
        planted = planted_files(world)
        wanted = {_key(world, repository, planted): repository for repository in world.find(_REPOSITORIES)}
        me = next(iter(world.find(_ME)), {"name": "dev", "email": "dev@localhost"})
        parts = [await self._part(key, world, repository, planted) for key, repository in wanted.items()]
        key = hashlib.sha256(orjson.dumps([list(wanted), me["name"], me["email"]])).hexdigest()
        return Beginning(key, (_identity(me), *(part.home for part in parts)), tuple(part.forge for part in parts))

    async def _part(self, key: str, world: World, repository: Row, planted: Sequence[Planted]) -> Part:
        if key in self._parts:
            return self._parts[key]
        part = self._parts[key] = _made(world, repository, planted)
        # Milliseconds each, and a new world has many: others are served in between, and may make this one forgotten.
        await asyncio.sleep(0)
        return part


def _key(world: World, repository: Row, planted: Sequence[Planted]) -> str:
    history = world.get(histories, repository["id"]) or {"bundle": ""}
    below = f"{repository['name']}/"
    said = [
        [one.path, one.before and one.before.hex(), one.after and one.after.hex()]
        for one in planted
        if one.path.startswith(below)
    ]
    return hashlib.sha256(orjson.dumps([repository, history["bundle"], said])).hexdigest()


def _identity(me: Mapping[str, Any]) -> Image:
    text = f"[user]\n\tname = {me['name']}\n\temail = {me['email']}\n".encode()
    return Image.of([(".gitconfig", 0o100644, text, 0)])


def _made(world: World, repository: Row, planted: Sequence[Planted]) -> Part:
    """The bare repository with the plant in its history, and a clone of it as a colleague would have made it."""
    row = world.get(histories, repository["id"])
    if row is None:
        raise LookupError(f"repository {repository['name']} has no history")
    history = _with_plant(History.read(base64.b64decode(row["bundle"])), repository, planted)
    pack = history.pack()
    stored: list[tuple[str, int, bytes]] = [
        (f"objects/pack/pack-{pack.name}.pack", 0o100444, pack.content),
        (f"objects/pack/pack-{pack.name}.idx", 0o100444, pack.index),
        ("HEAD", 0o100644, f"ref: refs/heads/{repository['default_branch']}\n".encode()),
    ]
    seconds = repository["pushed_at"] // 1000
    bare = [*stored, *_bare(history)]
    below = f"{repository['owner']}/{repository['name']}.git"
    forge = Image.of((f"{below}/{path}", mode, content, seconds) for path, mode, content in bare)
    return Part(Image.of(_clone(history, repository, stored, seconds)), forge)


def _with_plant(history: History, repository: Row, planted: Sequence[Planted]) -> History:
    """As if it had always been so: the blobs as they were appear nowhere in the new history.

    Files that are new or gone belong to the last commit, which keeps its message, author and date.
    """
    below = f"{repository['name']}/"
    mine = [one for one in planted if one.path.startswith(below)]
    swapped = {one.before: one.after for one in mine if one.before is not None and one.after is not None}
    others = {one.path.removeprefix(below): one.after for one in mine if one.before is None or one.after is None}
    made = history.exchanged(swapped)
    return made.amended(repository["default_branch"], others) if others else made


def _bare(history: History) -> Iterator[tuple[str, int, bytes]]:
    yield "config", 0o100644, _BARE.encode()
    yield "packed-refs", 0o100644, _packed_refs(history, {name: name for name in history.refs})
    # A repository without these is none, even while they are empty.
    for folder in ("refs/heads", "refs/tags", "objects/info"):
        yield folder, 0o040755, b""


def _clone(
    history: History, repository: Row, stored: Sequence[tuple[str, int, bytes]], seconds: int
) -> Iterator[Listed]:
    """One date for all files, before the index's own: git then need not read them to know that they are unchanged."""
    name, branch = repository["name"], repository["default_branch"]
    tree = history.files(branch)
    for file in tree:
        yield f"{name}/{file.path}", file.mode, file.content, seconds
    refs = {one: one.replace("refs/heads/", "refs/remotes/origin/", 1) for one in history.refs}
    own = [
        ("config", 0o100644, _CLONE.format(url=repository["ssh_url"], branch=branch).encode()),
        ("packed-refs", 0o100644, _packed_refs(history, refs)),
        ("refs/remotes/origin/HEAD", 0o100644, f"ref: refs/remotes/origin/{branch}\n".encode()),
        (f"refs/heads/{branch}", 0o100644, f"{history.refs[f'refs/heads/{branch}'].hex()}\n".encode()),
    ]
    for path, mode, content in (*stored, *own):
        yield f"{name}/.git/{path}", mode, content, seconds
    yield f"{name}/.git/index", 0o100644, git_index(tree, seconds), seconds + _INDEX_AFTER_SECONDS


def _packed_refs(history: History, names: Mapping[str, str]) -> bytes:
    """Of a tag with a text of its own, also what it stands for."""
    lines = ["# pack-refs with: peeled fully-peeled sorted "]
    for ref, name in sorted(names.items(), key=lambda pair: pair[1]):
        sha = history.refs[ref]
        lines.append(f"{sha.hex()} {name}")
        if (peeled := history.peeled(sha)) != sha:
            lines.append(f"^{peeled.hex()}")
    return ("\n".join(lines) + "\n").encode()


def tree_entries(world: World, prefix: str, overlay: Mapping[str, str], template: bool) -> dict[str, bytes]:
    """Files below a folder as the rows have them; with `template`, as they were before the house planted anything."""
    found = {row["id"]: content_of(row) for row in world.find(_FILES) if row["id"].startswith(prefix)}
    if template:
        for one in planted_files(world):
            with suppress(KeyError):
                del found[one.path]
            if one.before is not None and one.path.startswith(prefix):
                found[one.path] = one.before
    return found | {path: text.encode() for path, text in overlay.items()}
