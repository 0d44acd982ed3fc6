"""Views: lists of tickets that keep themselves up to date."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.desk.errors import RecordNotFound
from services.desk.operations import listing, records, sideloads
from services.desk.operations.listing import Numbered, Page
from services.desk.operations.records import Body
from services.desk.routes.base import Call, around, ids_of, included, listed, noun_router, order, paging, staff
from services.desk.rules import keeping, vetting, viewing
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.schemas.tickets import TicketMany, TicketsOut
from services.desk.tables import views
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.world import World

router = noun_router("views")
MOST_COMPACT = 32
MOST_COUNTED = 20


@router.get("/views", operation_id="desk.views.list", response_model=schemas.ViewsOut)
async def page(asked: Annotated[schemas.RuleList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the views of the desk: saved lists of tickets such as "Unassigned tickets"."""
    return _page(request, world, asked, asked.active)


@router.get("/views/active", operation_id="desk.views.active", response_model=schemas.ViewsOut)
async def active(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the views that are in use."""
    return _page(request, world, asked, True)


@router.get("/views/compact", operation_id="desk.views.compact", response_model=schemas.ViewsOut)
async def compact(request: Request, world: CurrentWorld) -> Response:
    """List the first 32 views in use, on one page."""
    call = staff(request, world)
    found = keeping.page(world, views, Numbered(1, MOST_COMPACT), keeping.IN_ORDER, active=True)
    shown = [viewing.shown(row, call.base) for row in found.rows]
    return Json({"views": shown, "count": len(shown), "next_page": None, "previous_page": None})


@router.get("/views/search", operation_id="desk.views.search", response_model=schemas.ViewsOut)
async def search(asked: Annotated[schemas.RuleSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Find views by part of their title."""
    return _page(request, world, asked, asked.active, asked.query)


@router.get("/views/count_many", operation_id="desk.views.count_many", response_model=schemas.ViewCountsOut)
async def count_many(asked: Annotated[TicketMany, Query()], request: Request, world: CurrentWorld) -> Response:
    """Count the tickets of up to 20 views at once."""
    call = staff(request, world)
    rows = listing.by_ids(world, views, ids_of(asked.ids, most=MOST_COUNTED))
    return Json({"view_counts": [_count(call, world, row) for row in rows]})


@router.post("/views/preview", operation_id="desk.views.preview", response_model=schemas.ViewRowsOut)
async def preview(body: schemas.ViewBody, request: Request, world: CurrentWorld) -> Response:
    """Look at the tickets of a view that does not exist: give its conditions and columns, nothing is saved."""
    call = staff(request, world)
    made = _imagined(body.view.given())
    return Json(_executed(call, made, viewing.executed(world, made, call.user, Numbered())))


@router.post("/views/preview/count", operation_id="desk.views.preview_count", response_model=schemas.ViewCountShown)
async def preview_count(body: schemas.ViewBody, request: Request, world: CurrentWorld) -> Response:
    """Count the tickets of a view that does not exist."""
    call = staff(request, world)
    value = viewing.selection(world, _imagined(body.view.given()), call.user).count()
    told = {"url": call.link(), "view_id": None, "value": value, "pretty": viewing.pretty(value), "fresh": True}
    return Json({"view_count": told})


@router.get("/views/{view_id}", operation_id="desk.views.show", response_model=schemas.ViewShown)
async def show(view_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one view: its conditions, columns and order."""
    call = staff(request, world)
    return Json({"view": viewing.shown(records.need(world, views, view_id), call.base)})


@router.post("/views", operation_id="desk.views.create", response_model=schemas.ViewShown, status_code=201)
async def create(body: schemas.ViewBody, request: Request, world: CurrentWorld) -> Response:
    """Make a view from conditions; one of `all` must be on status, type, group_id, assignee_id or requester_id."""
    call = staff(request, world)
    return Json({"view": viewing.shown(keeping.create(world, views, body.view.given()), call.base)}, 201)


@router.put("/views/{view_id}", operation_id="desk.views.update", response_model=schemas.ViewShown)
async def update(view_id: Id, body: schemas.ViewBody, request: Request, world: CurrentWorld) -> Response:
    """Change a view; conditions and output are replaced as a whole."""
    call = staff(request, world)
    return Json({"view": viewing.shown(keeping.update(world, views, view_id, body.view.given()), call.base)})


@router.delete("/views/{view_id}", operation_id="desk.views.delete", status_code=204)
async def delete(view_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete a view; its tickets stay."""
    staff(request, world)
    keeping.delete(world, views, view_id)
    return Response(status_code=204)


@router.get("/views/{view_id}/tickets", operation_id="desk.views.tickets", response_model=TicketsOut)
async def tickets(view_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the tickets that are in a view right now, whole, in the view's order."""
    call = staff(request, world)
    body = _usable(world, view_id)
    columns = {name: column for name, (_, column, _) in viewing.COLUMNS.items() if column is not None}
    found = viewing.page(world, body, call.user, paging(asked), order(asked, columns, viewing.order_of(body)))
    shown, beside = sideloads.tickets(world, found.rows, included(asked.include), call.base)
    return listed(call, "tickets", found, shown, **beside)


@router.get("/views/{view_id}/execute", operation_id="desk.views.execute", response_model=schemas.ViewRowsOut)
async def execute(view_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """Carry out a view: one row per ticket with the view's columns, grouped and sorted as the view says."""
    call = staff(request, world)
    body = _usable(world, view_id)
    numbered = Numbered(asked.page or 1, asked.per_page or 100)
    told = _executed(call, body, viewing.executed(world, body, call.user, numbered))
    return Json({**told, "view": {"id": view_id, "url": f"{call.base}/api/v2/views/{view_id}.json"}})


@router.get("/views/{view_id}/count", operation_id="desk.views.count", response_model=schemas.ViewCountShown)
async def count(view_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Count the tickets that are in a view right now."""
    call = staff(request, world)
    return Json({"view_count": _count(call, world, records.need(world, views, view_id))})


def _page(request: Request, world: World, asked: Paged, active: bool | None, words: str | None = None) -> Response:
    call = staff(request, world)
    sorting = order(asked, keeping.SORTED, keeping.IN_ORDER)
    found = keeping.page(world, views, paging(asked), sorting, active=active, words=words)
    return listed(call, "views", found, [viewing.shown(row, call.base) for row in found.rows])


def _usable(world: World, view_id: int) -> Body:
    """A view that is switched off shows nothing."""
    row = records.need(world, views, view_id)
    if not row["body"]["active"]:
        raise RecordNotFound
    body: Body = row["body"]
    return body


def _imagined(given: Body) -> Body:
    conditions = vetting.conditions_of(given)
    vetting.of_view(conditions)
    return {"conditions": conditions, "output": keeping.output_of(given.get("output"))}


def _executed(call: Call, body: Body, found: Page) -> dict[str, Any]:
    rows = [viewing.row_of(row, body, call.base) for row in found.rows]
    return {"columns": viewing.columns(body), "rows": rows, "view": {}, **around(call, found)}


def _count(call: Call, world: World, row: Body) -> dict[str, Any]:
    return viewing.counted(row, viewing.selection(world, row["body"], call.user).count(), call.base)
