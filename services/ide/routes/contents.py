"""The code host: files of a repository."""

from typing import Any, assert_never

from fastapi import Response

from services.ide.code_host.git_server import Author
from services.ide.operations import contents
from services.ide.operations.contents import FileCommit, FileContent, FolderContent
from services.ide.routes.dependencies import Repository, RepositoryJson
from services.ide.routes.serializers import RepositorySerializer
from services.ide.rows import RepositoryRow
from services.ide.schemas.code_host import ContentGone, ContentIn, PersonIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.world import World

router = product_router()


@router.get("/api/v3/repos/{owner}/{repo}/contents", operation_id="ide.contents.root")
async def read_root(
    repository: Repository, serializer: RepositoryJson, world: CurrentWorld, ref: str | None = None
) -> Response:
    """What the top folder holds."""
    return await _read(serializer, world, repository, "", ref)


@router.get("/api/v3/repos/{owner}/{repo}/contents/", operation_id="ide.contents.root_folder")
async def read_root_folder(
    repository: Repository, serializer: RepositoryJson, world: CurrentWorld, ref: str | None = None
) -> Response:
    """What the top folder holds."""
    return await _read(serializer, world, repository, "", ref)


@router.get("/api/v3/repos/{owner}/{repo}/contents/{path:path}", operation_id="ide.contents.get")
async def read(
    repository: Repository, path: str, serializer: RepositoryJson, world: CurrentWorld, ref: str | None = None
) -> Response:
    """A file with its content, or what a folder holds."""
    return await _read(serializer, world, repository, path, ref)


@router.put("/api/v3/repos/{owner}/{repo}/contents/{path:path}", operation_id="ide.contents.put")
async def put(
    repository: Repository, path: str, body: ContentIn, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Write a file in one commit; to change one, name the `sha` that was seen."""
    file_commit = await contents.write(
        world, repository, path, body.message, body.content, body.sha, body.branch, _author(body.author)
    )
    return Json(_file_commit(serializer, repository, file_commit, body.branch), 200 if body.sha else 201)


@router.delete("/api/v3/repos/{owner}/{repo}/contents/{path:path}", operation_id="ide.contents.delete")
async def delete(
    repository: Repository, path: str, body: ContentGone, serializer: RepositoryJson, world: CurrentWorld
) -> Response:
    """Remove a file in one commit."""
    file_commit = await contents.write(
        world, repository, path, body.message, None, body.sha, body.branch, _author(body.author)
    )
    return Json(_file_commit(serializer, repository, file_commit, body.branch))


async def _read(
    serializer: RepositorySerializer, world: World, repository: RepositoryRow, path: str, ref: str | None
) -> Response:
    match await contents.read(world, repository, path, ref):
        case FileContent(name, entry, content):
            return Json(serializer.entry(name, entry, content))
        case FolderContent(name, entries):
            return Json([serializer.entry(name, entry) for entry in entries])
        case unknown:
            assert_never(unknown)


def _file_commit(
    serializer: RepositorySerializer, repository: RepositoryRow, file_commit: FileCommit, branch: str | None
) -> dict[str, Any]:
    ref = branch or repository["default_branch"]
    content = None if file_commit.entry is None else serializer.entry(ref, file_commit.entry)
    return {"content": content, "commit": serializer.git_commit(file_commit.commit)}


def _author(person: PersonIn | None) -> Author | None:
    return None if person is None else Author(person.name or "", person.email or "")
