"""Documents: rows that keep one JSON object each in a `body`, beside an id and a few columns of their product.

The columns that lists and searches compare are derived from the body at every write (`text_column` and its siblings).
Conditions are SQL with named parameters, because the desk's search language composes them freely and because both
products page by a place in an order; the driver keeps each text compiled, so a shape of query is prepared once.
Column names come from our own code and every value is a parameter.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints

import orjson
import sqlalchemy as sa

from services.kernel.errors import Refusal
from services.kernel.statements import Key, KeyT, RowT, RowTable, derived_column, plan_of
from services.kernel.world import World

BodyT = TypeVar("BodyT", bound=Mapping[str, Any])

# --- derived columns ------------------------------------------------------------------------------------------------


def read_path(path: tuple[str, ...], row: Mapping[str, Any]) -> Any:
    """Returns what the body holds under this path; None where a part of it is missing."""
    value: Any = row["body"]
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _read_plain(path: tuple[str, ...], row: Mapping[str, Any]) -> Any:
    value = read_path(path, row)
    return int(value) if isinstance(value, bool) else value


def _read_name(name: str, row: Mapping[str, Any]) -> Any:
    """Reads a name of the body itself, as most columns do; it is faster, and every write computes all columns."""
    value = row["body"].get(name)
    return int(value) if isinstance(value, bool) else value


def _plain_reader(path: str) -> Callable[[Mapping[str, Any]], Any]:
    parts = tuple(path.split("."))
    return partial(_read_name, path) if len(parts) == 1 else partial(_read_plain, parts)


def _read_folded(path: tuple[str, ...], row: Mapping[str, Any]) -> str | None:
    value = read_path(path, row)
    return value.casefold() if isinstance(value, str) else None


def text_column(name: str, path: str = "") -> sa.Column[Any]:
    """Holds a text of the body; `path` may be dotted and is the column's name where it is left out."""
    return derived_column(name, _plain_reader(path or name))


def number_column(name: str, path: str = "") -> sa.Column[Any]:
    """Holds a number of the body, or a bool as 0 or 1."""
    return derived_column(name, _plain_reader(path or name), sa.Integer)


def folded_column(name: str) -> sa.Column[Any]:
    """Holds a text of the body in one case, as `<name>_folded`."""
    return derived_column(f"{name}_folded", partial(_read_folded, (name,)))


# --- new bodies -----------------------------------------------------------------------------------------------------


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """Returns the fields of a type of bodies in their order, and whether each may be null."""
    hints = get_type_hints(kind)
    return tuple((name, hint is NoneType or NoneType in get_args(hint)) for name, hint in hints.items())


def with_nulls(kind: type[BodyT], body: BodyT) -> BodyT:
    """Returns the body with null in each field that may be null and is not set, in the order that the type declares."""
    filled: Any = {name: body.get(name) for name, may_be_null in _fields_of(kind) if may_be_null or name in body}
    whole: BodyT = filled
    return whole


# --- conditions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on one table's rows."""

    sql: str = "1"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __and__(self, other: "Where") -> "Where":
        if self.sql == "1":
            return other
        if other.sql == "1":
            return self
        return Where(f"({self.sql}) AND ({other.sql})", {**self.parameters, **other.parameters})


EVERYTHING = Where()
# SQLite's integers end a little above it.
_LARGEST = 1 << 62

Comparison = Literal["<", "<=", ">", ">="]
_COMPARISON_NAMES: Mapping[str, str] = {"<": "below", "<=": "at_most", ">": "above", ">=": "at_least"}


def equal(**values: Any) -> Where:
    sql = " AND ".join(f"{name} = :equal_{name}" for name in values)
    return Where(sql or "1", {f"equal_{name}": value for name, value in values.items()})


def among(column: str, values: Iterable[Any]) -> Where:
    """Makes the condition that a column has one of the values; they are one parameter, so that the SQL text stays."""
    listed = orjson.dumps(list(values)).decode()
    return Where(f"{column} IN (SELECT value FROM json_each(:among_{column}))", {f"among_{column}": listed})  # noqa: S608 - our own names


def not_among(column: str, values: Iterable[Any]) -> Where:
    listed = orjson.dumps(list(values)).decode()
    return Where(f"{column} NOT IN (SELECT value FROM json_each(:other_{column}))", {f"other_{column}": listed})  # noqa: S608 - our own names


