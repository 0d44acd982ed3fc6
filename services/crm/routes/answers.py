"""Shapes that answers of several nouns share."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response

from services.crm.schemas.shared import ErrorOut
from services.kernel.answers import Json
from services.kernel.clock import iso
from services.kernel.world import World

REFUSALS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorOut, "description": "Declined; `category` and `message` say why."},
    "5XX": {"model": ErrorOut, "description": "The service cannot answer now."},
}


def nothing() -> Response:
    return Response(status_code=204)


def paged(results: list[Any], after: int | str | None, path: str = "", **more: Any) -> Response:
    body: dict[str, Any] = {**more, "results": results}
    if after is not None:
        body["paging"] = {"next": {"after": str(after), "link": f"{path}?after={after}"}}
    return Json(body)


def batch(
    world: World, results: Sequence[Any], errors: Sequence[Mapping[str, Any]] = (), status: int = 200
) -> Response:
    """207 as soon as one input failed."""
    now = iso(world.clock.now_ms())
    body: dict[str, Any] = {"status": "COMPLETE", "results": results, "startedAt": now, "completedAt": now}
    if errors:
        body |= {"numErrors": len(errors), "errors": errors}
    return Json(body, 207 if errors else status)
