"""Tickets that are deleted, marked as spam, and restored."""

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations.tickets import get_ticket
from services.desk.records.people import is_staff
from services.desk.records.ticket_changes import API, change_ticket
from services.desk.rows import TicketId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketChanges
from services.desk.tables import tickets, users
from services.kernel.documents import is_set
from services.kernel.world import World

DELETED = is_set("deleted_at")


def delete_ticket(world: World, key: TicketId, author: UserRow) -> None:
    row = get_ticket(world, key)
    changes: TicketChanges = {"deleted_at": world.clock.now_ms(), "deleted_by": author["id"]}
    change_ticket(world, row, changes, author["id"], API, event="ticket.deleted")


def restore_ticket(world: World, key: TicketId, author: UserRow) -> None:
    row = tickets.need(world, key)
    if row["body"]["deleted_at"] is None:
        raise RecordNotFound
    change_ticket(world, row, {"deleted_at": None, "deleted_by": None}, author["id"], API, event="ticket.restored")


def mark_as_spam(world: World, key: TicketId, author: UserRow) -> None:
    """Deletes the ticket and suspends its requester."""
    row = get_ticket(world, key)
    requester = users.must_exist(world, row["body"]["requester_id"])
    if is_staff(requester):
        raise RecordInvalid("requester", "Requester: an agent cannot be suspended")
    users.change(world, requester, {**requester["body"], "suspended": True})
    delete_ticket(world, key, author)