def compare(column: str, comparison: Comparison, value: Any) -> Where:
    name = f"{column}_{_COMPARISON_NAMES[comparison]}"
    return Where(f"{column} {comparison} :{name}", {name: value})


def is_null(column: str) -> Where:
    return Where(f"{column} IS NULL")


def is_set(column: str) -> Where:
    return Where(f"{column} IS NOT NULL")


class Binder:
    """Collects the values of a condition that is written as SQL text; only our own names become text."""

    __slots__ = ("parameters",)

    def __init__(self, **parameters: Any) -> None:
        self.parameters: dict[str, Any] = parameters

    def bind(self, value: Any) -> str:
        name = f"b{len(self.parameters)}"
        if isinstance(value, int):
            value = max(-_LARGEST, min(value, _LARGEST))
        self.parameters[name] = value
        return f":{name}"

    def bind_all(self, values: Iterable[Any]) -> str:
        """Binds any number of values as one parameter."""
        return f"(SELECT value FROM json_each({self.bind(orjson.dumps(list(values)).decode())}))"  # noqa: S608 - bound


# --- reading many ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Order:
    """By which SQL terms, the last of them unique, and which way all of them go."""

    terms: tuple[str, ...] = ("id",)
    descending: bool = False

    @property
    def sql(self) -> str:
        way = "DESC" if self.descending else "ASC"
        return "ORDER BY " + ", ".join(f"{term} {way}" for term in self.terms)

    def reverse(self) -> "Order":
        return Order(self.terms, not self.descending)


BY_ID = Order()


@dataclass(frozen=True, slots=True)
class Slice(Generic[RowT]):
    """Some rows in an order, and whether more follow in the direction that was read."""

    rows: list[RowT]
    # The values of the order's terms for each row: a cursor is made of one of them.
    places: list[tuple[Any, ...]]
    has_more: bool


def read_rows(
    world: World, table: RowTable[RowT, KeyT], sql: str, parameters: Mapping[str, Any] | tuple[Any, ...]
) -> list[RowT]:
    """Returns the rows of a statement that selects the columns of `columns_of(table)`."""
    columns = plan_of(table).columns
    rows: Any = [dict(zip(columns, values, strict=True)) for values in world.rows(sql, parameters)]
    for row in rows:
        row["body"] = orjson.loads(row["body"])
    documents: list[RowT] = rows
    return documents


@cache
def columns_of(table: sa.Table) -> str:
    """Returns the columns of a whole row, as a SELECT lists them."""
    return ", ".join(plan_of(table).columns)


def select(
    world: World, table: RowTable[RowT, KeyT], where: Where = EVERYTHING, order: Order = BY_ID, limit: int = -1
) -> list[RowT]:
    """Returns all rows that match, or the first `limit` of them."""
    sql = f"SELECT {columns_of(table)} FROM {table.name} WHERE {where.sql} {order.sql} LIMIT :limit"  # noqa: S608 - our own names
    return read_rows(world, table, sql, {**where.parameters, "limit": limit})


def select_numbered(
    world: World, table: RowTable[RowT, KeyT], where: Where, order: Order, limit: int, offset: int
) -> list[RowT]:
    """Returns the rows after the first `offset`."""
    sql = f"SELECT {columns_of(table)} FROM {table.name} WHERE {where.sql} {order.sql} LIMIT :limit OFFSET :offset"  # noqa: S608 - our own names
    return read_rows(world, table, sql, {**where.parameters, "limit": limit, "offset": offset})


def select_slice(
    world: World,
    table: RowTable[RowT, KeyT],
    where: Where,
    order: Order,
    limit: int,
    place: tuple[Any, ...] | None = None,
    *,
    backwards: bool = False,
) -> Slice[RowT]:
    """Returns at most `limit` rows behind a place, or before it where `backwards`, always in the given order."""
    walked = order.reverse() if backwards else order
    terms = ", ".join(order.terms)
    parameters = {**where.parameters, "limit": limit + 1}
    condition = f"({where.sql})"
    if place is not None:
        names = [f"place_{index}" for index in range(len(place))]
        sign = "<" if walked.descending else ">"
        condition += f" AND ({terms}) {sign} ({', '.join(f':{name}' for name in names)})"
        parameters |= zip(names, place, strict=True)
    sql = f"SELECT {columns_of(table)}, {terms} FROM {table.name} WHERE {condition} {walked.sql} LIMIT :limit"  # noqa: S608 - our own names
    read = world.rows(sql, parameters)
    page = read[:limit][::-1] if backwards else read[:limit]
    plan, width = plan_of(table), len(order.terms)
    rows: list[RowT] = [plan.get.as_row(values[:-width]) for values in page]  # type: ignore[misc]  # the plan of this table
    return Slice(rows, [values[-width:] for values in page], len(read) > limit)


