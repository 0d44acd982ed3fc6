"""Suspended tickets."""

from services.desk.rows.tickets import SuspendedTicketBody
from services.desk.schemas.base import envelope, page_of, record
from services.desk.schemas.tickets import TicketOut

SuspendedOut = record(
    "SuspendedOut",
    "A message that was held back, and why.",
    SuspendedTicketBody,
    "author subject content cause",
)


SuspendedShown = envelope("SuspendedShown", "One message that was held back.", suspended_ticket=SuspendedOut)
SuspendedList = page_of("SuspendedList", "Messages that were held back.", suspended_tickets=SuspendedOut)
Recovered = envelope("Recovered", "The ticket that a message has become.", ticket=TicketOut)
