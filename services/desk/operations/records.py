"""Rows: find, add, change, remove."""

from typing import Any

import sqlalchemy as sa

from services.desk.errors import RecordInvalid, RecordNotFound
from services.kernel.statements import Row
from services.kernel.world import Key, World

Body = dict[str, Any]
Given = dict[str, Any]


def need(world: World, table: sa.Table, key: Key) -> Row:
    """The row that a path names."""
    row = world.get(table, key)
    if row is None:
        raise RecordNotFound
    return row


def refer(world: World, table: sa.Table, key: Key, field: str) -> Row:
    """The row that a value names."""
    row = world.get(table, key)
    if row is None:
        raise RecordInvalid(field, f"{field.removesuffix('_id').replace('_', ' ').capitalize()}: is invalid")
    return row


def known(world: World, table: sa.Table, key: Key) -> Row:
    """A row that one of our own rows names: it is there, or we are broken."""
    row = world.get(table, key)
    if row is None:
        raise LookupError(f"{table.name} has no {key}")
    return row


def add(world: World, table: sa.Table, body: Body, key: Key | None = None) -> Row:
    now = world.clock.now_ms()
    number = world.ids.next(str(table.name)) if key is None else key
    row = {"id": number, "created_at": now, "updated_at": now, "body": body}
    world.save(table, row, f"{table.info['kind']}.created")
    return row


def change(world: World, table: sa.Table, row: Row, changes: Body, event: str = "updated") -> Row:
    """Write what differs; a row that stays as it is keeps its time too."""
    body = {**row["body"], **changes}
    if body == row["body"]:
        return row
    after = {**row, "updated_at": world.clock.now_ms(), "body": body}
    world.save(table, after, f"{table.info['kind']}.{event}")
    return after


def remove(world: World, table: sa.Table, key: Key) -> None:
    world.remove(table, key, f"{table.info['kind']}.deleted")
