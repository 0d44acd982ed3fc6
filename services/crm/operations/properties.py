"""Property definitions and their groups, as the API reads and changes them."""

from collections.abc import Mapping
from typing import Any

from services.crm import defaults
from services.crm.errors import AlreadyExists, Forbidden, InvalidRequest, RecordNotFound
from services.crm.rows import Body, ObjectTypeName, PropertyDocument, PropertyGroupRow, PropertyRow
from services.crm.tables import property_definitions, property_group_key, property_groups, property_key
from services.kernel.clock import iso
from services.kernel.statements import select_where
from services.kernel.world import World

_OF_TYPE = select_where(property_definitions, "kind", order_by=("name",))
_GROUPS = select_where(
    property_groups, "kind", condition=property_groups.c.archived_at.is_(None), order_by=("display_order", "name")
)
_FIELD_TYPES = {
    "string": {"text", "textarea", "file", "html", "phonenumber", "calculation_equation"},
    "number": {"number", "calculation_equation"},
    "date": {"date", "calculation_equation"},
    "datetime": {"date", "calculation_equation"},
    "enumeration": {"select", "radio", "checkbox", "booleancheckbox", "calculation_equation"},
    "bool": {"booleancheckbox", "calculation_equation"},
}
_REPLACEABLE = ("label", "type", "fieldType", "groupName", "description", "displayOrder", "hidden", "formField")
_OPTIONAL = (
    "description",
    "displayOrder",
    "hidden",
    "formField",
    "hasUniqueValue",
    "externalOptions",
    "referencedObjectType",
    "calculationFormula",
)


def list_all(world: World, type_name: ObjectTypeName, *, archived: bool) -> list[PropertyRow]:
    rows = world.find(_OF_TYPE, kind=type_name)
    return [row for row in rows if (row["archived_at"] is not None) is archived]


def require(world: World, type_name: ObjectTypeName, name: str, *, archived: bool = False) -> PropertyRow:
    row = world.get(property_definitions, property_key(type_name, name))
    if row is None or (row["archived_at"] is not None) is not archived:
        raise RecordNotFound(
            f"Property with name {name} does not exist",
            sub_category="Properties.PROPERTY_NOT_FOUND",
            context={"name": [name]},
        )
    return row


def create(world: World, type_name: ObjectTypeName, request: Body) -> PropertyRow:
    before = world.get(property_definitions, property_key(type_name, request["name"]))
    if before is not None and before["archived_at"] is None:
        raise AlreadyExists(
            f"A property named '{request['name']}' already exists.", sub_category="Properties.PROPERTY_EXISTS"
        )
    _validate(world, type_name, request)
    details = _details(request)
    options = details.pop("options", [])
    row = defaults.property_row(
        type_name,
        request["name"],
        label=request["label"],
        created_at=world.clock.now_ms(),
        type=request["type"],
        field_type=request["fieldType"],
        group=request["groupName"],
        **details,
    )
    row["definition"]["options"] = options
    world.save(property_definitions, row, "property.created")
    return row


def update(world: World, row: PropertyRow, changes: Body) -> PropertyRow:
    if row["definition"]["hubspotDefined"] and {"type", "fieldType"} & changes.keys():
        raise Forbidden(f"The type of property {row['name']} cannot be changed")
    replaced = {key: changes[key] for key in _REPLACEABLE if key in changes}
    definition: PropertyDocument = row["definition"].copy()
    definition.update({**_details(changes), **replaced})  # type: ignore[typeddict-item]  # the request's schema vouches
    _validate(world, row["kind"], definition)
    changed = row | {"definition": definition, "updated_at": world.clock.now_ms()}
    world.save(property_definitions, changed, "property.updated")
    return changed


def archive(world: World, row: PropertyRow) -> None:
    if row["definition"]["hubspotDefined"]:
        raise Forbidden(f"Property {row['name']} is defined by the platform and cannot be deleted")
    world.save(property_definitions, row | {"archived_at": world.clock.now_ms()}, "property.archived")


