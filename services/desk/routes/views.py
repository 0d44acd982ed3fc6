"""Views: saved lists of tickets."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import Numbered
from services.desk.operations import views as operations
from services.desk.operations.rule_crud import BY_POSITION, VIEWS, read_view
from services.desk.routes.base import (
    Call,
    StaffCall,
    answer_list,
    answer_page,
    noun_router,
    page_links,
    read_ids,
    read_include,
    read_numbered,
    read_paging,
    read_sort,
)
from services.desk.routes.crud import Resource, add_operations
from services.desk.rows import ViewId
from services.desk.rows.rules import ViewRow
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import Paged, ViewKey
from services.desk.schemas.tickets import TicketMany, TicketsOut
from services.desk.shapes.base import Shape
from services.desk.shapes.rules import render_view, render_view_count, render_view_rows, round_count
from services.desk.shapes.tickets import render_tickets
from services.desk.tables import views
from services.kernel.answers import Json

router = noun_router("views")
MOST_COMPACT = 32
MOST_COUNTED = 20
_VIEW = Resource("view", "views", VIEWS, schemas.ViewBody, schemas.ViewShown, schemas.ViewsOut, render_view)
add_operations(
    router,
    _VIEW,
    {
        "list": ("GET /views", 'List the views of the desk: saved lists of tickets such as "Unassigned tickets".'),
        "active": ("GET /views/active", "List the views that are in use."),
    },
)


@router.get("/views/compact", operation_id="desk.views.compact", response_model=schemas.ViewsOut)
async def compact(call: StaffCall) -> Response:
    """List the first 32 views in use, on one page."""
    page = VIEWS.page(call.world, Numbered(1, MOST_COMPACT), BY_POSITION, active=True)
    return answer_list("views", [render_view(row, call.base) for row in page.rows])


add_operations(router, _VIEW, {"search": ("GET /views/search", "Find views by part of their title.")})


@router.get("/views/count_many", operation_id="desk.views.count_many", response_model=schemas.ViewCountsOut)
async def count_many(params: Annotated[TicketMany, Query()], call: StaffCall) -> Response:
    """Count the tickets of up to 20 views at once."""
    rows = views.by_ids(call.world, [ViewId(key) for key in read_ids(params.ids, most=MOST_COUNTED)])
    return Json({"view_counts": [_count(call, row) for row in rows]})


@router.post("/views/preview", operation_id="desk.views.preview", response_model=schemas.ViewRowsOut)
async def preview(body: schemas.ViewBody, call: StaffCall) -> Response:
    """Look at the tickets of a view that does not exist: give its conditions and columns, nothing is saved."""
    view = read_view(body.view.dump())
    page = operations.execute(call.world, view, call.user, Numbered())
    return Json({**render_view_rows(view, page, call.base), **page_links(call, page)})


@router.post("/views/preview/count", operation_id="desk.views.preview_count", response_model=schemas.ViewCountShown)
async def preview_count(body: schemas.ViewBody, call: StaffCall) -> Response:
    """Count the tickets of a view that does not exist."""
    value = operations.count_tickets(call.world, read_view(body.view.dump()), call.user)
    count = {"url": call.link(), "view_id": None, "value": value, "pretty": round_count(value), "fresh": True}
    return Json({"view_count": count})


add_operations(
    router,
    _VIEW,
    {
        "show": ("GET /views/{view_id}", "Read one view: its conditions, columns and order."),
        "create": (
            "POST /views",
            "Make a view from conditions; one of `all` must be on status, type, group_id, assignee_id or requester_id.",
        ),
        "update": ("PUT /views/{view_id}", "Change a view; conditions and output are replaced as a whole."),
        "delete": ("DELETE /views/{view_id}", "Delete a view; its tickets stay."),
    },
)


@router.get("/views/{view_id}/tickets", operation_id="desk.views.tickets", summary="Tickets", response_model=TicketsOut)
async def list_tickets(view_id: ViewKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tickets that are in a view right now, whole, in the view's order."""
    view = operations.get_usable(call.world, view_id)["body"]
    sort = read_sort(params, operations.SORT_COLUMNS, operations.default_sort(view))
    page = operations.list_tickets(call.world, view, call.user, read_paging(params), sort)
    shapes, related = render_tickets(call.world, page.rows, read_include(params.include), call.base)
    return answer_page(call, "tickets", page, shapes, **related)


@router.get("/views/{view_id}/execute", operation_id="desk.views.execute", response_model=schemas.ViewRowsOut)
async def execute(view_id: ViewKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """Carry out a view: one row per ticket with the view's columns, grouped and sorted as the view says."""
    view = operations.get_usable(call.world, view_id)["body"]
    page = operations.execute(call.world, view, call.user, read_numbered(params))
    shape = {**render_view_rows(view, page, call.base), **page_links(call, page)}
    return Json({**shape, "view": {"id": view_id, "url": f"{call.base}/api/v2/views/{view_id}.json"}})


@router.get("/views/{view_id}/count", operation_id="desk.views.count", response_model=schemas.ViewCountShown)
async def count(view_id: ViewKey, call: StaffCall) -> Response:
    """Count the tickets that are in a view right now."""
    return Json({"view_count": _count(call, views.need(call.world, view_id))})


def _count(call: Call, row: ViewRow) -> Shape:
    value = operations.count_tickets(call.world, row["body"], call.user)
    return render_view_count(row["id"], value, call.base)
