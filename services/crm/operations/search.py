"""Search: groups of filters, free text, one sort, pages by offset."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from services.crm.errors import InvalidRequest
from services.crm.kinds import Kind
from services.crm.operations import computed, definitions
from services.crm.operations.conditions import Binder, condition
from services.crm.operations.showing import Shown, Wanted, show
from services.crm.tables import tables
from services.kernel.statements import Row, facts
from services.kernel.world import World

MOST_GROUPS, MOST_FILTERS, MOST_IN_ALL, LAST_RESULT, LONGEST_BODY = 5, 6, 18, 10_000, 3_000
_OBJECTS = tables.tables["objects"]
_COLUMNS = ", ".join(f"o.{column.name}" for column in facts(_OBJECTS))
_NAMES = tuple(str(column.name) for column in facts(_OBJECTS))
# Sorting by a value joins it from the index; of a handful of records it is read from the record itself.
_FEW = 200


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on one property."""

    name: str
    operator: str
    value: str | None = None
    values: tuple[str, ...] | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True)
class Sort:
    """What to order by, and which way."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """A search as asked."""

    groups: tuple[tuple[Filter, ...], ...] = ()
    query: str | None = None
    sort: Sort | None = None
    properties: tuple[str, ...] | None = None
    limit: int = 10
    after: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """One page of what a search found."""

    total: int
    results: list[Shown]
    after: int | None


def search(world: World, kind: Kind, asked: Search) -> Found:
    _refuse_excess(asked)
    with world.searched(tables.tables.__getitem__):
        binder = Binder(kind=kind.name)
        where = matching(world, kind, binder, asked.groups, asked.query)
        total = world.rows(f"SELECT count(*) FROM objects o WHERE {where}", binder.parameters)[0][0]  # noqa: S608 - bound
        rows = _page(world, kind, binder, where, asked, total) if total > asked.after else []
        results = show(world, kind, rows, Wanted(properties=asked.properties))
    following = asked.after + len(rows)
    return Found(total, results, following if rows and following < total else None)


def matching(world: World, kind: Kind, binder: Binder, groups: Sequence[Sequence[Filter]], query: str | None) -> str:
    """The WHERE of a search; the kind is bound as :kind."""
    parts = ["o.kind = :kind", "o.archived_at IS NULL"]
    either = [
        " AND ".join(condition(world, kind, binder, one.name, one.operator, _operands(one)) for one in group) or "1"
        for group in groups
    ]
    if either:
        parts.append("(" + " OR ".join(f"({group})" for group in either) + ")")
    if query and query.strip():
        text = binder.bind(_full_text(kind.name, query))
        parts.append(f"o.id IN (SELECT rowid FROM object_texts WHERE object_texts MATCH {text})")  # noqa: S608 - bound
    return " AND ".join(parts)


def _page(world: World, kind: Kind, binder: Binder, where: str, asked: Search, total: int) -> list[Row]:
    source, order = _ordering(world, kind, binder, asked.sort, total)
    limit, offset = binder.bind(asked.limit), binder.bind(asked.after)
    sql = f"SELECT {_COLUMNS} FROM {source} WHERE {where} ORDER BY {order} LIMIT {limit} OFFSET {offset}"  # noqa: S608 - bound
    return [_row(values) for values in world.rows(sql, binder.parameters)]


def _ordering(world: World, kind: Kind, binder: Binder, sort: Sort | None, total: int) -> tuple[str, str]:
    """Aligned with an index where there is one: by creation, by change."""
    if sort is None:
        return "objects o", "o.created_at, o.id"
    way = "DESC" if sort.descending else "ASC"
    found = computed.expression(kind, sort.name)
    if found is not None:
        return "objects o", f"{found[0]} {way}, o.id {way}"
    numeric = definitions.require(world, kind.name, sort.name).is_numeric
    if total <= _FEW:
        key = f"o.indexed ->> {binder.bind(f'$.{orjson.dumps(sort.name).decode()}[{1 if numeric else 0}]')}"
        return "objects o", f"{key} IS NULL, {key} {way}, o.id"
    column = "number" if numeric else "folded"
    values = (
        f"SELECT object_id, {column} AS key FROM property_values "  # noqa: S608 - bound
        f"WHERE kind = :kind AND name = {binder.bind(sort.name)}"
    )
    return f"objects o LEFT JOIN ({values}) s ON s.object_id = o.id", f"s.key IS NULL, s.key {way}, o.id"


def _operands(one: Filter) -> Sequence[str]:
    match one.operator:
        case "HAS_PROPERTY" | "NOT_HAS_PROPERTY":
            return ()
        case "IN" | "NOT_IN":
            if not one.values:
                raise _incomplete(one, "values")
            return one.values
        case "BETWEEN":
            if one.value is None or one.high is None:
                raise _incomplete(one, "value and highValue")
            return (one.value, one.high)
    if one.value is None:
        raise _incomplete(one, "value")
    return (one.value,)


def _incomplete(one: Filter, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"There was a problem with the request. Operator {one.operator} requires {what} for property {one.name}",
        context={"propertyName": [one.name]},
    )


def _refuse_excess(asked: Search) -> None:
    counts = [len(group) for group in asked.groups]
    if len(counts) > MOST_GROUPS:
        raise InvalidRequest(f"There was a problem with the request. Too many filter groups: {MOST_GROUPS} are allowed")
    if any(count > MOST_FILTERS for count in counts) or sum(counts) > MOST_IN_ALL:
        raise InvalidRequest(
            "There was a problem with the request. Too many filters: "
            f"{MOST_FILTERS} in a group and {MOST_IN_ALL} in all are allowed"
        )
    if asked.after + asked.limit > LAST_RESULT:
        raise InvalidRequest(
            f"There was a problem with the request. Paging past {LAST_RESULT} results is not supported",
            context={"after": [str(asked.after)]},
        )


def _full_text(kind: str, query: str) -> str:
    """Every word must begin a word of the record; quotes keep FTS5's own language out.

    A dash or an ampersand between words is no word: "Yates & Cannon" must find them.
    """
    terms = [term.replace('"', '""') for term in query.replace("\x00", " ").split()]
    terms = [term for term in terms if any(letter.isalnum() for letter in term)] or terms
    asked = " AND ".join(f'"{term}" *' for term in terms[:32])
    return f'kind : "{kind}" AND searchable : ({asked})'


def _row(values: tuple[Any, ...]) -> Row:
    row: Row = dict(zip(_NAMES, values, strict=True))
    row["properties"] = orjson.loads(row["properties"])
    return row
