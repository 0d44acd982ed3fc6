"""SQLAlchemy Core, compiled once, run on the driver."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

# A row of no particular table, as images in the diff and generic code see it.
Row = dict[str, Any]
Key = int | str
# A table's row (a TypedDict) and its key (a NewType).
RowT = TypeVar("RowT", bound=Mapping[str, Any])
KeyT = TypeVar("KeyT", bound=Key)

# Named parameters are what the sqlite3 driver takes as they are.
_DIALECT = sqlite.dialect(paramstyle="named")


class Json(sa.types.UserDefinedType[Any]):
    """A JSON document kept as text; World turns it into Python and back."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "TEXT"


class AnyKey(sa.types.UserDefinedType[Any]):
    """A key that keeps the type it has in its own table: SQLite converts nothing in a BLOB column."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "BLOB"


class RowTable(sa.Table, Generic[RowT, KeyT]):
    """A table whose rows have a type: `World.get(table, key)` returns `RowT`, and mypy finds a misspelt column."""

    inherit_cache = True
    # Set by define_table.
    row: type[RowT]


def define_table(
    row: type[RowT],
    key: Callable[[Any], KeyT],
    name: str,
    metadata: sa.MetaData,
    *items: sa.schema.SchemaItem,
    info: dict[str, Any] | None = None,
) -> RowTable[RowT, KeyT]:
    """Declares a table whose columns are the names of `row`, the first of them its key; `key` is the type of its ids.

    `items` are the indexes and derived columns. A type that may be None makes a nullable column; everything but numbers
    and texts is kept as a JSON document.
    """
    hints = get_type_hints(get_origin(row) or row)
    hints[next(iter(hints))] = key
    columns = [_column(column, hint, is_key=index == 0) for index, (column, hint) in enumerate(hints.items())]
    table: RowTable[RowT, KeyT] = RowTable(name, metadata, *columns, *items, info=info)
    table.row = row
    return table


def _column(name: str, hint: Any, *, is_key: bool) -> sa.Column[Any]:
    alternatives = get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,)
    kinds = {_column_type(each) for each in alternatives if each is not NoneType}
    if len(kinds) != 1:
        raise TypeError(f"the column {name} cannot hold {hint}")
    return sa.Column(name, kinds.pop(), primary_key=is_key, nullable=NoneType in alternatives)


def _column_type(hint: Any) -> type[sa.types.TypeEngine[Any]]:
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    if get_origin(hint) is Literal:
        hint = type(get_args(hint)[0])
    return {int: sa.Integer, str: sa.Text}.get(hint, Json)


class Statement(Generic[RowT]):
    """One Core statement with its SQL text; building it costs a millisecond, so build it at import.

    `row` is the type of what it returns: `Statement(select, TicketRow)`.
    """

    __slots__ = ("columns", "fixed", "json_at", "sql")

    @overload
    def __init__(self: "Statement[Row]", core: sa.sql.Executable) -> None: ...

    @overload
    def __init__(self, core: sa.sql.Executable, row: type[RowT]) -> None: ...

    def __init__(self, core: sa.sql.Executable, row: type[RowT] | None = None) -> None:
        del row  # for the type checker alone
        compiled = core.compile(dialect=_DIALECT)  # type: ignore[attr-defined]  # every executable we build compiles
        self.sql: str = str(compiled)
        self.fixed: dict[str, Any] = {k: v for k, v in compiled.params.items() if v is not None}
        selected = getattr(core, "selected_columns", None)
        columns = list(selected) if selected is not None else []
        # Plain str: SQLAlchemy's names are a subclass, which orjson refuses as a key.
        self.columns: tuple[str, ...] = tuple(str(column.name) for column in columns)
        self.json_at: tuple[int, ...] = tuple(i for i, c in enumerate(columns) if isinstance(c.type, Json))

    def as_row(self, values: tuple[Any, ...]) -> RowT:
        row: Row = dict(zip(self.columns, values, strict=True))
        for index in self.json_at:
            if values[index] is not None:
                row[self.columns[index]] = orjson.loads(values[index])
        return row  # type: ignore[return-value]  # define_table and the statement's author vouch for the type


def select_where(
    table: RowTable[RowT, KeyT],
    *columns: str,
    condition: sa.ColumnElement[bool] | None = None,
    order_by: tuple[str, ...] = ("id",),
) -> Statement[RowT]:
    """Selects the rows in which each of these columns equals the parameter of its name, and the condition holds."""
    select = sa.select(*list_stored_columns(table)).where(*(table.c[name] == sa.bindparam(name) for name in columns))
    if condition is not None:
        select = select.where(condition)
    return Statement(select.order_by(*(table.c[name] for name in order_by)), table.row)


def derived_column(
    name: str, of: Callable[[Any], str | int | None], kind: type[sa.types.TypeEngine[Any]] = sa.Text
) -> sa.Column[Any]:
    """A column that every write computes from its row and that no row image carries, such as an index."""
    return sa.Column(name, kind, info={"derived": of})


def change_column(name: str, of: Callable[[Any, Any], str | None]) -> sa.Column[Any]:
    """A derived column that is computed from the row before and after, so that a trigger need not compare both."""
    return sa.Column(name, sa.Text, info={"derived": None, "compare": of})


def list_stored_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns that make a row, without derived ones: select these where rows are to be saved again."""
    return [column for column in table.columns if "derived" not in column.info]


