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
        return cls(status, _as_large_as_it_is(orjson.dumps(content)), ((b"content-type", b"application/json"), *extra))


class Json(Response):
    """A body of plain dicts straight to bytes; the route's response_model documents it, nothing re-validates it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return _as_large_as_it_is(orjson.dumps(content))


def _as_large_as_it_is(body: bytes) -> bytes:
    """What orjson gives out holds 4 KB at least, and a trajectory keeps every answer for as long as its episode."""
    return bytes(memoryview(body))
