"""Ties between records. Each is kept in both directions, and a labelled one always beside the unlabelled."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson
import sqlalchemy as sa

from services.crm.errors import InvalidRequest, RecordNotFound
from services.crm.kinds import Kind
from services.crm.operations import association_types
from services.crm.tables import association_id, associations, objects
from services.crm.tables import association_types as types_table
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_PAIR = Statement(
    sa.select(associations)
    .where(
        associations.c.from_id == sa.bindparam("from_id"),
        associations.c.to_kind == sa.bindparam("to_kind"),
        associations.c.to_id == sa.bindparam("to_id"),
    )
    .order_by(associations.c.type_id)
)
_FROM = Statement(
    sa.select(associations).where(associations.c.from_id == sa.bindparam("from_id")).order_by(associations.c.id)
)
_OF_TYPE = Statement(
    sa.select(associations)
    .where(
        associations.c.from_id == sa.bindparam("from_id"),
        associations.c.to_kind == sa.bindparam("to_kind"),
        associations.c.type_id == sa.bindparam("type_id"),
    )
    .order_by(associations.c.to_id)
)
_ENDS = (
    "SELECT a.from_id, a.to_id, t.id, t.category, t.label, t.name FROM associations a "
    "JOIN association_types t ON t.id = a.type_id JOIN objects o ON o.id = a.to_id "
    "WHERE a.from_id IN (SELECT value FROM json_each(:ids)) AND a.to_kind = :kind AND a.to_id > :after "
    "AND o.archived_at IS NULL ORDER BY a.from_id, a.to_id, t.id DESC"
)


@dataclass(frozen=True, slots=True)
class Spec:
    """How two records are to be tied, as a request names it."""

    category: str
    type_id: int


@dataclass(frozen=True, slots=True)
class End:
    """What a record is tied to, with every type of the tie."""

    to_id: int
    types: tuple[tuple[int, str, str | None, str], ...]


def live(world: World, kind: Kind, record_id: str) -> Row:
    row = world.get(objects, int(record_id)) if record_id.isdecimal() and len(record_id) < 19 else None
    if row is None or row["kind"] != kind.name or row["archived_at"] is not None:
        raise RecordNotFound(
            f"No {kind.singular} with ID {record_id} exists, or it has been deleted",
            context={"id": [record_id], "objectType": [kind.name]},
        )
    return row


def specified(world: World, one: str, other: str, specs: Iterable[Spec]) -> list[Row]:
    """The types a request names, each checked against the pair and its category."""
    found = [association_types.numbered(world, one, other, spec.type_id) for spec in specs]
    for row, spec in zip(found, specs, strict=True):
        if row["category"] != spec.category:
            raise InvalidRequest(f"Association type id {spec.type_id} does not belong to category {spec.category}")
    return found


def tie(world: World, one: Row, other: Row, types: Sequence[Row]) -> None:
    """Add these types to the tie, and the unlabelled one if it is missing."""
    if one["id"] == other["id"]:
        raise InvalidRequest("An object cannot be associated with itself", context={"id": [str(one["id"])]})
    plain = association_types.unlabelled(world, one["kind"], other["kind"])
    for row in (plain, *types):
        if row["rank"] == "primary":
            _demote(world, one, other, row)
        _write(world, one, other, row["id"])
        _write(world, other, one, row["inverse_id"])


def replace(world: World, one: Row, other: Row, types: Sequence[Row]) -> None:
    """As v4's PUT: the labels named are the labels there are."""
    kept = {row["id"] for row in types}
    for tied in pair(world, one["id"], other["kind"], other["id"]):
        if (
            tied["type_id"] not in kept
            and association_types.unlabelled(world, one["kind"], other["kind"])["id"] != (tied["type_id"])
        ):
            _cut(world, tied)
    tie(world, one, other, types)


def untie(world: World, one_id: int, other: Kind, other_id: int) -> None:
    for row in pair(world, one_id, other.name, other_id):
        _cut(world, row)


def untie_types(world: World, one_id: int, other: Kind, other_id: int, types: Sequence[Row]) -> None:
    """Without its unlabelled type a tie is no more."""
    gone = {row["id"] for row in types}
    whole = any(row["rank"] == "unlabelled" for row in types)
    for row in pair(world, one_id, other.name, other_id):
        if whole or row["type_id"] in gone:
            _cut(world, row)


def untie_all(world: World, record_id: int) -> None:
    for row in world.find(_FROM, from_id=record_id):
        _cut(world, row)


def move(world: World, loser: Row, winner: Row) -> None:
    """After a merge the winner has the loser's ties, except to itself."""
    for row in world.find(_FROM, from_id=loser["id"]):
        _cut(world, row)
        other = world.get(objects, row["to_id"])
        if other is None or other["id"] == winner["id"]:
            continue
        told = association_types.numbered(world, row["from_kind"], row["to_kind"], row["type_id"])
        if told["rank"] == "primary" and _holds_primary(world, winner["id"], row["to_kind"], row["type_id"]):
            continue
        tie(world, winner, other, [told])


def pair(world: World, from_id: int, to_kind: str, to_id: int) -> list[Row]:
    return world.find(_PAIR, from_id=from_id, to_kind=to_kind, to_id=to_id)


def ends(world: World, from_ids: Sequence[int], to_kind: str, after: int = 0) -> dict[int, list[End]]:
    """From record → what it is tied to, in the order of ids."""
    found: dict[int, dict[int, list[tuple[int, str, str | None, str]]]] = {}
    asked = {"ids": orjson.dumps(list(from_ids)).decode(), "kind": to_kind, "after": after}
    for from_id, to_id, *told in world.rows(_ENDS, asked):
        found.setdefault(from_id, {}).setdefault(to_id, []).append((told[0], told[1], told[2], told[3]))
    return {
        from_id: [End(to_id, tuple(types)) for to_id, types in reached.items()] for from_id, reached in found.items()
    }


def _holds_primary(world: World, from_id: int, to_kind: str, type_id: int) -> bool:
    return bool(world.find(_OF_TYPE, from_id=from_id, to_kind=to_kind, type_id=type_id))


def _demote(world: World, one: Row, other: Row, primary: Row) -> None:
    """A record has one primary company: the new one takes the old one's place."""
    holder, held, type_id = (
        (other, one, primary["inverse_id"]) if one["kind"] == "companies" else (one, other, primary["id"])
    )
    for row in world.find(_OF_TYPE, from_id=holder["id"], to_kind=held["kind"], type_id=type_id):
        if row["to_id"] != held["id"]:
            _cut(world, row)


def _write(world: World, one: Row, other: Row, type_id: int) -> None:
    key = association_id(one["id"], type_id, other["id"])
    if world.get(associations, key) is None:
        row: Row = {
            "id": key,
            "from_id": one["id"],
            "from_kind": one["kind"],
            "to_id": other["id"],
            "to_kind": other["kind"],
            "type_id": type_id,
            "created_at": world.clock.now_ms(),
        }
        world.save(associations, row, "association.created")


def _cut(world: World, row: Row) -> None:
    """Both directions go together."""
    world.remove(associations, row["id"], "association.removed")
    for back in pair(world, row["to_id"], row["from_kind"], row["from_id"]):
        if _mirrors(world, row["type_id"], back["type_id"]):
            world.remove(associations, back["id"], "association.removed")


def _mirrors(world: World, type_id: int, back_id: int) -> bool:
    row = world.get(types_table, type_id)
    return row is not None and row["inverse_id"] == back_id
