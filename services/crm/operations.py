"""Verbs on CRM records. They know rows and refusals, never HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from services.crm.errors import InvalidProperties, RecordNotFound
from services.crm.tables import objects
from services.kernel.statements import Row, Statement, facts
from services.kernel.world import World

CONTACT = "contacts"
_CONTACT_PROPERTIES = frozenset(
    {"email", "firstname", "lastname", "phone", "company", "jobtitle", "city", "country", "lifecyclestage"}
)
_PAGE = Statement(
    sa.select(*facts(objects))
    .where(
        objects.c.kind == sa.bindparam("kind"), objects.c.archived_at.is_(None), objects.c.id > sa.bindparam("after")
    )
    .order_by(objects.c.id)
    .limit(sa.bindparam("limit"))
)


@dataclass(frozen=True, slots=True)
class Page:
    """Some records, and where the next ones start."""

    records: list[Row]
    after: int | None


def create(world: World, kind: str, properties: Mapping[str, str | None]) -> Row:
    _check(properties)
    now = world.clock.now_ms()
    row: Row = {
        "id": world.ids.next("object"),
        "kind": kind,
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
        "properties": _present(properties),
    }
    world.save(objects, row, "record.created")
    return row


def read(world: World, kind: str, record_id: str) -> Row:
    row = world.get(objects, int(record_id)) if record_id.isdecimal() and len(record_id) < 19 else None
    if row is None or row["kind"] != kind or row["archived_at"] is not None:
        raise RecordNotFound
    return row


def page(world: World, kind: str, after: int, limit: int) -> Page:
    found = world.find(_PAGE, kind=kind, after=after, limit=limit + 1)
    more = len(found) > limit
    return Page(found[:limit], found[limit - 1]["id"] if more else None)


def update(world: World, kind: str, record_id: str, properties: Mapping[str, str | None]) -> Row:
    _check(properties)
    row = read(world, kind, record_id)
    changed = {
        **row,
        "updated_at": world.clock.now_ms(),
        "properties": _present({**row["properties"], **properties}),
    }
    world.save(objects, changed, "record.updated")
    return changed


def archive(world: World, kind: str, record_id: str) -> None:
    row = read(world, kind, record_id)
    now = world.clock.now_ms()
    world.save(objects, {**row, "updated_at": now, "archived_at": now}, "record.archived")


def _check(properties: Mapping[str, str | None]) -> None:
    unknown = [name for name in properties if name not in _CONTACT_PROPERTIES]
    if unknown:
        raise InvalidProperties(
            [
                {
                    "isValid": False,
                    "message": f'Property "{name}" does not exist',
                    "error": "PROPERTY_DOESNT_EXIST",
                    "name": name,
                }
                for name in unknown
            ]
        )


def _present(properties: Mapping[str, str | None]) -> dict[str, str]:
    """An empty text clears a value; a cleared value is absent."""
    return {name: value for name, value in properties.items() if value}
