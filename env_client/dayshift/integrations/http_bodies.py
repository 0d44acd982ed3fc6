"""Reads and writes the JSON bodies of a server, bounded."""

from typing import Any

from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dayshift.integrations.serving import MAX_MESSAGE_BYTES


async def read_json(request: Request) -> dict[str, Any]:
    try:
        message = from_json(await read_body(request) or b"{}", allow_inf_nan=False)
    except ValueError as invalid:
        raise HTTPException(422, f"the body is not JSON: {invalid}") from invalid
    if not isinstance(message, dict):
        raise HTTPException(422, "the body is a JSON object")
    return message


async def read_body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_MESSAGE_BYTES:
            raise HTTPException(413, f"a body has at most {MAX_MESSAGE_BYTES} bytes")
    return bytes(body)


def respond(body: bytes) -> Response:
    return Response(body, media_type="application/json")
