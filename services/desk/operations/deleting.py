"""Tickets that leave the desk: deleted, marked as spam, and brought back."""

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations import callers, records
from services.desk.operations.changing import API, change_ticket
from services.desk.operations.listing import Where
from services.desk.operations.showing import Shown, iso
from services.desk.operations.tickets import read
from services.desk.tables import tickets, users
from services.kernel.statements import Row
from services.kernel.world import World

DELETED = Where("deleted_at IS NOT NULL")


def delete(world: World, key: int, author: Row) -> None:
    row = read(world, key)
    changes = {"deleted_at": world.clock.now_ms(), "deleted_by": author["id"]}
    change_ticket(world, row, changes, author["id"], API, event="ticket.deleted")


def restore(world: World, key: int, author: Row) -> None:
    row = records.need(world, tickets, key)
    if row["body"]["deleted_at"] is None:
        raise RecordNotFound
    change_ticket(world, row, {"deleted_at": None, "deleted_by": None}, author["id"], API, event="ticket.restored")


def mark_as_spam(world: World, key: int, author: Row) -> None:
    """The ticket goes, and its requester is suspended."""
    row = read(world, key)
    requester = records.known(world, users, row["body"]["requester_id"])
    if callers.is_staff(requester):
        raise RecordInvalid("requester", "Requester: an agent cannot be suspended")
    records.change(world, users, requester, {"suspended": True})
    delete(world, key, author)


def shown(world: World, row: Row) -> Shown:
    body = row["body"]
    by = world.get(users, body["deleted_by"]) if body["deleted_by"] is not None else None
    return {
        "id": row["id"],
        "subject": body["subject"],
        "description": body["description"],
        "actor": {"id": body["deleted_by"] or -1, "name": by["body"]["name"] if by is not None else "System"},
        "deleted_at": iso(body["deleted_at"]),
        "previous_state": body["status"],
    }
