"""The code host's repositories, their branches and commits, and who works on them."""

import re

import sqlalchemy as sa

from services.ide import workspace
from services.ide.errors import NotFound, Unprocessable
from services.ide.forge import Commit, Forge
from services.ide.tables import protections, repositories, users
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_NAMED = Statement(
    sa.select(repositories)
    .where(repositories.c.owner == sa.bindparam("owner"), repositories.c.name == sa.bindparam("name"))
    .limit(1)
)
_ALL = Statement(sa.select(repositories).order_by(repositories.c.id))
_ME = Statement(sa.select(users).where(users.c.is_me == 1).limit(1))
_LOGIN = Statement(sa.select(users).where(users.c.login == sa.bindparam("login")).limit(1))
_REF = re.compile(r"refs/(heads|tags)/[A-Za-z0-9][\w./-]*")
_SHA = re.compile(r"[0-9a-f]{40}")


def me(world: World) -> Row:
    found = world.find(_ME)
    if not found:
        raise NotFound
    return found[0]


def user(world: World, login: str) -> Row:
    found = world.find(_LOGIN, login=login)
    return found[0] if found else {"id": 0, "login": login, "name": login, "email": "", "is_me": 0}


def find(world: World, owner: str, name: str) -> Row:
    found = world.find(_NAMED, owner=owner, name=name)
    if not found:
        raise NotFound
    return found[0]


def all_of(world: World) -> list[Row]:
    return world.find(_ALL)


async def forge(world: World) -> Forge:
    return await workspace.of(world).forge()


def protection(world: World, repository: Row, branch: str) -> Row | None:
    return world.get(protections, f"{repository['id']}:{branch}")


async def branches(world: World, repository: Row) -> list[tuple[str, str]]:
    found = await (await forge(world)).refs(repository)
    return [(name.removeprefix("refs/heads/"), sha) for name, sha in found.items() if name.startswith("refs/heads/")]


async def branch(world: World, repository: Row, name: str) -> tuple[str, Commit]:
    host = await forge(world)
    sha = (await host.refs(repository)).get(f"refs/heads/{name}")
    if sha is None:
        raise NotFound("Branch not found")
    return name, await host.commit(repository, sha)


async def create_ref(world: World, repository: Row, ref: str, sha: str) -> None:
    host = await forge(world)
    if not _REF.fullmatch(ref) or ".." in ref:
        raise Unprocessable("Reference", "Reference name is invalid.", "ref")
    if not _SHA.fullmatch(sha) or (await host.git(repository, "cat-file", "-e", f"{sha}^{{commit}}")).exit:
        raise Unprocessable("Reference", "Object does not exist", "sha")
    if ref in await host.refs(repository):
        raise Unprocessable("Reference", "Reference already exists", "ref")
    await host.git(repository, "update-ref", ref, sha)


async def delete_ref(world: World, repository: Row, ref: str) -> None:
    host = await forge(world)
    if ref not in await host.refs(repository):
        raise Unprocessable("Reference", "Reference does not exist", "ref")
    if protection(world, repository, ref.removeprefix("refs/heads/")) is not None:
        raise Unprocessable("Reference", "Cannot delete a protected branch", "ref")
    await host.git(repository, "update-ref", "-d", ref)


async def commits(world: World, repository: Row, start: str | None, path: str | None) -> list[Commit]:
    host = await forge(world)
    sha = await host.resolve(repository, start or repository["default_branch"])
    return await host.log(repository, "-500", sha, *(["--", path] if path else []))


async def commit(world: World, repository: Row, ref: str) -> Commit:
    host = await forge(world)
    return await host.commit(repository, await host.resolve(repository, ref))
