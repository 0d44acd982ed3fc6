"""An immutable world file: build, fingerprint, open."""

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from services.kernel.changes import kernel_tables
from services.kernel.statements import _DIALECT, Row, plan_of

# All rows of a world, table by table.
TableRows = list[tuple[sa.Table, list[Row]]]

meta = sa.Table(
    "world_meta",
    kernel_tables,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# A fork keeps two copies of each page that it changes: half of SQLite's page size is half the memory per episode.
_PAGE_BYTES = 2048
_CHANGE_COUNTER_AT = 24
# An index that is filled row by row has many segments, and every search of every fork would read all of them.
_FULL_TEXT = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%' ORDER BY name"
_FORBIDDEN_DDL = ("ON CONFLICT ROLLBACK", "DEFERRABLE INITIALLY DEFERRED")


class TemplateTouched(RuntimeError):
    """The shared world file has changed: every fork of it is suspect, and the service must stop."""


class UnsafeSchema(ValueError):
    """A schema that could end a fork's transaction unnoticed."""


@dataclass(frozen=True)
class WorldSchema:
    """A product's tables, and the DDL of what SQLite derives from them (FTS tables, triggers)."""

    tables: sa.MetaData
    derived: tuple[str, ...] = ()

    def ddl(self) -> Iterator[str]:
        for metadata in (kernel_tables, self.tables):
            for table in metadata.sorted_tables:
                yield str(CreateTable(table).compile(dialect=_DIALECT))
                yield from (str(CreateIndex(index).compile(dialect=_DIALECT)) for index in _indexes(table))
        yield from self.derived

    def list_recorded_tables(self) -> list[sa.Table]:
        return sorted(self.tables.tables.values(), key=lambda table: table.name)


@dataclass(frozen=True, slots=True)
class WorldMeta:
    """What a world file says about itself."""

    product: str
    profile: str
    seed: int
    now_ms: int
    counters: Mapping[str, int]

    def as_rows(self) -> Iterator[tuple[str, str]]:
        for key in ("product", "profile", "seed", "now_ms", "counters"):
            yield key, orjson.dumps(getattr(self, key), option=orjson.OPT_SORT_KEYS).decode()


def build(
    path: Path, schema: WorldSchema, about: WorldMeta, rows: Iterable[tuple[sa.Table, Iterable[Mapping[str, Any]]]]
) -> str:
    """Write the file and return its fingerprint; a half-built file never gets the final name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.partial")
    unfinished.unlink(missing_ok=True)
    connection = sqlite3.connect(unfinished, isolation_level=None)
    try:
        _fill(connection, schema, about, rows)
        printed = fingerprint(connection, schema)
        connection.execute("INSERT INTO world_meta VALUES ('fingerprint', ?)", (printed,))
        connection.execute("COMMIT")
        connection.execute("ANALYZE")
        connection.execute("VACUUM")
    finally:
        connection.close()
    unfinished.replace(path)
    return printed


def fingerprint(connection: sqlite3.Connection, schema: WorldSchema) -> str:
    """SHA-256 over a canonical dump: the content of the world, not how SQLite stores it."""
    digest = hashlib.sha256()
    about = connection.execute("SELECT key, value FROM world_meta WHERE key != 'fingerprint' ORDER BY key")
    digest.update(orjson.dumps(about.fetchall()))
    for table in schema.list_recorded_tables():
        plan = plan_of(table)
        digest.update(orjson.dumps([plan.name, plan.columns]))
        columns = ", ".join(f'"{column}"' for column in plan.columns)
        for row in connection.execute(f'SELECT {columns} FROM "{plan.name}" ORDER BY "{plan.key}"'):  # noqa: S608 - our own names
            digest.update(orjson.dumps(row))
    return digest.hexdigest()


class Template:
    """A finished world file, held open in order to notice a write to it."""

    def __init__(self, path: Path, schema: WorldSchema) -> None:
        self.path = path.resolve()
        self.schema = schema
        self._descriptor = os.open(self.path, os.O_RDONLY)
        self._counter = self._change_counter()
        about = self._read_meta()
        self.fingerprint: str = about.pop("fingerprint")
        self.about = WorldMeta(**about)

    def verify(self) -> None:
        """Compares the whole content with the fingerprint, once, at start."""
        with _readonly(self.path) as connection:
            content = fingerprint(connection, self.schema)
        if content != self.fingerprint:
            raise TemplateTouched(f"{self.path.name} says {self.fingerprint[:12]} but holds {content[:12]}; rebuild it")

    def check_untouched(self) -> None:
        """SQLite raises the counter in the header with every commit, so this check is cheap enough for every reset."""
        if self._change_counter() != self._counter:
            raise TemplateTouched(f"{self.path.name} was written to; it must never be")

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _change_counter(self) -> bytes:
        return os.pread(self._descriptor, 4, _CHANGE_COUNTER_AT)

    def _read_meta(self) -> dict[str, Any]:
        with _readonly(self.path) as connection:
            pairs = connection.execute("SELECT key, value FROM world_meta").fetchall()
        return {key: value if key == "fingerprint" else orjson.loads(value) for key, value in pairs}


class _readonly:  # noqa: N801 - reads as a verb in `with`
    """A read-only look at a world file that closes itself."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _fill(
    connection: sqlite3.Connection,
    schema: WorldSchema,
    about: WorldMeta,
    rows: Iterable[tuple[sa.Table, Iterable[Mapping[str, Any]]]],
) -> None:
    connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode=MEMORY")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    for statement in schema.ddl():
        refuse_unsafe(statement)
        connection.execute(statement)
    connection.executemany("INSERT INTO world_meta VALUES (?, ?)", about.as_rows())
    for table, content in rows:
        plan = plan_of(table)
        connection.executemany(plan.insert.sql, (plan.bind(row) for row in content))
    for (name,) in connection.execute(_FULL_TEXT).fetchall():
        connection.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')')  # noqa: S608 - our own names


def refuse_unsafe(ddl: str) -> None:
    flat = " ".join(ddl.upper().split())
    for clause in _FORBIDDEN_DDL:
        if clause in flat:
            raise UnsafeSchema(f"{clause} can end a fork's transaction; write the rule as an operation instead: {ddl}")


def _indexes(table: sa.Table) -> list[sa.Index]:
    return sorted(table.indexes, key=lambda index: str(index.name))
