"""Views: saved lists of tickets."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import PageNumbering
from services.desk.operations import views as operations
from services.desk.operations.rule_crud import BY_POSITION, VIEWS, read_view
from services.desk.routes import endpoints as serve
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
from services.desk.routes.endpoints import Resource, add_operations
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
from services.kernel.operations import Operation

router = noun_router("views")
MOST_COMPACT = 32
MOST_COUNTED = 20
_VIEWS = Resource(views, "views", render_view)


async def compact(call: StaffCall) -> Response:
    """List the first 32 views in use, on one page."""
    page = VIEWS.page(call.world, PageNumbering(1, MOST_COMPACT), BY_POSITION, active=True)
    return answer_list("views", [render_view(row, call.base) for row in page.rows])


async def count_many(params: Annotated[TicketMany, Query()], call: StaffCall) -> Response:
    """Count the tickets of up to 20 views at once."""
    rows = views.by_ids(call.world, [ViewId(key) for key in read_ids(params.ids, most=MOST_COUNTED)])
    return Json({"view_counts": [_count(call, row) for row in rows]})


async def preview(body: schemas.ViewBody, call: StaffCall) -> Response:
    """Look at the tickets of a view that does not exist: give its conditions and columns, nothing is saved."""
    view = read_view(body.view.dump())
    page = operations.execute(call.world, view, call.user, PageNumbering())
    return Json({**render_view_rows(view, page, call.base), **page_links(call, page)})


async def preview_count(body: schemas.ViewBody, call: StaffCall) -> Response:
    """Count the tickets of a view that does not exist."""
    value = operations.count_tickets(call.world, read_view(body.view.dump()), call.user)
    count = {"url": call.link(), "view_id": None, "value": value, "pretty": round_count(value), "fresh": True}
    return Json({"view_count": count})


async def list_tickets(view_id: ViewKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tickets that are in a view right now, whole, in the view's order."""
    view = operations.get_usable(call.world, view_id)["body"]
    sort = read_sort(params, operations.SORT_COLUMNS, operations.default_sort(view))
    page = operations.list_tickets(call.world, view, call.user, read_paging(params), sort)
    shapes, related = render_tickets(call.world, page.rows, read_include(params.include), call.base)
    return answer_page(call, "tickets", page, shapes, **related)


async def execute(view_id: ViewKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """Carry out a view: one row per ticket with the view's columns, grouped and sorted as the view says."""
    view = operations.get_usable(call.world, view_id)["body"]
    page = operations.execute(call.world, view, call.user, read_numbered(params))
    shape = {**render_view_rows(view, page, call.base), **page_links(call, page)}
    return Json({**shape, "view": {"id": view_id, "url": f"{call.base}/api/v2/views/{view_id}.json"}})


async def count(view_id: ViewKey, call: StaffCall) -> Response:
    """Count the tickets that are in a view right now."""
    return Json({"view_count": _count(call, views.need(call.world, view_id))})


def _count(call: Call, row: ViewRow) -> Shape:
    value = operations.count_tickets(call.world, row["body"], call.user)
    return render_view_count(row["id"], value, call.base)


# fmt: off
add_operations(router, (
    Operation("desk.views.list", "GET", "/api/v2/views", "Page", schemas.ViewsOut, serve.list_rules(_VIEWS, VIEWS),
              'List the views of the desk: saved lists of tickets such as "Unassigned tickets".'),
    Operation("desk.views.active", "GET", "/api/v2/views/active", "Active", schemas.ViewsOut,
              serve.list_active_rules(_VIEWS, VIEWS), "List the views that are in use."),
    Operation("desk.views.compact", "GET", "/api/v2/views/compact", "Compact", schemas.ViewsOut, compact),
    Operation("desk.views.search", "GET", "/api/v2/views/search", "Search", schemas.ViewsOut,
              serve.search_rules(_VIEWS, VIEWS), "Find views by part of their title."),
    Operation("desk.views.count_many", "GET", "/api/v2/views/count_many", "Count Many", schemas.ViewCountsOut,
              count_many),
    Operation("desk.views.preview", "POST", "/api/v2/views/preview", "Preview", schemas.ViewRowsOut, preview),
    Operation("desk.views.preview_count", "POST", "/api/v2/views/preview/count", "Preview Count",
              schemas.ViewCountShown, preview_count),
    Operation("desk.views.show", "GET", "/api/v2/views/{view_id}", "Show", schemas.ViewShown, serve.show(_VIEWS),
              "Read one view: its conditions, columns and order."),
    Operation("desk.views.create", "POST", "/api/v2/views", "Create", schemas.ViewShown,
              serve.write(_VIEWS, schemas.ViewBody, VIEWS.create, 201),
              "Make a view from conditions; one of `all` must be on status, type, group_id, assignee_id or "
              "requester_id.", status=201),
    Operation("desk.views.update", "PUT", "/api/v2/views/{view_id}", "Update", schemas.ViewShown,
              serve.write(_VIEWS, schemas.ViewBody, VIEWS.update),
              "Change a view; conditions and output are replaced as a whole."),
    Operation("desk.views.delete", "DELETE", "/api/v2/views/{view_id}", "Delete", None, serve.delete(VIEWS.delete),
              "Delete a view; its tickets stay.", status=204),
    Operation("desk.views.tickets", "GET", "/api/v2/views/{view_id}/tickets", "Tickets", TicketsOut, list_tickets),
    Operation("desk.views.execute", "GET", "/api/v2/views/{view_id}/execute", "Execute", schemas.ViewRowsOut, execute),
    Operation("desk.views.count", "GET", "/api/v2/views/{view_id}/count", "Count", schemas.ViewCountShown, count),
))
# fmt: on
