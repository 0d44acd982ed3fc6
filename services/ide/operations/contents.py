"""Files of a repository as the code host shows and changes them."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from services.ide.errors import Conflict, NotFound, Unprocessable
from services.ide.forge import Commit, Entry
from services.ide.operations import repositories
from services.kernel.statements import Row
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class Shown:
    """A path at a commit: a file with its bytes, or a folder's entries."""

    ref: str
    path: str
    entries: list[Entry]
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Written:
    """A commit made through the API, and the file as it is now; None if it is gone."""

    commit: Commit
    entry: Entry | None


async def show(world: World, repository: Row, path: str, ref: str | None) -> Shown:
    forge = await repositories.forge(world)
    name = ref or repository["default_branch"]
    sha = await forge.resolve(repository, name)
    entries = await forge.entries(repository, sha, path)
    is_file = len(entries) == 1 and entries[0].path == path.strip("/") and entries[0].kind == "blob"
    content = await forge.blob(repository, entries[0].sha) if is_file else None
    return Shown(name, path.strip("/"), entries, content)


async def write(
    world: World,
    repository: Row,
    path: str,
    message: str,
    encoded: str | None,
    sha: str | None,
    branch: str | None,
    author: Mapping[str, str] | None,
) -> Written:
    """One commit on a branch; whoever changes a file says which version they saw."""
    target = branch or repository["default_branch"]
    forge = await repositories.forge(world)
    if not await forge.has_branch(repository, target):
        raise NotFound(f"Branch {target} not found")
    if repositories.protection(world, repository, target) is not None:
        raise Conflict("Repository rule violations found: changes must be made through a pull request.")
    if not path.strip("/") or any(part in ("..", ".git", ".", "") for part in path.split("/")):
        raise Unprocessable("Content", "path contains a malformed path component", "path", "invalid")
    await _require_version(world, repository, path, target, sha, removing=encoded is None)
    me = repositories.me(world)
    who = {"name": (author or {}).get("name") or me["name"], "email": (author or {}).get("email") or me["email"]}
    made = await forge.put_file(repository, target, path, _decoded(encoded), message, who, world.clock.now_ms())
    entries = [] if encoded is None else await forge.entries(repository, made, path)
    return Written(await forge.commit(repository, made), entries[0] if entries else None)


async def _require_version(
    world: World, repository: Row, path: str, branch: str, sha: str | None, *, removing: bool
) -> None:
    try:
        found = (await show(world, repository, path, branch)).entries
    except NotFound:
        if sha is not None or removing:
            raise
        return
    if sha is None:
        raise Unprocessable("Content", 'Invalid request.\n\n"sha" wasn\'t supplied.', "sha", "missing_field")
    if found[0].sha != sha:
        raise Conflict(f"{path} does not match {sha}")


def _decoded(encoded: str | None) -> bytes | None:
    if encoded is None:
        return None
    try:
        return base64.b64decode(encoded)
    except binascii.Error as error:
        raise Unprocessable("Content", "content is not valid Base64", "content", "invalid") from error
