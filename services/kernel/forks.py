"""Forks of a template: open, roll back, close. The only module that begins or ends a transaction on a world."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from services.kernel.template import Template

_OPEN = (
    # Clean pages come from the shared mapping; only what an episode changed needs a cache, and that never spills.
    "PRAGMA cache_size=-64",
    "PRAGMA cache_spill=OFF",
    "PRAGMA journal_mode=MEMORY",
    "PRAGMA synchronous=OFF",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA foreign_keys=OFF",
)
_WRITES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_ALLOWED_ALWAYS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
# FTS5 maintains its shadow tables through statements of its own and reads this pragma to notice changes.
_READING_PRAGMAS = frozenset({"data_version"})
# Connecting a virtual table counts as a write to the schema; really writing there needs a pragma that we deny.
_SCHEMA = "sqlite_master"
_STATEMENTS_KEPT = 96
# A connection gathers prepared statements, some kilobytes each, until it has all it may keep: over hours a service
# would grow by most of a megabyte for every fork. A new connection takes a millisecond.
_EPISODES_SERVED = 8
# The driver keeps prepared statements by their text, past the authorizer: these texts are the fork's own.
_BEGIN = "BEGIN /* held for an episode */"
_ROLLBACK = "ROLLBACK /* back to the template */"


class TransactionLost(RuntimeError):
    """A fork lost its transaction; a savepoint that is released now would write into the shared file."""


class Fork:
    """One connection that holds one transaction open for a whole episode and never commits."""

    __slots__ = ("_connection", "_may_end_transaction", "_may_write", "served", "template")

    def __init__(self, template: Template) -> None:
        self.template = template
        self.served = 0
        self._may_end_transaction = True
        self._may_write = False
        self._connection = sqlite3.connect(
            f"file:{template.path}?mode=rw&nolock=1",
            uri=True,
            isolation_level=None,
            cached_statements=_STATEMENTS_KEPT,
            check_same_thread=False,
        )
        for pragma in _OPEN:
            self._connection.execute(pragma)
        # Every fork maps the same pages: the world is in memory once, however many forks there are.
        self._connection.execute(f"PRAGMA mmap_size={max(template.size(), 1)}")
        self._connection.set_authorizer(self._authorize)
        self._begin()

    def require_transaction(self) -> None:
        if not self._connection.in_transaction:
            raise TransactionLost(f"a fork of {self.template.path.name} lost its transaction; its episode is void")

    def read(self, sql: str, parameters: object = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, parameters)  # type: ignore[arg-type]  # dict or tuple, checked by the driver

    def write(self, sql: str, parameters: object = ()) -> sqlite3.Cursor:
        self.require_transaction()
        self._may_write = True
        try:
            return self._connection.execute(sql, parameters)  # type: ignore[arg-type]  # as above
        finally:
            self._may_write = False

    def savepoint(self, name: str) -> None:
        self.require_transaction()
        self._connection.execute(f"SAVEPOINT {name}")

    def release(self, name: str) -> None:
        self._connection.execute(f"RELEASE {name}")

    def undo(self, name: str) -> None:
        self._connection.execute(f"ROLLBACK TO {name}")
        self._connection.execute(f"RELEASE {name}")

    @contextmanager
    def atomically(self, name: str) -> Iterator[None]:
        self.savepoint(name)
        try:
            yield
        except BaseException:
            self.undo(name)
            raise
        self.release(name)

    def roll_back(self) -> None:
        """Returns to the template, ready for the next episode."""
        with self._transaction_control():
            if self._connection.in_transaction:
                self._connection.execute(_ROLLBACK)
            self.template.check_untouched()
        self._begin()

    def close(self) -> None:
        with self._transaction_control():
            if self._connection.in_transaction:
                self._connection.execute(_ROLLBACK)
        self._connection.close()

    def _begin(self) -> None:
        with self._transaction_control():
            self._connection.execute(_BEGIN)

    @contextmanager
    def _transaction_control(self) -> Iterator[None]:
        self._may_end_transaction = True
        try:
            yield
        finally:
            self._may_end_transaction = False

    def _authorize(self, action: int, first: str | None, second: str | None, _db: str | None, _by: str | None) -> int:
        if action in _ALLOWED_ALWAYS or action == sqlite3.SQLITE_SAVEPOINT:
            return sqlite3.SQLITE_OK
        if action in _WRITES and (self._may_write or first == _SCHEMA):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_TRANSACTION and first in ("BEGIN", "ROLLBACK") and self._may_end_transaction:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first in _READING_PRAGMAS and second is None:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


# SQL, its parameters, and the rows that it returned; None for a write.
ExecutedStatement = tuple[str, Any, list[tuple[Any, ...]] | None]


class NotCacheable(Exception):
    """Work that depends on more than the rows that it reads."""


class RecordingFork(Fork):
    """A fork that records every statement; it stands in for another one while some work is recorded."""

    __slots__ = ("_fork", "has_undone", "statements")

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self.template = fork.template
        self.statements: list[ExecutedStatement] = []
        self.has_undone = False

    def read(self, sql: str, parameters: object = ()) -> sqlite3.Cursor:
        rows = self._fork.read(sql, parameters).fetchall()
        self.statements.append((sql, parameters, rows))
        return cast("sqlite3.Cursor", FetchedRows(rows))

    def write(self, sql: str, parameters: object = ()) -> sqlite3.Cursor:
        self.statements.append((sql, parameters, None))
        return self._fork.write(sql, parameters)

    def savepoint(self, name: str) -> None:
        self._fork.savepoint(name)

    def release(self, name: str) -> None:
        self._fork.release(name)

    def undo(self, name: str) -> None:
        self.has_undone = True
        self._fork.undo(name)


class FetchedRows:
    """Rows that are fetched already, for callers who expect a cursor."""

    __slots__ = ("_rows",)

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)


class Forks:
    """All forks of one template: those of open episodes, and idle ones that are rolled back and wait for reuse."""

    def __init__(self, template: Template, keep: int = 256) -> None:
        self.template = template
        self._keep = keep
        self._idle: list[Fork] = []
        self._open: dict[int, Fork] = {}

    @property
    def open_count(self) -> int:
        return len(self._open)

    @property
    def idle_count(self) -> int:
        return len(self._idle)

    def take(self) -> Fork:
        fork = self._idle.pop() if self._idle else Fork(self.template)
        self._open[id(fork)] = fork
        return fork

    def give_back(self, fork: Fork) -> None:
        """Rolls back and keeps the fork for reuse; one that cannot be rolled back, or has served enough, is closed."""
        self._open.pop(id(fork))
        try:
            fork.roll_back()
        except BaseException:
            fork.close()
            raise
        fork.served += 1
        if len(self._idle) < self._keep and fork.served < _EPISODES_SERVED:
            self._idle.append(fork)
        else:
            fork.close()

    def close(self) -> None:
        for fork in (*self._open.values(), *self._idle):
            fork.close()
        self._open.clear()
        self._idle.clear()
