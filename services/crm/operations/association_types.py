"""Types of association between two object types: the unlabelled one, the primary one and the labels."""

import sqlalchemy as sa

from services.crm.defaults import USER_DEFINED_FROM, association_type_row
from services.crm.errors import AlreadyExists, Forbidden, InvalidRequest, RecordNotFound
from services.crm.object_types import ObjectType
from services.crm.rows import AssociationRank, AssociationRow, AssociationTypeId, AssociationTypeRow, ObjectTypeName
from services.crm.tables import association_types, associations
from services.kernel.statements import Statement, select_where
from services.kernel.world import World

_BETWEEN = select_where(association_types, "from_kind", "to_kind")
_FROM = select_where(association_types, "from_kind")
_OF_TYPE = Statement(sa.select(associations).where(associations.c.type_id == sa.bindparam("type_id")), AssociationRow)


def list_between(world: World, from_type: ObjectTypeName, to_type: ObjectTypeName) -> list[AssociationTypeRow]:
    return world.find(_BETWEEN, from_kind=from_type, to_kind=to_type)


def list_from(world: World, from_type: ObjectTypeName) -> list[AssociationTypeRow]:
    return world.find(_FROM, from_kind=from_type)


def require_unlabelled(world: World, from_type: ObjectTypeName, to_type: ObjectTypeName) -> AssociationTypeRow:
    for row in list_between(world, from_type, to_type):
        if row["rank"] == "unlabelled":
            return row
    raise InvalidRequest(f"Associations from {from_type} to {to_type} are not defined")


def require_named(world: World, from_type: ObjectTypeName, to_type: ObjectTypeName, name: str) -> AssociationTypeRow:
    """Finds a type by the name that v3 uses, contact_to_company, or by its id."""
    for row in list_between(world, from_type, to_type):
        if name in (row["name"], str(row["id"])):
            return row
    raise InvalidRequest(f"The association type {name} is not valid between {from_type} and {to_type}")


def require(world: World, from_type: ObjectTypeName, to_type: ObjectTypeName, type_id: int) -> AssociationTypeRow:
    for row in list_between(world, from_type, to_type):
        if row["id"] == type_id:
            return row
    raise InvalidRequest(
        f"Association type id {type_id} is not valid between {from_type} and {to_type}",
        sub_category="crm.associations.INVALID_ASSOCIATION_TYPE",
        context={"type": [str(type_id)], "fromObjectType": [from_type], "toObjectType": [to_type]},
    )


def create_unlabelled(world: World, source: ObjectType, target: ObjectType) -> None:
    """Lets records of a new object type be associated with those of another."""
    _create_pair(world, source, target, f"{source.singular}_to_{target.singular}", None, None, "unlabelled")


def create_label(
    world: World, source: ObjectType, target: ObjectType, name: str, label: str, inverse_label: str | None
) -> list[AssociationTypeRow]:
    """Creates a label in both directions; one row serves both where they read the same."""
    require_unlabelled(world, source.name, target.name)
    present = list_between(world, source.name, target.name)
    if any(name == row["name"] or label == row["label"] for row in present):
        raise AlreadyExists(f"An association label '{label}' with the name '{name}' already exists")
    return _create_pair(world, source, target, name, label, inverse_label, "label")


def rename_label(
    world: World, source: ObjectType, target: ObjectType, type_id: int, label: str, inverse_label: str | None
) -> None:
    row = _require_custom(world, source, target, type_id)
    world.save(association_types, row | {"label": label}, "association_label.renamed")
    inverse = world.get(association_types, row["inverse_id"])
    if inverse_label is not None and inverse is not None and inverse["id"] != row["id"]:
        world.save(association_types, inverse | {"label": inverse_label}, "association_label.renamed")


def remove_label(world: World, source: ObjectType, target: ObjectType, type_id: int) -> None:
    row = _require_custom(world, source, target, type_id)
    for removed_id in dict.fromkeys((row["id"], row["inverse_id"])):
        for association in world.find(_OF_TYPE, type_id=removed_id):
            world.remove(associations, association["id"], "association.removed")
        world.remove(association_types, removed_id, "association_label.removed")


def _require_custom(world: World, source: ObjectType, target: ObjectType, type_id: int) -> AssociationTypeRow:
    row = world.get(association_types, AssociationTypeId(type_id))
    if row is None or (row["from_kind"], row["to_kind"]) != (source.name, target.name):
        raise RecordNotFound(f"No association label with id {type_id}")
    if row["category"] != "USER_DEFINED":
        raise Forbidden(f"Association type {type_id} is not defined by this account and cannot be changed")
    return row


def _create_pair(
    world: World,
    source: ObjectType,
    target: ObjectType,
    name: str,
    label: str | None,
    inverse_label: str | None,
    rank: AssociationRank,
) -> list[AssociationTypeRow]:
    forward_id, inverse_id = (
        AssociationTypeId(USER_DEFINED_FROM + world.ids.next("association_type")) for _ in range(2)
    )
    if source.name == target.name and inverse_label is None:
        inverse_id = forward_id
    rows = [
        association_type_row(forward_id, source.name, target.name, name, rank=rank, inverse_id=inverse_id, label=label)
    ]
    if inverse_id != forward_id:
        rows.append(
            association_type_row(
                inverse_id,
                target.name,
                source.name,
                f"{target.singular}_to_{source.singular}" if rank == "unlabelled" else f"{name}_inverse",
                rank=rank,
                inverse_id=forward_id,
                label=inverse_label or label,
            )
        )
    for row in rows:
        world.save(association_types, row, "association_label.created")
    return rows
