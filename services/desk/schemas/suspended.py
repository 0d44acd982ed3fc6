"""Suspended tickets."""

from typing import Any

from services.desk.schemas.base import Answered, PageOut
from services.desk.schemas.tickets import TicketOut


class SuspendedOut(Answered):
    """A message that was held back, and why."""

    id: int
    url: str
    author: dict[str, Any]
    subject: str | None
    content: str | None
    cause: str
    created_at: str
    updated_at: str


class SuspendedShown(Answered):
    """One message that was held back."""

    suspended_ticket: SuspendedOut


class SuspendedList(PageOut):
    """Messages that were held back."""

    suspended_tickets: list[SuspendedOut]


class Recovered(Answered):
    """The ticket that a message has become."""

    ticket: TicketOut
