"""Owners: the people that records can be assigned to."""

import sqlalchemy as sa

from services.crm.errors import RecordNotFound
from services.crm.operations.records import number
from services.crm.tables import owners
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_ALL = Statement(sa.select(owners).order_by(owners.c.id))
_BY_USER = Statement(sa.select(owners).where(owners.c.user_id == sa.bindparam("user_id")).order_by(owners.c.id))


def page(world: World, email: str | None, after: int, limit: int, *, archived: bool) -> tuple[list[Row], int | None]:
    found = [
        row
        for row in world.find(_ALL)
        if row["id"] > after
        and (row["archived_at"] is not None) is archived
        and (email is None or row["email"].lower() == email.lower())
    ]
    more = len(found) > limit
    return [_shown(row) for row in found[:limit]], found[limit - 1]["id"] if more else None


def read(world: World, owner_id: str, id_property: str, *, archived: bool) -> Row:
    key = number(owner_id)
    rows = [] if key is None else [world.get(owners, key)] if id_property == "id" else world.find(_BY_USER, user_id=key)
    for row in rows:
        if row is not None and (row["archived_at"] is not None) is archived:
            return _shown(row)
    raise RecordNotFound(f"Owner with {id_property} {owner_id} not found")


def _shown(row: Row) -> Row:
    inactive = row["archived_at"] is not None
    shown: Row = {
        "id": str(row["id"]),
        "email": row["email"],
        "type": "PERSON",
        "firstName": row["first_name"],
        "lastName": row["last_name"],
        "userIdIncludingInactive": row["user_id"],
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": inactive,
    }
    if not inactive:
        shown["userId"] = row["user_id"]
    if row["teams"]:
        shown["teams"] = row["teams"]
    return shown
