"""World: one fork as domain code sees it, and the only way to read or write its rows."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
import sqlalchemy as sa

from services.kernel import changes
from services.kernel.chance import Chance
from services.kernel.changes import SYSTEM, Change
from services.kernel.clock import Clock
from services.kernel.errors import MalformedRequest
from services.kernel.forks import ExecutedStatement, Fork, NotCacheable, RecordingFork
from services.kernel.ids import Ids
from services.kernel.statements import Key, KeyT, Row, RowT, RowTable, Statement, TablePlan, plan_of

_WIDEST = 1 << 63
_NEVER = (None, None, 0)
# Where a change says who wrote.
_ACTOR = 3


class World:
    """One product's state in one episode: rows, clock, ids, chance."""

    __slots__ = (
        "_chances",
        "_fork",
        "_request",
        "_seed",
        "_touched",
        "_undo",
        "acting_user",
        "actor",
        "attachments",
        "clock",
        "ids",
        "revision",
        "search_lag",
    )

    def __init__(self, fork: Fork, seed: int) -> None:
        about = fork.template.about
        self._fork = fork
        self._seed = seed
        self._chances: dict[str, Chance] = {}
        self._request = 0
        self._undo: tuple[int, dict[str, int]] | None = None
        # Tables, and rows as (table, key), that were ever written to, also where the write was undone.
        self._touched: set[object] = set()
        self.clock = Clock(about.now_ms)
        self.ids = Ids(about.counters, str(seed))
        self.revision = 0
        self.actor = SYSTEM
        # In requests, not seconds; set by a fault plan, honoured by searches through `lag_search()`.
        self.search_lag = 0
        # The user in whose name a request is made that is not the agent's, while it lasts.
        self.acting_user: int | None = None
        # What a product holds for this episode outside its rows, such as a sandbox.
        self.attachments: dict[str, Any] = {}

    @property
    def fingerprint(self) -> str:
        """The template's: the same for every fork of it, whatever was written since."""
        return self._fork.template.fingerprint

    @property
    def product(self) -> str:
        """The name of the product whose state this is."""
        return self._fork.template.about.product

    @property
    def start_ms(self) -> int:
        """When time begins in every fork of the template."""
        return self._fork.template.about.now_ms

    def seed_ids(self, key: str) -> None:
        """Makes all ids of new rows depend on `key`; only before the first of them is taken."""
        self.ids = Ids(self._fork.template.about.counters, key)

    @property
    def request(self) -> int:
        """How many requests this world has served, the present one included."""
        return self._request

    def get(self, table: RowTable[RowT, KeyT], key: KeyT) -> RowT | None:
        if isinstance(key, int) and not -_WIDEST <= key < _WIDEST:
            return None
        # The table vouches for the type of its rows.
        return self._image(plan_of(table), key)  # type: ignore[return-value]

    def find(self, statement: Statement[RowT], **parameters: Any) -> list[RowT]:
        return [statement.as_row(values) for values in self._read(statement.sql, {**statement.fixed, **parameters})]

    def rows(self, statement: Statement[Any] | str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """Plain tuples, for paths where building dicts would cost more than the query."""
        if isinstance(statement, str):
            return self._read(statement, parameters).fetchall()
        return self._read(statement.sql, {**statement.fixed, **parameters}).fetchall()

    def save(self, table: RowTable[RowT, KeyT], row: RowT, event: str) -> None:
        """Inserts or updates one whole row, and records what it was and what it became."""
        plan = plan_of(table)
        before = self._image(plan, row[plan.key])
        if before is not None and before == row and _documents(plan, before) == _documents(plan, row):
            return
        with self._fork.atomically("saved"):
            # Binding comes first because it refuses a row that does not fit the table.
            bound = plan.bind(row, before)
            self._fork.write(plan.insert.sql if before is None else plan.update_sql(before, row, bound), bound)
            self._record(plan.name, row[plan.key], event, before, row)

    def remove(self, table: RowTable[RowT, KeyT], key: KeyT, event: str) -> None:
        plan = plan_of(table)
        before = self._image(plan, key)
        if before is None:
            return
        with self._fork.atomically("removed"):
            self._fork.write(plan.delete.sql, {"key": key})
            self._record(plan.name, key, event, before, None)

    def chance(self, name: str) -> Chance:
        if isinstance(self._fork, RecordingFork):
            raise NotCacheable("a stream of chance gives each number once")
        if name not in self._chances:
            self._chances[name] = Chance(self._seed, name)
        return self._chances[name]

    def changes(self, since: int = 0, table: sa.Table | None = None, by: Collection[str] | None = None) -> list[Change]:
        """All changes, or those of one table or by certain actors: reading every image of a long episode is slow."""
        if table is None:
            rows = self._fork.read(changes.SINCE.sql, {"revision": since})
        else:
            rows = self._fork.read(changes.OF_TABLE.sql, {"revision": since, "table_name": plan_of(table).name})
        return [Change.of(values) for values in rows if by is None or values[_ACTOR] in by]

    def changes_as_written(self, since: int = 0) -> list[tuple[Any, ...]]:
        """The columns of `changes` with images as JSON text, for callers who only pass them on."""
        return self._fork.read(changes.SINCE.sql, {"revision": since}).fetchall()

    def history(self, table: sa.Table, key: Key) -> list[Change]:
        name = plan_of(table).name
        if (name, key) not in self._touched and not isinstance(self._fork, RecordingFork):
            return []
        rows = self._fork.read(changes.OF_ROW.sql, {"table_name": name, "row_id": key})
        return [Change.of(values) for values in rows]

    def begin(self) -> None:
        """Opens the savepoint of one request: everything until `keep` or `undo` stands or falls together."""
        self._request += 1
        self._undo = (self.revision, self.ids.snapshot())
        self._fork.savepoint("request")

    def keep(self) -> None:
        self._fork.release("request")
        self._undo = None

    def undo(self) -> None:
        self._fork.undo("request")
        if self._undo is not None:
            self.revision, ids = self._undo
            self.ids.restore(ids)
        self._undo = None

    @contextmanager
    def lag_search(self, table_of: Callable[[str], sa.Table]) -> Iterator[None]:
        """Shows the world as searches see it: the last `search_lag` requests have not reached the index yet."""
        if not self.search_lag:
            yield
            return
        horizon = self._request - self.search_lag
        unseen = [change for change in self.changes() if change.request > horizon and change.actor != SYSTEM]
        self._fork.savepoint("past")
        try:
            for change in reversed(unseen):
                self._restore(plan_of(table_of(change.table)), change)
            yield
        finally:
            self._fork.undo("past")

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undoes what happens inside if it raises, and leaves what went before."""
        before = self.revision, self.ids.snapshot()
        try:
            with self._fork.atomically("attempted"):
                yield
        except BaseException:
            self.revision, ids = before
            self.ids.restore(ids)
            raise

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Lets something happen and undoes it: rows, ids and time are as before when it ends."""
        before = self.revision, self.ids.snapshot(), self.clock.now_ms(), self._touched.copy()
        self._fork.savepoint("dry_run")
        try:
            yield
        finally:
            self._fork.undo("dry_run")
            self.revision, ids, now_ms, self._touched = before
            self.ids.restore(ids)
            self.clock = Clock(now_ms)

    @contextmanager
    def record_statements(self) -> Iterator[RecordingFork]:
        """Records every statement that runs inside, in order."""
        fork = self._fork
        recording = self._fork = RecordingFork(fork)
        try:
            yield recording
        finally:
            self._fork = fork

    def reads_unchanged(self, statements: Iterable[ExecutedStatement]) -> bool:
        """Whether every recorded read returns the same rows now; False where a write was recorded."""
        return all(
            rows is not None and self._fork.read(sql, parameters).fetchall() == rows
            for sql, parameters, rows in statements
        )

    def replay(self, statements: Iterable[ExecutedStatement]) -> bool:
        """Repeats recorded writes while every recorded read returns the same rows; otherwise undoes all of them."""
        fork, revision = self._fork, self.revision
        fork.savepoint("replay")
        try:
            for sql, parameters, rows in statements:
                if rows is not None:
                    if fork.read(sql, parameters).fetchall() != rows:
                        fork.undo("replay")
                        return False
                elif sql is changes.RECORD:
                    revision += 1
                    self._touched.update((parameters[5], (parameters[5], parameters[6])))
                    fork.write(sql, (revision, self._request, *parameters[2:]))
                else:
                    fork.write(sql, parameters)
        except BaseException:
            fork.undo("replay")
            raise
        fork.release("replay")
        self.revision = revision
        return True

    def is_untouched(self, places: Iterable[object]) -> bool:
        """Whether all of them, tables by name or rows as (table, key), are as in the template."""
        return self._touched.isdisjoint(places)

    def last_write(self, table: sa.Table) -> tuple[Any, ...]:
        """The last revision and the last request that wrote to a table, and the number of writes."""
        name = plan_of(table).name
        if name not in self._touched and not isinstance(self._fork, RecordingFork):
            return _NEVER
        result: tuple[Any, ...] = self._fork.read(changes.WRITTEN, {"table_name": name}).fetchone()
        return result

    def has_tables(self, names: Iterable[str]) -> bool:
        """Whether all of these are tables of the product, and not what SQLite derives from them."""
        tables = self._fork.template.schema.tables.tables
        return all(name in tables for name in names)

    def _read(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        try:
            return self._fork.read(sql, parameters)
        except OverflowError:
            raise MalformedRequest("A number is out of range.") from None

    def _restore(self, plan: TablePlan, change: Change) -> None:
        if change.before is None:
            self._fork.write(plan.delete.sql, {"key": change.row_id})
        elif change.after is None:
            self._fork.write(plan.insert.sql, plan.bind(change.before))
        else:
            bound = plan.bind(change.before, change.after)
            self._fork.write(plan.update_sql(change.after, change.before, bound), bound)

    def _image(self, plan: TablePlan, key: Key) -> Row | None:
        values = self._fork.read(plan.get.sql, {"key": key}).fetchone()
        return None if values is None else plan.get.as_row(values)

    def _record(
        self, table: str, key: Key, event: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
    ) -> None:
        revision = self.revision + 1
        self._touched.update((table, (table, key)))
        self._fork.write(
            changes.RECORD,
            (
                revision,
                self._request,
                self.clock.now_ms(),
                self.actor,
                event,
                table,
                key,
                None if before is None else orjson.dumps(before).decode(),
                None if after is None else orjson.dumps(after).decode(),
            ),
        )
        self.revision = revision


def _documents(plan: TablePlan, row: Mapping[str, Any]) -> bytes:
    """Tells rows apart that Python calls equal: 1, 1.0 and true differ for a reader of the JSON."""
    return orjson.dumps([row[column] for column, _ in plan.json], option=orjson.OPT_SORT_KEYS)
