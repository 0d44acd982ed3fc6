"""The code host: files of a repository."""

from typing import Any

from fastapi import Request, Response

from services.ide.operations import contents, repositories
from services.ide.operations.contents import Shown, Written
from services.ide.routes.shapes import REPO, Shapes
from services.ide.schemas.code_host import ContentGone, ContentIn, PersonIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.statements import Row

router = product_router()
_PATH = REPO + "/contents/{path:path}"


@router.get(REPO + "/contents", operation_id="ide.contents.root")
async def read_root(owner: str, repo: str, request: Request, world: CurrentWorld, ref: str | None = None) -> Response:
    """What the top folder holds."""
    return await _read(request, world, owner, repo, "", ref)


@router.get(REPO + "/contents/", operation_id="ide.contents.root_folder")
async def read_root_folder(
    owner: str, repo: str, request: Request, world: CurrentWorld, ref: str | None = None
) -> Response:
    """What the top folder holds."""
    return await _read(request, world, owner, repo, "", ref)


@router.get(_PATH, operation_id="ide.contents.get")
async def read(
    owner: str, repo: str, path: str, request: Request, world: CurrentWorld, ref: str | None = None
) -> Response:
    """A file with its content, or what a folder holds."""
    return await _read(request, world, owner, repo, path, ref)


@router.put(_PATH, operation_id="ide.contents.put")
async def put(owner: str, repo: str, path: str, body: ContentIn, request: Request, world: CurrentWorld) -> Response:
    """Write a file in one commit; to change one, name the `sha` that was seen."""
    repository = repositories.find(world, owner, repo)
    written = await contents.write(
        world, repository, path, body.message, body.content, body.sha, body.branch, _person(body.author)
    )
    shape = _written(Shapes(request, world), repository, written, body.branch)
    return Json(shape, 200 if body.sha else 201)


@router.delete(_PATH, operation_id="ide.contents.delete")
async def delete(
    owner: str, repo: str, path: str, body: ContentGone, request: Request, world: CurrentWorld
) -> Response:
    """Remove a file in one commit."""
    repository = repositories.find(world, owner, repo)
    written = await contents.write(
        world, repository, path, body.message, None, body.sha, body.branch, _person(body.author)
    )
    return Json(_written(Shapes(request, world), repository, written, body.branch))


async def _read(request: Request, world: CurrentWorld, owner: str, repo: str, path: str, ref: str | None) -> Response:
    repository = repositories.find(world, owner, repo)
    return Json(_shown(Shapes(request, world), repository, await contents.show(world, repository, path, ref)))


def _shown(shapes: Shapes, repository: Row, shown: Shown) -> Any:
    if shown.content is not None:
        return shapes.entry(repository, shown.ref, shown.entries[0], shown.content)
    return [shapes.entry(repository, shown.ref, entry) for entry in shown.entries]


def _written(shapes: Shapes, repository: Row, written: Written, branch: str | None) -> dict[str, Any]:
    ref = branch or repository["default_branch"]
    content = None if written.entry is None else shapes.entry(repository, ref, written.entry)
    return {"content": content, "commit": shapes.git_commit(repository, written.commit)}


def _person(given: PersonIn | None) -> dict[str, str] | None:
    return None if given is None else {"name": given.name or "", "email": given.email or ""}
