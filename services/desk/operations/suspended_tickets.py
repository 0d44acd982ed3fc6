"""Suspended tickets: messages that the spam filter stopped, recovered or deleted."""

from services.desk.operations.ticket_people import read_requester
from services.desk.operations.tickets import create_ticket
from services.desk.records.payload import Payload
from services.desk.records.ticket_changes import TicketChange
from services.desk.rows import SuspendedTicketId
from services.desk.tables import suspended_tickets
from services.kernel.world import World


def recover(world: World, key: SuspendedTicketId) -> TicketChange:
    """Makes the message a ticket of its sender, as if it had come in just now."""
    body = suspended_tickets.need(world, key)["body"]
    sender = body["author"]
    person: Payload = {"requester": {"name": sender.get("name"), "email": sender.get("email")}}
    if sender.get("id") is not None:
        person = {"requester_id": sender["id"]}
    requester = read_requester(world, person)
    if requester is None:
        raise LookupError(f"suspended ticket {key} has no sender")
    comment = {"body": body["content"] or body["subject"] or "(no text)"}
    suspended_tickets.discard(world, key)
    payload = {"subject": body["subject"], "comment": comment, "requester_id": requester["id"]}
    return create_ticket(world, payload, requester, body["via"])


def discard(world: World, key: SuspendedTicketId) -> None:
    suspended_tickets.need(world, key)
    suspended_tickets.discard(world, key)
