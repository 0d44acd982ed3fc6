"""Rote: what time does to rows that nobody touched is worked out once, and then repeated.

An episode is a diff of a template, so most of what falls due in it falls due in every other episode too, and comes out
the same but for the numbers of new rows. A deed is learnt by imagining it twice, each time with other numbers: where
both come out alike, what was asked and what was written is kept, with the numbers left open. It is repeated only where
everything that was asked then is answered the same now; else the deed is done in earnest. So nothing can pass from one
episode to another that the other has not got already.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from services.kernel import changes
from services.kernel.forks import Overheard, Unrepeatable
from services.kernel.ids import Ids
from services.kernel.world import World

Asked = list[tuple[Any, ...]] | None
# What the fork was told: SQL, its parameters, and the answer where it was a question.
Deed = tuple[str, Any, Asked]
# Of a kind of row and a number: what is made of it in texts, beside the number itself; so many for each of a kind.
Spelling = Callable[[str, int], tuple[str, ...]]

# Far beyond every real id, and within what JSON holds exactly: such a number in a text can be nothing else.
_FAR = (3_141_592_653_000_000, 5_772_156_649_000_000)
_LEARNT_AT_MISS = frozenset({2, 8, 32, 128})
# Places in the parameters of a change.
_TABLE, _KEY = 5, 6
_NOTHING = (None, 0)
# With what follows a comma: such a list is the name of no table.
_TABLES = re.compile(r"\b(?:FROM|JOIN)\s+(\w+(?:\s*,[^()]*)?)")
_KEPT = 512


def _as_numbers(_kind: str, _number: int) -> tuple[str, ...]:
    return ()


class FarIds(Ids):
    """The same counters, so far on that their numbers can be told from all others; remembers what it gave out."""

    __slots__ = ("given",)

    def __init__(self, ids: Ids, by: int) -> None:
        super().__init__({kind: used + by for kind, used in ids.snapshot().items()})
        self.given: list[tuple[str, int]] = []

    def next(self, kind: str) -> int:
        if kind not in self._last:
            raise Unrepeatable(f"nothing is called {kind} yet")
        number = super().next(kind)
        self.given.append((kind, number))
        return number

    def reserve(self, kind: str, used: int) -> None:
        raise Unrepeatable(f"{used} of {kind} is reserved")


@dataclass(frozen=True, slots=True)
class Imagined:
    """One imagined run of a deed: what was asked and written, and the numbers that it took."""

    deeds: list[Deed]
    given: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Open:
    """A number, or a text with ids in it, that is another one each time."""

    # Takes its numbers, or the texts that `words` leaves room for.
    take: "itemgetter[Any]"
    words: str | None = None

    def filled(self, numbers: Sequence[int], texts: Sequence[str]) -> Any:
        return self.take(numbers) if self.words is None else self.words % self.take(texts)


class Blanks:
    """Where the numbers of one imagined run stand in what it did."""

    def __init__(self, given: Sequence[tuple[str, int]], spelling: Spelling) -> None:
        texts = texts_of(given, spelling)
        self._numbers = {number: at for at, (_, number) in enumerate(given)}
        self._texts = {text: at for at, text in enumerate(texts)}
        longest_first = sorted(self._texts, key=lambda text: (-len(text), text))
        self._any = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if given else None

    def opened(self, value: Any) -> Any:
        if self._any is None:
            return value
        if type(value) is int:
            at = self._numbers.get(value)
            return value if at is None else Open(itemgetter(at))
        if type(value) is str:
            constant, ids = (parts := self._any.split(value))[::2], parts[1::2]
            words = "%s".join(part.replace("%", "%%") for part in constant)
            return Open(itemgetter(*(self._texts[one] for one in ids)), words) if ids else value
        if isinstance(value, tuple | list):
            return type(value)(map(self.opened, value))
        if isinstance(value, dict):
            return {name: self.opened(inner) for name, inner in value.items()}
        return value


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that the fork is told, with its numbers left open: by name or by place, as the parameters are."""

    sql: str
    told: Any
    answer: Any
    opens: tuple[tuple[Any, Open], ...]
    is_answer_open: bool
    # Where the answer is the template's for as long as these are untouched; empty where it is not.
    rests_on: frozenset[object]

    @classmethod
    def of(cls, sql: str, told: Any, answer: Any, rests_on: frozenset[object]) -> "Line":
        named = told.items() if isinstance(told, dict) else enumerate(told)
        opens = tuple((where, value) for where, value in named if isinstance(value, Open))
        return cls(sql, told, answer, opens, _is_open(answer), rests_on)

    def filled(self, numbers: Sequence[int], texts: Sequence[str]) -> Deed:
        if not self.opens and not self.is_answer_open:
            return self.sql, self.told, self.answer
        told: Any = self.told.copy() if isinstance(self.told, dict) else list(self.told)
        for where, value in self.opens:
            told[where] = value.filled(numbers, texts)
        return self.sql, told, _fill(self.answer, numbers, texts) if self.is_answer_open else self.answer


