"""An answer on its way out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and body, complete: kept for replays, the trajectory and the wire."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def json(cls, status: int, content: Any, headers: Mapping[str, str] | None = None) -> "Answer":
        extra = tuple(
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()
        )
        return cls(status, orjson.dumps(content), ((b"content-type", b"application/json"), *extra))


class Json(Response):
    """A body of plain dicts straight to bytes; the route's response_model documents it, nothing re-validates it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)
