"""Records of every type, one engine: create, read, page, update, archive."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import sqlalchemy as sa

from services.crm.errors import AlreadyExists, InvalidRequest, MissingProperties, RecordNotFound
from services.crm.indexing import fold
from services.crm.kinds import Kind
from services.crm.operations import associations, definitions, object_types, values
from services.crm.operations.associations import Spec
from services.crm.operations.definitions import Definition
from services.crm.operations.values import Given, Values
from services.crm.tables import merges, objects, qualified, stages
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement, facts
from services.kernel.world import World

_PAGE = Statement(
    sa.select(*facts(objects))
    .where(
        objects.c.kind == sa.bindparam("kind"), objects.c.archived_at.is_(None), objects.c.id > sa.bindparam("after")
    )
    .order_by(objects.c.id)
    .limit(sa.bindparam("limit"))
)
_ARCHIVED_PAGE = Statement(
    sa.select(*facts(objects))
    .where(
        objects.c.kind == sa.bindparam("kind"), objects.c.archived_at.is_not(None), objects.c.id > sa.bindparam("after")
    )
    .order_by(objects.c.id)
    .limit(sa.bindparam("limit"))
)
# The index of values knows live records only.
_HOLDER = (
    "SELECT object_id FROM property_values "
    "WHERE kind = :kind AND name = :name AND folded = :folded ORDER BY object_id LIMIT 1"
)
_FURTHER_EMAIL = (
    "SELECT object_id FROM property_values WHERE kind = 'contacts' AND name = 'hs_additional_emails' "
    "AND instr(';' || folded || ';', ';' || :folded || ';') ORDER BY object_id LIMIT 1"
)
_ARCHIVED_VALUES = (
    "SELECT id, properties ->> :path FROM objects WHERE kind = :kind AND archived_at IS NOT NULL ORDER BY id"
)
_BY_IDS = Statement(sa.select(*facts(objects)).where(sa.text("objects.id IN (SELECT value FROM json_each(:ids))")))
_CLOSING = {"deals": ("dealstage", "closedate"), "tickets": ("hs_pipeline_stage", "closed_date")}
LONGEST_ID = 18


@dataclass(frozen=True, slots=True)
class Tie:
    """An association asked for together with a new record."""

    to_id: str
    specs: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Some records, and where the next ones start."""

    records: list[Row]
    after: int | None


def create(world: World, kind: Kind, given: Given, ties: Sequence[Tie] = ()) -> Row:
    """Everything is checked before anything is written, so that one input of a batch can fail alone."""
    after, known = values.accept(world, kind, given, {})
    _require(kind, after)
    _refuse_taken(world, kind, after, known, None)
    wanted = [_resolved(world, kind, tie) for tie in ties]
    now = world.clock.now_ms()
    row: Row = {
        "id": world.ids.next("object"),
        "kind": kind.name,
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
        "properties": _consequences(world, kind, given, after, now),
    }
    world.save(objects, row, "record.created")
    for other, types in wanted:
        associations.tie(world, row, other, types)
    return row


def find(
    world: World, kind: Kind, record_id: str, id_property: str | None = None, *, archived: bool = False
) -> Row | None:
    """By id, by the id of a record merged into it, or by a unique value."""
    key = _key(world, kind, record_id, id_property, archived=archived)
    row = None if key is None else world.get(objects, key)
    if row is not None and row["archived_at"] is not None and not archived:
        row = _winner(world, row["id"])
    if row is None or row["kind"] != kind.name or (row["archived_at"] is not None) is not archived:
        return None
    return row


def find_many(world: World, kind: Kind, record_ids: Sequence[str]) -> dict[str, Row]:
    """As `find` by id, for many at once; what is not there is left out."""
    keys = {one: key for one in record_ids if (key := number(one)) is not None}
    rows = fetch(world, list(dict.fromkeys(keys.values())))
    found: dict[str, Row] = {}
    for one, key in keys.items():
        row = rows.get(key)
        if row is None or row["kind"] != kind.name or row["archived_at"] is not None:
            row = find(world, kind, one)
        if row is not None:
            found[one] = row
    return found


def fetch(world: World, ids: Sequence[int]) -> dict[int, Row]:
    return {row["id"]: row for row in world.find(_BY_IDS, ids=orjson.dumps(list(ids)).decode())}


def read(world: World, kind: Kind, record_id: str, id_property: str | None = None, *, archived: bool = False) -> Row:
    row = find(world, kind, record_id, id_property, archived=archived)
    if row is None:
        raise RecordNotFound
    return row


def page(world: World, kind: Kind, after: int, limit: int, *, archived: bool = False) -> Page:
    found = world.find(_ARCHIVED_PAGE if archived else _PAGE, kind=kind.name, after=after, limit=limit + 1)
    more = len(found) > limit
    return Page(found[:limit], found[limit - 1]["id"] if more else None)


