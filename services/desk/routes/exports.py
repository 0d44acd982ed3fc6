"""Exports of what changed since a time."""

from typing import Annotated, Any

from fastapi import Query, Response

from services.desk.operations.exports import MOST, Export, export_by_cursor, export_by_time
from services.desk.routes.base import Call, StaffCall, noun_router, read_include
from services.desk.routes.endpoints import add_operations
from services.desk.rows.tickets import TicketRow
from services.desk.schemas import exports as schemas
from services.desk.shapes.base import Shape, render_all
from services.desk.shapes.threads import render_metric_event, render_ticket_event
from services.desk.shapes.tickets import render_related, render_ticket
from services.desk.tables import audits, metric_events, organizations, tickets, users
from services.kernel.answers import Json
from services.kernel.operations import Operation

router = noun_router("incremental")


async def ticket_stream(params: Annotated[schemas.CursorQuery, Query()], call: StaffCall) -> Response:
    """Export tickets in the order in which they last changed, deleted ones too; go on with the cursor."""
    result = export_by_cursor(call.world, tickets, params.start_time, params.cursor, params.per_page or MOST)
    related = render_related(call.world, result.rows, read_include(params.include), call.base)
    return _answer_cursor(call, "tickets", result, [_render_ticket(row, call.base) for row in result.rows], related)


async def user_stream(params: Annotated[schemas.CursorQuery, Query()], call: StaffCall) -> Response:
    """Export users in the order in which they last changed; go on with the cursor."""
    result = export_by_cursor(call.world, users, params.start_time, params.cursor, params.per_page or MOST)
    return _answer_cursor(call, "users", result, render_all("user", result.rows, call.base), {})


async def tickets_since(params: Annotated[schemas.TimeQuery, Query()], call: StaffCall) -> Response:
    """Export tickets that changed since start_time, 1,000 at a time."""
    result = export_by_time(call.world, tickets, params.start_time, params.per_page or MOST)
    related = render_related(call.world, result.rows, read_include(params.include), call.base)
    return _answer_time(call, "tickets", result, [_render_ticket(row, call.base) for row in result.rows], related)


async def users_since(params: Annotated[schemas.TimeQuery, Query()], call: StaffCall) -> Response:
    """Export users who changed since start_time."""
    result = export_by_time(call.world, users, params.start_time, params.per_page or MOST)
    return _answer_time(call, "users", result, render_all("user", result.rows, call.base), {})


async def organizations_since(params: Annotated[schemas.TimeQuery, Query()], call: StaffCall) -> Response:
    """Export organizations that changed since start_time."""
    result = export_by_time(call.world, organizations, params.start_time, params.per_page or MOST)
    return _answer_time(call, "organizations", result, render_all("organization", result.rows, call.base), {})


async def events_since(params: Annotated[schemas.TimeQuery, Query()], call: StaffCall) -> Response:
    """Export what happened to tickets since start_time, audit by audit."""
    result = export_by_time(call.world, audits, params.start_time, params.per_page or MOST, "created_at")
    return _answer_time(call, "ticket_events", result, [render_ticket_event(row) for row in result.rows], {})


async def metric_events_since(params: Annotated[schemas.TimeQuery, Query()], call: StaffCall) -> Response:
    """Export what the clocks of tickets did since start_time: started, paused, met, missed."""
    result = export_by_time(call.world, metric_events, params.start_time, params.per_page or MOST, "created_at")
    return _answer_time(call, "ticket_metric_events", result, [render_metric_event(row) for row in result.rows], {})


def _render_ticket(row: TicketRow, base: str) -> Shape:
    shape = {**render_ticket(row, base), "generated_timestamp": row["updated_at"] // 1000}
    return {**shape, "status": "deleted"} if row["body"]["deleted_at"] is not None else shape


def _answer_cursor(call: Call, key: str, result: Export[Any, Any], shapes: list[Shape], related: Shape) -> Response:
    after = call.link(cursor=result.cursor, start_time=None)
    frame = {"after_url": after, "after_cursor": result.cursor, "before_url": None, "before_cursor": None}
    return Json({key: shapes, **related, **frame, "end_of_stream": result.end_of_stream})


def _answer_time(call: Call, key: str, result: Export[Any, Any], shapes: list[Shape], related: Shape) -> Response:
    following = call.link(start_time=result.end_time)
    frame = {"count": len(shapes), "end_time": result.end_time, "next_page": following}
    return Json({key: shapes, **related, **frame, "end_of_stream": result.end_of_stream})


# fmt: off
add_operations(router, (
    Operation("desk.incremental.tickets_by_cursor", "GET", "/api/v2/incremental/tickets/cursor", "Ticket Stream",
              schemas.TicketStream, ticket_stream),
    Operation("desk.incremental.users_by_cursor", "GET", "/api/v2/incremental/users/cursor", "User Stream",
              schemas.UserStream, user_stream),
    Operation("desk.incremental.tickets", "GET", "/api/v2/incremental/tickets", "Tickets Since", schemas.TicketsSince,
              tickets_since),
    Operation("desk.incremental.users", "GET", "/api/v2/incremental/users", "Users Since", schemas.UsersSince,
              users_since),
    Operation("desk.incremental.organizations", "GET", "/api/v2/incremental/organizations", "Organizations Since",
              schemas.OrganizationsSince, organizations_since),
    Operation("desk.incremental.ticket_events", "GET", "/api/v2/incremental/ticket_events", "Events Since",
              schemas.EventsSince, events_since),
    Operation("desk.incremental.ticket_metric_events", "GET", "/api/v2/incremental/ticket_metric_events",
              "Metric Events Since", schemas.MetricEventsSince, metric_events_since),
))
# fmt: on
