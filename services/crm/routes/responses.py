"""Forms of answer that the endpoints of several nouns share."""

from typing import Any

from fastapi import Response

from services.crm.operations.batches import BatchResult
from services.crm.rows import Body
from services.crm.schemas.shared import ErrorOut
from services.kernel.answers import Json
from services.kernel.clock import iso
from services.kernel.world import World

# What OpenAPI says of the answers that every operation, or every batch, may give.
REFUSALS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorOut, "description": "Declined; `category` and `message` say why."},
    "5XX": {"model": ErrorOut, "description": "The service cannot answer now."},
}
PARTIAL_SUCCESS: dict[int | str, dict[str, Any]] = {207: {"description": "Done in part; `errors` says what was not."}}


def no_content() -> Response:
    return Response(status_code=204)


def page_response(results: list[Body], after: int | None, path: str = "", **more: Any) -> Response:
    body: Body = {**more, "results": results}
    if after is not None:
        body["paging"] = {"next": {"after": str(after), "link": f"{path}?after={after}"}}
    return Json(body)


def batch_response(world: World, batch: BatchResult, status: int = 200) -> Response:
    """The status is 207 if an input failed."""
    now = iso(world.clock.now_ms())
    body: Body = {"status": "COMPLETE", "results": batch.results, "startedAt": now, "completedAt": now}
    if batch.errors:
        body |= {"numErrors": len(batch.errors), "errors": batch.errors}
    return Json(body, 207 if batch.errors else status)