def update(world: World, kind: Kind, row: Row, given: Given) -> Row:
    after, known = values.accept(world, kind, given, row["properties"])
    _refuse_taken(world, kind, {name: after[name] for name in given if name in after}, known, row["id"])
    now = world.clock.now_ms()
    properties = _consequences(world, kind, given, after, now)
    if properties == row["properties"]:
        return row
    changed = {**row, "updated_at": now, "properties": properties}
    world.save(objects, changed, "record.updated")
    return changed


def archive(world: World, row: Row) -> None:
    now = world.clock.now_ms()
    world.save(objects, {**row, "updated_at": now, "archived_at": now}, "record.archived")


def holder(world: World, kind: str, name: str, value: str) -> int | None:
    """The live record that has this value."""
    found = world.rows(_HOLDER, {"kind": kind, "name": name, "folded": fold(value)})
    if not found and (kind, name) == ("contacts", "email"):
        found = world.rows(_FURTHER_EMAIL, {"folded": fold(value)})
    return found[0][0] if found else None


def number(record_id: str) -> int | None:
    return int(record_id) if record_id.isascii() and record_id.isdecimal() and len(record_id) <= LONGEST_ID else None


def _key(world: World, kind: Kind, record_id: str, id_property: str | None, *, archived: bool) -> int | None:
    if id_property in (None, "", "hs_object_id"):
        return number(record_id)
    assert id_property is not None, "the line above took it"
    if not definitions.require(world, kind.name, id_property).is_unique:
        raise InvalidRequest(
            f"Property {id_property} is not a unique identifier property for {kind.name}",
            context={"idProperty": [id_property]},
        )
    if not archived:
        return holder(world, kind.name, id_property, record_id)
    path = f"$.{orjson.dumps(id_property).decode()}"
    held = world.rows(_ARCHIVED_VALUES, {"kind": kind.name, "path": path})
    return next((found for found, value in held if value is not None and fold(value) == fold(record_id)), None)


def _winner(world: World, record_id: int) -> Row | None:
    """Merges can follow each other: A into B, then B into C."""
    merged = world.get(merges, record_id)
    while merged is not None:
        row = world.get(objects, merged["winner_id"])
        if row is None or row["archived_at"] is None:
            return row
        merged = world.get(merges, merged["winner_id"])
    return None


def _require(kind: Kind, after: Values) -> None:
    missing = [name for name in kind.required if name not in after]
    if missing:
        raise MissingProperties(kind.singular, missing)
    if kind.name == "companies" and not (after.get("name") or after.get("domain")):
        raise MissingProperties(kind.singular, ["name", "domain"])


def _refuse_taken(world: World, kind: Kind, after: Values, known: dict[str, Definition], own: int | None) -> None:
    for name, definition in known.items():
        if not definition.is_unique or name not in after:
            continue
        taken = holder(world, kind.name, name, after[name])
        if taken is None or taken == own:
            continue
        if own is None:
            raise AlreadyExists(f"{kind.label} already exists. Existing ID: {taken}")
        raise InvalidRequest(
            f"Cannot set PropertyValueCoordinates{{portalId={object_types.PORTAL_ID}, "
            f"objectTypeId=ObjectTypeId{{{kind.type_id}}}, propertyName={name}, value={after[name]}}} on {own}. "
            f"{taken} already has that value.",
            context={"propertyName": [name], "existingObjectId": [str(taken)]},
        )


def _resolved(world: World, kind: Kind, tie: Tie) -> tuple[Row, list[Row]]:
    """The other end of a tie: its type says which kind it is, its id which record."""
    if not tie.specs:
        raise InvalidRequest("An association needs at least one type", context={"id": [tie.to_id]})
    key = number(tie.to_id)
    other = None if key is None else world.get(objects, key)
    if other is None or other["archived_at"] is not None:
        raise InvalidRequest(
            f"One or more associations are not valid: no object with id {tie.to_id} exists",
            sub_category="crm.associations.INVALID_ASSOCIATION",
            context={"id": [tie.to_id]},
        )
    return other, associations.specified(world, kind.name, other["kind"], tie.specs)


def _consequences(world: World, kind: Kind, given: Given, after: Values, now: int) -> Values:
    """What the CRM fills in by itself when a record closes or a to-do is done."""
    if kind.name == "tasks" and after.get("hs_task_status") == "COMPLETED" and "hs_task_status" in given:
        after.setdefault("hs_task_completion_date", iso(now))
    if kind.name in _CLOSING:
        stage_name, closed_name = _CLOSING[kind.name]
        if stage_name in given and _is_closed(world, kind.name, after.get(stage_name)):
            after.setdefault(closed_name, iso(now))
    return after


def _is_closed(world: World, kind: str, stage_id: str | None) -> bool:
    row = None if stage_id is None else world.get(stages, qualified(kind, stage_id))
    return row is not None and row["metadata"].get("isClosed") == "true"
