"""Multipart bodies: the one place where something other than a form arrives."""

from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException

from services.billing.errors import InvalidRequest
from services.billing.operations.portal import Upload

REQUEST_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["purpose", "file"],
                "properties": {"purpose": {"type": "string"}, "file": {"type": "string", "format": "binary"}},
            }
        }
    },
}


async def read_upload(request: Request) -> Upload:
    try:
        form = await request.form(max_files=2, max_fields=20)
    except MultiPartException as error:
        raise InvalidRequest(f"The upload could not be read: {error.message}", "file") from error
    try:
        return await _read(form)
    finally:
        await form.close()


async def _read(form: FormData) -> Upload:
    purpose, file = form.get("purpose"), form.get("file")
    if not isinstance(purpose, str):
        raise InvalidRequest("Missing required param: purpose.", "purpose", "parameter_missing")
    if not isinstance(file, UploadFile):
        raise InvalidRequest("Missing required param: file.", "file", "parameter_missing")
    return Upload(purpose, file.filename, file.content_type, len(await file.read()))
