"""Search: groups of filters, free text, one sort, pages by offset."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from services.crm.errors import InvalidRequest
from services.crm.object_types import ObjectType
from services.crm.operations import definitions, records
from services.crm.operations.calculated_properties import find_expression
from services.crm.operations.conditions import compile_condition
from services.crm.operations.selection import LIVE, Selection
from services.crm.operations.serialization import RequestedFields, serialize
from services.crm.rows import Body, ObjectTypeName, Operator, RecordId
from services.crm.tables import tables
from services.kernel.documents import Binder
from services.kernel.world import World

MAX_GROUPS, MAX_GROUP_FILTERS, MAX_FILTERS, LAST_RESULT, MAX_BODY_LENGTH = 5, 6, 18, 10_000, 3_000
# Orders in which an index of `objects` is stored.
_INDEXES = {"o.created_at": "objects_by_creation", "o.updated_at": "objects_by_change", "o.id": "objects_by_kind"}
# Up to this many records, sorting them is faster than scanning an index.
_FEW = 50
# From this many records on, the first page of any order is near its beginning.
_MANY = 400
_FIRST_CHUNK = 128


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on one property."""

    name: str
    operator: Operator
    value: str | None = None
    values: tuple[str, ...] | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True)
class Sort:
    """The property to order by, and the direction."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, and which page to return."""

    groups: tuple[tuple[Filter, ...], ...] = ()
    query: str | None = None
    sort: Sort | None = None
    properties: tuple[str, ...] | None = None
    limit: int = 10
    after: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page of the records that a search found."""

    total: int
    results: list[Body]
    after: int | None


def search(world: World, object_type: ObjectType, request: SearchRequest) -> SearchResult:
    _refuse_excess(request)
    with world.lag_search(tables.tables.__getitem__):
        binder = Binder(kind=object_type.name)
        selection = select(world, object_type, binder, request.groups, request.query)
        selection, total = selection.evaluate(world, binder)
        ids = _find_page(world, object_type, binder, selection, request, total) if total > request.after else []
        rows = records.fetch(world, ids)
        fields = RequestedFields(properties=request.properties)
        results = serialize(world, object_type, [rows[record_id] for record_id in ids], fields)
    following = request.after + len(ids)
    return SearchResult(total, results, following if ids and following < total else None)


def select(
    world: World, object_type: ObjectType, binder: Binder, groups: Sequence[Sequence[Filter]], query: str | None = None
) -> Selection:
    """Compiles a search over `objects o`; the binder has the object type's name as `kind`."""
    conditions = tuple(
        tuple(
            compile_condition(world, object_type, binder, each.name, each.operator, _operands(each)) for each in group
        )
        for group in groups
    )
    text = binder.bind(_full_text_query(object_type.name, query)) if query and query.strip() else None
    return Selection(conditions, text)


def _find_page(
    world: World, object_type: ObjectType, binder: Binder, selection: Selection, request: SearchRequest, total: int
) -> list[RecordId]:
    sort = request.sort or Sort(object_type.created_property)
    expression = find_expression(object_type, sort.name)
    if expression is not None:
        return _page_by_expression(world, binder, selection, request, expression.sql, total)
    column = "number" if definitions.require(world, object_type.name, sort.name).is_numeric else "folded"
    return _page_by_value(world, binder, selection, request, sort, column)


def _page_by_expression(
    world: World, binder: Binder, selection: Selection, request: SearchRequest, expression: str, total: int
) -> list[RecordId]:
    """Scans the index of that order where there is one, unless so few records match that sorting them is faster."""
    direction = "DESC" if request.sort is not None and request.sort.descending else "ASC"
    order = f"ORDER BY {expression} {direction}, o.id {direction}"
    index = _INDEXES.get(expression) if total > _FEW else None
    if index is not None and selection.ids is not None and total > _MANY:
        source = f"objects o INDEXED BY {index} WHERE {LIVE} {order}"
        return _scan_in_order(world, binder, selection.ids, source, request)
    source = "objects o" if index is None else f"objects o INDEXED BY {index}"
    where = selection.where_minimal if index is None else selection.where_in_scan
    bounds = f"LIMIT {binder.bind(request.limit)} OFFSET {binder.bind(request.after)}"
    return _find_ids(world, binder, f"SELECT o.id FROM {source} WHERE {where} {order} {bounds}")  # noqa: S608 - bound


