"""The images that an episode starts from, made from its rows: a programmer's home and the code host's repositories."""

import asyncio
import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import sqlalchemy as sa

from services.ide.byte_cache import ByteCache
from services.ide.code_host.git_server import ROOT
from services.ide.code_host.history import History, make_index
from services.ide.rows import HomeKitRow, KitDigest, RepositoryRow, UserRow
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.sandbox import Sandbox
from services.ide.sandbox.system_files import HOME
from services.ide.tables import histories, home_kits, repositories, users
from services.ide.workspace.files import PlantedFile, find_planted_files
from services.kernel.kits import read_kit
from services.kernel.statements import Statement
from services.kernel.world import World

ALL_REPOSITORIES = Statement(sa.select(repositories).order_by(repositories.c.id), RepositoryRow)
_ME = Statement(sa.select(users).where(users.c.is_me == 1).limit(1), UserRow)
_HOME_KITS = Statement(sa.select(home_kits).order_by(home_kits.c.id), HomeKitRow)
# Of the company's own repositories, and of a few public packages, which are ten times as large.
_CACHE_BYTES = 48 << 20
# Longer histories take more than a few milliseconds.
_LONG_HISTORY = 1 << 20
_OF_KIT = "kit:"
BUNDLE = "bundle"
# A folder with this file holds what tools installed or may make again: nobody's change, and never graded.
_TAG = "CACHEDIR.TAG"
_TAG_TEXT = b"Signature: 8a477f597d28d172789f06886806bc55\n"
# The index is younger than the files that it lists: git then trusts it.
_INDEX_AFTER_SECONDS = 60
_CORE = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {bare}\n"
_CLONE_CONFIG = (
    _CORE.format(bare="false") + "\tlogallrefupdates = true\n"
    '[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    '[branch "{branch}"]\n\tremote = origin\n\tmerge = refs/heads/{branch}\n'
)
_SERVER_CONFIG = _CORE.format(bare="true") + "[http]\n\treceivepack = true\n"
# (path, mode, content)
_GitFile = tuple[str, int, bytes]


@dataclass(frozen=True, slots=True)
class RepositoryImages:
    """One repository: the programmer's clone of it, and the code host's own."""

    clone: Image
    server: Image

    @property
    def size(self) -> int:
        return self.clone.size + self.server.size


@dataclass(frozen=True, slots=True)
class InitialImages:
    """What an episode starts from. Two are equal where their keys are."""

    key: str
    home: tuple[Image, ...] = field(compare=False)
    server: tuple[Image, ...] = field(compare=False)

    async def lay_out_home(self, sandbox: Sandbox) -> None:
        await _lay_out(self.home, sandbox, HOME)

    async def lay_out_server(self, sandbox: Sandbox) -> None:
        await _lay_out(self.server, sandbox, ROOT)


async def _lay_out(images: Sequence[Image], sandbox: Sandbox, root: str) -> None:
    """All at once: each descriptor is sent together with its request, so that none is mistaken for another."""
    await asyncio.gather(*(image.lay_out(sandbox, root) for image in images))


class ImageStore:
    """Makes images from a world's rows and what was planted, and keeps those in use.

    It works repository by repository: a plant in one of them leaves the images of the others as they are.
    """

    def __init__(self) -> None:
        self._repositories: ByteCache[RepositoryImages] = ByteCache(_CACHE_BYTES, lambda images: images.size)
        self._kits: ByteCache[Image] = ByteCache(_CACHE_BYTES, lambda image: image.size)

    async def initial_images(self, world: World) -> InitialImages:
        planted = find_planted_files(world)
        by_key = {_key(world, repository, planted): repository for repository in world.find(ALL_REPOSITORIES)}
        name, email = next(((me["name"], me["email"]) for me in world.find(_ME)), ("dev", "dev@localhost"))
        images = [await self._of_repository(key, world, repository, planted) for key, repository in by_key.items()]
        kits = world.find(_HOME_KITS)
        key = hashlib.sha256(orjson.dumps([list(by_key), kits, name, email])).hexdigest()
        home = (_git_identity(name, email), *(each.clone for each in images), *await self.kit_images(world))
        return InitialImages(key, home, tuple(each.server for each in images))

    async def kit_images(self, world: World) -> list[Image]:
        """What is installed below the home folder."""
        images = []
        for row in world.find(_HOME_KITS):
            key = f"{row['id']} {row['path']}"
            if key not in self._kits:
                self._kits[key] = await asyncio.to_thread(_make_kit_image, row["id"], row["path"])
            images.append(self._kits[key])
        return images

    async def _of_repository(
        self, key: str, world: World, repository: RepositoryRow, planted: Sequence[PlantedFile]
    ) -> RepositoryImages:
        if key in self._repositories:
            return self._repositories[key]
        bundle = _bundle_of(world, repository)
        if len(bundle) > _LONG_HISTORY:
            images = await asyncio.to_thread(_make_images, bundle, repository, planted)
        else:
            images = _make_images(bundle, repository, planted)
        self._repositories[key] = images
        # Each takes milliseconds, and a new world has many: others are served in between, and may evict this one.
        await asyncio.sleep(0)
        return images


