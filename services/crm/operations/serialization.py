"""Records as answers carry them: the requested properties, their history, the record's associations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import orjson

from services.crm.object_types import BY_NAME, ObjectType
from services.crm.operations import definitions, history, object_types
from services.crm.operations.calculated_properties import calculate
from services.crm.rows import Body, RecordId, RecordRow
from services.kernel.clock import iso as format_iso
from services.kernel.world import World

# A world's records were written at a few thousand moments, and are read again and again.
iso = lru_cache(maxsize=65_536)(format_iso)
_ASSOCIATED = (
    "SELECT a.from_id, a.to_id, t.name FROM associations a JOIN association_types t ON t.id = a.type_id "
    "JOIN objects o ON o.id = a.to_id "
    "WHERE a.from_id IN (SELECT value FROM json_each(:ids)) AND a.to_kind = :kind AND o.archived_at IS NULL "
    "ORDER BY a.from_id, a.to_id, a.type_id"
)


@dataclass(frozen=True, slots=True)
class RequestedFields:
    """What a request wants to read of records; None stands for the object type's default properties."""

    properties: tuple[str, ...] | None = None
    history: tuple[str, ...] = ()
    associations: tuple[str, ...] = ()


DEFAULT_FIELDS = RequestedFields()


def serialize(
    world: World, object_type: ObjectType, rows: Sequence[RecordRow], fields: RequestedFields = DEFAULT_FIELDS
) -> list[Body]:
    if fields.properties is None:
        names: Iterable[str] = object_type.default_properties
    else:
        names = _select_known_names(world, object_type, fields.properties)
    calculated = calculate(world, object_type.name, names, [row["id"] for row in rows])
    bodies = [_serialize_row(object_type, row, names, calculated.get(row["id"])) for row in rows]
    if fields.history:
        for row, body in zip(rows, bodies, strict=True):
            body["propertiesWithHistory"] = history.read_history(world, object_type, row, fields.history)
            for name, versions in body["propertiesWithHistory"].items():
                body["properties"].setdefault(name, versions[0]["value"])
    if fields.associations:
        _add_associations(world, rows, bodies, fields.associations)
    return bodies


def serialize_whole(world: World, object_type: ObjectType, row: RecordRow) -> Body:
    """Returns the record with every property that it has: the answer to a write."""
    names = dict.fromkeys((*object_type.default_properties, *row["properties"]))
    calculated = calculate(world, object_type.name, names, [row["id"]])
    return _serialize_row(object_type, row, names, calculated.get(row["id"]))


def _serialize_row(
    object_type: ObjectType, row: RecordRow, names: Iterable[str], calculated: Mapping[str, str | None] | None
) -> Body:
    values = row["properties"]
    properties = {name: values.get(name) for name in names}
    if calculated:
        properties |= calculated
    created, modified = iso(row["created_at"]), iso(row["updated_at"])
    if "hs_object_id" in properties:
        properties["hs_object_id"] = str(row["id"])
    if object_type.created_property in properties:
        properties[object_type.created_property] = created
    if object_type.modified_property in properties:
        properties[object_type.modified_property] = modified
    body: Body = {
        "id": str(row["id"]),
        "properties": properties,
        "createdAt": created,
        "updatedAt": modified,
        "archived": row["archived_at"] is not None,
    }
    if row["archived_at"] is not None:
        body["archivedAt"] = iso(row["archived_at"])
    return body


def _select_known_names(world: World, object_type: ObjectType, names: Sequence[str]) -> dict[str, None]:
    """Unknown names are skipped, as in production; id and times are always included."""
    existing = definitions.lookup(world, object_type.name, names)
    system = ("hs_object_id", object_type.created_property, object_type.modified_property)
    return dict.fromkeys((*(name for name in names if name in existing), *system))


def _add_associations(
    world: World, rows: Sequence[RecordRow], bodies: Sequence[Body], type_names: Sequence[str]
) -> None:
    ids = orjson.dumps([row["id"] for row in rows]).decode()
    for type_name in type_names:
        target = object_types.resolve(world, type_name)
        associated: dict[RecordId, list[dict[str, str]]] = {}
        for from_id, to_id, association_name in world.rows(_ASSOCIATED, {"ids": ids, "kind": target.name}):
            associated.setdefault(from_id, []).append({"id": str(to_id), "type": association_name})
        is_standard = target.name in BY_NAME
        key = target.name.replace("_", " ") if is_standard else f"p{object_types.PORTAL_ID}_{target.singular}"
        for row, body in zip(rows, bodies, strict=True):
            if row["id"] in associated:
                body.setdefault("associations", {})[key] = {"results": associated[row["id"]]}
