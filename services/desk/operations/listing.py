"""Lists in both of the vendor's ways: pages with numbers and a count, and cursors with a promise of more.

Conditions are SQL with named parameters. The driver keeps each text compiled, so a shape of question is read once.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import sqlalchemy as sa

from services.desk.errors import InvalidParameter
from services.kernel.statements import Row
from services.kernel.world import World

# Columns that are never NULL: others are compared through ifnull, or a cursor would lose their rows.
_FILLED = frozenset({"id", "created_at", "updated_at", "status_rank"})
_COLUMNS = "id, created_at, updated_at, body"


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on one table's rows."""

    sql: str = "1"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __and__(self, other: "Where") -> "Where":
        return Where(f"({self.sql}) AND ({other.sql})", {**self.parameters, **other.parameters})


EVERYTHING = Where()
ALIVE = Where("deleted_at IS NULL")


def equal(**values: Any) -> Where:
    told = " AND ".join(f"{name} = :equal_{name}" for name in values)
    return Where(told, {f"equal_{name}": value for name, value in values.items()})


def among(column: str, values: Iterable[Any]) -> Where:
    """However many values: one parameter, one statement."""
    written = orjson.dumps(list(values)).decode()
    return Where(f"{column} IN (SELECT value FROM json_each(:among_{column}))", {f"among_{column}": written})  # noqa: S608 - our own names


def compared(column: str, comparison: str, value: Any) -> Where:
    """`comparison` is one of < <= > >=."""
    name = f"{column}_{'below' if comparison[0] == '<' else 'above'}"
    return Where(f"{column} {comparison} :{name}", {name: value})


def linked(links: str, kind: str, value: str) -> Where:
    """Rows with this tag, person in copy or custom value: `links` is ticket_links, user_links or organization_links."""
    found = f"id IN (SELECT owner_id FROM {links} WHERE kind = :linked_kind AND value = :linked_value)"  # noqa: S608 - our own names
    return Where(found, {"linked_kind": kind, "linked_value": value})


@dataclass(frozen=True, slots=True)
class Order:
    """By which column, and which way; ties go by id."""

    column: str = "id"
    descending: bool = False

    def term(self) -> str:
        return self.column if self.column in _FILLED else f"ifnull({self.column}, '')"


@dataclass(frozen=True, slots=True)
class Numbered:
    """The nth page, with a count of all."""

    page: int = 1
    size: int = 100


@dataclass(frozen=True, slots=True)
class Cursored:
    """So many after, or before, a place."""

    size: int = 100
    after: str | None = None
    before: str | None = None


Paging = Numbered | Cursored


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows and what is around them."""

    rows: list[Row]
    has_more: bool
    # Of all pages, where pages have numbers.
    count: int | None = None
    after_cursor: str | None = None
    before_cursor: str | None = None


def page(world: World, table: sa.Table, paging: Paging, where: Where = EVERYTHING, order: Order | None = None) -> Page:
    order = order or Order()
    if isinstance(paging, Numbered):
        return _numbered(world, table, paging, where, order)
    return _cursored(world, table, paging, where, order)


def every(
    world: World, table: sa.Table, where: Where = EVERYTHING, order: Order | None = None, most: int = -1
) -> list[Row]:
    """All that match, or the first so many, for our own use."""
    sql = f"SELECT {_COLUMNS} FROM {table.name} WHERE {where.sql} {_ordered(order or Order())} LIMIT :most"  # noqa: S608 - our own names
    return read(world, sql, {**where.parameters, "most": most})


def count(world: World, table: sa.Table, where: Where = EVERYTHING) -> int:
    found: int = world.rows(f"SELECT count(*) FROM {table.name} WHERE {where.sql}", where.parameters)[0][0]  # noqa: S608 - our own names
    return found


def by_ids(world: World, table: sa.Table, ids: Sequence[Any]) -> list[Row]:
    """In the order asked for; ids that lead nowhere are left out."""
    found = {row["id"]: row for row in every(world, table, among("id", ids))}
    return [found[one] for one in dict.fromkeys(ids) if one in found]


def read(world: World, sql: str, parameters: Any) -> list[Row]:
    """Rows of a statement that selects id, created_at, updated_at, body."""
    return [
        {"id": key, "created_at": created, "updated_at": updated, "body": orjson.loads(body)}
        for key, created, updated, body in world.rows(sql, parameters)
    ]


def paged(rows: Sequence[Row], paging: Paging) -> Page:
    """A page of what is at hand already."""
    if isinstance(paging, Numbered):
        start = (paging.page - 1) * paging.size
        return Page(list(rows[start : start + paging.size]), start + paging.size < len(rows), len(rows))
    start = _offset(paging.after)
    if paging.before is not None:
        start = max(0, _offset(paging.before) - paging.size)
    found = list(rows[start : start + paging.size])
    return Page(found, start + paging.size < len(rows), None, _cursor([start + len(found)]), _cursor([start]))


def _numbered(world: World, table: sa.Table, paging: Numbered, where: Where, order: Order) -> Page:
    sql = f"SELECT {_COLUMNS} FROM {table.name} WHERE {where.sql} {_ordered(order)} LIMIT :limit OFFSET :offset"  # noqa: S608 - our own names
    start = (paging.page - 1) * paging.size
    rows = read(world, sql, {**where.parameters, "limit": paging.size, "offset": start})
    total = count(world, table, where)
    return Page(rows, start + len(rows) < total, total)


def _cursored(world: World, table: sa.Table, paging: Cursored, where: Where, order: Order) -> Page:
    backwards = paging.before is not None
    parameters = {**where.parameters, "limit": paging.size + 1}
    sql = f"SELECT {_COLUMNS}, {order.term()} FROM {table.name} WHERE ({where.sql})"  # noqa: S608 - our own names
    if (cursor := paging.before or paging.after) is not None:
        parameters["at_value"], parameters["at_id"] = _place(cursor)
        comparison = "<" if order.descending is not backwards else ">"
        sql += f" AND ({order.term()}, id) {comparison} (:at_value, :at_id)"
    turned = Order(order.column, order.descending is not backwards)
    found = world.rows(f"{sql} {_ordered(turned)} LIMIT :limit", parameters)
    kept = found[: paging.size][::-1] if backwards else found[: paging.size]
    rows = [
        {"id": key, "created_at": created, "updated_at": updated, "body": orjson.loads(body)}
        for key, created, updated, body, _ in kept
    ]
    first, last = (_cursor([kept[0][4], kept[0][0]]), _cursor([kept[-1][4], kept[-1][0]])) if kept else (None, None)
    return Page(rows, True if backwards else len(found) > paging.size, None, last, first)


def _ordered(order: Order) -> str:
    way = "DESC" if order.descending else "ASC"
    return f"ORDER BY id {way}" if order.column == "id" else f"ORDER BY {order.term()} {way}, id {way}"


def _cursor(place: list[Any]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def _read_cursor(cursor: str) -> list[Any]:
    try:
        place = orjson.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, UnicodeEncodeError) as error:
        raise InvalidParameter("page", "The cursor is not valid") from error
    if not isinstance(place, list) or not all(isinstance(part, int | str) for part in place):
        raise InvalidParameter("page", "The cursor is not valid")
    return place


def _place(cursor: str) -> tuple[Any, Any]:
    place = _read_cursor(cursor)
    if len(place) != 2:
        raise InvalidParameter("page", "The cursor is not valid")
    return place[0], place[1]


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    place = _read_cursor(cursor)
    if len(place) != 1 or not isinstance(place[0], int) or place[0] < 0:
        raise InvalidParameter("page", "The cursor is not valid")
    return int(place[0])