def list_groups(world: World, type_name: ObjectTypeName) -> list[PropertyGroupRow]:
    return world.find(_GROUPS, kind=type_name)


def require_group(world: World, type_name: ObjectTypeName, name: str) -> PropertyGroupRow:
    row = world.get(property_groups, property_group_key(type_name, name))
    if row is None or row["archived_at"] is not None:
        raise RecordNotFound(
            f"Property group with name {name} does not exist", sub_category="Properties.GROUP_NOT_FOUND"
        )
    return row


def create_group(world: World, type_name: ObjectTypeName, name: str, label: str, order: int) -> PropertyGroupRow:
    row = defaults.property_group_row(type_name, name, label, order)
    before = world.get(property_groups, row["id"])
    if before is not None and before["archived_at"] is None:
        raise AlreadyExists(f"A property group named '{name}' already exists.", sub_category="Properties.GROUP_EXISTS")
    world.save(property_groups, row, "property_group.created")
    return row


def update_group(world: World, row: PropertyGroupRow, label: str | None, order: int | None) -> PropertyGroupRow:
    changed = row | {
        "label": row["label"] if label is None else label,
        "display_order": row["display_order"] if order is None else order,
    }
    world.save(property_groups, changed, "property_group.updated")
    return changed


def archive_group(world: World, row: PropertyGroupRow) -> None:
    members = [
        member["name"]
        for member in list_all(world, row["kind"], archived=False)
        if member["definition"]["groupName"] == row["name"]
    ]
    if members:
        raise InvalidRequest(
            f"Property group {row['name']} still has properties and cannot be deleted",
            context={"properties": members[:20]},
        )
    world.save(property_groups, row | {"archived_at": world.clock.now_ms()}, "property_group.archived")


def serialize(row: PropertyRow) -> Body:
    definition = row["definition"]
    is_fixed = definition["hubspotDefined"]
    body: Body = {
        "name": row["name"],
        **{key: value for key, value in definition.items() if key != "readOnlyValue"},
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": row["archived_at"] is not None,
        "modificationMetadata": {
            "archivable": not is_fixed,
            "readOnlyDefinition": is_fixed,
            "readOnlyOptions": is_fixed,
            "readOnlyValue": definition["readOnlyValue"],
        },
    }
    if row["archived_at"] is not None:
        body["archivedAt"] = iso(row["archived_at"])
    return body


def serialize_group(row: PropertyGroupRow) -> Body:
    return {
        "name": row["name"],
        "label": row["label"],
        "displayOrder": row["display_order"],
        "archived": row["archived_at"] is not None,
    }


def _validate(world: World, type_name: ObjectTypeName, definition: Mapping[str, Any]) -> None:
    if definition["fieldType"] not in _FIELD_TYPES[definition["type"]]:
        raise InvalidRequest(
            f"fieldType {definition['fieldType']} is not valid for a property of type {definition['type']}",
            context={"fieldType": [definition["fieldType"]]},
        )
    try:
        require_group(world, type_name, definition["groupName"])
    except RecordNotFound as missing:
        raise InvalidRequest(
            f"Property group {definition['groupName']} does not exist", sub_category="Properties.GROUP_NOT_FOUND"
        ) from missing
    option_values = [option["value"] for option in definition.get("options") or ()]
    if len(set(option_values)) != len(option_values):
        raise InvalidRequest("Property option values must be unique", context={"options": option_values[:20]})


def _details(request: Body) -> Body:
    """Returns what a definition takes over from a request, beyond its names and type."""
    details: Body = {key: request[key] for key in _OPTIONAL if request.get(key) is not None}
    if request.get("options") is not None:
        details["options"] = [
            defaults.property_option(
                option["value"],
                option["label"],
                order if option.get("displayOrder") is None else option["displayOrder"],
                hidden=option["hidden"],
                description=option.get("description") or "",
            )
            for order, option in enumerate(request["options"])
        ]
    return details
