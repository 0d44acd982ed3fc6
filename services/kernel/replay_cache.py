"""ReplayCache: what the passing of time does to rows that nobody touched is computed once and then replayed.

An episode is a diff of a template, so most of what falls due in it falls due in every other episode too, with the same
result but for the ids of new rows. A piece of work is recorded by running it twice as a dry run, each time with other
ids. Where both runs do the same, their reads and writes are kept with placeholders for the ids. They are replayed only
where every recorded read returns the same rows now; otherwise the work is done anew. So nothing can pass from one
episode to another that the other does not hold already.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from services.kernel import changes
from services.kernel.forks import ExecutedStatement, NotCacheable, RecordingFork
from services.kernel.ids import Ids
from services.kernel.world import World

# For a counter and a number: the texts that a product makes of it beside the number itself (`cus_…`), always as many.
Spelling = Callable[[Ids, str, int], tuple[str, ...]]

# Far beyond every real id, and within what JSON holds exactly: such a number in a text can be nothing else.
_PROBE_OFFSETS = (3_141_592_653_000_000, 5_772_156_649_000_000)
# Recording costs two more runs, so it is tried at these misses only.
_RECORD_AT_MISSES = frozenset({2, 8, 32, 128})
# Positions in the parameters of a change.
_TABLE, _KEY = 5, 6
_NOTHING = (None, 0)
# A name that is followed by a comma starts a list of tables, which is the name of no table.
_TABLES = re.compile(r"\b(?:FROM|JOIN)\s+(\w+(?:\s*,[^()]*)?)")
_ENTRIES_KEPT = 512


def _no_texts(_ids: Ids, _counter: str, _number: int) -> tuple[str, ...]:
    return ()


class ProbeIds(Ids):
    """The same counters at an offset that marks their numbers; remembers what it handed out."""

    __slots__ = ("issued",)

    def __init__(self, ids: Ids, offset: int) -> None:
        super().__init__({counter: last + offset for counter, last in ids.counters().items()}, ids.key)
        self.issued: list[tuple[str, int]] = []

    def next(self, kind: str) -> int:
        if kind not in self._last_in_template:
            raise NotCacheable(f"the counter {kind} does not exist yet")
        number = super().next(kind)
        self.issued.append((kind, number))
        return number

    def reserve(self, kind: str, used: int) -> None:
        raise NotCacheable(f"{used} of {kind} is reserved")


@dataclass(frozen=True, slots=True)
class DryRun:
    """One run of the work whose writes were undone: its statements, and the ids that it took."""

    statements: list[ExecutedStatement]
    ids: ProbeIds

    @property
    def issued(self) -> list[tuple[str, int]]:
        return self.ids.issued


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A number, or a text with ids in it, that differs in every replay."""

    # Takes its number from the numbers, or the ids of `template` from the texts.
    take: "itemgetter[Any]"
    template: str | None = None

    def fill(self, numbers: Sequence[int], texts: Sequence[str]) -> Any:
        return self.take(numbers) if self.template is None else self.template % self.take(texts)


class Placeholders:
    """Finds the ids of one dry run in the values that it read and wrote."""

    def __init__(self, run: DryRun, spelling: Spelling) -> None:
        issued = run.issued
        self._numbers = {number: index for index, (_, number) in enumerate(issued)}
        self._texts = {text: index for index, text in enumerate(spell_ids(run.ids, issued, spelling))}
        longest_first = sorted(self._texts, key=lambda text: (-len(text), text))
        self._any_id = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if issued else None

    def insert(self, value: Any) -> Any:
        if self._any_id is None:
            return value
        if type(value) is int:
            index = self._numbers.get(value)
            return value if index is None else Placeholder(itemgetter(index))
        if type(value) is str:
            constants, ids = (parts := self._any_id.split(value))[::2], parts[1::2]
            template = "%s".join(part.replace("%", "%%") for part in constants)
            return Placeholder(itemgetter(*(self._texts[text] for text in ids)), template) if ids else value
        if isinstance(value, tuple | list):
            return type(value)(map(self.insert, value))
        if isinstance(value, dict):
            return {name: self.insert(inner) for name, inner in value.items()}
        return value