def _scan_in_order(
    world: World, binder: Binder, ids: frozenset[RecordId], source: str, request: SearchRequest
) -> list[RecordId]:
    """Reads records in order and keeps the selected ones: where many are selected, the first page is near."""
    matches: list[RecordId] = []
    offset, chunk = 0, _FIRST_CHUNK
    while len(matches) < request.after + request.limit:
        read = _find_ids(world, binder, f"SELECT o.id FROM {source} LIMIT {chunk} OFFSET {offset}")  # noqa: S608 - our own
        matches += [record_id for record_id in read if record_id in ids]
        if len(read) < chunk:
            break
        offset, chunk = offset + chunk, 2 * chunk
    return matches[request.after : request.after + request.limit]


def _page_by_value(
    world: World, binder: Binder, selection: Selection, request: SearchRequest, sort: Sort, column: str
) -> list[RecordId]:
    """Scans the values in their own order; the records without a value come after all that have one."""
    direction = "DESC" if sort.descending else "ASC"
    name = binder.bind(sort.name)
    valued = f"(SELECT object_id AS id, {column} AS key FROM property_values WHERE kind = :kind AND name = {name}) o"  # noqa: S608 - bound
    source = f"{valued} WHERE {selection.where_by_id} AND o.key IS NOT NULL"
    bounds = f"LIMIT {binder.bind(request.limit)} OFFSET {binder.bind(request.after)}"
    sql = f"SELECT o.id FROM {source} ORDER BY o.key {direction}, o.id {direction} {bounds}"  # noqa: S608 - bound
    ids = _find_ids(world, binder, sql)
    if len(ids) == request.limit:
        return ids
    valued_count: int = world.rows(f"SELECT count(*) FROM {source}", binder.parameters)[0][0]  # noqa: S608 - bound
    offset = max(0, request.after - valued_count)
    bounds = f"LIMIT {binder.bind(request.limit - len(ids))} OFFSET {binder.bind(offset)}"
    valued_ids = f"SELECT id FROM {valued} WHERE o.key IS NOT NULL"  # noqa: S608 - bound
    where = f"{selection.where} AND o.id NOT IN ({valued_ids})"
    return ids + _find_ids(world, binder, f"SELECT o.id FROM objects o WHERE {where} ORDER BY o.id {bounds}")  # noqa: S608 - bound


def _find_ids(world: World, binder: Binder, sql: str) -> list[RecordId]:
    return [record_id for (record_id,) in world.rows(sql, binder.parameters)]


def _operands(condition: Filter) -> Sequence[str]:
    match condition.operator:
        case "HAS_PROPERTY" | "NOT_HAS_PROPERTY":
            return ()
        case "IN" | "NOT_IN":
            if not condition.values:
                raise _incomplete(condition, "values")
            return condition.values
        case "BETWEEN":
            if condition.value is None or condition.high is None:
                raise _incomplete(condition, "value and highValue")
            return (condition.value, condition.high)
        case "EQ" | "NEQ" | "LT" | "LTE" | "GT" | "GTE" | "CONTAINS_TOKEN" | "NOT_CONTAINS_TOKEN":
            if condition.value is None:
                raise _incomplete(condition, "value")
            return (condition.value,)
        case _:
            assert_never(condition.operator)


def _incomplete(condition: Filter, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"There was a problem with the request. Operator {condition.operator} requires {what} "
        f"for property {condition.name}",
        context={"propertyName": [condition.name]},
    )


def _refuse_excess(request: SearchRequest) -> None:
    counts = [len(group) for group in request.groups]
    if len(counts) > MAX_GROUPS:
        raise InvalidRequest(f"There was a problem with the request. Too many filter groups: {MAX_GROUPS} are allowed")
    if any(count > MAX_GROUP_FILTERS for count in counts) or sum(counts) > MAX_FILTERS:
        raise InvalidRequest(
            "There was a problem with the request. Too many filters: "
            f"{MAX_GROUP_FILTERS} in a group and {MAX_FILTERS} in all are allowed"
        )
    if request.after + request.limit > LAST_RESULT:
        raise InvalidRequest(
            f"There was a problem with the request. Paging past {LAST_RESULT} results is not supported",
            context={"after": [str(request.after)]},
        )


def _full_text_query(type_name: ObjectTypeName, query: str) -> str:
    """Every word must begin a word of the record; quotes keep FTS5's own language out.

    A dash or an ampersand between words is no word: "Yates & Cannon" must find them.
    """
    terms = [term.replace('"', '""') for term in query.replace("\x00", " ").split()]
    terms = [term for term in terms if any(letter.isalnum() for letter in term)] or terms
    words = " AND ".join(f'"{term}" *' for term in terms[:32])
    return f'kind : "{type_name}" AND searchable : ({words})'
