"""Images: whole trees as bytes, made from an episode's rows and laid out in a sandbox in one go."""

import base64
import fcntl
import hashlib
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
import sqlalchemy as sa

from services.ide.sandbox import Ran, Sandbox, SandboxLost
from services.ide.system import HOME
from services.ide.tables import files, histories, repositories, users
from services.kernel.statements import Row, Statement
from services.kernel.world import World

FORGE = f"{HOME}/repositories"
_BUILD_SECONDS = 60.0
_REPOSITORIES = Statement(sa.select(repositories).order_by(repositories.c.id))
_FILES = Statement(sa.select(files).order_by(files.c.id))
_ME = Statement(sa.select(users).where(users.c.is_me == 1).limit(1))
_KEPT = 32
_PARTS_KEPT = 128
# fcntl.h: against sealing anew, shrinking, growing and writing.
_ADD_SEALS, _NO_CHANGE = 1033, 1 | 2 | 4 | 8


class Image:
    """[path, mode, size, time] of each file, and their contents one after the other."""

    def __init__(self, index: bytes, contents: bytes) -> None:
        self.index = index
        self.contents = contents
        self._sealed: int | None = None

    @classmethod
    def of(cls, entries: Iterable[tuple[str, int, bytes, int]]) -> "Image":
        listed, contents = [], []
        for path, mode, content, seconds in entries:
            listed.append([path, mode, len(content), seconds])
            contents.append(content)
        return cls(orjson.dumps(listed), b"".join(contents))

    @classmethod
    def joined(cls, images: "Sequence[Image]") -> "Image":
        listed = [entry for image in images for entry in orjson.loads(image.index)]
        return cls(orjson.dumps(listed), b"".join(image.contents for image in images))

    async def lay_out(self, sandbox: Sandbox, root: str = HOME) -> None:
        """Handed over as memory that nobody can change, where the sandbox takes that: nothing is copied on the way."""
        if sandbox.hands is None:
            await sandbox.file("put", self.index + self.contents, root=root, index=len(self.index))
            return
        sandbox.hand_over(self._descriptor())
        await sandbox.file("put", root=root, index=len(self.index), handed=True)

    def _descriptor(self) -> int:
        if self._sealed is None:
            self._sealed = os.memfd_create("image", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
            with os.fdopen(os.dup(self._sealed), "wb") as file:
                file.write(self.index + self.contents)
            fcntl.fcntl(self._sealed, _ADD_SEALS, _NO_CHANGE)
            weakref.finalize(self, os.close, self._sealed)
        return self._sealed

    def __len__(self) -> int:
        return len(orjson.loads(self.index))


@dataclass(frozen=True, slots=True)
class Beginning:
    """What an episode starts from: the programmer's home, and the code host's repositories."""

    home: Image
    forge: Image


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
    """Beginnings, built once per template and plant, and kept while they are in use.

    Repository by repository: a plant in one of them leaves the others as they were built before.
    """

    def __init__(self, sandboxes: Callable[[], Any]) -> None:
        self._take = sandboxes
        self._kept: OrderedDict[str, Beginning] = OrderedDict()
        self._parts: OrderedDict[str, Beginning] = OrderedDict()

    async def beginning(self, world: World) -> Beginning:
        planted = planted_files(world)
        known = world.find(_REPOSITORIES)
        wanted = {_key(world, repository, planted): repository for repository in known}
        me = next(iter(world.find(_ME)), {"name": "dev", "email": "dev@localhost"})
        key = hashlib.sha256(orjson.dumps([list(wanted), me["name"], me["email"]])).hexdigest()
        if key not in self._kept:
            parts = [await self._part(part, world, repository, planted) for part, repository in wanted.items()]
            _remember(self._kept, key, _joined(parts, me), _KEPT)
        self._kept.move_to_end(key)
        return self._kept[key]

    async def _part(self, key: str, world: World, repository: Row, planted: Sequence[Planted]) -> Beginning:
        if key not in self._parts:
            _remember(self._parts, key, await self._build(world, repository, planted), _PARTS_KEPT)
        self._parts.move_to_end(key)
        return self._parts[key]

    async def _build(self, world: World, repository: Row, planted: Sequence[Planted]) -> Beginning:
        sandbox: Sandbox = await self._take()
        try:
            await _prepare(sandbox, world, repository, planted)
            forge = await _taken(sandbox, FORGE)
            await sandbox.file("delete", path=FORGE, recursive=True)
            return Beginning(await _taken(sandbox, HOME), forge)
        finally:
            sandbox.end()


def _key(world: World, repository: Row, planted: Sequence[Planted]) -> str:
    history = world.get(histories, repository["id"]) or {"bundle": ""}
    below = f"{repository['name']}/"
    said = [
        [one.path, one.before and one.before.hex(), one.after and one.after.hex()]
        for one in planted
        if one.path.startswith(below)
    ]
    return hashlib.sha256(orjson.dumps([repository, history["bundle"], said])).hexdigest()


def _remember(kept: OrderedDict[str, Beginning], key: str, found: Beginning, most: int) -> None:
    kept[key] = found
    while len(kept) > most:
        kept.popitem(last=False)


def _joined(parts: Sequence[Beginning], me: Mapping[str, Any]) -> Beginning:
    text = f"[user]\n\tname = {me['name']}\n\temail = {me['email']}\n".encode()
    identity = Image.of([(".gitconfig", 0o100644, text, 0)])
    return Beginning(
        Image.joined([identity, *(part.home for part in parts)]), Image.joined([part.forge for part in parts])
    )


async def _prepare(sandbox: Sandbox, world: World, repository: Row, planted: Sequence[Planted]) -> None:
    """The bare repository with the plant in its history, and a clone of it as a colleague would have made it."""
    name = repository["name"]
    history = world.get(histories, repository["id"])
    if history is None:
        raise LookupError(f"repository {name} has no history")
    bare = f"{FORGE}/{repository['owner']}/{name}.git"
    await sandbox.file("write", base64.b64decode(history["bundle"]), path=f"{HOME}/bundle")
    await _git(sandbox, HOME, "clone", "-q", "--mirror", f"{HOME}/bundle", bare)
    mine = [_inside(one, name) for one in planted if one.path.startswith(f"{name}/")]
    if mine:
        await _rewrite(sandbox, bare, mine, repository["default_branch"])
    await _git(sandbox, bare, "remote", "remove", "origin")
    await _git(sandbox, bare, "symbolic-ref", "HEAD", f"refs/heads/{repository['default_branch']}")
    await _git(sandbox, bare, "config", "http.receivepack", "true")
    await _git(sandbox, bare, "gc", "-q", "--prune=now")
    await _git(sandbox, HOME, "clone", "-q", "--no-hardlinks", bare, f"{HOME}/{name}")
    clone = f"{HOME}/{name}"
    await _git(sandbox, clone, "remote", "set-url", "origin", repository["ssh_url"])
    await sandbox.run(["rm", "-rf", f"{HOME}/bundle", *_samples(clone), *_samples(bare)], seconds=_BUILD_SECONDS)
    # One date for all files, before the index's own: git then need not read them to know that they are unchanged.
    seconds = repository["pushed_at"] // 1000
    dated = (
        f"find . -exec touch -h -d @{seconds} {{}} + && git update-index -q --really-refresh && "
        f"touch -d @{seconds + 60} .git/index"
    )
    await _succeeded(sandbox, ["/bin/sh", "-c", dated], clone)


def _samples(repository: str) -> list[str]:
    git = repository if repository.endswith(".git") else f"{repository}/.git"
    return [f"{git}/hooks", f"{git}/description", f"{git}/info/exclude", f"{git}/logs", f"{git}/ORIG_HEAD"]


def _inside(one: Planted, name: str) -> Planted:
    return Planted(one.path.removeprefix(f"{name}/"), one.before, one.after)


async def _rewrite(sandbox: Sandbox, bare: str, planted: Sequence[Planted], branch: str) -> None:
    """As if it had always been so: the blobs as they were appear nowhere in the new history."""
    exported = await _succeeded(sandbox, ["git", "fast-export", "--all", "--signed-tags=strip"], bare)
    swapped = {one.before: one.after for one in planted if one.before is not None and one.after is not None}
    stream = replaced(exported.stdout, swapped)
    await sandbox.file("delete", path=bare, recursive=True)
    await _git(sandbox, HOME, "init", "-q", "--bare", bare)
    await _succeeded(sandbox, ["git", "fast-import", "--quiet"], bare, stdin=stream)
    await _git(sandbox, bare, "remote", "add", "origin", "unused")
    others = [one for one in planted if one.before is None or one.after is None]
    if others:
        await _amend(sandbox, bare, others, branch)


async def _amend(sandbox: Sandbox, bare: str, planted: Sequence[Planted], branch: str) -> None:
    """Files that are new or gone belong to the last commit, which keeps its message, author and date."""
    tree = f"{HOME}/amended"
    await _git(sandbox, HOME, "clone", "-q", "-b", branch, bare, tree)
    for one in planted:
        if one.after is None:
            await _git(sandbox, tree, "rm", "-q", "--", one.path)
        else:
            await sandbox.file("write", one.after, path=f"{tree}/{one.path}")
    script = (
        "git add -A && export GIT_COMMITTER_NAME=$(git log -1 --format=%cn) "
        "GIT_COMMITTER_EMAIL=$(git log -1 --format=%ce) "
        "GIT_COMMITTER_DATE=$(git log -1 --format=%cI) GIT_AUTHOR_DATE=$(git log -1 --format=%aI) && "
        f"git commit -q --amend --no-edit && git push -q -f origin HEAD:{branch} && rm -rf {tree}"
    )
    await _succeeded(sandbox, ["/bin/sh", "-c", script], tree)


def replaced(stream: bytes, swapped: Mapping[bytes, bytes]) -> bytes:
    """A fast-export stream with some blobs exchanged."""
    out: list[bytes] = []
    at, in_blob = 0, False
    while at < len(stream):
        end = stream.find(b"\n", at) + 1 or len(stream)
        line = stream[at:end]
        at = end
        if line.startswith(b"data "):
            length = int(line[5:])
            content = stream[at : at + length]
            at += length
            content = swapped.get(content, content) if in_blob else content
            out += [b"data %d\n" % len(content), content]
            continue
        if line.strip():
            in_blob = line == b"blob\n" or (in_blob and line.startswith((b"mark ", b"original-oid ")))
        out.append(line)
    return b"".join(out)


async def _taken(sandbox: Sandbox, root: str) -> Image:
    taken = await sandbox.file("take_all", root=root)
    return Image(orjson.dumps(taken.head["index"]), taken.blob)


async def _git(sandbox: Sandbox, cwd: str, *arguments: str) -> Ran:
    return await _succeeded(sandbox, ["git", *arguments], cwd)


async def _succeeded(sandbox: Sandbox, argv: Sequence[str], cwd: str, stdin: bytes = b"") -> Ran:
    ran = await sandbox.run(argv, cwd=cwd, seconds=_BUILD_SECONDS, stdin=stdin)
    if ran.exit:
        raise SandboxLost(f"{' '.join(argv[:3])} failed while an image was built: {ran.complaint.strip()}")
    return ran


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
