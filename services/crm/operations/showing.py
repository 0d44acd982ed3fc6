"""A record as it is shown: the properties asked for, their history, its associations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from services.crm.kinds import BY_NAME, Kind
from services.crm.operations import computed, definitions, history, object_types
from services.kernel.clock import iso as spelt_iso
from services.kernel.statements import Row
from services.kernel.world import World

Shown = dict[str, Any]
# A world's records were written at a few thousand moments, and are read again and again.
iso = lru_cache(maxsize=65_536)(spelt_iso)
_ASSOCIATED = (
    "SELECT a.from_id, a.to_id, t.name FROM associations a JOIN association_types t ON t.id = a.type_id "
    "JOIN objects o ON o.id = a.to_id "
    "WHERE a.from_id IN (SELECT value FROM json_each(:ids)) AND a.to_kind = :kind AND o.archived_at IS NULL "
    "ORDER BY a.from_id, a.to_id, a.type_id"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader asks to see of records; None stands for the type's default properties."""

    properties: tuple[str, ...] | None = None
    history: tuple[str, ...] = ()
    associations: tuple[str, ...] = ()


DEFAULT = Wanted()


def show(world: World, kind: Kind, rows: Sequence[Row], wanted: Wanted = DEFAULT) -> list[Shown]:
    names = kind.shown if wanted.properties is None else _known(world, kind, wanted.properties)
    drawn = computed.read(world, kind.name, names, [row["id"] for row in rows])
    shown = [_one(kind, row, names, drawn.get(row["id"])) for row in rows]
    if wanted.history:
        for row, one in zip(rows, shown, strict=True):
            one["propertiesWithHistory"] = history.of(world, kind, row, wanted.history)
            one["properties"] |= {name: row["properties"].get(name) for name in one["propertiesWithHistory"]}
    if wanted.associations:
        _associate(world, rows, shown, wanted.associations)
    return shown


def show_one(world: World, kind: Kind, row: Row, wanted: Wanted = DEFAULT) -> Shown:
    return show(world, kind, [row], wanted)[0]


def show_whole(world: World, kind: Kind, row: Row) -> Shown:
    """Everything the record holds: the answer to a write."""
    names = dict.fromkeys((*kind.shown, *row["properties"]))
    return _one(kind, row, names, computed.read(world, kind.name, names, [row["id"]]).get(row["id"]))


def _one(kind: Kind, row: Row, names: Iterable[str], drawn: Mapping[str, str | None] | None) -> Shown:
    held = row["properties"]
    properties = {name: held.get(name) for name in names}
    if drawn:
        properties |= drawn
    created, modified = iso(row["created_at"]), iso(row["updated_at"])
    if "hs_object_id" in properties:
        properties["hs_object_id"] = str(row["id"])
    if kind.created in properties:
        properties[kind.created] = created
    if kind.modified in properties:
        properties[kind.modified] = modified
    shown: Shown = {
        "id": str(row["id"]),
        "properties": properties,
        "createdAt": created,
        "updatedAt": modified,
        "archived": row["archived_at"] is not None,
    }
    if row["archived_at"] is not None:
        shown["archivedAt"] = iso(row["archived_at"])
    return shown


def _known(world: World, kind: Kind, names: Sequence[str]) -> dict[str, None]:
    """Unknown names are passed over, as production does; id and times always come along."""
    found = definitions.lookup(world, kind.name, names)
    return dict.fromkeys((*(name for name in names if name in found), "hs_object_id", kind.created, kind.modified))


def _associate(world: World, rows: Sequence[Row], shown: Sequence[Shown], asked: Sequence[str]) -> None:
    ids = orjson.dumps([row["id"] for row in rows]).decode()
    for name in asked:
        other = object_types.resolve(world, name)
        ends: dict[int, list[dict[str, str]]] = {}
        for from_id, to_id, type_name in world.rows(_ASSOCIATED, {"ids": ids, "kind": other.name}):
            ends.setdefault(from_id, []).append({"id": str(to_id), "type": type_name})
        key = other.name.replace("_", " ") if other.name in BY_NAME else f"p{object_types.PORTAL_ID}_{other.singular}"
        for row, one in zip(rows, shown, strict=True):
            if row["id"] in ends:
                one.setdefault("associations", {})[key] = {"results": ends[row["id"]]}
