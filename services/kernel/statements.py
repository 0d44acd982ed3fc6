"""SQLAlchemy Core, compiled once, run on the driver."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

Row = dict[str, Any]

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


class Statement:
    """One Core statement with its SQL text; building it costs a millisecond, so build it at import."""

    __slots__ = ("columns", "fixed", "json_at", "sql")

    def __init__(self, core: sa.sql.Executable) -> None:
        compiled = core.compile(dialect=_DIALECT)  # type: ignore[attr-defined]  # every executable we build compiles
        self.sql: str = str(compiled)
        self.fixed: dict[str, Any] = {k: v for k, v in compiled.params.items() if v is not None}
        selected = getattr(core, "selected_columns", None)
        columns = list(selected) if selected is not None else []
        # Plain str: SQLAlchemy's names are a subclass, which orjson refuses as a key.
        self.columns: tuple[str, ...] = tuple(str(column.name) for column in columns)
        self.json_at: tuple[int, ...] = tuple(i for i, c in enumerate(columns) if isinstance(c.type, Json))

    def as_row(self, values: tuple[Any, ...]) -> Row:
        row = dict(zip(self.columns, values, strict=True))
        for at in self.json_at:
            if values[at] is not None:
                row[self.columns[at]] = orjson.loads(values[at])
        return row


def derived(
    name: str, of: Callable[[Row], str | int | None], kind: type[sa.types.TypeEngine[Any]] = sa.Text
) -> sa.Column[Any]:
    """A column that every write computes from its row, and that no row image carries: an index, not a fact."""
    return sa.Column(name, kind, info={"derived": of})


def turned(name: str, of: Callable[[Row | None, Row], str | None]) -> sa.Column[Any]:
    """A derived column that knows the row before as well: for a trigger that would else compare both images anew."""
    return sa.Column(name, sa.Text, info={"derived": None, "turned": of})


def facts(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns that make a row: select these where the rows are to be saved again."""
    return [column for column in table.columns if "derived" not in column.info]


class TablePlan:
    """The statements that World needs of a table."""

    __slots__ = (
        "_table",
        "_updates",
        "columns",
        "delete",
        "derived",
        "get",
        "insert",
        "json",
        "key",
        "name",
        "plain",
        "turned",
    )

    def __init__(self, table: sa.Table) -> None:
        keys = list(table.primary_key.columns)
        if len(keys) != 1:
            raise ValueError(f"table {table.name} needs exactly one key column: changes name a row by one value")
        key = keys[0]
        self.name = str(table.name)
        self.key = str(key.name)
        self.columns: tuple[str, ...] = tuple(str(column.name) for column in facts(table))
        self.plain: tuple[tuple[str, str], ...] = _bound(facts(table))
        self.json: tuple[tuple[str, str], ...] = _bound(c for c in facts(table) if isinstance(c.type, Json))
        self.derived: tuple[tuple[str, Callable[[Row], str | int | None]], ...] = tuple(
            (f"v_{column.name}", column.info["derived"]) for column in table.columns if column.info.get("derived")
        )
        self.turned: tuple[tuple[str, Callable[[Row | None, Row], str | None]], ...] = tuple(
            (f"v_{column.name}", column.info["turned"]) for column in table.columns if "turned" in column.info
        )
        self.get = Statement(sa.select(*facts(table)).where(key == sa.bindparam("key")))
        self.insert = Statement(table.insert().values({c.name: sa.bindparam(f"v_{c.name}") for c in table.columns}))
        self.delete = Statement(table.delete().where(key == sa.bindparam("key")))
        self._table = table
        self._updates: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    def update_of(self, before: Row, after: Row, bound: Row) -> str:
        """Sets what changed, `bound` being `after` as parameters: SQLite writes every index anew whose column is set.

        Documents and what knows the row before are always set: to Python a true in a document is a 1.
        """
        changed = tuple(column for column in self.columns if before[column] != after[column])
        moved = tuple(name for name, compute in self.derived if _differ(compute(before), bound[name]))
        sql = self._updates.get((changed, moved))
        if sql is None:
            table = self._table
            always = [f"v_{c.name}" for c in table.columns if "turned" in c.info or isinstance(c.type, Json)]
            names = {*always, *moved, *(f"v_{column}" for column in changed)}
            values: dict[str, Any] = {
                str(c.name): sa.bindparam(f"v_{c.name}") for c in table.columns if f"v_{c.name}" in names
            }
            chosen = table.update().where(table.c[self.key] == sa.bindparam("v_" + self.key)).values(values)
            sql = self._updates[changed, moved] = Statement(chosen).sql
        return sql

    def bind(self, row: Row, before: Row | None = None) -> Row:
        """The row as driver parameters; an unknown or missing column is a programming error."""
        if len(row) != len(self.columns):
            raise ValueError(f"{self.name} has the columns {self.columns}, not {tuple(row)}")
        bound = {parameter: row[column] for column, parameter in self.plain}
        for column, parameter in self.json:
            if (value := row[column]) is not None:
                bound[parameter] = orjson.dumps(value).decode()
        for parameter, compute in self.derived:
            bound[parameter] = compute(row)
        for parameter, compare in self.turned:
            bound[parameter] = compare(before, row)
        return bound


def _differ(one: str | int | None, other: str | int | None) -> bool:
    return one != other or type(one) is not type(other)


def _bound(columns: Iterable[sa.Column[Any]]) -> tuple[tuple[str, str], ...]:
    """Each column with the name of its parameter."""
    return tuple((str(column.name), f"v_{column.name}") for column in columns)


@cache
def plan_of(table: sa.Table) -> TablePlan:
    return TablePlan(table)
