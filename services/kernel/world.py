"""World: one fork seen by domain code. The only way to touch data."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import sqlalchemy as sa

from services.kernel import changes
from services.kernel.chance import Chance
from services.kernel.changes import Change
from services.kernel.clock import Clock
from services.kernel.errors import MalformedRequest
from services.kernel.forks import Fork, Overheard, Unrepeatable
from services.kernel.ids import Ids
from services.kernel.statements import Row, Statement, TablePlan, plan_of

Key = int | str
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
        "actor",
        "beside",
        "clock",
        "ids",
        "revision",
        "search_lag",
        "visitor",
    )

    def __init__(self, fork: Fork, seed: int) -> None:
        about = fork.template.about
        self._fork = fork
        self._seed = seed
        self._chances: dict[str, Chance] = {}
        self._request = 0
        self._undo: tuple[int, dict[str, int]] | None = None
        # Tables, and rows by table and key, that were ever written, also where that was undone.
        self._touched: set[object] = set()
        self.clock = Clock(about.now_ms)
        self.ids = Ids(about.counters)
        self.revision = 0
        self.actor = "house"
        # In requests, not seconds; set by a fault plan, honoured by searches through `searched()`.
        self.search_lag = 0
        # The user in whose name somebody else than the agent asks, for as long as their request lasts.
        self.visitor: int | None = None
        # What an episode holds outside its rows, by the product that holds it there.
        self.beside: dict[str, Any] = {}

    @property
    def fingerprint(self) -> str:
        """Of the template: the same for every fork of it, whatever was written since."""
        return self._fork.template.fingerprint

    @property
    def start_ms(self) -> int:
        """When time begins in every fork of the template."""
        return self._fork.template.about.now_ms

    @property
    def request(self) -> int:
        """How many requests this world has met, the present one included."""
        return self._request

    def get(self, table: sa.Table, key: Key) -> Row | None:
        if isinstance(key, int) and not -_WIDEST <= key < _WIDEST:
            return None
        return self._image(plan_of(table), key)

    def find(self, statement: Statement, **parameters: Any) -> list[Row]:
        found = self._read(statement.sql, {**statement.fixed, **parameters})
        return [statement.as_row(values) for values in found]

    def rows(self, statement: Statement | str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """Plain tuples, for paths where building dicts would cost more than the query."""
        if isinstance(statement, str):
            return self._read(statement, parameters).fetchall()
        return self._read(statement.sql, {**statement.fixed, **parameters}).fetchall()

    def save(self, table: sa.Table, row: Row, event: str) -> None:
        """Insert or update one whole row, and write down what it was and what it became."""
        plan = plan_of(table)
        before = self._image(plan, row[plan.key])
        if before == row and _documents(plan, before) == _documents(plan, row):
            return
        with self._fork.atomically("saved"):
            # Bound first: it is what refuses a row that does not fit.
            bound = plan.bind(row, before)
            self._fork.write(plan.insert.sql if before is None else plan.update_of(before, row, bound), bound)
            self._record(plan.name, row[plan.key], event, before, row)

    def remove(self, table: sa.Table, key: Key, event: str) -> None:
        plan = plan_of(table)
        before = self._image(plan, key)
        if before is None:
            return
        with self._fork.atomically("removed"):
            self._fork.write(plan.delete.sql, {"key": key})
            self._record(plan.name, key, event, before, None)

    def chance(self, name: str) -> Chance:
        if isinstance(self._fork, Overheard):
            raise Unrepeatable("a stream of chance gives each number once")
        if name not in self._chances:
            self._chances[name] = Chance(self._seed, name)
        return self._chances[name]

    def changes(self, since: int = 0, table: sa.Table | None = None, by: Collection[str] | None = None) -> list[Change]:
        """All, or those of one table and by these: an episode may be long, and every image has to be read."""
        if table is None:
            found = self._fork.read(changes.SINCE.sql, {"revision": since})
        else:
            found = self._fork.read(changes.OF_TABLE.sql, {"revision": since, "table_name": plan_of(table).name})
        return [Change.of(values) for values in found if by is None or values[_ACTOR] in by]

    def changes_as_written(self, since: int = 0) -> list[tuple[Any, ...]]:
        """The columns of `changes`, images as the JSON that they are kept in: for whoever only passes them on."""
        return self._fork.read(changes.SINCE.sql, {"revision": since}).fetchall()

    def history(self, table: sa.Table, key: Key) -> list[Change]:
        name = plan_of(table).name
        if (name, key) not in self._touched and not isinstance(self._fork, Overheard):
            return []
        found = self._fork.read(changes.OF_ROW.sql, {"table_name": name, "row_id": key})
        return [Change.of(values) for values in found]

    def begin(self) -> None:
        """Open the savepoint of one request; everything until `keep` or `undo` stands or falls together."""
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
    def searched(self, table_of: Callable[[str], sa.Table]) -> Iterator[None]:
        """The world as searches see it: the last `search_lag` requests have not reached the index yet."""
        if not self.search_lag:
            yield
            return
        horizon = self._request - self.search_lag
        unseen = [change for change in self.changes() if change.request > horizon and change.actor != "house"]
        self._fork.savepoint("past")
        try:
            for change in reversed(unseen):
                self._restore(plan_of(table_of(change.table)), change)
            yield
        finally:
            self._fork.undo("past")

    @contextmanager
    def attempted(self) -> Iterator[None]:
        """One of several things to do: where it raises, nothing of it is kept, and what went before stays."""
        before = self.revision, self.ids.snapshot()
        try:
            with self._fork.atomically("attempted"):
                yield
        except BaseException:
            self.revision, ids = before
            self.ids.restore(ids)
            raise

    @contextmanager
    def imagined(self) -> Iterator[None]:
        """What would happen if: rows, ids and time are as before when it ends."""
        before = self.revision, self.ids.snapshot(), self.clock.now_ms(), self._touched.copy()
        self._fork.savepoint("imagined")
        try:
            yield
        finally:
            self._fork.undo("imagined")
            self.revision, ids, now_ms, self._touched = before
            self.ids.restore(ids)
            self.clock = Clock(now_ms)

    @contextmanager
    def overheard(self) -> Iterator[Overheard]:
        """Whatever is asked of the rows and written to them meanwhile is written down in its order."""
        fork = self._fork
        heard = self._fork = Overheard(fork)
        try:
            yield heard
        finally:
            self._fork = fork

    def still_answers(self, deeds: Iterable[tuple[str, Any, list[tuple[Any, ...]] | None]]) -> bool:
        """Whether every question that was overheard has the same answer now."""
        return all(
            answer is not None and self._fork.read(sql, told).fetchall() == answer for sql, told, answer in deeds
        )

    def repeated(self, deeds: Iterable[tuple[str, Any, list[tuple[Any, ...]] | None]]) -> bool:
        """Do what was overheard once more, for as long as every question is answered as it was; else nothing of it."""
        fork, revision = self._fork, self.revision
        fork.savepoint("repeated")
        try:
            for sql, told, answer in deeds:
                if answer is not None:
                    if fork.read(sql, told).fetchall() != answer:
                        fork.undo("repeated")
                        return False
                elif sql is changes.RECORD:
                    revision += 1
                    self._touched.update((told[5], (told[5], told[6])))
                    fork.write(sql, (revision, self._request, *told[2:]))
                else:
                    fork.write(sql, told)
        except BaseException:
            fork.undo("repeated")
            raise
        fork.release("repeated")
        self.revision = revision
        return True

    def is_untouched(self, places: Iterable[object]) -> bool:
        """Whether all of them, tables by name or rows by table and key, are as in the template."""
        return self._touched.isdisjoint(places)

    def written(self, table: sa.Table) -> tuple[Any, ...]:
        """The last revision and the last request that wrote to a table, and how often it was written to."""
        name = plan_of(table).name
        if name not in self._touched and not isinstance(self._fork, Overheard):
            return _NEVER
        found: tuple[Any, ...] = self._fork.read(changes.WRITTEN, {"table_name": name}).fetchone()
        return found

    def has_tables(self, names: Iterable[str]) -> bool:
        """Whether all of these are tables whose rows are written here, and not what SQLite derives from such."""
        known = self._fork.template.schema.tables.tables
        return all(name in known for name in names)

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
            self._fork.write(plan.update_of(change.after, change.before, bound), bound)

    def _image(self, plan: TablePlan, key: Key) -> Row | None:
        values = self._fork.read(plan.get.sql, {"key": key}).fetchone()
        return None if values is None else plan.get.as_row(values)

    def _record(self, table: str, key: Key, event: str, before: Row | None, after: Row | None) -> None:
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


def _documents(plan: TablePlan, row: Row) -> bytes:
    """For rows that Python calls equal: to it 1, 1.0 and true are one, and a reader of the JSON tells them apart."""
    return orjson.dumps([row[column] for column, _ in plan.json], option=orjson.OPT_SORT_KEYS)