@dataclass(frozen=True, slots=True)
class RecordedStatement:
    """One statement with placeholders in its parameters (by name or by position) and in the rows that it returned."""

    sql: str
    parameters: Any
    # None for a write.
    rows: Any
    placeholders: tuple[tuple[Any, Placeholder], ...]
    has_open_rows: bool
    # The tables and rows whose template content decides `rows`; empty where something else does too.
    depends_on: frozenset[object]

    @classmethod
    def of(cls, sql: str, parameters: Any, rows: Any, depends_on: frozenset[object]) -> "RecordedStatement":
        items = parameters.items() if isinstance(parameters, dict) else enumerate(parameters)
        placeholders = tuple((name, value) for name, value in items if isinstance(value, Placeholder))
        return cls(sql, parameters, rows, placeholders, _has_placeholder(rows), depends_on)

    def fill(self, numbers: Sequence[int], texts: Sequence[str]) -> ExecutedStatement:
        if not self.placeholders and not self.has_open_rows:
            return self.sql, self.parameters, self.rows
        parameters: Any = self.parameters.copy() if isinstance(self.parameters, dict) else list(self.parameters)
        for name, placeholder in self.placeholders:
            parameters[name] = placeholder.fill(numbers, texts)
        return self.sql, parameters, _fill(self.rows, numbers, texts) if self.has_open_rows else self.rows


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """The statements of one piece of work, and the counters from which it takes ids."""

    counters: tuple[str, ...]
    statements: tuple[RecordedStatement, ...]
    # Without the reads whose result is known while everything in `depends_on` is as in the template.
    necessary: tuple[RecordedStatement, ...]
    depends_on: frozenset[object]

    @classmethod
    def of(cls, counters: tuple[str, ...], statements: Sequence[RecordedStatement]) -> "RecordedWork":
        depends_on = frozenset(place for statement in statements for place in statement.depends_on)
        necessary = tuple(statement for statement in statements if not statement.depends_on)
        return cls(counters, tuple(statements), necessary, depends_on)

    def replay(self, world: World, spelling: Spelling) -> bool:
        """Returns whether it fitted; where it did not, nothing of it stays."""
        before = world.ids.snapshot()
        issued = [(counter, world.ids.next(counter)) for counter in self.counters]
        numbers, texts = [number for _, number in issued], spell_ids(world.ids, issued, spelling)
        statements = self.necessary if world.is_untouched(self.depends_on) else self.statements
        if world.replay(statement.fill(numbers, texts) for statement in statements):
            return True
        world.ids.restore(before)
        return False


@dataclass(slots=True)
class CacheEntry:
    """What is known of one piece of work at one time by one actor."""

    recorded: RecordedWork | None = None
    misses: int = 0


class ReplayCache:
    """Recorded work by what it depends on; the least recently used is forgotten."""

    def __init__(self, spelling: Spelling = _no_texts, keep: int = _ENTRIES_KEPT) -> None:
        self._spelling = spelling
        self._keep = keep
        self._entries: OrderedDict[Hashable, CacheEntry] = OrderedDict()

    def do(self, world: World, key: Hashable, work: Callable[[], object]) -> None:
        """Runs or replays `work`, which depends on `key`, the time, the actor, and the world's rows and ids alone."""
        entry = self._entry((world.fingerprint, world.actor, world.clock.now_ms(), key))
        if entry.recorded is not None and entry.recorded.replay(world, self._spelling):
            return
        entry.misses += 1
        if entry.misses in _RECORD_AT_MISSES:
            entry.recorded = record(world, work, self._spelling)
        work()

    def _entry(self, key: Hashable) -> CacheEntry:
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = CacheEntry()
            if len(self._entries) > self._keep:
                self._entries.popitem(last=False)
        self._entries.move_to_end(key)
        return entry


def record(world: World, work: Callable[[], object], spelling: Spelling) -> RecordedWork | None:
    """Returns None where the work depends on its ids in another way than by carrying them: that is never replayed."""
    try:
        first, second = (_run_dry(world, work, offset) for offset in _PROBE_OFFSETS)
    except Exception:  # noqa: BLE001 - a dry run only: what is wrong with the work shows when it is really done
        return None
    placeholders = Placeholders(first, spelling)
    with_placeholders = [
        (sql, placeholders.insert(parameters), placeholders.insert(rows)) for sql, parameters, rows in first.statements
    ]
    numbers, texts = [number for _, number in second.issued], spell_ids(second.ids, second.issued, spelling)
    filled = [
        (sql, _fill(parameters, numbers, texts), _fill(rows, numbers, texts))
        for sql, parameters, rows in with_placeholders
    ]
    counters = [counter for counter, _ in first.issued]
    if filled != second.statements or counters != [counter for counter, _ in second.issued]:
        return None
    return RecordedWork.of(tuple(counters), list(_select_statements(world, with_placeholders)))


