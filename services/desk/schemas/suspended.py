"""Suspended tickets."""

from typing import Any

from services.desk.schemas.base import ResponseBody, envelope, page_of
from services.desk.schemas.tickets import TicketOut


class SuspendedOut(ResponseBody):
    """A message that was held back, and why."""

    id: int
    url: str
    author: dict[str, Any]
    subject: str | None
    content: str | None
    cause: str
    created_at: str
    updated_at: str


SuspendedShown = envelope("SuspendedShown", "One message that was held back.", suspended_ticket=SuspendedOut)
SuspendedList = page_of("SuspendedList", "Messages that were held back.", suspended_tickets=list[SuspendedOut])
Recovered = envelope("Recovered", "The ticket that a message has become.", ticket=TicketOut)
