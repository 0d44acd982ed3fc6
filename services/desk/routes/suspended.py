"""Suspended tickets: messages that the spam filter stopped."""

from fastapi import Response

from services.desk.operations import suspended_tickets as operations
from services.desk.routes import endpoints as serve
from services.desk.routes.base import StaffCall, noun_router
from services.desk.routes.endpoints import add_operations, resource
from services.desk.schemas import suspended as schemas
from services.desk.schemas.base import SuspendedTicketKey
from services.desk.shapes.tickets import render_ticket
from services.desk.tables import suspended_tickets
from services.kernel.answers import Json
from services.kernel.operations import Operation

router = noun_router("suspended tickets")
_SUSPENDED = resource(suspended_tickets)
_SORT_COLUMNS = {"created_at": "created_at", "id": "id"}


async def recover(suspended_id: SuspendedTicketKey, call: StaffCall) -> Response:
    """Let a message in that was held back by mistake: it becomes a ticket of whoever sent it."""
    change = operations.recover(call.world, suspended_id)
    return Json({"ticket": render_ticket(change.after, call.base)})


# fmt: off
add_operations(router, (
    Operation("desk.suspended_tickets.list", "GET", "/api/v2/suspended_tickets", "Page", schemas.SuspendedList,
              serve.list_rows(_SUSPENDED, sorts=_SORT_COLUMNS),
              "List messages that the filter held back instead of making them tickets, with the reason."),
    Operation("desk.suspended_tickets.show", "GET", "/api/v2/suspended_tickets/{suspended_id}", "Show",
              schemas.SuspendedShown, serve.show(_SUSPENDED), "Read one message that was held back."),
    Operation("desk.suspended_tickets.recover", "PUT", "/api/v2/suspended_tickets/{suspended_id}/recover", "Recover",
              schemas.Recovered, recover),
    Operation("desk.suspended_tickets.delete", "DELETE", "/api/v2/suspended_tickets/{suspended_id}", "Delete", None,
              serve.delete(operations.discard), "Throw away a message that was held back rightly.", status=204),
))
# fmt: on
