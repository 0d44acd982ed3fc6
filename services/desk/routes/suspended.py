"""Suspended tickets: messages that the spam filter stopped."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.operations import suspended_tickets as operations
from services.desk.routes.base import StaffCall, answer_rows, noun_router, read_paging, read_sort
from services.desk.schemas import suspended as schemas
from services.desk.schemas.base import Paged, SuspendedTicketKey
from services.desk.shapes.base import render
from services.desk.shapes.tickets import render_ticket
from services.desk.tables import suspended_tickets
from services.kernel.answers import Json

router = noun_router("suspended tickets")
_SORT_COLUMNS = {"created_at": "created_at", "id": "id"}


@router.get("/suspended_tickets", operation_id="desk.suspended_tickets.list", response_model=schemas.SuspendedList)
async def page(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List messages that the filter held back instead of making them tickets, with the reason."""
    result = suspended_tickets.page(call.world, read_paging(params), sort=read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "suspended_ticket", "suspended_tickets", result)


@router.get(
    "/suspended_tickets/{suspended_id}",
    operation_id="desk.suspended_tickets.show",
    response_model=schemas.SuspendedShown,
)
async def show(suspended_id: SuspendedTicketKey, call: StaffCall) -> Response:
    """Read one message that was held back."""
    row = suspended_tickets.need(call.world, suspended_id)
    return Json({"suspended_ticket": render("suspended_ticket", row, call.base)})


@router.put(
    "/suspended_tickets/{suspended_id}/recover",
    operation_id="desk.suspended_tickets.recover",
    response_model=schemas.Recovered,
)
async def recover(suspended_id: SuspendedTicketKey, call: StaffCall) -> Response:
    """Let a message in that was held back by mistake: it becomes a ticket of whoever sent it."""
    change = operations.recover(call.world, suspended_id)
    return Json({"ticket": render_ticket(change.after, call.base)})


@router.delete("/suspended_tickets/{suspended_id}", operation_id="desk.suspended_tickets.delete", status_code=204)
async def delete(suspended_id: SuspendedTicketKey, call: StaffCall) -> Response:
    """Throw away a message that was held back rightly."""
    operations.discard(call.world, suspended_id)
    return Response(status_code=204)