def spell_ids(ids: Ids, issued: Sequence[tuple[str, int]], spelling: Spelling) -> list[str]:
    """Each id as texts show it: the number itself, and whatever the product makes of it."""
    return [text for counter, number in issued for text in (str(number), *spelling(ids, counter, number))]


def _run_dry(world: World, work: Callable[[], object], offset: int) -> DryRun:
    ids, attachments = world.ids, dict(world.attachments)
    probe_ids = ProbeIds(ids, offset)
    with world.dry_run():
        world.ids = probe_ids
        try:
            with world.record_statements() as fork:
                now = world.clock.now_ms()
                work()
        finally:
            world.ids, world.attachments = ids, attachments
        _require_cacheable(fork, has_moved=world.clock.now_ms() != now)
    return DryRun(fork.statements, probe_ids)


def _require_cacheable(fork: RecordingFork, *, has_moved: bool) -> None:
    if fork.has_undone or has_moved:
        raise NotCacheable("time passed, or something was undone")
    for sql, _, rows in fork.statements:
        if rows is not None and _reads_changes(sql) and any(value not in _NOTHING for row in rows for value in row):
            raise NotCacheable("it reads what happened before")


def _reads_changes(sql: str) -> bool:
    return f"FROM {changes.changes.name}" in sql


def _select_statements(world: World, statements: Sequence[tuple[str, Any, Any]]) -> Iterator[RecordedStatement]:
    """Leaves out reads whose result is known: read before and not written since, or a row that this work wrote."""
    already_read: dict[str, str] = {}
    own: set[object] = set()
    for sql, parameters, rows in statements:
        if rows is None:
            if sql is changes.RECORD:
                table = str(parameters[_TABLE])
                own.update((table, (table, repr(parameters[_KEY]))))
                already_read = {
                    read: read_sql for read, read_sql in already_read.items() if _survives_write(read_sql, table)
                }
            yield RecordedStatement.of(sql, parameters, rows, frozenset())
            continue
        read = f"{sql}\n{parameters!r}"
        if read not in already_read and not _reads_own_row(sql, parameters, own):
            yield RecordedStatement.of(sql, parameters, rows, _dependencies(world, own, (sql, parameters, rows)))
        already_read[read] = sql


def _survives_write(sql: str, table: str) -> bool:
    """Whether a read returns the same after a write to `table`: a read of one row elsewhere or of changes does."""
    return _reads_changes(sql) or (sql.endswith(".id = :key") and f"FROM {table} " not in sql)


def _dependencies(world: World, own: set[object], read: tuple[str, Any, Any]) -> frozenset[object]:
    """One row or whole tables; nothing where this work, or the episode that records it, has written there."""
    sql, parameters, rows = read
    tables = _TABLES.findall(sql)
    places: tuple[object, ...] = ()
    if _reads_changes(sql):
        places = (str(parameters["table_name"]),) if "table_name" in parameters else ()
    elif len(tables) == 1 and _is_by_key(sql, parameters, tables[0]):
        places = ((tables[0], parameters["key"]),)
    elif world.has_tables(tables):
        places = tuple(tables)
    is_template = world.is_untouched(places) and own.isdisjoint(places) and not _has_placeholder((parameters, rows))
    return frozenset(places) if is_template else frozenset()


def _reads_own_row(sql: str, parameters: Any, own: set[object]) -> bool:
    """One whole row by its key, after this very work has written it."""
    tables = _TABLES.findall(sql)
    return len(tables) == 1 and _is_by_key(sql, parameters, tables[0]) and (tables[0], repr(parameters["key"])) in own


def _is_by_key(sql: str, parameters: Any, table: str) -> bool:
    return (
        isinstance(parameters, dict)
        and list(parameters) == ["key"]
        and sql.endswith(f"FROM {table} \nWHERE {table}.id = :key")
    )


def _has_placeholder(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_placeholder, value.values()))
    return any(map(_has_placeholder, value)) if isinstance(value, tuple | list) else isinstance(value, Placeholder)


def _fill(value: Any, numbers: Sequence[int], texts: Sequence[str]) -> Any:
    if isinstance(value, Placeholder):
        return value.fill(numbers, texts)
    if isinstance(value, dict):
        return {name: _fill(inner, numbers, texts) for name, inner in value.items()}
    return type(value)([_fill(item, numbers, texts) for item in value]) if isinstance(value, tuple | list) else value
