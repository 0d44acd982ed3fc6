"""Files: uploaded first, attached to a comment by their token."""

from typing import Annotated, Any

from fastapi import Query, Request, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from services.desk.errors import InvalidParameter
from services.desk.operations import attaching, listing, records
from services.desk.routes.base import anyone, noun_router
from services.desk.schemas import exports as schemas
from services.desk.schemas.base import Id
from services.desk.tables import attachments
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("uploads")
_FORM = "multipart/form-data"
_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        _FORM: {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "description": "The content of the file"}
                },
            }
        },
    },
}


@router.post(
    "/uploads",
    operation_id="desk.uploads.create",
    response_model=schemas.UploadShown,
    status_code=201,
    openapi_extra={"requestBody": _BODY},
)
async def create(asked: Annotated[schemas.UploadAsked, Query()], request: Request, world: CurrentWorld) -> Response:
    """Upload a file; name the token of the answer in a comment's uploads to attach it."""
    call = anyone(request, world)
    kind, content = await _received(request)
    upload, kept = attaching.upload(world, asked.filename, kind, content, asked.token)
    files = listing.by_ids(world, attachments, upload["body"]["attachment_ids"])
    told = {
        "token": upload["id"],
        "attachment": attaching.shown(kept, call.base),
        "attachments": [attaching.shown(file, call.base) for file in files],
    }
    return Json({"upload": told}, 201)


async def _received(request: Request) -> tuple[str, bytes]:
    """The raw bytes, or the file of a form."""
    kind = request.headers.get("content-type", "")
    if not kind.startswith(_FORM):
        return kind.partition(";")[0], await request.body()
    try:
        async with request.form(max_files=2, max_fields=20) as form:
            part = form.get("file")
            if isinstance(part, UploadFile):
                return part.content_type or "", await part.read()
    except MultiPartException as error:
        raise InvalidParameter("file", error.message) from error
    if part is None:
        raise InvalidParameter("file", "It is missing")
    return "text/plain", part.encode()


@router.delete("/uploads/{token}", operation_id="desk.uploads.delete", status_code=204)
async def delete(token: str, request: Request, world: CurrentWorld) -> Response:
    """Discard an upload that no comment has taken yet."""
    anyone(request, world)
    attaching.discard(world, token)
    return Response(status_code=204)


@router.get(
    "/attachments/{attachment_id}", operation_id="desk.attachments.show", response_model=schemas.AttachmentShown
)
async def show(attachment_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read what is known of an attachment; its content is at content_url."""
    call = anyone(request, world)
    return Json({"attachment": attaching.shown(records.need(world, attachments, attachment_id), call.base)})


@router.get(
    "/attachments/{attachment_id}/content",
    operation_id="desk.attachments.content",
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file"}},
    response_class=Response,
)
async def content(attachment_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Download an attachment."""
    anyone(request, world)
    row = records.need(world, attachments, attachment_id)
    return Response(attaching.content_of(row), media_type="application/octet-stream")
