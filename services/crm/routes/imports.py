"""Imports of files."""

from typing import Annotated

import orjson
from fastapi import Depends, File, Form, Query, Response, UploadFile

from services.crm.errors import InvalidRequest
from services.crm.operations import imports
from services.crm.operations.imports import Upload
from services.crm.routes.responses import REFUSALS, page_response
from services.crm.rows import Body, ImportRow
from services.crm.schemas import lists as bodies
from services.crm.schemas.shared import QueryFlag, QueryNumber
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.clock import iso
from services.kernel.operations import Operation, add_operations

router = product_router(responses=REFUSALS, tags=["imports"])
After = Annotated[QueryNumber, Query(ge=0, le=10**9)]


def find_import(importId: str, world: CurrentWorld) -> ImportRow:
    return imports.read(world, importId)


PathImport = Annotated[ImportRow, Depends(find_import)]


@router.post("/crm/v3/imports", include_in_schema=False)
async def create(
    importRequest: Annotated[str, Form(description="JSON: name, files and, in each file, its columnMappings.")],
    files: Annotated[list[UploadFile], File(description="The CSV files that importRequest names.")],
    world: CurrentWorld,
) -> Response:
    """Start an import of CSV files. Rows are worked off in the background; read the import to see how far it came."""
    uploads = [Upload(file.filename or "", await _read_text(file)) for file in files]
    return Json(imports.serialize(world, imports.start(world, _parse_request(importRequest), uploads)))


@router.get("/crm/v3/imports", include_in_schema=False)
async def page(
    world: CurrentWorld, after: After = 0, limit: Annotated[QueryNumber, Query(ge=1, le=100)] = 20
) -> Response:
    """List the imports of the account with their states, newest first."""
    rows, following = imports.page(world, after, limit)
    return page_response([imports.serialize(world, row) for row in rows], following, "/crm/v3/imports")


async def read(row: PathImport, world: CurrentWorld) -> Response:
    """Read one import: its state and how many records it created and updated."""
    return Json(imports.serialize(world, row))


async def errors(
    row: PathImport,
    importId: str,
    world: CurrentWorld,
    after: After = 0,
    limit: Annotated[QueryNumber, Query(ge=1, le=100)] = 100,
    includeErrorMessage: Annotated[QueryFlag, Query(description="Say in words what was wrong.")] = False,
    includeRowData: Annotated[QueryFlag, Query(description="Return the row as it was in the file.")] = False,
) -> Response:
    """List the rows of an import that could not be imported, and why."""
    rows, following = imports.page_errors(world, row, after, limit)
    results = [
        imports.serialize_error(error, with_message=includeErrorMessage, with_row=includeRowData) for error in rows
    ]
    return page_response(results, following, f"/crm/v3/imports/{importId}/errors")


async def cancel(row: PathImport, world: CurrentWorld) -> Response:
    """Cancel an import that has not finished."""
    imports.cancel(world, row)
    now = iso(world.clock.now_ms())
    return Json({"status": "COMPLETE", "startedAt": now, "completedAt": now})


async def _read_text(upload: UploadFile) -> str:
    try:
        return (await upload.read()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{upload.filename} is not UTF-8 text") from error


def _parse_request(text: str) -> Body:
    try:
        request = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"importRequest is not JSON: {error.msg}") from error
    if not isinstance(request, dict):
        raise InvalidRequest("importRequest must be a JSON object")
    return request


# fmt: off
add_operations(router, (
    Operation("crm.imports.create", "POST", "/crm/v3/imports/", "Create", bodies.ImportOut, create),
    Operation("crm.imports.list", "GET", "/crm/v3/imports/", "Page", bodies.ImportPage, page),
    Operation("crm.imports.get", "GET", "/crm/v3/imports/{importId}", "Read", bodies.ImportOut, read),
    Operation("crm.imports.errors", "GET", "/crm/v3/imports/{importId}/errors", "Errors", bodies.ImportErrorPage,
              errors),
    Operation("crm.imports.cancel", "POST", "/crm/v3/imports/{importId}/cancel", "Cancel", bodies.CanceledOut, cancel),
))
# fmt: on
