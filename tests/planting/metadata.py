"""What a row shows without being read: number, times, gaps, which fields are filled, how much happened to it."""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from services.kernel import catalog
from services.kernel.chance import Chance
from services.kernel.changes import Change
from services.kernel.statements import Statement
from services.kernel.world import World
from tests.planting.kinds import ChangedKind, Kind, Row, View, fields_of

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_WEEK = 7 * _DAY
# How many of the nearest rows one row is compared with, and how many rows of one setup are taken.
_NEAR, _NEIGHBOURS, _MOST_PER_SETUP = 24, 6, 3
# Younger rows are recent because a task needs them so; rows within these hours of the week are like them.
_RECENT, _SAME_HOUR = 4 * _DAY, 2 * _HOUR
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_STATUSES = "SELECT id, body ->> '$.status' FROM tickets"

Features = Mapping[str, float]
# Makes another row of a planted one before it is looked at.
Alter = Callable[[Row], Row]


@dataclass(frozen=True, slots=True)
class Described:
    """The features of one row in one view; one that a row does not have is 0."""

    # The id of the row: a neighbour of many rows is one row all the same.
    row: object
    features: Features
    planted: bool
    group: object


class Population:
    """All rows of one kind in a template, by time."""

    def __init__(self, kind: Kind, world: World) -> None:
        self.kind = kind
        self._rows = sorted(_read(world, kind), key=lambda row: (kind.created(row), str(row["id"])))
        self._now = world.clock.now_ms()
        self._series: dict[object, list[tuple[int, int]]] = {}
        for row in self._rows:
            if (number := kind.number(row)) is not None:
                self._series.setdefault(number[0], []).append((kind.created(row), number[1]))
        self._numbers = {name: sorted(number for _, number in series) for name, series in self._series.items()}
        self._statuses = {key: str(status) for key, status in world.rows(_STATUSES)} if kind.product == "desk" else {}
        self._by_state: dict[object, list[Row]] = {}
        self._by_maker: dict[object, list[Row]] = {}
        for row in self._rows:
            self._by_maker.setdefault(kind.maker(row), []).append(row)
            self._by_state.setdefault(kind.state(row, self._statuses), []).append(row)
        self._counts = Counter(kind.owner(row) for row in self._rows)

    def describe(
        self, changes: Sequence[Change], group: object, view: View, alter: Alter = lambda row: row
    ) -> Iterator[Described]:
        """Every row that a setup added, and the neighbours of each."""
        kind = self.kind
        added = [row for row in _added(changes, kind.table) if kind.where(row)]
        statuses = self._statuses | {row["id"]: fields_of(row)["status"] for row in _added(changes, "tickets")}
        counts = self._counts + Counter(kind.owner(row) for row in added)
        # Rows that come together, as those of an import do, say the same of their time.
        for row in Chance(0, str(group)).shuffled(added)[:_MOST_PER_SETUP]:
            others = self._neighbours(row, view, statuses)
            if others:
                yield Described((group, row["id"]), self._features(alter(row), counts, view), planted=True, group=group)
            for other in others:
                yield Described(other["id"], self._features(other, self._counts, view), planted=False, group=group)

    def _neighbours(self, row: Row, view: View, statuses: Mapping[object, str]) -> list[Row]:
        kind, moment = self.kind, self.kind.created(row)
        if view == "when":
            alike: Sequence[Row] = self._by_maker.get(kind.maker(row), [])
        else:
            alike = self._by_state.get(kind.state(row, statuses), [])
        if moment > self._now - _RECENT:
            # Much happens to a ticket within weeks: what a recent one holds is compared with recent ones.
            alike = self._at_this_hour(alike, moment) if view == "when" else self._since(alike, self._now - 2 * _RECENT)
        return self._nearest(alike, moment, Chance(str(row["id"]), "neighbours"))

    def _at_this_hour(self, rows: Sequence[Row], moment: int) -> list[Row]:
        """What is recent for a task's sake is compared with the same hours of other weeks."""
        turns = ((row, abs((self.kind.created(row) - moment + _WEEK // 2) % _WEEK - _WEEK // 2)) for row in rows)
        return [row for row, apart in turns if apart < _SAME_HOUR]

    def _since(self, rows: Sequence[Row], moment: int) -> list[Row]:
        return [row for row in rows if self.kind.created(row) >= moment]

    def _nearest(self, rows: Sequence[Row], moment: int, chance: Chance) -> list[Row]:
        """Some of the nearest: always the very nearest would be the same few rows for every recent one."""
        place = bisect_left(rows, moment, key=self.kind.created)
        near = list(rows[max(0, place - _NEAR) : place + _NEAR])
        near = sorted(near, key=lambda row: abs(self.kind.created(row) - moment))[:_NEAR]
        return chance.shuffled(near)[:_NEIGHBOURS]

    def _features(self, row: Row, counts: Mapping[object, int], view: View) -> Features:
        created = self.kind.created(row)
        if view == "when":
            return self._describe_number(row) | _describe_moment(created)
        owner = self.kind.owner(row)
        related = 0.0 if owner is None else math.log1p(counts.get(owner, 0))
        edit = _describe_edit(created, row.get("updated_at"))
        return edit | describe_fields(fields_of(row)) | {"rows of the same owner": related}

    def _describe_number(self, row: Row) -> dict[str, float]:
        """Where the number lies between those of the rows before and after in time."""
        found = self.kind.number(row)
        if found is None or found[0] not in self._series:
            return {}
        (series, number), created = found, self.kind.created(row)
        listed = self._series[series]
        place = bisect_left(listed, created, key=lambda entry: entry[0])
        before = [entry for entry in listed[max(0, place - 3) : place] if entry[1] != number]
        after = [entry for entry in listed[place : place + 3] if entry[1] != number]
        if not before:
            return {}
        (earlier, low), high = before[-1], after[0][1] if after else 2 * number - before[-1][1]
        share = (number - low) / max(1, high - low)
        hours = max(_SECOND, created - earlier) / _HOUR
        return {
            "number between neighbours": min(2.0, max(-1.0, share)) - 0.5,
            "number out of order": float(not 0 <= share <= 1),
            "numbers used up per hour": math.log(max(1, number - low) / hours),
            "distance in the listing": math.log1p(abs(bisect_left(self._numbers[series], number) - place)),
        }


def describe_changed(
    kind: ChangedKind, changes: Sequence[Change], group: object, now_ms: int, alter: Alter = lambda row: row
) -> Iterator[Described]:
    """Rows of the template that a setup changed, each beside what it was."""
    changed = [
        (change.row_id, change.before, change.after)
        for change in changes
        if change.before and change.after and kind.covers(change)
    ]
    for key, before, after in Chance(0, str(group)).shuffled(changed)[:_MOST_PER_SETUP]:
        yield Described((group, key), _describe_state(alter(after), now_ms), planted=True, group=group)
        yield Described(("before", group, key), _describe_state(before, now_ms), planted=False, group=group)


def _describe_state(row: Row, now_ms: int) -> dict[str, float]:
    updated = row.get("updated_at")
    age = {} if updated is None else {"edited ago": math.log1p(max(0, now_ms - updated) / _SECOND)}
    edit = _describe_edit(row["created_at"], updated) if "created_at" in row else {}
    return age | edit | describe_fields(fields_of(row))


def _describe_moment(moment: int) -> dict[str, float]:
    weekday, turn = (moment // _DAY + 3) % 7, 2 * math.pi * (moment % _DAY) / _DAY
    return {
        "milliseconds": float(moment % _SECOND > 0),
        "second": moment % _MINUTE / _MINUTE,
        "full minute": float(moment % _MINUTE < _SECOND),
        "minute": moment % _HOUR / _HOUR,
        "full hour": float(moment % _HOUR < _MINUTE),
        "weekend": float(weekday >= 5),
        "weekday": float(weekday),
        "hour, sine": math.sin(turn),
        "hour, cosine": math.cos(turn),
    }


def _describe_edit(created: int, updated: int | None) -> dict[str, float]:
    updated = updated or created
    if updated <= created:
        return {"second of the edit": 0.5}
    return {
        "edited": 1.0,
        "edited after": math.log1p((updated - created) / _SECOND),
        "edit at a full minute": float(updated % _MINUTE < _SECOND),
        "edit at night": float(updated % _DAY < 5 * _HOUR),
        "second of the edit": updated % _MINUTE / _MINUTE,
    }


def describe_fields(fields: Mapping[str, Any], within: str = "", depth: int = 2) -> dict[str, float]:
    """Of each field, whether it is filled; of switches, which way; of lists, how long; of times, how round."""
    described: dict[str, float] = {}
    for name, value in fields.items():
        path = f"{within}{name}"
        described[f"{path} filled"] = float(value not in _EMPTY)
        if isinstance(value, bool):
            described[f"{path} on"] = float(value)
        elif isinstance(value, str) and _TIME.match(value):
            described[f"{path} at midnight"] = float("T00:00:00" in value)
            described[f"{path} at a full minute"] = float(value[17:19] == "00")
        elif isinstance(value, list):
            described[f"{path} length"] = math.log1p(len(value))
        elif isinstance(value, Mapping) and depth:
            described |= describe_fields(value, f"{path}.", depth - 1)
    return described


def _added(changes: Sequence[Change], table: str) -> list[Row]:
    return [change.after for change in changes if change.table == table and change.before is None and change.after]


def _read(world: World, kind: Kind) -> list[Row]:
    table = catalog.product(kind.product).table(kind.table)
    return [row for row in world.find(Statement(sa.select(table))) if kind.where(row)]
