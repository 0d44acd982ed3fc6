"""Records of every type: create, read, page, update, archive."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import orjson
import sqlalchemy as sa

from services.crm.errors import AlreadyExists, InvalidRequest, MissingProperties, RecordNotFound
from services.crm.object_types import ObjectType, id_counter
from services.crm.operations import associations, definitions, object_types, values
from services.crm.operations.associations import Spec
from services.crm.operations.definitions import Definition
from services.crm.operations.values import PropertyChanges
from services.crm.rows import AssociationTypeRow, ObjectTypeName, PropertyValues, RecordId, RecordRow
from services.crm.search_index import fold
from services.crm.tables import merges, objects, stage_key, stages
from services.kernel.clock import iso
from services.kernel.statements import Statement, list_stored_columns
from services.kernel.world import World


def _page_statement(archived: sa.ColumnElement[bool]) -> Statement[RecordRow]:
    return Statement(
        sa.select(*list_stored_columns(objects))
        .where(objects.c.kind == sa.bindparam("kind"), archived, objects.c.id > sa.bindparam("after"))
        .order_by(objects.c.id)
        .limit(sa.bindparam("limit")),
        RecordRow,
    )


_LIVE_PAGE = _page_statement(objects.c.archived_at.is_(None))
_ARCHIVED_PAGE = _page_statement(objects.c.archived_at.is_not(None))
# The index of values holds live records only.
_BY_VALUE = (
    "SELECT object_id FROM property_values "
    "WHERE kind = :kind AND name = :name AND folded = :folded ORDER BY object_id LIMIT 1"
)
_BY_ADDITIONAL_EMAIL = (
    "SELECT object_id FROM property_values WHERE kind = 'contacts' AND name = 'hs_additional_emails' "
    "AND instr(';' || folded || ';', ';' || :folded || ';') ORDER BY object_id LIMIT 1"
)
_ARCHIVED_VALUES = (
    "SELECT id, properties ->> :path FROM objects WHERE kind = :kind AND archived_at IS NOT NULL ORDER BY id"
)
_BY_IDS = Statement(
    sa.select(*list_stored_columns(objects)).where(sa.text("objects.id IN (SELECT value FROM json_each(:ids))")),
    RecordRow,
)
# Object type → the property that names the stage, and the one that takes the time at which the record is closed.
_CLOSING = {"deals": ("dealstage", "closedate"), "tickets": ("hs_pipeline_stage", "closed_date")}
_LONGEST_ID = 18


@dataclass(frozen=True, slots=True)
class NewAssociation:
    """An association to create together with a new record."""

    to_id: str
    specs: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Some records, and where the next ones start."""

    records: list[RecordRow]
    after: int | None


def create(
    world: World, object_type: ObjectType, properties: PropertyChanges, new_associations: Sequence[NewAssociation] = ()
) -> RecordRow:
    """Checks everything before it writes anything, so that one input of a batch can fail alone."""
    after, changed_definitions = values.apply_changes(world, object_type, properties, {})
    _require_properties(object_type, after)
    _refuse_taken(world, object_type, after, changed_definitions, None)
    targets = [_require_target(world, object_type, new) for new in new_associations]
    now = world.clock.now_ms()
    row: RecordRow = {
        "id": RecordId(world.ids.next(id_counter(object_type.name))),
        "kind": object_type.name,
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
        "properties": _with_closing_times(world, object_type, properties, after, now),
    }
    world.save(objects, row, "record.created")
    for target, types in targets:
        associations.add(world, row, target, types)
    return row


def find(
    world: World, object_type: ObjectType, record_id: str, id_property: str | None = None, *, archived: bool = False
) -> RecordRow | None:
    """Finds a record by its id, by the id of a record merged into it, or by a unique value."""
    key = _find_id(world, object_type, record_id, id_property, archived=archived)
    row = None if key is None else world.get(objects, key)
    if row is not None and row["archived_at"] is not None and not archived:
        row = _find_winner(world, row["id"])
    if row is None or row["kind"] != object_type.name or (row["archived_at"] is not None) is not archived:
        return None
    return row


def find_many(world: World, object_type: ObjectType, record_ids: Sequence[str]) -> dict[str, RecordRow]:
    """Finds many records by id at once; ids that do not exist are left out."""
    keys = {record_id: key for record_id in record_ids if (key := parse_record_id(record_id)) is not None}
    rows = fetch(world, list(dict.fromkeys(keys.values())))
    rows_by_id: dict[str, RecordRow] = {}
    for record_id, key in keys.items():
        row = rows.get(key)
        if row is None or row["kind"] != object_type.name or row["archived_at"] is not None:
            row = find(world, object_type, record_id)
        if row is not None:
            rows_by_id[record_id] = row
    return rows_by_id


def fetch(world: World, ids: Sequence[RecordId]) -> dict[RecordId, RecordRow]:
    return {row["id"]: row for row in world.find(_BY_IDS, ids=orjson.dumps(list(ids)).decode())}


def read(
    world: World, object_type: ObjectType, record_id: str, id_property: str | None = None, *, archived: bool = False
) -> RecordRow:
    row = find(world, object_type, record_id, id_property, archived=archived)
    if row is None:
        raise RecordNotFound
    return row


def page(world: World, object_type: ObjectType, after: int, limit: int, *, archived: bool = False) -> Page:
    statement = _ARCHIVED_PAGE if archived else _LIVE_PAGE
    rows = world.find(statement, kind=object_type.name, after=after, limit=limit + 1)
    return Page(rows[:limit], rows[limit - 1]["id"] if len(rows) > limit else None)


