"""Lists, newest first, with cursors; each shape of question is compiled once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import orjson
import sqlalchemy as sa

from services.billing.errors import InvalidRequest
from services.billing.operations.records import Body, spoken
from services.kernel.statements import Statement, facts
from services.kernel.world import World

_RANGES = ("gt", "gte", "lt", "lte")
Direction = Literal["older", "newer"]


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list: how many, after or before which object."""

    limit: int = 10
    starting_after: str | None = None
    ending_before: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some objects, and whether more follow."""

    bodies: list[Body]
    has_more: bool
    # Where a search goes on.
    next_page: str | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions on derived columns: equal to a value, one of some, within a range, or there at all."""

    equal: Mapping[str, Any] = field(default_factory=dict)
    among: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    not_among: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ranges: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    empty: Sequence[str] = ()
    filled: Sequence[str] = ()
    # Patterns in which a * stands for anything.
    like: Mapping[str, str] = field(default_factory=dict)


_EVERYTHING = Where()


def page(world: World, table: sa.Table, window: Window, where: Where = _EVERYTHING) -> Page:
    if window.starting_after is not None and window.ending_before is not None:
        raise InvalidRequest("You may only specify one of these parameters: starting_after, ending_before.")
    direction: Direction = "newer" if window.ending_before is not None else "older"
    cursor = window.ending_before if direction == "newer" else window.starting_after
    parameters = {**_parameters(where), "limit": window.limit + 1}
    if cursor is not None:
        parameters |= _place(world, table, cursor, "ending_before" if direction == "newer" else "starting_after")
    statement = _statement(table, _shape(where), direction, cursor is not None)
    found = [row["body"] for row in world.find(statement, **parameters)]
    bodies = found[: window.limit]
    return Page(bodies[::-1] if direction == "newer" else bodies, len(found) > window.limit)


def every(world: World, table: sa.Table, where: Where) -> list[Body]:
    """All that match, oldest first, for our own use."""
    statement = _statement(table, _shape(where), "newer", placed=False)
    return [row["body"] for row in world.find(statement, **_parameters(where), limit=-1)]


def of(world: World, table: sa.Table, **equal: Any) -> list[Body]:
    return every(world, table, Where(equal=equal))


def _place(world: World, table: sa.Table, cursor: str, param: str) -> dict[str, int]:
    found = world.find(_cursor(table), key=cursor)
    if not found:
        raise InvalidRequest(f"No such {spoken(table)}: '{cursor}'", param, "resource_missing")
    return {"at_created": found[0]["created"], "at_seq": found[0]["seq"]}


@cache
def _cursor(table: sa.Table) -> Statement:
    return Statement(sa.select(table.c.created, table.c.seq).where(table.c.id == sa.bindparam("key")))


# (column, how): what two questions must share to share a statement.
Shape = tuple[tuple[str, str], ...]


def _shape(where: Where) -> Shape:
    parts = [(name, "equal") for name in where.equal]
    parts += [(name, "among") for name in where.among]
    parts += [(name, "not_among") for name in where.not_among]
    parts += [(name, bound) for name, bounds in where.ranges.items() for bound in _RANGES if bound in bounds]
    parts += [(name, "empty") for name in where.empty]
    parts += [(name, "like") for name in where.like]
    return tuple(parts + [(name, "filled") for name in where.filled])


def _parameters(where: Where) -> dict[str, Any]:
    bound = {f"equal_{name}": _plain(value) for name, value in where.equal.items()}
    for how, several in (("among", where.among), ("not_among", where.not_among)):
        bound |= {f"{how}_{name}": orjson.dumps(list(values)).decode() for name, values in several.items()}
    bound |= {f"like_{name}": re.sub(r"[?\[]", "", pattern) for name, pattern in where.like.items()}
    for name, bounds in where.ranges.items():
        bound |= {f"{how}_{name}": value for how, value in bounds.items()}
    return bound


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


@cache
def _statement(table: sa.Table, shape: Shape, direction: Direction, placed: bool) -> Statement:
    order = (table.c.created, table.c.seq)
    core = sa.select(*facts(table)).where(*(_condition(table.c[name], how) for name, how in shape))
    if placed:
        here = sa.tuple_(sa.bindparam("at_created"), sa.bindparam("at_seq"))
        core = core.where(sa.tuple_(*order) > here if direction == "newer" else sa.tuple_(*order) < here)
    core = core.order_by(*(order if direction == "newer" else [column.desc() for column in order]))
    return Statement(core.limit(sa.bindparam("limit", type_=sa.Integer)))


def _condition(column: sa.Column[Any], how: str) -> sa.ColumnElement[bool]:
    name = column.name
    match how:
        case "equal":
            return column == sa.bindparam(f"equal_{name}")
        case "among":
            return column.in_(_each(f"among_{name}"))
        case "not_among":
            return column.not_in(_each(f"not_among_{name}"))
        case "gt":
            return column > sa.bindparam(f"gt_{name}")
        case "gte":
            return column >= sa.bindparam(f"gte_{name}")
        case "lt":
            return column < sa.bindparam(f"lt_{name}")
        case "lte":
            return column <= sa.bindparam(f"lte_{name}")
        case "like":
            return column.op("GLOB")(sa.bindparam(f"like_{name}"))
        case "filled":
            return column.is_not(None)
    return column.is_(None)


def _each(name: str) -> sa.Select[Any]:
    """However many values: one parameter, one statement."""
    return sa.select(sa.func.json_each(sa.bindparam(name)).table_valued("value").c.value)
