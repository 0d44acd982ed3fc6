"""Search: groups of filters, free text, one sort, pages by offset."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.crm.errors import InvalidRequest
from services.crm.kinds import Kind
from services.crm.operations import computed, definitions, records
from services.crm.operations.conditions import Binder, condition
from services.crm.operations.selection import LIVE, Selection
from services.crm.operations.showing import Shown, Wanted, show
from services.crm.tables import tables
from services.kernel.world import World

MOST_GROUPS, MOST_FILTERS, MOST_IN_ALL, LAST_RESULT, LONGEST_BODY = 5, 6, 18, 10_000, 3_000
# Orders that an index of `objects` is laid out in.
_WALKED = {"o.created_at": "objects_by_creation", "o.updated_at": "objects_by_change", "o.id": "objects_by_kind"}
_FEW = 50
# So many, or more, lie close together in any order.
_MANY = 400
_STRIDE = 128


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
        chosen, total = selection(world, kind, binder, asked.groups, asked.query).settled(world, binder)
        ids = _page(world, kind, binder, chosen, asked, total) if total > asked.after else []
        rows = records.fetch(world, ids)
        results = show(world, kind, [rows[one] for one in ids], Wanted(properties=asked.properties))
    following = asked.after + len(ids)
    return Found(total, results, following if ids and following < total else None)


def matching(world: World, kind: Kind, binder: Binder, groups: Sequence[Sequence[Filter]], query: str | None) -> str:
    """The WHERE of a search over `objects o`; the kind is bound as :kind."""
    return selection(world, kind, binder, groups, query).where


def selection(
    world: World, kind: Kind, binder: Binder, groups: Sequence[Sequence[Filter]], query: str | None
) -> Selection:
    either = [
        [condition(world, kind, binder, one.name, one.operator, _operands(one)) for one in group] for group in groups
    ]
    text = binder.bind(_full_text(kind.name, query)) if query and query.strip() else None
    return Selection(tuple(tuple(group) for group in either), text)


def _page(world: World, kind: Kind, binder: Binder, chosen: Selection, asked: Search, total: int) -> list[int]:
    sort = asked.sort or Sort(kind.created)
    found = computed.expression(kind, sort.name)
    if found is not None:
        return _by_expression(world, binder, chosen, asked, found[0], total)
    column = "number" if definitions.require(world, kind.name, sort.name).is_numeric else "folded"
    return _by_value(world, binder, chosen, asked, sort, column)


def _by_expression(
    world: World, binder: Binder, chosen: Selection, asked: Search, expression: str, total: int
) -> list[int]:
    """Walks the index of that order where there is one, unless the records are so few that sorting them is quicker."""
    way = "DESC" if asked.sort is not None and asked.sort.descending else "ASC"
    index = _WALKED.get(expression) if total > _FEW else None
    if index is not None and chosen.ids is not None and total > _MANY:
        order = f"objects o INDEXED BY {index} WHERE {LIVE} ORDER BY {expression} {way}, o.id {way}"
        return _strolled(world, binder, chosen.ids, order, asked)
    source = "objects o" if index is None else f"objects o INDEXED BY {index}"
    bounds = f"LIMIT {binder.bind(asked.limit)} OFFSET {binder.bind(asked.after)}"
    where = chosen.narrow if index is None else chosen.walked
    sql = f"SELECT o.id FROM {source} WHERE {where} ORDER BY {expression} {way}, o.id {way} {bounds}"  # noqa: S608 - bound
    return [found for (found,) in world.rows(sql, binder.parameters)]


def _strolled(world: World, binder: Binder, ids: frozenset[int], order: str, asked: Search) -> list[int]:
    """Goes along in order and keeps who is meant: where many are, the first page is near."""
    found: list[int] = []
    at, stride = 0, _STRIDE
    while len(found) < asked.after + asked.limit:
        passed = world.rows(f"SELECT o.id FROM {order} LIMIT {stride} OFFSET {at}", binder.parameters)  # noqa: S608 - our own
        found += [one for (one,) in passed if one in ids]
        if len(passed) < stride:
            break
        at, stride = at + stride, 2 * stride
    return found[asked.after : asked.after + asked.limit]


def _by_value(world: World, binder: Binder, chosen: Selection, asked: Search, sort: Sort, column: str) -> list[int]:
    """Walks the values in their own order; the records without one come after all that have one."""
    way = "DESC" if sort.descending else "ASC"
    name = binder.bind(sort.name)
    valued = f"(SELECT object_id AS id, {column} AS key FROM property_values WHERE kind = :kind AND name = {name}) o"  # noqa: S608 - bound
    inside = f"{valued} WHERE {chosen.by_id} AND o.key IS NOT NULL"
    bounds = f"LIMIT {binder.bind(asked.limit)} OFFSET {binder.bind(asked.after)}"
    sql = f"SELECT o.id FROM {inside} ORDER BY o.key {way}, o.id {way} {bounds}"  # noqa: S608 - bound
    ids = [found for (found,) in world.rows(sql, binder.parameters)]
    if len(ids) == asked.limit:
        return ids
    before: int = world.rows(f"SELECT count(*) FROM {inside}", binder.parameters)[0][0]  # noqa: S608 - bound
    rest = f"LIMIT {binder.bind(asked.limit - len(ids))} OFFSET {binder.bind(max(0, asked.after - before))}"
    bare = f"SELECT id FROM {valued} WHERE o.key IS NOT NULL"  # noqa: S608 - bound
    sql = f"SELECT o.id FROM objects o WHERE {chosen.where} AND o.id NOT IN ({bare}) ORDER BY o.id {rest}"  # noqa: S608 - bound
    return ids + [found for (found,) in world.rows(sql, binder.parameters)]


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