@dataclass(frozen=True, slots=True)
class Tape:
    """A deed with its numbers left open, and the kinds of which it takes them."""

    kinds: tuple[str, ...]
    lines: tuple[Line, ...]
    # Without the questions that need not be asked while all of these places are untouched.
    shorter: tuple[Line, ...]
    rests_on: frozenset[object]

    @classmethod
    def of(cls, kinds: tuple[str, ...], lines: Sequence[Line]) -> "Tape":
        rests_on = frozenset(place for line in lines for place in line.rests_on)
        return cls(kinds, tuple(lines), tuple(line for line in lines if not line.rests_on), rests_on)

    def played(self, world: World, spelling: Spelling) -> bool:
        """Whether it fitted; if not, nothing of it stays."""
        before = world.ids.snapshot()
        given = [(kind, world.ids.next(kind)) for kind in self.kinds]
        numbers, texts = [number for _, number in given], texts_of(given, spelling)
        lines = self.shorter if world.is_untouched(self.rests_on) else self.lines
        if world.repeated(line.filled(numbers, texts) for line in lines):
            return True
        world.ids.restore(before)
        return False


@dataclass(slots=True)
class Remembered:
    """What is known of one deed under its circumstances."""

    tape: Tape | None = None
    misses: int = 0


class Rote:
    """Deeds learnt by heart; those not asked for the longest are forgotten."""

    def __init__(self, spelling: Spelling = _as_numbers, keep: int = _KEPT) -> None:
        self._spelling = spelling
        self._keep = keep
        self._known: OrderedDict[Hashable, Remembered] = OrderedDict()

    def do(self, world: World, about: Hashable, work: Callable[[], object]) -> None:
        """`work`, which must depend on `about`, the time, who acts, and the world's rows and ids alone."""
        known = self._recall((world.fingerprint, world.actor, world.clock.now_ms(), about))
        if known.tape is not None and known.tape.played(world, self._spelling):
            return
        known.misses += 1
        if known.misses in _LEARNT_AT_MISS:
            known.tape = learnt(world, work, self._spelling)
        work()

    def _recall(self, key: Hashable) -> Remembered:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Remembered()
            if len(self._known) > self._keep:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known


def learnt(world: World, work: Callable[[], object], spelling: Spelling) -> Tape | None:
    """None where it cannot be: what depends on its numbers in some other way is never repeated."""
    try:
        one, other = (_imagined(world, work, by) for by in _FAR)
    except Exception:  # noqa: BLE001 - imagined only: what is wrong with it shows when it is done in earnest
        return None
    blanks = Blanks(one.given, spelling)
    opened = [(sql, blanks.opened(asked), blanks.opened(answer)) for sql, asked, answer in one.deeds]
    numbers, texts = [number for _, number in other.given], texts_of(other.given, spelling)
    again = [(sql, _fill(asked, numbers, texts), _fill(answer, numbers, texts)) for sql, asked, answer in opened]
    if again != other.deeds or [kind for kind, _ in one.given] != [kind for kind, _ in other.given]:
        return None
    return Tape.of(tuple(kind for kind, _ in one.given), list(_lines(world, opened)))


