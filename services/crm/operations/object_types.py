"""Object types: the standard ones, and those that an account defines."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from services.crm import defaults
from services.crm.errors import AlreadyExists, InvalidRequest
from services.crm.kinds import BY_NAME, Kind
from services.crm.operations import association_types, properties
from services.crm.tables import object_types, property_definitions, property_groups, qualified
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

PORTAL_ID = 24816375
_ALL = Statement(sa.select(object_types).where(object_types.c.archived_at.is_(None)).order_by(object_types.c.id))
_CUSTOM_FROM = 44_200_000


def resolve(world: World, name: str) -> Kind:
    """contacts, contact, 0-1, 2-1001, p24816375_cars: whatever a path may call an object type."""
    kind = BY_NAME.get(name) or _custom(world, name)
    if kind is None:
        raise InvalidRequest(f"Unable to infer object type from: {name}")
    return kind


def create(world: World, egg: Row) -> Row:
    """A new object type with its first properties and its associations."""
    if egg["name"] in BY_NAME or _custom(world, egg["name"]) is not None:
        raise AlreadyExists(f"Object with name {egg['name']} already exists")
    names = [one["name"] for one in egg["properties"]]
    if egg["primaryDisplayProperty"] not in names:
        raise InvalidRequest(
            "The primary display property must be one of the properties of the object",
            context={"primaryDisplayProperty": [str(egg["primaryDisplayProperty"])]},
        )
    if unknown := [name for name in egg["requiredProperties"] if name not in names]:
        raise InvalidRequest("Required properties must be properties of the object", context={"properties": unknown})
    others = [resolve(world, name) for name in egg["associatedObjects"]]
    now, number = world.clock.now_ms(), world.ids.next("object_type") + _CUSTOM_FROM
    row: Row = {
        "id": f"2-{number}",
        "name": egg["name"],
        "definition": {key: egg[key] for key in _KEPT},
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
    }
    world.save(object_types, row, "object_type.created")
    kind = _as_kind(row)
    _define(world, kind, egg["properties"], now)
    for other in others:
        association_types.connect(world, kind, other)
    return schema(world, kind)


def list_custom(world: World) -> list[Row]:
    return [schema(world, _as_kind(row)) for row in world.find(_ALL)]


def schema(world: World, kind: Kind) -> Row:
    row = world.get(object_types, kind.name)
    told = row["definition"] if row is not None else _standard_definition(kind)
    shown: Row = {
        "id": kind.type_id,
        "objectTypeId": kind.type_id,
        "fullyQualifiedName": kind.singular.upper() if row is None else f"p{PORTAL_ID}_{row['name']}",
        "name": kind.singular.upper() if row is None else row["name"],
        "labels": told["labels"],
        "requiredProperties": told["requiredProperties"],
        "searchableProperties": told["searchableProperties"],
        "primaryDisplayProperty": told["primaryDisplayProperty"],
        "secondaryDisplayProperties": told["secondaryDisplayProperties"],
        "archived": False,
        "properties": properties.list_all(world, kind.name, archived=False),
        "associations": [_association(world, one) for one in association_types.from_kind(world, kind.name)],
    }
    if told["description"] is not None:
        shown["description"] = told["description"]
    if row is not None:
        shown |= {"createdAt": iso(row["created_at"]), "updatedAt": iso(row["updated_at"])}
    return shown


_KEPT = (
    "labels",
    "description",
    "requiredProperties",
    "searchableProperties",
    "primaryDisplayProperty",
    "secondaryDisplayProperties",
)


def type_id(world: World, kind: str) -> str:
    return BY_NAME[kind].type_id if kind in BY_NAME else resolve(world, kind).type_id


def _custom(world: World, name: str) -> Kind | None:
    row = world.get(object_types, name)
    if row is None:
        bare = name.removeprefix(f"p{PORTAL_ID}_")
        row = next((found for found in world.find(_ALL) if found["name"] == bare), None)
    return None if row is None or row["archived_at"] is not None else _as_kind(row)


def _as_kind(row: Row) -> Kind:
    told = row["definition"]
    return Kind(
        name=row["id"],
        singular=row["name"],
        type_id=row["id"],
        label=told["labels"].get("singular") or row["name"],
        shown=("hs_createdate", "hs_lastmodifieddate", "hs_object_id"),
        searched=tuple(told["searchableProperties"]),
        required=tuple(told["requiredProperties"]),
        display=told["primaryDisplayProperty"],
    )


def _define(world: World, kind: Kind, given: Sequence[Row], now: int) -> None:
    group = f"{kind.singular}_information"
    label = f"{kind.label} information"
    fields: Row = {"id": qualified(kind.name, group), "kind": kind.name, "name": group, "label": label}
    world.save(property_groups, {**fields, "display_order": 0, "archived_at": None}, "property_group.created")
    for name, text, kind_of_value in _SYSTEM:
        row = defaults.property_row(
            kind.name,
            name,
            label=text,
            created_at=now,
            type=kind_of_value,
            field_type="date" if kind_of_value == "datetime" else "number",
            group=group,
            readOnlyValue=True,
            hubspotDefined=True,
            formField=False,
        )
        world.save(property_definitions, row, "property.created")
    owner = defaults.property_row(
        kind.name,
        "hubspot_owner_id",
        label="Owner",
        created_at=now,
        type="enumeration",
        field_type="select",
        group=group,
        externalOptions=True,
        hubspotDefined=True,
        referencedObjectType="OWNER",
    )
    world.save(property_definitions, owner, "property.created")
    for one in given:
        properties.create(world, kind.name, {**one, "groupName": one.get("groupName") or group})


_SYSTEM = (
    ("hs_object_id", "Record ID", "number"),
    ("hs_createdate", "Object create date/time", "datetime"),
    ("hs_lastmodifieddate", "Object last modified date/time", "datetime"),
)


def _standard_definition(kind: Kind) -> dict[str, Any]:
    plural = kind.name.replace("_", " ").capitalize()
    return {
        "labels": {"singular": kind.label, "plural": plural},
        "description": None,
        "requiredProperties": list(kind.required),
        "searchableProperties": list(kind.searched),
        "primaryDisplayProperty": kind.display,
        "secondaryDisplayProperties": [],
    }


def _association(world: World, row: Row) -> Row:
    return {
        "id": str(row["id"]),
        "name": row["name"],
        "fromObjectTypeId": type_id(world, row["from_kind"]),
        "toObjectTypeId": type_id(world, row["to_kind"]),
    }
