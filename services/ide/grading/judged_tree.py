"""Which version of a package is judged: what the agent left in the workspace, or what its pull request proposes."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from services.ide.code_host.git_server import GitServer, folder_of
from services.ide.grading.edited_files import EditedFile, FileVersion
from services.ide.grading.proposals import find_proposals
from services.ide.rows import FileRow, PullRow, RepositoryId, RepositoryRow
from services.ide.tables import repositories
from services.ide.workspace.files import file_text, find_edited_files, read_start_tree, read_tree
from services.ide.workspace.workspace import workspace_of
from services.kernel.world import World

_LINK, _FILE = 0o120000, 0o100644
_SECONDS = 30.0
# Of a commit no more is read than a workspace's rows would hold.
_MOST_FILES = 2000
_MOST_BYTES = 3 << 20


@dataclass(frozen=True, slots=True)
class JudgedTree:
    """Contents by path below home, and how they differ from what the agent found."""

    files: Mapping[str, bytes]
    edits: list[EditedFile]
    # Paths that are links; where they lead is not followed.
    links: frozenset[str] = frozenset()

    def text(self, path: str) -> str:
        return self.files.get(path, b"").decode(errors="replace")


class BranchWork(BaseModel):
    """Work that belongs on a branch other than main: what is judged is a commit at the code host, not the workspace."""

    model_config = ConfigDict(frozen=True)

    # The commit that the work is compared with; the fork had it before the episode.
    start: str
    # The branch that a pull request must be against; the newest one's head is judged.
    base: str = ""
    # Or the branch that must hold the work itself.
    head: str = ""


@dataclass(frozen=True, slots=True)
class BranchTrees:
    """Contents by path below home: of the commit that the work began from, and of the work."""

    start: Mapping[str, bytes]
    judged: JudgedTree
    # The judged commit; the start where nothing was handed in.
    commit: str


async def find_judged_tree(
    world: World,
    package: str,
    *,
    released: bool = False,
    mentions: str = "",
    source: str = "src/",
    branch: BranchWork | None = None,
) -> JudgedTree:
    """The workspace's; the newest proposal's where the workspace is as it was found, or where proposals are released.

    A developer may work in a clone, a worktree or on a branch, and leave the workspace on main. `source` is the folder
    or the file of the package's code.
    """
    if branch is not None:
        return (await find_branch_trees(world, package, branch)).judged
    prefix = package.rstrip("/") + "/"
    edits = find_edits(world, prefix)
    if released or not any(edit.path.startswith(prefix + source) for edit in edits):
        for issue, pull in find_proposals(world, "main"):
            repository = world.get(repositories, pull["repository_id"])
            if repository is not None and f"{repository['name']}/" == prefix and mentions in describe(issue):
                return await _read_head(world, repository, pull)
    links = frozenset(edit.path for edit in edits if edit.after is not None and edit.after.mode == _LINK)
    return JudgedTree(read_tree(world, prefix), edits, links)


def describe(issue: Mapping[str, object]) -> str:
    return f"{issue['title']}\n{issue['body'] or ''}"


def find_edits(world: World, prefix: str = "") -> list[EditedFile]:
    """Files of the workspace that the agent left different from how it found them."""
    return [
        EditedFile(change.path, _version(change.before), _version(change.after))
        for change in find_edited_files(world, prefix)
    ]


async def find_branch_trees(world: World, package: str, branch: BranchWork) -> BranchTrees:
    """What the pull request against the branch proposes, or what the branch holds; the start where there is neither."""
    prefix = package.rstrip("/") + "/"
    server = await workspace_of(world).git_server()
    repository = find_repository(world, prefix.removesuffix("/"))
    commit = await _find_commit(world, server, repository, branch)
    start, _ = await _read_commit(server, repository, branch.start, read_start_tree(world, prefix))
    if commit is None or commit == branch.start:
        return BranchTrees(start, JudgedTree(start, []), branch.start)
    files, links = await _read_commit(server, repository, commit, start)
    return BranchTrees(start, JudgedTree(files, _compare(start, files, links), links), commit)


def find_repository(world: World, name: str) -> RepositoryRow:
    (row,) = world.rows("SELECT id FROM repositories WHERE name = ?", (name,))
    repository = world.get(repositories, RepositoryId(int(row[0])))
    assert repository is not None, "a repository of that name was just found"
    return repository


async def is_ancestor(world: World, package: str, ancestor: str, commit: str) -> bool:
    server = await workspace_of(world).git_server()
    repository = find_repository(world, package.rstrip("/"))
    result = await server.git(repository, "merge-base", "--is-ancestor", ancestor, commit)
    return result.exit_code == 0


async def read_commit(world: World, package: str, commit: str) -> dict[str, bytes]:
    """The files of a commit at the code host."""
    prefix = package.rstrip("/") + "/"
    server = await workspace_of(world).git_server()
    repository = find_repository(world, prefix.removesuffix("/"))
    return (await _read_commit(server, repository, commit, read_start_tree(world, prefix)))[0]


async def _find_commit(world: World, server: GitServer, repository: RepositoryRow, branch: BranchWork) -> str | None:
    if branch.head:
        return (await server.refs(repository)).get(f"refs/heads/{branch.head}")
    for _, pull in find_proposals(world, branch.base):
        if pull["repository_id"] == repository["id"]:
            return pull["head_sha"] or (await server.refs(repository)).get(f"refs/heads/{pull['head']}")
    return None


async def _read_head(world: World, repository: RepositoryRow, pull: PullRow) -> JudgedTree:
    """The tree that the pull request proposes."""
    server = await workspace_of(world).git_server()
    start = read_start_tree(world, f"{repository['name']}/")
    head = pull["head_sha"] or f"refs/heads/{pull['head']}"
    files, links = await _read_commit(server, repository, head, start)
    return JudgedTree(files, _compare(start, files, links), links)


async def _read_commit(
    server: GitServer, repository: RepositoryRow, commit: str, similar: Mapping[str, bytes]
) -> tuple[dict[str, bytes], frozenset[str]]:
    """Contents by path below home, and which of them are links; what a similar tree has is not read again."""
    prefix = f"{repository['name']}/"
    files: dict[str, bytes] = {}
    links: set[str] = set()
    by_blob_name = {_blob_name(content): content for content in similar.values()}
    bytes_left = _MOST_BYTES
    missing: dict[str, str] = {}
    for mode, sha, size, path in await _list_blobs(server, repository, commit):
        if mode == _LINK:
            links.add(prefix + path)
        if sha in by_blob_name:
            files[prefix + path] = by_blob_name[sha]
        elif len(missing) < _MOST_FILES and size <= bytes_left:
            bytes_left -= size
            missing[prefix + path] = sha
    contents = await _read_blobs(server, repository, sorted(set(missing.values())))
    files |= {path: contents.get(sha, b"") for path, sha in missing.items()}
    return files, frozenset(links)


def _compare(start: Mapping[str, bytes], files: Mapping[str, bytes], links: Collection[str]) -> list[EditedFile]:
    return [
        EditedFile(path, _content_version(start.get(path)), _content_version(files.get(path), is_link=path in links))
        for path in sorted(start.keys() | files.keys())
        if start.get(path) != files.get(path) or path in links
    ]


async def _list_blobs(server: GitServer, repository: RepositoryRow, head: str) -> list[tuple[int, str, int, str]]:
    """(mode, blob, size, path) of every file of a commit; nothing of a commit that is gone."""
    result = await server.git(repository, "ls-tree", "-r", "-l", "-z", "--full-tree", head)
    # What follows the last end was cut off.
    *lines, _ = result.stdout.decode(errors="backslashreplace").split("\0")
    blobs = []
    for line in lines:
        attributes, _, path = line.partition("\t")
        mode, kind, sha, size = attributes.split()
        if kind == "blob":
            blobs.append((int(mode, 8), sha, int(size), path))
    return blobs


async def _read_blobs(server: GitServer, repository: RepositoryRow, names: list[str]) -> dict[str, bytes]:
    if not names:
        return {}
    request = "".join(f"{name}\n" for name in names).encode()
    command = ["git", "cat-file", "--batch"]
    result = await server.sandbox.run(command, cwd=folder_of(repository), seconds=_SECONDS, stdin=request)
    contents: dict[str, bytes] = {}
    position = 0
    while (end := result.stdout.find(b"\n", position)) >= 0:
        name, _, size = result.stdout[position:end].decode().split()
        contents[name] = result.stdout[end + 1 : end + 1 + int(size)]
        position = end + 2 + int(size)
    return contents


def _blob_name(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _version(row: FileRow | None) -> FileVersion | None:
    return None if row is None else FileVersion(row["mode"], file_text(row))


def _content_version(content: bytes | None, *, is_link: bool = False) -> FileVersion | None:
    return None if content is None else FileVersion(_LINK if is_link else _FILE, content.decode(errors="replace"))
