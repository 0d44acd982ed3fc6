"""Files of a repository as the code host shows and changes them."""

import base64
import binascii
from dataclasses import dataclass

from services.ide.code_host.git_server import Author, Commit, TreeEntry
from services.ide.errors import Conflict, NotFound, Unprocessable
from services.ide.operations import repositories
from services.ide.rows import RepositoryRow
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file of a commit."""

    ref: str
    entry: TreeEntry
    content: bytes


@dataclass(frozen=True, slots=True)
class FolderContent:
    """A folder of a commit."""

    ref: str
    entries: list[TreeEntry]


@dataclass(frozen=True, slots=True)
class FileCommit:
    """A commit that the API made, and the file as it is now; None if it is gone."""

    commit: Commit
    entry: TreeEntry | None


async def read(world: World, repository: RepositoryRow, path: str, ref: str | None) -> FileContent | FolderContent:
    server = await repositories.git_server(world)
    name = ref or repository["default_branch"]
    sha = await server.resolve(repository, name)
    entries = await server.entries(repository, sha, path)
    if len(entries) == 1 and entries[0].path == path.strip("/") and entries[0].kind == "blob":
        return FileContent(name, entries[0], await server.blob(repository, entries[0].sha))
    return FolderContent(name, entries)


async def write(
    world: World,
    repository: RepositoryRow,
    path: str,
    message: str,
    encoded: str | None,
    sha: str | None,
    branch: str | None,
    author: Author | None,
) -> FileCommit:
    """Make one commit on a branch; whoever changes a file names the version that they saw.

    Without content the file is removed.
    """
    target = branch or repository["default_branch"]
    server = await repositories.git_server(world)
    if not await server.has_branch(repository, target):
        raise NotFound(f"Branch {target} not found")
    if repositories.find_protection(world, repository, target) is not None:
        raise Conflict("Repository rule violations found: changes must be made through a pull request.")
    if not path.strip("/") or any(part in ("..", ".git", ".", "") for part in path.split("/")):
        raise Unprocessable("Content", "path contains a malformed path component", "path", "invalid")
    await _require_version(world, repository, path, target, sha, is_removal=encoded is None)
    me = repositories.find_me(world)
    who = Author((author and author.name) or me["name"], (author and author.email) or me["email"])
    commit = await server.put_file(repository, target, path, _decode(encoded), message, who, world.clock.now_ms())
    entries = [] if encoded is None else await server.entries(repository, commit, path)
    return FileCommit(await server.commit(repository, commit), entries[0] if entries else None)


async def _require_version(
    world: World, repository: RepositoryRow, path: str, branch: str, sha: str | None, *, is_removal: bool
) -> None:
    server = await repositories.git_server(world)
    try:
        entries = await server.entries(repository, await server.resolve(repository, branch), path)
    except NotFound:
        if sha is not None or is_removal:
            raise
        return
    if sha is None:
        raise Unprocessable("Content", 'Invalid request.\n\n"sha" wasn\'t supplied.', "sha", "missing_field")
    if entries[0].sha != sha:
        raise Conflict(f"{path} does not match {sha}")


def _decode(encoded: str | None) -> bytes | None:
    if encoded is None:
        return None
    try:
        return base64.b64decode(encoded)
    except binascii.Error as error:
        raise Unprocessable("Content", "content is not valid Base64", "content", "invalid") from error
