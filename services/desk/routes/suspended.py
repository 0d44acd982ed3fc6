"""Suspended tickets: messages that the filter held back."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.operations import listing, records, showing
from services.desk.routes.base import listed, noun_router, order, paging, staff
from services.desk.rules import suspension
from services.desk.schemas import suspended as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import suspended_tickets
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("suspended tickets")
_SORTED = {"created_at": "created_at", "id": "id"}


@router.get("/suspended_tickets", operation_id="desk.suspended_tickets.list", response_model=schemas.SuspendedList)
async def page(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List messages that the filter held back instead of making them tickets, with the reason."""
    call = staff(request, world)
    found = listing.page(world, suspended_tickets, paging(asked), order=order(asked, _SORTED))
    return listed(call, "suspended_tickets", found, showing.many("suspended_ticket", found.rows, call.base))


@router.get(
    "/suspended_tickets/{suspended_id}",
    operation_id="desk.suspended_tickets.show",
    response_model=schemas.SuspendedShown,
)
async def show(suspended_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one message that was held back."""
    call = staff(request, world)
    row = records.need(world, suspended_tickets, suspended_id)
    return Json({"suspended_ticket": showing.shown("suspended_ticket", row, call.base)})


@router.put(
    "/suspended_tickets/{suspended_id}/recover",
    operation_id="desk.suspended_tickets.recover",
    response_model=schemas.Recovered,
)
async def recover(suspended_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Let a message in that was held back by mistake: it becomes a ticket of whoever sent it."""
    call = staff(request, world)
    change = suspension.recover(world, suspended_id)
    return Json({"ticket": showing.ticket(change.after, call.base)})


@router.delete("/suspended_tickets/{suspended_id}", operation_id="desk.suspended_tickets.delete", status_code=204)
async def delete(suspended_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Throw away a message that was held back rightly."""
    staff(request, world)
    suspension.discard(world, suspended_id)
    return Response(status_code=204)
