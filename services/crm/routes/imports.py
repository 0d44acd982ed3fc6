"""Imports of files."""

from typing import Annotated, Any

import orjson
from fastapi import File, Form, Query, Response, UploadFile

from services.crm.errors import InvalidRequest
from services.crm.operations import imports
from services.crm.operations.imports import Upload
from services.crm.routes.answers import REFUSALS, paged
from services.crm.schemas import lists as bodies
from services.crm.schemas.shared import QueryFlag, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso

router = product_router(responses=REFUSALS, tags=["imports"])
_IMPORTS = "/crm/v3/imports"
_ONE = _IMPORTS + "/{importId}"
After = Annotated[QueryNumber, Query(ge=0, le=10**9)]


@router.post(_IMPORTS, include_in_schema=False)
@router.post(_IMPORTS + "/", operation_id="crm.imports.create", response_model=bodies.ImportOut)
async def create(
    importRequest: Annotated[str, Form(description="JSON: name, files and, in each file, its columnMappings.")],
    files: Annotated[list[UploadFile], File(description="The CSV files that importRequest names.")],
    world: CurrentWorld,
) -> Response:
    """Start an import of CSV files. Rows are worked off in the background; read the import to see how far it came."""
    uploads = [Upload(one.filename or "", await _text(one)) for one in files]
    return Json(imports.show(world, imports.start(world, _request(importRequest), uploads)))


@router.get(_IMPORTS, include_in_schema=False)
@router.get(_IMPORTS + "/", operation_id="crm.imports.list", response_model=bodies.ImportPage)
async def page(
    world: CurrentWorld, after: After = 0, limit: Annotated[QueryNumber, Query(ge=1, le=100)] = 20
) -> Response:
    """List the imports of the account with their states, newest first."""
    rows, following = imports.page(world, after, limit)
    return paged([imports.show(world, row) for row in rows], following, _IMPORTS)


@router.get(_ONE, operation_id="crm.imports.get", response_model=bodies.ImportOut)
async def read(importId: str, world: CurrentWorld) -> Response:
    """Read one import: its state and how many records it created and updated."""
    return Json(imports.show(world, imports.read(world, importId)))


@router.get(_ONE + "/errors", operation_id="crm.imports.errors", response_model=bodies.ImportErrorPage)
async def errors(
    importId: str,
    world: CurrentWorld,
    after: After = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=100)] = 100,
    includeErrorMessage: Annotated[QueryFlag, Query(description="Say in words what was wrong.")] = False,
    includeRowData: Annotated[QueryFlag, Query(description="Return the row as it was in the file.")] = False,
) -> Response:
    """List the rows of an import that could not be imported, and why."""
    found, following = imports.errors(world, imports.read(world, importId), after, limit)
    shown = [_shown(one, message=includeErrorMessage, row=includeRowData) for one in found]
    return paged(shown, following, f"{_IMPORTS}/{importId}/errors")


@router.post(_ONE + "/cancel", operation_id="crm.imports.cancel", response_model=bodies.CanceledOut)
async def cancel(importId: str, world: CurrentWorld) -> Response:
    """Cancel an import that has not finished."""
    imports.cancel(world, imports.read(world, importId))
    now = iso(world.clock.now_ms())
    return Json({"status": "COMPLETE", "startedAt": now, "completedAt": now})


async def _text(upload: UploadFile) -> str:
    try:
        return (await upload.read()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{upload.filename} is not UTF-8 text") from error


def _request(text: str) -> dict[str, Any]:
    try:
        request = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"importRequest is not JSON: {error.msg}") from error
    if not isinstance(request, dict):
        raise InvalidRequest("importRequest must be a JSON object")
    return request


def _shown(error: dict[str, Any], *, message: bool, row: bool) -> dict[str, Any]:
    shown = dict(error)
    if not message:
        shown.pop("errorMessage", None)
    if not row:
        shown["sourceData"] = {key: value for key, value in error["sourceData"].items() if key != "rowData"}
    return shown
