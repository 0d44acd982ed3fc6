"""The code host's repositories, their branches and commits, and its users."""

import re

import sqlalchemy as sa

from services.ide.code_host.git_server import Author, Commit, GitServer
from services.ide.errors import NotFound, Unprocessable
from services.ide.rows import ProtectionId, ProtectionRow, RepositoryRow, UserId, UserRow
from services.ide.tables import protections, repositories, users
from services.ide.workspace.images import ALL_REPOSITORIES
from services.ide.workspace.workspace import workspace_of
from services.kernel.statements import Statement
from services.kernel.world import World

_BY_NAME = Statement(
    sa.select(repositories)
    .where(repositories.c.owner == sa.bindparam("owner"), repositories.c.name == sa.bindparam("name"))
    .limit(1),
    RepositoryRow,
)
_ME = Statement(sa.select(users).where(users.c.is_me == 1).limit(1), UserRow)
_BY_LOGIN = Statement(sa.select(users).where(users.c.login == sa.bindparam("login")).limit(1), UserRow)
_REF = re.compile(r"refs/(heads|tags)/[A-Za-z0-9][\w./-]*")
_SHA = re.compile(r"[0-9a-f]{40}")


def find_me(world: World) -> UserRow:
    """The user to whom the credential belongs."""
    rows = world.find(_ME)
    if not rows:
        raise NotFound
    return rows[0]


def author_of(user: UserRow) -> Author:
    return Author(user["name"], user["email"])


def find_user(world: World, login: str) -> UserRow:
    """Authors who have no row are shown under their login."""
    rows = world.find(_BY_LOGIN, login=login)
    return rows[0] if rows else {"id": UserId(0), "login": login, "name": login, "email": "", "is_me": 0}


def find(world: World, owner: str, name: str) -> RepositoryRow:
    rows = world.find(_BY_NAME, owner=owner, name=name)
    if not rows:
        raise NotFound
    return rows[0]


def list_all(world: World) -> list[RepositoryRow]:
    return world.find(ALL_REPOSITORIES)


async def git_server(world: World) -> GitServer:
    return await workspace_of(world).git_server()


def find_protection(world: World, repository: RepositoryRow, branch: str) -> ProtectionRow | None:
    return world.get(protections, ProtectionId(f"{repository['id']}:{branch}"))


async def list_branches(world: World, repository: RepositoryRow) -> list[tuple[str, str]]:
    """(name, commit) each."""
    refs = await (await git_server(world)).refs(repository)
    return [(name.removeprefix("refs/heads/"), sha) for name, sha in refs.items() if name.startswith("refs/heads/")]


async def find_branch(world: World, repository: RepositoryRow, name: str) -> Commit:
    """The last commit of a branch."""
    server = await git_server(world)
    sha = (await server.refs(repository)).get(f"refs/heads/{name}")
    if sha is None:
        raise NotFound("Branch not found")
    return await server.commit(repository, sha)


async def create_ref(world: World, repository: RepositoryRow, ref: str, sha: str) -> None:
    server = await git_server(world)
    if not _REF.fullmatch(ref) or ".." in ref:
        raise Unprocessable("Reference", "Reference name is invalid.", "ref")
    if not _SHA.fullmatch(sha) or (await server.git(repository, "cat-file", "-e", f"{sha}^{{commit}}")).exit_code:
        raise Unprocessable("Reference", "Object does not exist", "sha")
    if ref in await server.refs(repository):
        raise Unprocessable("Reference", "Reference already exists", "ref")
    await server.git(repository, "update-ref", ref, sha)


async def delete_ref(world: World, repository: RepositoryRow, ref: str) -> None:
    server = await git_server(world)
    if ref not in await server.refs(repository):
        raise Unprocessable("Reference", "Reference does not exist", "ref")
    if find_protection(world, repository, ref.removeprefix("refs/heads/")) is not None:
        raise Unprocessable("Reference", "Cannot delete a protected branch", "ref")
    await server.git(repository, "update-ref", "-d", ref)


async def list_commits(world: World, repository: RepositoryRow, start: str | None, path: str | None) -> list[Commit]:
    server = await git_server(world)
    sha = await server.resolve(repository, start or repository["default_branch"])
    return await server.log(repository, "-500", sha, *(["--", path] if path else []))


async def find_commit(world: World, repository: RepositoryRow, ref: str) -> Commit:
    server = await git_server(world)
    return await server.commit(repository, await server.resolve(repository, ref))