def _key(world: World, repository: RepositoryRow, planted: Sequence[PlantedFile]) -> str:
    history = world.get(histories, repository["id"])
    below = f"{repository['name']}/"
    changed = [
        [file.path, _digest(file.before), _digest(file.after)] for file in planted if file.path.startswith(below)
    ]
    bundle = "" if history is None else history["bundle"]
    return hashlib.sha256(orjson.dumps([repository, bundle, changed])).hexdigest()


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _git_identity(name: str, email: str) -> Image:
    text = f"[user]\n\tname = {name}\n\temail = {email}\n".encode()
    return Image.of([ImageEntry(".gitconfig", 0o100644, text)])


def _make_kit_image(digest: KitDigest, path: str) -> Image:
    files = {_TAG: _TAG_TEXT, **read_kit(digest)}
    return Image.of(ImageEntry(f"{path}/{inside}", 0o100644, content) for inside, content in files.items())


def _bundle_of(world: World, repository: RepositoryRow) -> bytes:
    row = world.get(histories, repository["id"])
    if row is None:
        raise LookupError(f"repository {repository['name']} has no history")
    if row["bundle"].startswith(_OF_KIT):
        return read_kit(row["bundle"].removeprefix(_OF_KIT))[BUNDLE]
    return base64.b64decode(row["bundle"])


def _make_images(bundle: bytes, repository: RepositoryRow, planted: Sequence[PlantedFile]) -> RepositoryImages:
    """The server's repository with the plant in its history, and a clone of it as a colleague would have made it."""
    history = _plant(History.read(bundle), repository, planted)
    pack = history.pack()
    shared: list[_GitFile] = [
        (f"objects/pack/pack-{pack.name}.pack", 0o100444, pack.content),
        (f"objects/pack/pack-{pack.name}.idx", 0o100444, pack.index),
        ("HEAD", 0o100644, f"ref: refs/heads/{repository['default_branch']}\n".encode()),
    ]
    seconds = repository["pushed_at"] // 1000
    folder = f"{repository['owner']}/{repository['name']}.git"
    server = Image.of(
        ImageEntry(f"{folder}/{path}", mode, content, seconds)
        for path, mode, content in (*shared, *_server_files(history))
    )
    return RepositoryImages(Image.of(_clone_entries(history, repository, shared, seconds)), server)


def _plant(history: History, repository: RepositoryRow, planted: Sequence[PlantedFile]) -> History:
    """Rewrite the history so that the former contents appear nowhere in it.

    Files that are new or gone belong to the last commit, which keeps its message, author and date.
    """
    below = f"{repository['name']}/"
    own = [file for file in planted if file.path.startswith(below)]
    changed = {file.before: file.after for file in own if file.before is not None and file.after is not None}
    new_or_gone = {
        file.path.removeprefix(below): file.after for file in own if file.before is None or file.after is None
    }
    rewritten = history.replace_blobs(changed)
    return rewritten.amend(repository["default_branch"], new_or_gone) if new_or_gone else rewritten


def _server_files(history: History) -> Iterator[_GitFile]:
    yield "config", 0o100644, _SERVER_CONFIG.encode()
    yield "packed-refs", 0o100644, _pack_refs(history, {name: name for name in history.refs})
    # git takes no folder without these for a repository, even while they are empty.
    for folder in ("refs/heads", "refs/tags", "objects/info"):
        yield folder, 0o040755, b""


def _clone_entries(
    history: History, repository: RepositoryRow, shared: Sequence[_GitFile], seconds: int
) -> Iterator[ImageEntry]:
    """All files have one date, before the index's own: git need not read them to know that they are unchanged."""
    name, branch = repository["name"], repository["default_branch"]
    tree = history.files(branch)
    for file in tree:
        yield ImageEntry(f"{name}/{file.path}", file.mode, file.content, seconds)
    refs = {ref: ref.replace("refs/heads/", "refs/remotes/origin/", 1) for ref in history.refs}
    own = [
        ("config", 0o100644, _CLONE_CONFIG.format(url=repository["ssh_url"], branch=branch).encode()),
        ("packed-refs", 0o100644, _pack_refs(history, refs)),
        ("refs/remotes/origin/HEAD", 0o100644, f"ref: refs/remotes/origin/{branch}\n".encode()),
        (f"refs/heads/{branch}", 0o100644, f"{history.refs[f'refs/heads/{branch}'].hex()}\n".encode()),
    ]
    for path, mode, content in (*shared, *own):
        yield ImageEntry(f"{name}/.git/{path}", mode, content, seconds)
    yield ImageEntry(f"{name}/.git/index", 0o100644, make_index(tree, seconds), seconds + _INDEX_AFTER_SECONDS)


def _pack_refs(history: History, names: Mapping[str, str]) -> bytes:
    """With the commit that an annotated tag names."""
    lines = ["# pack-refs with: peeled fully-peeled sorted "]
    for ref, name in sorted(names.items(), key=lambda pair: pair[1]):
        sha = history.refs[ref]
        lines.append(f"{sha.hex()} {name}")
        if (peeled := history.peel(sha)) != sha:
            lines.append(f"^{peeled.hex()}")
    return ("\n".join(lines) + "\n").encode()
