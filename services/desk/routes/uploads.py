"""Files: uploaded first, attached to a comment by their token."""

from typing import Annotated, Any

from fastapi import Query, Request, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from services.desk.errors import InvalidParameter
from services.desk.operations.attachments import add_upload, discard_upload, read_content
from services.desk.routes.base import AnyCall, noun_router
from services.desk.rows import UploadToken
from services.desk.schemas import exports as schemas
from services.desk.schemas.base import AttachmentKey
from services.desk.shapes.threads import render_attachment
from services.desk.tables import attachments
from services.kernel.answers import Json

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
    "/api/v2/uploads",
    operation_id="desk.uploads.create",
    response_model=schemas.UploadShown,
    status_code=201,
    openapi_extra={"requestBody": _BODY},
)
async def create(params: Annotated[schemas.UploadQuery, Query()], request: Request, call: AnyCall) -> Response:
    """Upload a file; name the token of the answer in a comment's uploads to attach it."""
    content_type, content = await _read_file(request)
    token = None if params.token is None else UploadToken(params.token)
    upload, attachment = add_upload(call.world, params.filename, content_type, content, token)
    files = attachments.by_ids(call.world, upload["body"]["attachment_ids"])
    shape = {
        "token": upload["id"],
        "attachment": render_attachment(attachment, call.base),
        "attachments": [render_attachment(file, call.base) for file in files],
    }
    return Json({"upload": shape}, 201)


async def _read_file(request: Request) -> tuple[str, bytes]:
    """Returns the type and the bytes of the body, or of the file in a form."""
    content_type = request.headers.get("content-type", "")
    if not content_type.startswith(_FORM):
        return content_type.partition(";")[0], await request.body()
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


@router.delete("/api/v2/uploads/{token}", operation_id="desk.uploads.delete", status_code=204)
async def delete(token: UploadToken, call: AnyCall) -> Response:
    """Discard an upload that no comment has taken yet."""
    discard_upload(call.world, token)
    return Response(status_code=204)


@router.get(
    "/api/v2/attachments/{attachment_id}", operation_id="desk.attachments.show", response_model=schemas.AttachmentShown
)
async def show(attachment_id: AttachmentKey, call: AnyCall) -> Response:
    """Read what is known of an attachment; its content is at content_url."""
    return Json({"attachment": render_attachment(attachments.need(call.world, attachment_id), call.base)})


@router.get(
    "/api/v2/attachments/{attachment_id}/content",
    operation_id="desk.attachments.content",
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file"}},
    response_class=Response,
)
async def content(attachment_id: AttachmentKey, call: AnyCall) -> Response:
    """Download an attachment."""
    row = attachments.need(call.world, attachment_id)
    return Response(read_content(row), media_type="application/octet-stream")
