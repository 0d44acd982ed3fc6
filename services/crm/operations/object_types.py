"""Object types: the standard ones, and those that an account defines."""

from collections.abc import Sequence

from services.crm import defaults
from services.crm.errors import AlreadyExists, InvalidRequest
from services.crm.object_types import BY_NAME, ObjectType
from services.crm.operations import association_types, properties
from services.crm.rows import (
    AssociationTypeRow,
    Body,
    ObjectTypeDocument,
    ObjectTypeName,
    ObjectTypeRow,
    PropertyType,
)
from services.crm.tables import object_types, property_definitions, property_groups
from services.kernel.clock import iso
from services.kernel.statements import select_where
from services.kernel.world import World

PORTAL_ID = 24816375
_ALL = select_where(object_types, condition=object_types.c.archived_at.is_(None))
_CUSTOM_FROM = 44_200_000
_SYSTEM_PROPERTIES: tuple[tuple[str, str, PropertyType], ...] = (
    ("hs_object_id", "Record ID", "number"),
    ("hs_createdate", "Object create date/time", "datetime"),
    ("hs_lastmodifieddate", "Object last modified date/time", "datetime"),
)


def resolve(world: World, name: str) -> ObjectType:
    """Finds an object type by any name that a path may use: contacts, contact, 0-1, 2-44200001, p24816375_cars."""
    object_type = BY_NAME.get(name) or _find_custom(world, name)
    if object_type is None:
        raise InvalidRequest(f"Unable to infer object type from: {name}")
    return object_type


def create(world: World, request: Body) -> Body:
    """Creates an object type with its first properties and its associations."""
    if request["name"] in BY_NAME or _find_custom(world, request["name"]) is not None:
        raise AlreadyExists(f"Object with name {request['name']} already exists")
    names = [new["name"] for new in request["properties"]]
    if request["primaryDisplayProperty"] not in names:
        raise InvalidRequest(
            "The primary display property must be one of the properties of the object",
            context={"primaryDisplayProperty": [str(request["primaryDisplayProperty"])]},
        )
    if unknown := [name for name in request["requiredProperties"] if name not in names]:
        raise InvalidRequest("Required properties must be properties of the object", context={"properties": unknown})
    targets = [resolve(world, name) for name in request["associatedObjects"]]
    now, number = world.clock.now_ms(), world.ids.next("object_type") + _CUSTOM_FROM
    row: ObjectTypeRow = {
        "id": ObjectTypeName(f"2-{number}"),
        "name": request["name"],
        "definition": {
            "labels": request["labels"],
            "description": request["description"],
            "requiredProperties": request["requiredProperties"],
            "searchableProperties": request["searchableProperties"],
            "primaryDisplayProperty": request["primaryDisplayProperty"],
            "secondaryDisplayProperties": request["secondaryDisplayProperties"],
        },
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
    }
    world.save(object_types, row, "object_type.created")
    object_type = _as_object_type(row)
    _create_properties(world, object_type, request["properties"], now)
    for target in targets:
        association_types.create_unlabelled(world, object_type, target)
    return serialize(world, object_type)


def list_custom(world: World) -> list[Body]:
    return [serialize(world, _as_object_type(row)) for row in world.find(_ALL)]


def serialize(world: World, object_type: ObjectType) -> Body:
    row = world.get(object_types, object_type.name)
    definition = row["definition"] if row is not None else _standard_definition(object_type)
    body: Body = {
        "id": object_type.type_id,
        "objectTypeId": object_type.type_id,
        "fullyQualifiedName": object_type.singular.upper() if row is None else f"p{PORTAL_ID}_{row['name']}",
        "name": object_type.singular.upper() if row is None else row["name"],
        "labels": definition["labels"],
        "requiredProperties": definition["requiredProperties"],
        "searchableProperties": definition["searchableProperties"],
        "primaryDisplayProperty": definition["primaryDisplayProperty"],
        "secondaryDisplayProperties": definition["secondaryDisplayProperties"],
        "archived": False,
        "properties": [
            properties.serialize(each) for each in properties.list_all(world, object_type.name, archived=False)
        ],
        "associations": [
            _serialize_association(world, each) for each in association_types.list_from(world, object_type.name)
        ],
    }
    if definition["description"] is not None:
        body["description"] = definition["description"]
    if row is not None:
        body |= {"createdAt": iso(row["created_at"]), "updatedAt": iso(row["updated_at"])}
    return body


def type_id(world: World, type_name: ObjectTypeName) -> str:
    return BY_NAME[type_name].type_id if type_name in BY_NAME else resolve(world, type_name).type_id


def _find_custom(world: World, name: str) -> ObjectType | None:
    row = world.get(object_types, ObjectTypeName(name))
    if row is None:
        bare_name = name.removeprefix(f"p{PORTAL_ID}_")
        row = next((each for each in world.find(_ALL) if each["name"] == bare_name), None)
    return None if row is None or row["archived_at"] is not None else _as_object_type(row)


def _as_object_type(row: ObjectTypeRow) -> ObjectType:
    definition = row["definition"]
    return ObjectType(
        name=row["id"],
        singular=row["name"],
        type_id=row["id"],
        label=definition["labels"].get("singular") or row["name"],
        path="/crm/v3/objects/{objectType}",
        default_properties=("hs_createdate", "hs_lastmodifieddate", "hs_object_id"),
        searched_properties=tuple(definition["searchableProperties"]),
        required_properties=tuple(definition["requiredProperties"]),
        display_property=definition["primaryDisplayProperty"],
    )


def _create_properties(world: World, object_type: ObjectType, requests: Sequence[Body], now: int) -> None:
    group = f"{object_type.singular}_information"
    group_row = defaults.property_group_row(object_type.name, group, f"{object_type.label} information", 0)
    world.save(property_groups, group_row, "property_group.created")
    for name, label, property_type in _SYSTEM_PROPERTIES:
        row = defaults.property_row(
            object_type.name,
            name,
            label=label,
            created_at=now,
            type=property_type,
            field_type="date" if property_type == "datetime" else "number",
            group=group,
            readOnlyValue=True,
            hubspotDefined=True,
            formField=False,
        )
        world.save(property_definitions, row, "property.created")
    owner = defaults.property_row(
        object_type.name,
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
    for request in requests:
        properties.create(world, object_type.name, {**request, "groupName": request.get("groupName") or group})


def _standard_definition(object_type: ObjectType) -> ObjectTypeDocument:
    plural = object_type.name.replace("_", " ").capitalize()
    return {
        "labels": {"singular": object_type.label, "plural": plural},
        "description": None,
        "requiredProperties": list(object_type.required_properties),
        "searchableProperties": list(object_type.searched_properties),
        "primaryDisplayProperty": object_type.display_property,
        "secondaryDisplayProperties": [],
    }


def _serialize_association(world: World, row: AssociationTypeRow) -> Body:
    return {
        "id": str(row["id"]),
        "name": row["name"],
        "fromObjectTypeId": type_id(world, row["from_kind"]),
        "toObjectTypeId": type_id(world, row["to_kind"]),
    }
