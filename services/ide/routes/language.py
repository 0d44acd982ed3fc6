"""The toolbox: the language server."""

from fastapi import Response

from services.ide.operations import language
from services.ide.routes.dependencies import toolbox_router
from services.ide.schemas.toolbox import CompletionIn, DocumentIn, ProjectIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = toolbox_router()


@router.post("/toolbox/{sandboxId}/lsp/start", operation_id="ide.language.start")
async def start(body: ProjectIn, world: CurrentWorld) -> Response:
    """Start the language server of a project."""
    await language.start(world, body.languageId, body.pathToProject)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/lsp/stop", operation_id="ide.language.stop")
async def stop(body: ProjectIn, world: CurrentWorld) -> Response:
    """Stop it."""
    await language.stop(world, body.pathToProject)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/lsp/did-open", operation_id="ide.language.did_open")
async def did_open(body: DocumentIn, world: CurrentWorld) -> Response:
    """Tell of a file that was opened. It is read from disk at every question, so nothing needs telling."""
    language.require(world, body.languageId, body.pathToProject)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/lsp/did-close", operation_id="ide.language.did_close")
async def did_close(body: DocumentIn, world: CurrentWorld) -> Response:
    """Tell of a file that was closed."""
    language.require(world, body.languageId, body.pathToProject)
    return Response(status_code=200)


@router.post("/toolbox/{sandboxId}/lsp/completions", operation_id="ide.language.completions")
async def completions(body: CompletionIn, world: CurrentWorld) -> Response:
    """What could stand at a position."""
    line, character = body.position.line, body.position.character
    items = await language.completions(world, body.pathToProject, body.uri, line, character)
    return Json({"isIncomplete": False, "items": items})


@router.get("/toolbox/{sandboxId}/lsp/document-symbols", operation_id="ide.language.document_symbols")
async def document_symbols(languageId: str, pathToProject: str, uri: str, world: CurrentWorld) -> Response:
    """Classes, functions and names that a file defines."""
    language.require(world, languageId, pathToProject)
    return Json(await language.document_symbols(world, pathToProject, uri))


@router.get("/toolbox/{sandboxId}/lsp/workspacesymbols", operation_id="ide.language.workspace_symbols")
async def workspace_symbols(query: str, languageId: str, pathToProject: str, world: CurrentWorld) -> Response:
    """Names of the whole project."""
    language.require(world, languageId, pathToProject)
    return Json(await language.workspace_symbols(world, pathToProject, query))