def texts_of(given: Sequence[tuple[str, int]], spelling: Spelling) -> list[str]:
    """Each number as texts show it: by itself, and in whatever is made of it."""
    return [text for kind, number in given for text in (str(number), *spelling(kind, number))]


def _imagined(world: World, work: Callable[[], object], by: int) -> Imagined:
    ids, beside = world.ids, dict(world.beside)
    far = FarIds(ids, by)
    with world.imagined():
        world.ids = far
        try:
            with world.overheard() as heard:
                now = world.clock.now_ms()
                work()
        finally:
            world.ids, world.beside = ids, beside
        _require_repeatable(heard, has_moved=world.clock.now_ms() != now)
    return Imagined(heard.deeds, far.given)


def _require_repeatable(heard: Overheard, *, has_moved: bool) -> None:
    if heard.took_back or has_moved:
        raise Unrepeatable("time passed, or something was taken back")
    for sql, _, answer in heard.deeds:
        if answer is not None and _is_of_changes(sql) and any(value not in _NOTHING for row in answer for value in row):
            raise Unrepeatable("it looks at what happened before")


def _is_of_changes(sql: str) -> bool:
    return f"FROM {changes.changes.name}" in sql


def _lines(world: World, deeds: Sequence[tuple[str, Any, Any]]) -> Iterator[Line]:
    """Without questions whose answers are known: asked before and not written to since, or about our own row."""
    known: dict[str, str] = {}
    own: set[object] = set()
    for sql, asked, answer in deeds:
        if answer is None:
            if sql is changes.RECORD:
                table = str(asked[_TABLE])
                own.update((table, (table, repr(asked[_KEY]))))
                known = {question: told for question, told in known.items() if _outlasts(told, table)}
            yield Line.of(sql, asked, answer, frozenset())
            continue
        question = f"{sql}\n{asked!r}"
        if question not in known and not _is_own(sql, asked, own):
            yield Line.of(sql, asked, answer, _rests_on(world, own, (sql, asked, answer)))
        known[question] = sql


def _outlasts(sql: str, table: str) -> bool:
    """Questions for one row of another table, or for what was written before: the rest may look at anything."""
    return _is_of_changes(sql) or (sql.endswith(".id = :key") and f"FROM {table} " not in sql)


def _rests_on(world: World, own: set[object], question: tuple[str, Any, Any]) -> frozenset[object]:
    """What it looks at, one row or whole tables; nothing where this deed or the learning episode has written there."""
    sql, asked, answer = question
    tables = _TABLES.findall(sql)
    places: tuple[object, ...] = ()
    if _is_of_changes(sql):
        places = (str(asked["table_name"]),) if "table_name" in asked else ()
    elif len(tables) == 1 and _is_by_key(sql, asked, tables[0]):
        places = ((tables[0], asked["key"]),)
    elif world.has_tables(tables):
        places = tuple(tables)
    looks_at_template = world.is_untouched(places) and own.isdisjoint(places) and not _is_open((asked, answer))
    return frozenset(places) if looks_at_template else frozenset()


def _is_own(sql: str, asked: Any, own: set[object]) -> bool:
    """One whole row by its key, after this very deed has written it."""
    tables = _TABLES.findall(sql)
    return len(tables) == 1 and _is_by_key(sql, asked, tables[0]) and (tables[0], repr(asked["key"])) in own


def _is_by_key(sql: str, asked: Any, table: str) -> bool:
    return (
        isinstance(asked, dict) and list(asked) == ["key"] and sql.endswith(f"FROM {table} \nWHERE {table}.id = :key")
    )


def _is_open(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_open, value.values()))
    return any(map(_is_open, value)) if isinstance(value, tuple | list) else isinstance(value, Open)


def _fill(value: Any, numbers: Sequence[int], texts: Sequence[str]) -> Any:
    if isinstance(value, Open):
        return value.filled(numbers, texts)
    if isinstance(value, dict):
        return {name: _fill(inner, numbers, texts) for name, inner in value.items()}
    return type(value)([_fill(one, numbers, texts) for one in value]) if isinstance(value, tuple | list) else value
