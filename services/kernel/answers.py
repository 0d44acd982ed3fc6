"""Answers: what a product sends back."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from starlette.responses import Response

RawHeaders = tuple[tuple[bytes, bytes], ...]


class Answer(NamedTuple):
    """Status, headers and body, kept for replays and for the trajectory."""

    status: int
    body: bytes
    headers: RawHeaders = ()

    @classmethod
    def json(cls, status: int, content: Any, headers: Mapping[str, str] | None = None) -> "Answer":
        extra = tuple(
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()
        )
        return cls(status, _trim_buffer(orjson.dumps(content)), ((b"content-type", b"application/json"), *extra))


class Json(Response):
    """A response of plain dicts; the route's response_model only documents it, nothing validates it again."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return _trim_buffer(orjson.dumps(content))

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Writes what Starlette would, which works it out anew with every response."""
        if headers is not None:
            super().init_headers(headers)
            return
        length = b"%d" % len(self.body)
        self.raw_headers = [(b"content-length", length), (b"content-type", b"application/json")]


def _trim_buffer(body: bytes) -> bytes:
    """orjson returns a buffer of at least 4 KB, and a trajectory keeps every answer as long as its episode."""
    return bytes(memoryview(body))