def update(world: World, object_type: ObjectType, row: RecordRow, changes: PropertyChanges) -> RecordRow:
    after, changed_definitions = values.apply_changes(world, object_type, changes, row["properties"])
    _refuse_taken(
        world, object_type, {name: after[name] for name in changes if name in after}, changed_definitions, row["id"]
    )
    now = world.clock.now_ms()
    properties = _with_closing_times(world, object_type, changes, after, now)
    if properties == row["properties"]:
        return row
    changed = row | {"updated_at": now, "properties": properties}
    world.save(objects, changed, "record.updated")
    return changed


def archive(world: World, row: RecordRow) -> None:
    now = world.clock.now_ms()
    world.save(objects, row | {"updated_at": now, "archived_at": now}, "record.archived")


def find_by_value(world: World, type_name: ObjectTypeName, name: str, value: str) -> RecordId | None:
    """Returns the live record that has this value."""
    rows = world.rows(_BY_VALUE, {"kind": type_name, "name": name, "folded": fold(value)})
    if not rows and (type_name, name) == ("contacts", "email"):
        rows = world.rows(_BY_ADDITIONAL_EMAIL, {"folded": fold(value)})
    return rows[0][0] if rows else None


def parse_id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID else None


# The same function under a narrower type: a batch parses a hundred ids, and a call of a NewType is not free.
parse_record_id = cast("Callable[[str], RecordId | None]", parse_id)


def _find_id(
    world: World, object_type: ObjectType, record_id: str, id_property: str | None, *, archived: bool
) -> RecordId | None:
    if id_property is None or id_property in ("", "hs_object_id"):
        return parse_record_id(record_id)
    if not definitions.require(world, object_type.name, id_property).is_unique:
        raise InvalidRequest(
            f"Property {id_property} is not a unique identifier property for {object_type.name}",
            context={"idProperty": [id_property]},
        )
    if not archived:
        return find_by_value(world, object_type.name, id_property, record_id)
    path = f"$.{orjson.dumps(id_property).decode()}"
    rows = world.rows(_ARCHIVED_VALUES, {"kind": object_type.name, "path": path})
    return next((key for key, value in rows if value is not None and fold(value) == fold(record_id)), None)


def _find_winner(world: World, record_id: RecordId) -> RecordRow | None:
    """Follows merges, of which there may be several in turn: A into B, then B into C."""
    merge = world.get(merges, record_id)
    while merge is not None:
        row = world.get(objects, merge["winner_id"])
        if row is None or row["archived_at"] is None:
            return row
        merge = world.get(merges, merge["winner_id"])
    return None


def _require_properties(object_type: ObjectType, after: PropertyValues) -> None:
    missing = [name for name in object_type.required_properties if name not in after]
    if missing:
        raise MissingProperties(object_type.singular, missing)
    if object_type.name == "companies" and not (after.get("name") or after.get("domain")):
        raise MissingProperties(object_type.singular, ["name", "domain"])


def _refuse_taken(
    world: World,
    object_type: ObjectType,
    after: PropertyValues,
    changed_definitions: Mapping[str, Definition],
    own_id: RecordId | None,
) -> None:
    for name, definition in changed_definitions.items():
        if not definition.is_unique or name not in after:
            continue
        other_id = find_by_value(world, object_type.name, name, after[name])
        if other_id is None or other_id == own_id:
            continue
        if own_id is None:
            raise AlreadyExists(f"{object_type.label} already exists. Existing ID: {other_id}")
        raise InvalidRequest(
            f"Cannot set PropertyValueCoordinates{{portalId={object_types.PORTAL_ID}, "
            f"objectTypeId=ObjectTypeId{{{object_type.type_id}}}, propertyName={name}, value={after[name]}}} "
            f"on {own_id}. {other_id} already has that value.",
            context={"propertyName": [name], "existingObjectId": [str(other_id)]},
        )


def _require_target(
    world: World, object_type: ObjectType, new: NewAssociation
) -> tuple[RecordRow, list[AssociationTypeRow]]:
    """Returns the record to associate with, whatever its object type, and the types of the association."""
    if not new.specs:
        raise InvalidRequest("An association needs at least one type", context={"id": [new.to_id]})
    key = parse_record_id(new.to_id)
    target = None if key is None else world.get(objects, key)
    if target is None or target["archived_at"] is not None:
        raise InvalidRequest(
            f"One or more associations are not valid: no object with id {new.to_id} exists",
            sub_category="crm.associations.INVALID_ASSOCIATION",
            context={"id": [new.to_id]},
        )
    return target, associations.require_types(world, object_type.name, target["kind"], new.specs)


def _with_closing_times(
    world: World, object_type: ObjectType, changes: PropertyChanges, after: PropertyValues, now: int
) -> PropertyValues:
    """Adds the times that the CRM fills in when a record is closed or a task is completed."""
    if object_type.name == "tasks" and after.get("hs_task_status") == "COMPLETED" and "hs_task_status" in changes:
        after.setdefault("hs_task_completion_date", iso(now))
    if object_type.name in _CLOSING:
        stage_name, closed_name = _CLOSING[object_type.name]
        if stage_name in changes and _is_closed(world, object_type.name, after.get(stage_name)):
            after.setdefault(closed_name, iso(now))
    return after


def _is_closed(world: World, type_name: ObjectTypeName, stage_id: str | None) -> bool:
    row = None if stage_id is None else world.get(stages, stage_key(type_name, stage_id))
    return row is not None and row["metadata"].get("isClosed") == "true"
