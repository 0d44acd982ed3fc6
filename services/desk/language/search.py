"""Search: count, pages and an export, over tickets, users, organizations and groups at once."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from services.desk.documents import DeskTable, select_ids
from services.desk.errors import InvalidParameter, InvalidSearch
from services.desk.language.context import SearchContext
from services.desk.language.plans import Plan, make_plans
from services.desk.language.syntax import KINDS, Query, TooLong, parse
from services.desk.rows import AnyRow, UserId
from services.desk.tables import groups, organizations, tables, tickets, users
from services.kernel.documents import Binder
from services.kernel.world import World

LAST_RESULT = 1_000
LARGEST_EXPORT = 1_000
# Fewer are sorted faster than an index is walked.
_FEW = 300
_TABLES: dict[str, DeskTable[Any, Any]] = {
    "ticket": tickets,
    "user": users,
    "organization": organizations,
    "group": groups,
}
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
    """A search as it was requested."""

    query: str
    me: UserId
    kind: str | None = None
    sort_by: str | None = None
    descending: bool | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One record that was found."""

    kind: str
    row: AnyRow


@dataclass(frozen=True, slots=True)
class Results:
    """Some of what was found, and how many there are in all."""

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


def run_search(world: World, search: Search, page: int, size: int) -> Results:
    if page * size > LAST_RESULT:
        raise InvalidSearch("Invalid search: Requested response size was greater than Search Response Limits")
    query, start = _parse(search), (page - 1) * size
    with world.lag_search(tables.tables.__getitem__):
        plans, binder = _plan(world, search, query)
        order = _read_order(search, query)
        if len(plans) == 1:
            places, total = _find_places(world, plans[0], binder, order, start, size)
        else:
            places, total = _merge_kinds(world, plans, binder, order, start, size)
        return Results(_read_hits(world, places), total)


def count_results(world: World, search: Search) -> int:
    with world.lag_search(tables.tables.__getitem__):
        plans, binder = _plan(world, search, _parse(search))
        return sum(_count(world, plan, binder) for plan in plans)


def export_results(world: World, search: Search, size: int, after: str | None) -> tuple[list[Hit], str | None]:
    """Returns records of one kind in the order of ids, and the cursor of the last where more follow."""
    if search.kind not in KINDS:
        raise InvalidParameter("filter[type]", f"It must be one of {', '.join(KINDS)}")
    with world.lag_search(tables.tables.__getitem__):
        plans, binder = _plan(world, search, _parse(search))
        start = binder.bind(_decode_cursor(after))
        places = [
            Place(plan.kind, key, key)
            for plan in plans
            for (key,) in world.rows(
                f"{select_ids(plan.table, f'id > {start} AND {plan.where}')} ORDER BY id LIMIT {size + 1}",
                binder.parameters,
            )
        ]
        cursor = _encode_cursor(places[size - 1].key) if len(places) > size else None
        return _read_hits(world, places[:size]), cursor


def _parse(search: Search) -> Query:
    try:
        query = parse(search.query)
    except TooLong as error:
        raise InvalidSearch(f"Invalid search: {error}") from error
    if search.kind is None:
        return query
    return replace(query, kinds=tuple(kind for kind in query.kinds if kind == search.kind))


def _plan(world: World, search: Search, query: Query) -> tuple[list[Plan], Binder]:
    binder = Binder()
    return make_plans(SearchContext(binder, world.clock.now_ms(), search.me), query), binder


def _read_order(search: Search, query: Query) -> Order:
    name = search.sort_by or query.order_by
    column = _ORDERS.get(name.lower()) if name else None
    descending = search.descending if search.descending is not None else query.descending
    return Order(column, True if descending is None else descending)


def _count(world: World, plan: Plan, binder: Binder) -> int:
    total: int = world.rows(select_ids(plan.table, plan.where, "count(*)"), binder.parameters)[0][0]
    return total


def _merge_kinds(
    world: World, plans: Sequence[Plan], binder: Binder, order: Order, start: int, size: int
) -> tuple[list[Place], int]:
    """Merges several kinds by time where that is the order, else one kind follows the other, tickets last."""
    parts = [_find_places(world, plan, binder, order, 0, start + size) for plan in reversed(plans)]
    places = [place for part, _ in parts for place in part]
    if order.column in _WALKED:
        places.sort(key=lambda place: place.value, reverse=order.descending)
    return places[start : start + size], sum(total for _, total in parts)


def _find_places(
    world: World, plan: Plan, binder: Binder, order: Order, start: int, size: int
) -> tuple[list[Place], int]:
    """Words cost more to find than rows cost to sort: they are looked up once, for the count and the page alike."""
    total = 0 if plan.is_costly else _count(world, plan, binder)
    if not plan.is_costly and start >= total:
        return [], total
    counted = "count(*) OVER ()" if plan.is_costly else str(total)
    key, sorting, source = _choose_order(plan, order, walks=not plan.is_costly and total > _FEW)
    select = select_ids(source, plan.where, f"id, {key}, {counted}")
    rows = world.rows(f"{select} ORDER BY {sorting} LIMIT {size} OFFSET {start}", binder.parameters)
    if not rows:
        return [], _count(world, plan, binder)
    return [Place(plan.kind, one, value) for one, value, _ in rows], rows[0][2]


def _choose_order(plan: Plan, order: Order, *, walks: bool) -> tuple[str, str, str]:
    """Returns what to sort by, how, and from where: long results walk the index that has their order."""
    way = "DESC" if order.descending else "ASC"
    column = order.column if plan.kind == "ticket" or order.column not in _OF_TICKETS else None
    first = f"{plan.relevance} DESC, " if column is None and plan.relevance is not None else ""
    key = column or "created_at"
    index = f"{plan.table}_{_WALKED.get(key)}"
    walked = walks and not first and index in _INDEXES
    source = f"{plan.table} INDEXED BY {index}" if walked else plan.table
    # A plus keeps SQLite from walking that index where it would meet few of the rows it looks for.
    return key, f"{first}{'' if walked else '+'}{key} {way}, id {way}", source


def _read_hits(world: World, places: Sequence[Place]) -> list[Hit]:
    kinds = dict.fromkeys(place.kind for place in places)
    rows = {
        kind: {row["id"]: row for row in _TABLES[kind].by_ids(world, [one.key for one in places if one.kind == kind])}
        for kind in kinds
    }
    return [Hit(place.kind, rows[place.kind][place.key]) for place in places]


def _encode_cursor(key: int) -> str:
    return base64.urlsafe_b64encode(f"id:{key}".encode()).decode().rstrip("=")


def _decode_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode().removeprefix("id:"))
    except (binascii.Error, ValueError) as error:
        raise InvalidParameter("page[after]", "The cursor is not valid") from error
