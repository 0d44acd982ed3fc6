"""The toolbox: the language server."""

from fastapi import Response

from services.ide.operations import language, machines
from services.ide.routes.processes import BASE
from services.ide.schemas.toolbox import CompletionIn, DocumentIn, ProjectIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router()
_LSP = BASE + "/lsp"


@router.post(_LSP + "/start", operation_id="ide.language.start")
async def start(sandboxId: str, body: ProjectIn, world: CurrentWorld) -> Response:
    """Start the language server of a project."""
    machines.find(world, sandboxId)
    await language.start(world, body.languageId, body.pathToProject)
    return Response(status_code=200)


@router.post(_LSP + "/stop", operation_id="ide.language.stop")
async def stop(sandboxId: str, body: ProjectIn, world: CurrentWorld) -> Response:
    """Stop it."""
    machines.find(world, sandboxId)
    await language.stop(world, body.pathToProject)
    return Response(status_code=200)


@router.post(_LSP + "/did-open", operation_id="ide.language.did_open")
async def did_open(sandboxId: str, body: DocumentIn, world: CurrentWorld) -> Response:
    """Tell of a file that was opened. It is read from disk at every question, so nothing needs telling."""
    machines.find(world, sandboxId)
    language.require(world, body.languageId, body.pathToProject)
    return Response(status_code=200)


@router.post(_LSP + "/did-close", operation_id="ide.language.did_close")
async def did_close(sandboxId: str, body: DocumentIn, world: CurrentWorld) -> Response:
    """Tell of a file that was closed."""
    machines.find(world, sandboxId)
    language.require(world, body.languageId, body.pathToProject)
    return Response(status_code=200)


@router.post(_LSP + "/completions", operation_id="ide.language.completions")
async def completions(sandboxId: str, body: CompletionIn, world: CurrentWorld) -> Response:
    """What could stand at a position."""
    machines.find(world, sandboxId)
    at = body.position
    found = await language.completions(world, body.pathToProject, body.uri, at.line, at.character)
    return Json({"isIncomplete": False, "items": found})


@router.get(_LSP + "/document-symbols", operation_id="ide.language.document_symbols")
async def document_symbols(
    sandboxId: str, languageId: str, pathToProject: str, uri: str, world: CurrentWorld
) -> Response:
    """Classes, functions and names that a file defines."""
    machines.find(world, sandboxId)
    language.require(world, languageId, pathToProject)
    return Json(await language.document_symbols(world, pathToProject, uri))


@router.get(_LSP + "/workspacesymbols", operation_id="ide.language.workspace_symbols")
async def workspace_symbols(
    sandboxId: str, query: str, languageId: str, pathToProject: str, world: CurrentWorld
) -> Response:
    """Names of the whole project."""
    machines.find(world, sandboxId)
    language.require(world, languageId, pathToProject)
    return Json(await language.workspace_symbols(world, pathToProject, query))
