"""Search: count, pages and an export, over tickets, users, organizations and groups at once."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from services.desk.errors import InvalidParameter, InvalidSearch
from services.desk.language.asked import Asked
from services.desk.language.binding import Binder
from services.desk.language.planning import Plan, plans
from services.desk.language.syntax import KINDS, Query, TooLong, parse
from services.desk.operations import listing
from services.desk.tables import groups, organizations, tables, tickets, users
from services.kernel.statements import Row
from services.kernel.world import World

LAST_RESULT = 1_000
LARGEST_EXPORT = 1_000
# Fewer are sorted faster than an index is walked.
_FEW = 300
_TABLES = {"ticket": tickets, "user": users, "organization": organizations, "group": groups}
_ORDERS = {
    "created": "created_at",
    "created_at": "created_at",
    "updated": "updated_at",
    "updated_at": "updated_at",
    "priority": "priority_rank",
    "status": "status_rank",
    "ticket_type": "type",
    "type": "type",
}
_WALKED = {"created_at": "by_creation", "updated_at": "by_change"}
_INDEXES = frozenset(str(index.name) for table in _TABLES.values() for index in table.indexes)
_OF_TICKETS = frozenset({"priority_rank", "status_rank", "type"})


@dataclass(frozen=True, slots=True)
class Search:
    """A search as asked."""

    query: str
    me: int
    kind: str | None = None
    sort_by: str | None = None
    descending: bool | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found."""

    kind: str
    row: Row


@dataclass(frozen=True, slots=True)
class Found:
    """Some of what was found, and how much there is in all."""

    hits: list[Hit]
    count: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hit is, and what it is sorted by."""

    kind: str
    key: int
    value: Any


@dataclass(frozen=True, slots=True)
class Order:
    """By which column, and which way; None is by relevance, newest first."""

    column: str | None
    descending: bool


def search(world: World, asked: Search, page: int, size: int) -> Found:
    if page * size > LAST_RESULT:
        raise InvalidSearch("Invalid search: Requested response size was greater than Search Response Limits")
    query, start = _read(asked), (page - 1) * size
    with world.searched(tables.tables.__getitem__):
        planned, binder = _planned(world, asked, query)
        order = _order(asked, query)
        if len(planned) == 1:
            places, total = _ordered(world, planned[0], binder, order, start, size)
        else:
            places, total = _mixed(world, planned, binder, order, start, size)
        return Found(_rows(world, places), total)


def count(world: World, asked: Search) -> int:
    with world.searched(tables.tables.__getitem__):
        planned, binder = _planned(world, asked, _read(asked))
        return sum(_count(world, plan, binder) for plan in planned)


def export(world: World, asked: Search, size: int, after: str | None) -> tuple[list[Hit], str | None]:
    """One kind, in the order of ids, from a place on; the place of the last, where more follow."""
    if asked.kind not in KINDS:
        raise InvalidParameter("filter[type]", f"It must be one of {', '.join(KINDS)}")
    with world.searched(tables.tables.__getitem__):
        planned, binder = _planned(world, asked, _read(asked))
        start = binder.bind(_opened(after))
        places = [
            Place(plan.kind, key, key)
            for plan in planned
            for (key,) in world.rows(
                f"SELECT id FROM {plan.table} WHERE id > {start} AND {plan.where} ORDER BY id LIMIT {size + 1}",  # noqa: S608 - bound
                binder.parameters,
            )
        ]
        more = _sealed(places[size - 1].key) if len(places) > size else None
        return _rows(world, places[:size]), more


def _read(asked: Search) -> Query:
    try:
        query = parse(asked.query)
    except TooLong as error:
        raise InvalidSearch(f"Invalid search: {error}") from error
    if asked.kind is None:
        return query
    kinds = tuple(kind for kind in query.kinds if kind == asked.kind)
    return replace(query, kinds=kinds)


def _planned(world: World, asked: Search, query: Query) -> tuple[list[Plan], Binder]:
    binder = Binder()
    return plans(Asked(binder, world.clock.now_ms(), asked.me), query), binder


def _order(asked: Search, query: Query) -> Order:
    name = asked.sort_by or query.order_by
    column = _ORDERS.get(name.lower()) if name else None
    way = asked.descending if asked.descending is not None else query.descending
    return Order(column, True if way is None else way)


def _count(world: World, plan: Plan, binder: Binder) -> int:
    found: int = world.rows(f"SELECT count(*) FROM {plan.table} WHERE {plan.where}", binder.parameters)[0][0]  # noqa: S608 - bound
    return found


def _mixed(
    world: World, planned: Sequence[Plan], binder: Binder, order: Order, start: int, size: int
) -> tuple[list[Place], int]:
    """Things of several kinds: merged by time where that is asked for, else kind after kind, tickets last."""
    found = [_ordered(world, plan, binder, order, 0, start + size) for plan in reversed(planned)]
    places = [place for some, _ in found for place in some]
    if order.column in _WALKED:
        places.sort(key=lambda place: place.value, reverse=order.descending)
    return places[start : start + size], sum(total for _, total in found)


def _ordered(world: World, plan: Plan, binder: Binder, order: Order, start: int, size: int) -> tuple[list[Place], int]:
    """Words cost more to find than rows cost to sort: they are looked up once, for the count and the page alike."""
    total = 0 if plan.is_costly else _count(world, plan, binder)
    if not plan.is_costly and start >= total:
        return [], total
    counted = "count(*) OVER ()" if plan.is_costly else str(total)
    key, sorting, source = _sorting(plan, order, walks=not plan.is_costly and total > _FEW)
    sql = f"SELECT id, {key}, {counted} FROM {source} WHERE {plan.where} ORDER BY {sorting} LIMIT {size} OFFSET {start}"  # noqa: S608 - bound
    found = world.rows(sql, binder.parameters)
    if not found:
        return [], _count(world, plan, binder)
    return [Place(plan.kind, one, value) for one, value, _ in found], found[0][2]


def _sorting(plan: Plan, order: Order, *, walks: bool) -> tuple[str, str, str]:
    """What to sort by, how, and from where: long results walk the index that is laid out in their order."""
    way = "DESC" if order.descending else "ASC"
    column = order.column if plan.kind == "ticket" or order.column not in _OF_TICKETS else None
    first = f"{plan.relevance} DESC, " if column is None and plan.relevance is not None else ""
    key = column or "created_at"
    index = f"{plan.table}_{_WALKED.get(key)}"
    walked = walks and not first and index in _INDEXES
    source = f"{plan.table} INDEXED BY {index}" if walked else plan.table
    # A plus keeps SQLite from walking that index where it would meet few of the rows it looks for.
    return key, f"{first}{'' if walked else '+'}{key} {way}, id {way}", source


def _rows(world: World, places: Sequence[Place]) -> list[Hit]:
    kinds = dict.fromkeys(place.kind for place in places)
    by_kind = {
        kind: {row["id"]: row for row in listing.by_ids(world, table_of(kind), _keys(places, kind))} for kind in kinds
    }
    return [Hit(place.kind, by_kind[place.kind][place.key]) for place in places]


def _keys(places: Sequence[Place], kind: str) -> list[int]:
    return [place.key for place in places if place.kind == kind]


def table_of(kind: str) -> sa.Table:
    return _TABLES[kind]


def _sealed(place: int) -> str:
    return base64.urlsafe_b64encode(f"id:{place}".encode()).decode().rstrip("=")


def _opened(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode().removeprefix("id:"))
    except (binascii.Error, ValueError) as error:
        raise InvalidParameter("page[after]", "The cursor is not valid") from error
