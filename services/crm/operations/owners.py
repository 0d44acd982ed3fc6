"""Owners: the people that records can be assigned to."""

from typing import Literal

from services.crm.errors import RecordNotFound
from services.crm.operations.records import parse_id
from services.crm.rows import Body, OwnerId, OwnerRow
from services.crm.tables import owners
from services.kernel.clock import iso
from services.kernel.statements import select_where
from services.kernel.world import World

_ALL = select_where(owners)
_BY_USER = select_where(owners, "user_id")


def page(
    world: World, email: str | None, after: int, limit: int, *, archived: bool
) -> tuple[list[OwnerRow], OwnerId | None]:
    rows = [
        row
        for row in world.find(_ALL)
        if row["id"] > after
        and (row["archived_at"] is not None) is archived
        and (email is None or row["email"].lower() == email.lower())
    ]
    return rows[:limit], rows[limit - 1]["id"] if len(rows) > limit else None


def read(world: World, owner_id: str, id_property: Literal["id", "userId"], *, archived: bool) -> OwnerRow:
    for row in _find(world, owner_id, id_property):
        if (row["archived_at"] is not None) is archived:
            return row
    raise RecordNotFound(f"Owner with {id_property} {owner_id} not found")


def serialize(row: OwnerRow) -> Body:
    is_inactive = row["archived_at"] is not None
    body: Body = {
        "id": str(row["id"]),
        "email": row["email"],
        "type": "PERSON",
        "firstName": row["first_name"],
        "lastName": row["last_name"],
        "userIdIncludingInactive": row["user_id"],
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": is_inactive,
    }
    if not is_inactive:
        body["userId"] = row["user_id"]
    if row["teams"]:
        body["teams"] = row["teams"]
    return body


def _find(world: World, owner_id: str, id_property: Literal["id", "userId"]) -> list[OwnerRow]:
    key = parse_id(owner_id)
    if key is None:
        return []
    if id_property == "userId":
        return world.find(_BY_USER, user_id=key)
    row = world.get(owners, OwnerId(key))
    return [] if row is None else [row]
