"""Messages that were held back: looked at, let in, or thrown away."""

from services.desk.operations import parties, records, tickets
from services.desk.operations.changing import Change
from services.desk.operations.records import Body
from services.desk.tables import suspended_tickets
from services.kernel.world import World


def recover(world: World, key: int) -> Change:
    """The message becomes a ticket of whoever sent it, as if it had come in just now."""
    body = records.need(world, suspended_tickets, key)["body"]
    sender = body["author"]
    asked: Body = {"requester": {"name": sender.get("name"), "email": sender.get("email")}}
    if sender.get("id") is not None:
        asked = {"requester_id": sender["id"]}
    requester = parties.requester_of(world, asked)
    if requester is None:
        raise LookupError(f"suspended ticket {key} has no sender")
    given = {"subject": body["subject"], "comment": {"body": body["content"] or body["subject"] or "(no text)"}}
    records.remove(world, suspended_tickets, key)
    return tickets.create(world, {**given, "requester_id": requester["id"]}, requester, body["via"])


def discard(world: World, key: int) -> None:
    records.need(world, suspended_tickets, key)
    records.remove(world, suspended_tickets, key)
