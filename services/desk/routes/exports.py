"""Exports of what changed since a time."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.desk.operations import incremental, showing, sideloads
from services.desk.operations.incremental import MOST, Stretch
from services.desk.operations.showing import Shown
from services.desk.routes.base import Call, included, noun_router, staff
from services.desk.schemas import exports as schemas
from services.desk.tables import audits, metric_events, organizations, tickets, users
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.statements import Row

router = noun_router("incremental")


@router.get(
    "/incremental/tickets/cursor",
    operation_id="desk.incremental.tickets_by_cursor",
    response_model=schemas.TicketStream,
)
async def ticket_stream(
    asked: Annotated[schemas.CursorAsked, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Export tickets in the order in which they last changed, deleted ones too; go on with the cursor."""
    call = staff(request, world)
    found = incremental.by_cursor(world, tickets, asked.start_time, asked.cursor, asked.per_page or MOST)
    beside = sideloads.around(world, found.rows, included(asked.include), call.base)
    return _streamed(call, "tickets", found, [_ticket(row, call.base) for row in found.rows], beside)


@router.get(
    "/incremental/users/cursor", operation_id="desk.incremental.users_by_cursor", response_model=schemas.UserStream
)
async def user_stream(
    asked: Annotated[schemas.CursorAsked, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Export users in the order in which they last changed; go on with the cursor."""
    call = staff(request, world)
    found = incremental.by_cursor(world, users, asked.start_time, asked.cursor, asked.per_page or MOST)
    return _streamed(call, "users", found, showing.many("user", found.rows, call.base), {})


@router.get("/incremental/tickets", operation_id="desk.incremental.tickets", response_model=schemas.TicketsSince)
async def tickets_since(
    asked: Annotated[schemas.TimeAsked, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Export tickets that changed since start_time, 1,000 at a time."""
    call = staff(request, world)
    found = incremental.by_time(world, tickets, asked.start_time, asked.per_page or MOST)
    beside = sideloads.around(world, found.rows, included(asked.include), call.base)
    return _since(call, "tickets", found, [_ticket(row, call.base) for row in found.rows], beside)


@router.get("/incremental/users", operation_id="desk.incremental.users", response_model=schemas.UsersSince)
async def users_since(asked: Annotated[schemas.TimeAsked, Query()], request: Request, world: CurrentWorld) -> Response:
    """Export users who changed since start_time."""
    call = staff(request, world)
    found = incremental.by_time(world, users, asked.start_time, asked.per_page or MOST)
    return _since(call, "users", found, showing.many("user", found.rows, call.base), {})


@router.get(
    "/incremental/organizations",
    operation_id="desk.incremental.organizations",
    response_model=schemas.OrganizationsSince,
)
async def organizations_since(
    asked: Annotated[schemas.TimeAsked, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Export organizations that changed since start_time."""
    call = staff(request, world)
    found = incremental.by_time(world, organizations, asked.start_time, asked.per_page or MOST)
    return _since(call, "organizations", found, showing.many("organization", found.rows, call.base), {})


@router.get(
    "/incremental/ticket_events", operation_id="desk.incremental.ticket_events", response_model=schemas.EventsSince
)
async def events_since(asked: Annotated[schemas.TimeAsked, Query()], request: Request, world: CurrentWorld) -> Response:
    """Export what happened to tickets since start_time, audit by audit."""
    call = staff(request, world)
    found = incremental.by_time(world, audits, asked.start_time, asked.per_page or MOST, "created_at")
    return _since(call, "ticket_events", found, [incremental.event(row) for row in found.rows], {})


@router.get(
    "/incremental/ticket_metric_events",
    operation_id="desk.incremental.ticket_metric_events",
    response_model=schemas.MetricEventsSince,
)
async def metric_events_since(
    asked: Annotated[schemas.TimeAsked, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Export what the clocks of tickets did since start_time: started, paused, met, missed."""
    call = staff(request, world)
    found = incremental.by_time(world, metric_events, asked.start_time, asked.per_page or MOST, "created_at")
    return _since(call, "ticket_metric_events", found, [incremental.metric_event(row) for row in found.rows], {})


def _ticket(row: Row, base: str) -> Shown:
    shown = showing.ticket(row, base)
    return {**shown, "status": "deleted"} if row["body"]["deleted_at"] is not None else shown


def _streamed(call: Call, key: str, found: Stretch, shown: list[Shown], beside: dict[str, Any]) -> Response:
    after = call.link(cursor=found.cursor, start_time=None)
    frame = {"after_url": after, "after_cursor": found.cursor, "before_url": None, "before_cursor": None}
    return Json({key: shown, **beside, **frame, "end_of_stream": found.end_of_stream})


def _since(call: Call, key: str, found: Stretch, shown: list[Shown], beside: dict[str, Any]) -> Response:
    following = call.link(start_time=found.end_time)
    frame = {"count": len(shown), "end_time": found.end_time, "next_page": following}
    return Json({key: shown, **beside, **frame, "end_of_stream": found.end_of_stream})
