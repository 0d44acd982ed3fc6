"""Associations between records. Each is kept in both directions, and a labelled one always beside the unlabelled."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.crm.errors import InvalidRequest, RecordNotFound
from services.crm.object_types import ObjectType
from services.crm.operations import association_types
from services.crm.rows import (
    AssociationCategory,
    AssociationRow,
    AssociationTypeId,
    AssociationTypeRow,
    ObjectTypeName,
    RecordId,
    RecordRow,
)
from services.crm.tables import association_id, associations, objects
from services.crm.tables import association_types as types_table
from services.kernel.statements import select_where
from services.kernel.world import World

_BETWEEN = select_where(associations, "from_id", "to_kind", "to_id", order_by=("type_id",))
_FROM = select_where(associations, "from_id")
_OF_TYPE = select_where(associations, "from_id", "to_kind", "type_id", order_by=("to_id",))
_TARGETS = (
    "SELECT a.to_id, t.id, t.category, t.label, t.name FROM associations a "
    "JOIN association_types t ON t.id = a.type_id JOIN objects o ON o.id = a.to_id "
    "WHERE a.from_id = :from_id AND a.to_kind = :kind AND a.to_id > :after "
    "AND o.archived_at IS NULL ORDER BY a.to_id, t.id DESC"
)


@dataclass(frozen=True, slots=True)
class Spec:
    """A type of association, as a request names it."""

    category: AssociationCategory
    type_id: int


@dataclass(frozen=True, slots=True)
class TargetType:
    """One type of association between a record and its target."""

    id: AssociationTypeId
    category: AssociationCategory
    label: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Target:
    """A record that another is associated with, and every type of that association."""

    to_id: RecordId
    types: list[TargetType]


def require_record(world: World, object_type: ObjectType, record_id: str) -> RecordRow:
    """Returns the live record; unlike `records.read`, it does not follow merges."""
    is_id = record_id.isdecimal() and len(record_id) < 19
    row = world.get(objects, RecordId(int(record_id))) if is_id else None
    if row is None or row["kind"] != object_type.name or row["archived_at"] is not None:
        raise RecordNotFound(
            f"No {object_type.singular} with ID {record_id} exists, or it has been deleted",
            context={"id": [record_id], "objectType": [object_type.name]},
        )
    return row


def require_types(
    world: World, from_type: ObjectTypeName, to_type: ObjectTypeName, specs: Sequence[Spec]
) -> list[AssociationTypeRow]:
    """Returns the types that a request names, each checked against the pair of object types and its category."""
    rows = [association_types.require(world, from_type, to_type, spec.type_id) for spec in specs]
    for row, spec in zip(rows, specs, strict=True):
        if row["category"] != spec.category:
            raise InvalidRequest(f"Association type id {spec.type_id} does not belong to category {spec.category}")
    return rows


def add(world: World, source: RecordRow, target: RecordRow, types: Sequence[AssociationTypeRow]) -> None:
    """Associates two records with these types, and with the unlabelled one if it is missing."""
    if source["id"] == target["id"]:
        raise InvalidRequest("An object cannot be associated with itself", context={"id": [str(source["id"])]})
    unlabelled = association_types.require_unlabelled(world, source["kind"], target["kind"])
    for row in (unlabelled, *types):
        if row["rank"] == "primary":
            _remove_other_primary(world, source, target, row)
        _write(world, source, target, row["id"])
        _write(world, target, source, row["inverse_id"])


def replace(world: World, source: RecordRow, target: RecordRow, types: Sequence[AssociationTypeRow]) -> None:
    """Sets the types of an association, as v4's PUT does: labels that the request does not name are removed."""
    kept_ids = {row["id"] for row in types}
    for association in _list_between(world, source["id"], target["kind"], target["id"]):
        if association["type_id"] in kept_ids:
            continue
        if association_types.require_unlabelled(world, source["kind"], target["kind"])["id"] != association["type_id"]:
            _remove(world, association)
    add(world, source, target, types)


def remove(world: World, source: RecordRow, target: RecordRow) -> None:
    for association in _list_between(world, source["id"], target["kind"], target["id"]):
        _remove(world, association)


def remove_types(world: World, source: RecordRow, target: RecordRow, types: Sequence[AssociationTypeRow]) -> None:
    """Without its unlabelled type an association is gone as a whole."""
    removed_ids = {row["id"] for row in types}
    is_whole = any(row["rank"] == "unlabelled" for row in types)
    for association in _list_between(world, source["id"], target["kind"], target["id"]):
        if is_whole or association["type_id"] in removed_ids:
            _remove(world, association)


def remove_all(world: World, record_id: RecordId) -> None:
    for association in world.find(_FROM, from_id=record_id):
        _remove(world, association)


def move(world: World, loser: RecordRow, winner: RecordRow) -> None:
    """Gives the winner of a merge the loser's associations, except those with the winner itself."""
    for association in world.find(_FROM, from_id=loser["id"]):
        _remove(world, association)
        target = world.get(objects, association["to_id"])
        if target is None or target["id"] == winner["id"]:
            continue
        association_type = association_types.require(
            world, association["from_kind"], association["to_kind"], association["type_id"]
        )
        if association_type["rank"] == "primary" and world.find(
            _OF_TYPE, from_id=winner["id"], to_kind=association["to_kind"], type_id=association["type_id"]
        ):
            continue
        add(world, winner, target, [association_type])


def list_targets(world: World, from_id: RecordId, to_type: ObjectTypeName, after: int = 0) -> list[Target]:
    """Returns what a record is associated with, in the order of ids."""
    targets: dict[RecordId, Target] = {}
    parameters = {"from_id": from_id, "kind": to_type, "after": after}
    for to_id, type_id, category, label, name in world.rows(_TARGETS, parameters):
        target = targets.setdefault(to_id, Target(to_id, []))
        target.types.append(TargetType(type_id, category, label, name))
    return list(targets.values())


def _list_between(world: World, from_id: RecordId, to_type: ObjectTypeName, to_id: RecordId) -> list[AssociationRow]:
    return world.find(_BETWEEN, from_id=from_id, to_kind=to_type, to_id=to_id)


def _remove_other_primary(world: World, source: RecordRow, target: RecordRow, primary: AssociationTypeRow) -> None:
    """A record has one primary company: a new one replaces the old one."""
    record, company, type_id = (
        (target, source, primary["inverse_id"]) if source["kind"] == "companies" else (source, target, primary["id"])
    )
    for row in world.find(_OF_TYPE, from_id=record["id"], to_kind=company["kind"], type_id=type_id):
        if row["to_id"] != company["id"]:
            _remove(world, row)


def _write(world: World, source: RecordRow, target: RecordRow, type_id: AssociationTypeId) -> None:
    key = association_id(source["id"], type_id, target["id"])
    if world.get(associations, key) is None:
        row: AssociationRow = {
            "id": key,
            "from_id": source["id"],
            "from_kind": source["kind"],
            "to_id": target["id"],
            "to_kind": target["kind"],
            "type_id": type_id,
            "created_at": world.clock.now_ms(),
        }
        world.save(associations, row, "association.created")


def _remove(world: World, row: AssociationRow) -> None:
    """Removes both directions."""
    world.remove(associations, row["id"], "association.removed")
    association_type = world.get(types_table, row["type_id"])
    for inverse in _list_between(world, row["to_id"], row["from_kind"], row["from_id"]):
        if association_type is not None and association_type["inverse_id"] == inverse["type_id"]:
            world.remove(associations, inverse["id"], "association.removed")