def select_by_id(world: World, table: RowTable[RowT, KeyT], ids: Iterable[KeyT]) -> list[RowT]:
    """Returns the rows in the order of `ids`; ids without a row are left out."""
    wanted = dict.fromkeys(ids)
    rows = {row["id"]: row for row in select(world, table, among("id", wanted))}
    return [rows[key] for key in wanted if key in rows]


def count(world: World, table: sa.Table, where: Where = EVERYTHING) -> int:
    sql = f"SELECT count(*) FROM {table.name} WHERE {where.sql}"  # noqa: S608 - our own names
    total: int = world.rows(sql, where.parameters)[0][0]
    return total


# --- one at a time --------------------------------------------------------------------------------------------------


def _no_columns(_: World) -> Mapping[str, Any]:
    return {}


def _always(_: Any) -> bool:
    return True


def _event_as_given(_: sa.Table, event: str) -> str:
    return event


@dataclass(frozen=True, slots=True)
class DocumentStore:
    """How one product reads and writes its documents: with its own refusals, and its own columns beside the body."""

    # The refusal for an id in a path, and for an id in the parameter of that name.
    not_found: Callable[[sa.Table, Key], Refusal]
    bad_reference: Callable[[sa.Table, Key, str], Refusal]
    # Whether a parameter may still name this body: what was deleted is not to be built upon.
    is_usable: Callable[[Any], bool] = _always
    # The columns beside id and body, when a row is added and when its body changes.
    columns_when_added: Callable[[World], Mapping[str, Any]] = _no_columns
    columns_when_changed: Callable[[World], Mapping[str, Any]] = _no_columns
    # The name under which a write stands in the diff.
    name_event: Callable[[sa.Table, str], str] = _event_as_given

    def need(self, world: World, table: RowTable[RowT, KeyT], key: KeyT) -> RowT:
        """Returns the row that a path names."""
        row: RowT | None = world.get(table, key)
        if row is None:
            raise self.not_found(table, key)
        return row

    def refer(self, world: World, table: RowTable[RowT, KeyT], key: KeyT, parameter: str) -> RowT:
        """Returns the row that a parameter names."""
        row: RowT | None = world.get(table, key)
        if row is None or not self.is_usable(row["body"]):
            raise self.bad_reference(table, key, parameter)
        return row

    def must_exist(self, world: World, table: RowTable[RowT, KeyT], key: KeyT) -> RowT:
        """Returns the row that one of our own rows names: without it the world is broken."""
        row: RowT | None = world.get(table, key)
        if row is None:
            raise LookupError(f"{table.name} has no {key}")
        return row

    def add(
        self,
        world: World,
        table: RowTable[RowT, KeyT],
        body: Mapping[str, Any],
        key: KeyT | None = None,
        event: str = "created",
        **columns: Any,
    ) -> RowT:
        """Adds a row; without a `key` the table's counter gives the next number."""
        number = world.ids.next(str(table.name)) if key is None else key
        row: Any = {"id": number, **self.columns_when_added(world), **columns, "body": body}
        world.save(table, row, self.name_event(table, event))
        added: RowT = row
        return added

    def change(
        self,
        world: World,
        table: RowTable[RowT, KeyT],
        row: RowT,
        changes: Mapping[str, Any],
        event: str = "updated",
    ) -> RowT:
        """Writes the body with these changes; a body that stays as it is is not written."""
        body = {**row["body"], **changes}
        if body == row["body"]:
            return row
        after: Any = {**row, **self.columns_when_changed(world), "body": body}
        world.save(table, after, self.name_event(table, event))
        changed: RowT = after
        return changed

    def remove(self, world: World, table: RowTable[RowT, KeyT], key: KeyT, event: str = "deleted") -> None:
        world.remove(table, key, self.name_event(table, event))