class TablePlan:
    """The statements that World uses for a table."""

    __slots__ = (
        "_table",
        "_updates",
        "change_columns",
        "columns",
        "delete",
        "derived_columns",
        "get",
        "insert",
        "json",
        "key",
        "name",
        "plain",
    )

    def __init__(self, table: sa.Table) -> None:
        keys = list(table.primary_key.columns)
        if len(keys) != 1:
            raise ValueError(f"table {table.name} needs exactly one key column: changes name a row by one value")
        key = keys[0]
        self.name = str(table.name)
        self.key = str(key.name)
        self.columns: tuple[str, ...] = tuple(str(column.name) for column in list_stored_columns(table))
        self.plain: tuple[tuple[str, str], ...] = _parameter_names(list_stored_columns(table))
        self.json: tuple[tuple[str, str], ...] = _parameter_names(
            c for c in list_stored_columns(table) if isinstance(c.type, Json)
        )
        self.derived_columns: tuple[tuple[str, Callable[[Any], str | int | None]], ...] = tuple(
            (f"v_{column.name}", column.info["derived"]) for column in table.columns if column.info.get("derived")
        )
        self.change_columns: tuple[tuple[str, Callable[[Any, Any], str | None]], ...] = tuple(
            (f"v_{column.name}", column.info["compare"]) for column in table.columns if "compare" in column.info
        )
        self.get = Statement(sa.select(*list_stored_columns(table)).where(key == sa.bindparam("key")))
        self.insert = Statement(table.insert().values({c.name: sa.bindparam(f"v_{c.name}") for c in table.columns}))
        self.delete = Statement(table.delete().where(key == sa.bindparam("key")))
        self._table = table
        self._updates: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    def update_sql(self, before: Mapping[str, Any], after: Mapping[str, Any], parameters: Row) -> str:
        """Sets only what changed, because SQLite rewrites every index whose column is set; `bound` is `after` bound.

        Documents and change columns are always set: to Python a true in a document equals 1.
        """
        changed = tuple(column for column in self.columns if before[column] != after[column])
        derived = tuple(name for name, compute in self.derived_columns if _differ(compute(before), parameters[name]))
        sql = self._updates.get((changed, derived))
        if sql is None:
            table = self._table
            always = [f"v_{c.name}" for c in table.columns if "compare" in c.info or isinstance(c.type, Json)]
            names = {*always, *derived, *(f"v_{column}" for column in changed)}
            values: dict[str, Any] = {
                str(c.name): sa.bindparam(f"v_{c.name}") for c in table.columns if f"v_{c.name}" in names
            }
            chosen = table.update().where(table.c[self.key] == sa.bindparam("v_" + self.key)).values(values)
            sql = self._updates[changed, derived] = Statement(chosen).sql
        return sql

    def bind(self, row: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> Row:
        """The row as driver parameters; an unknown or missing column is a programming error."""
        if len(row) != len(self.columns):
            raise ValueError(f"{self.name} has the columns {self.columns}, not {tuple(row)}")
        values = {parameter: row[column] for column, parameter in self.plain}
        for column, parameter in self.json:
            if (value := row[column]) is not None:
                values[parameter] = orjson.dumps(value).decode()
        for parameter, compute in self.derived_columns:
            values[parameter] = compute(row)
        for parameter, compare in self.change_columns:
            values[parameter] = compare(before, row)
        return values


def _differ(left: str | int | None, right: str | int | None) -> bool:
    return left != right or type(left) is not type(right)


def _parameter_names(columns: Iterable[sa.Column[Any]]) -> tuple[tuple[str, str], ...]:
    """Each column with the name of its parameter."""
    return tuple((str(column.name), f"v_{column.name}") for column in columns)


@cache
def plan_of(table: sa.Table) -> TablePlan:
    return TablePlan(table)
