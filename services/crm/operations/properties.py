"""Property definitions and their groups, as the API reads and changes them."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from services.crm import defaults
from services.crm.errors import AlreadyExists, Forbidden, InvalidRequest, RecordNotFound
from services.crm.tables import property_definitions, property_groups, qualified
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_OF_KIND = Statement(
    sa.select(property_definitions)
    .where(property_definitions.c.kind == sa.bindparam("kind"))
    .order_by(property_definitions.c.name)
)
_GROUPS = Statement(
    sa.select(property_groups)
    .where(property_groups.c.kind == sa.bindparam("kind"), property_groups.c.archived_at.is_(None))
    .order_by(property_groups.c.display_order, property_groups.c.name)
)
_FIELDS_OF = {
    "string": {"text", "textarea", "file", "html", "phonenumber", "calculation_equation"},
    "number": {"number", "calculation_equation"},
    "date": {"date", "calculation_equation"},
    "datetime": {"date", "calculation_equation"},
    "enumeration": {"select", "radio", "checkbox", "booleancheckbox", "calculation_equation"},
    "bool": {"booleancheckbox", "calculation_equation"},
}
_OWN = ("label", "type", "fieldType", "groupName", "description", "displayOrder", "hidden", "formField")


def list_all(world: World, kind: str, *, archived: bool) -> list[Row]:
    found = world.find(_OF_KIND, kind=kind)
    return [_shown(row) for row in found if (row["archived_at"] is not None) is archived]


def read(world: World, kind: str, name: str, *, archived: bool) -> Row:
    row = world.get(property_definitions, qualified(kind, name))
    if row is None or (row["archived_at"] is not None) is not archived:
        raise _unknown(name)
    return _shown(row)


def create(world: World, kind: str, given: Mapping[str, Any]) -> Row:
    before = world.get(property_definitions, qualified(kind, given["name"]))
    if before is not None and before["archived_at"] is None:
        raise AlreadyExists(
            f"A property named '{given['name']}' already exists.", sub_category="Properties.PROPERTY_EXISTS"
        )
    _check(world, kind, given)
    details = _details(given)
    options = details.pop("options", [])
    row = defaults.property_row(
        kind,
        given["name"],
        label=given["label"],
        created_at=world.clock.now_ms(),
        type=given["type"],
        field_type=given["fieldType"],
        group=given["groupName"],
        **details,
    )
    row["definition"]["options"] = options
    world.save(property_definitions, row, "property.created")
    return _shown(row)


def update(world: World, kind: str, name: str, given: Mapping[str, Any]) -> Row:
    row = _live(world, kind, name)
    if row["definition"]["hubspotDefined"] and {"type", "fieldType"} & given.keys():
        raise Forbidden(f"The type of property {name} cannot be changed")
    definition = {**row["definition"], **_details(given), **{key: given[key] for key in _OWN if key in given}}
    _check(world, kind, definition)
    changed = {**row, "definition": definition, "updated_at": world.clock.now_ms()}
    world.save(property_definitions, changed, "property.updated")
    return _shown(changed)


def archive(world: World, kind: str, name: str) -> None:
    row = _live(world, kind, name)
    if row["definition"]["hubspotDefined"]:
        raise Forbidden(f"Property {name} is defined by the platform and cannot be deleted")
    world.save(property_definitions, {**row, "archived_at": world.clock.now_ms()}, "property.archived")


def list_groups(world: World, kind: str) -> list[Row]:
    return [_shown_group(row) for row in world.find(_GROUPS, kind=kind)]


def read_group(world: World, kind: str, name: str) -> Row:
    return _shown_group(_live_group(world, kind, name))


def create_group(world: World, kind: str, name: str, label: str, order: int) -> Row:
    before = world.get(property_groups, qualified(kind, name))
    if before is not None and before["archived_at"] is None:
        raise AlreadyExists(f"A property group named '{name}' already exists.", sub_category="Properties.GROUP_EXISTS")
    row: Row = {
        "id": qualified(kind, name),
        "kind": kind,
        "name": name,
        "label": label,
        "display_order": order,
        "archived_at": None,
    }
    world.save(property_groups, row, "property_group.created")
    return _shown_group(row)


def update_group(world: World, kind: str, name: str, label: str | None, order: int | None) -> Row:
    row = _live_group(world, kind, name)
    changed = {
        **row,
        "label": row["label"] if label is None else label,
        "display_order": row["display_order"] if order is None else order,
    }
    world.save(property_groups, changed, "property_group.updated")
    return _shown_group(changed)


def archive_group(world: World, kind: str, name: str) -> None:
    row = _live_group(world, kind, name)
    used = [one["name"] for one in list_all(world, kind, archived=False) if one["groupName"] == name]
    if used:
        raise InvalidRequest(
            f"Property group {name} still has properties and cannot be deleted", context={"properties": used[:20]}
        )
    world.save(property_groups, {**row, "archived_at": world.clock.now_ms()}, "property_group.archived")


def unknown_names(world: World, kind: str, names: Sequence[str], *, archived: bool) -> list[str]:
    known = {one["name"] for one in list_all(world, kind, archived=archived)}
    return [name for name in names if name not in known]


def _unknown(name: str) -> RecordNotFound:
    return RecordNotFound(
        f"Property with name {name} does not exist",
        sub_category="Properties.PROPERTY_NOT_FOUND",
        context={"name": [name]},
    )


def _live(world: World, kind: str, name: str) -> Row:
    row = world.get(property_definitions, qualified(kind, name))
    if row is None or row["archived_at"] is not None:
        raise _unknown(name)
    return row


def _live_group(world: World, kind: str, name: str) -> Row:
    row = world.get(property_groups, qualified(kind, name))
    if row is None or row["archived_at"] is not None:
        raise RecordNotFound(
            f"Property group with name {name} does not exist", sub_category="Properties.GROUP_NOT_FOUND"
        )
    return row


def _check(world: World, kind: str, given: Mapping[str, Any]) -> None:
    if given["fieldType"] not in _FIELDS_OF[given["type"]]:
        raise InvalidRequest(
            f"fieldType {given['fieldType']} is not valid for a property of type {given['type']}",
            context={"fieldType": [given["fieldType"]]},
        )
    _live_group_for(world, kind, given["groupName"])
    values = [one["value"] for one in given.get("options") or ()]
    if len(set(values)) != len(values):
        raise InvalidRequest("Property option values must be unique", context={"options": values[:20]})


def _live_group_for(world: World, kind: str, name: str) -> None:
    try:
        _live_group(world, kind, name)
    except RecordNotFound as missing:
        raise InvalidRequest(
            f"Property group {name} does not exist", sub_category="Properties.GROUP_NOT_FOUND"
        ) from missing


def _details(given: Mapping[str, Any]) -> Row:
    """What a definition takes over from a request, beyond its names and type."""
    details: Row = {}
    for key in ("description", "displayOrder", "hidden", "formField", "hasUniqueValue", "externalOptions"):
        if given.get(key) is not None:
            details[key] = given[key]
    for key in ("referencedObjectType", "calculationFormula"):
        if given.get(key) is not None:
            details[key] = given[key]
    if given.get("options") is not None:
        details["options"] = [
            defaults.option(
                one["value"],
                one["label"],
                at if one.get("displayOrder") is None else one["displayOrder"],
                hidden=one["hidden"],
                description=one.get("description") or "",
            )
            for at, one in enumerate(given["options"])
        ]
    return details


def _shown(row: Row) -> Row:
    told = row["definition"]
    platform = told["hubspotDefined"]
    shown: Row = {
        "name": row["name"],
        **{key: value for key, value in told.items() if key != "readOnlyValue"},
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": row["archived_at"] is not None,
        "modificationMetadata": {
            "archivable": not platform,
            "readOnlyDefinition": platform,
            "readOnlyOptions": platform,
            "readOnlyValue": told["readOnlyValue"],
        },
    }
    if row["archived_at"] is not None:
        shown["archivedAt"] = iso(row["archived_at"])
    return shown


def _shown_group(row: Row) -> Row:
    return {
        "name": row["name"],
        "label": row["label"],
        "displayOrder": row["display_order"],
        "archived": row["archived_at"] is not None,
    }
