"""Office hours: how much of a stretch of time the desk was open, and when so much open time will have passed.

Summer time follows the European rule, written down here: a table of time zones differs from machine to machine.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from services.kernel.clock import milliseconds, moment

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
WEEK_MINUTES = 7 * 24 * 60
# An office that never opens would let a search for its next hour run for ever.
_FURTHEST_WEEKS = 520


@dataclass(frozen=True, slots=True)
class Schedule:
    """Open minutes of a week, counted from Sunday 00:00 local time, as the vendor counts them."""

    intervals: tuple[tuple[int, int], ...]
    utc_offset_minutes: int = 0
    has_summer_time: bool = True

    @classmethod
    def of(cls, row: dict[str, Any]) -> "Schedule":
        found = tuple(sorted((one["start_time"], one["end_time"]) for one in row["intervals"]))
        return cls(found, row["utc_offset_minutes"], bool(row["has_summer_time"]))

    def open_ms(self, start_ms: int, end_ms: int) -> int:
        """How long the desk was open between two moments."""
        if end_ms <= start_ms:
            return 0
        return sum(
            max(0, min(end, end_ms) - max(start, start_ms))
            for week in range(self._week_of(start_ms), self._week_of(end_ms) + 1)
            for start, end in _openings(self, week)
        )

    def after_ms(self, start_ms: int, open_ms: int) -> int:
        """The moment at which the desk has been open for so long since `start_ms`."""
        left, first = open_ms, self._week_of(start_ms)
        for week in range(first, first + _FURTHEST_WEEKS):
            for start, end in _openings(self, week):
                begun = max(start, start_ms)
                if end <= begun:
                    continue
                if end - begun >= left:
                    return begun + left
                left -= end - begun
        return start_ms + _FURTHEST_WEEKS * 7 * DAY_MS

    def is_open(self, at_ms: int) -> bool:
        opened = _openings(self, self._week_of(at_ms))
        return any(start <= at_ms < end for start, end in opened)

    def _week_of(self, at_ms: int) -> int:
        """Weeks since 4 January 1970, a Sunday, by local time."""
        return (at_ms + self._offset_ms(at_ms) - 3 * DAY_MS) // (7 * DAY_MS)

    def _offset_ms(self, at_ms: int) -> int:
        summer = self.has_summer_time and is_summer(at_ms)
        return self.utc_offset_minutes * MINUTE_MS + (HOUR_MS if summer else 0)

    def utc_ms(self, local_ms: int) -> int:
        """A local wall time as UTC; in the hour that the clocks skip or repeat, by standard time."""
        guess = local_ms - self.utc_offset_minutes * MINUTE_MS
        summer = guess - HOUR_MS
        return summer if self.has_summer_time and is_summer(summer) else guess


@lru_cache(maxsize=4096)
def _openings(schedule: Schedule, week: int) -> tuple[tuple[int, int], ...]:
    base = week * 7 * DAY_MS + 3 * DAY_MS
    return tuple(
        (schedule.utc_ms(base + start * MINUTE_MS), schedule.utc_ms(base + end * MINUTE_MS))
        for start, end in schedule.intervals
    )


def is_summer(at_ms: int) -> bool:
    """From the last Sunday of March to the last Sunday of October, both at 01:00 UTC."""
    changes = _changes(moment(at_ms).year)
    return bisect_right(changes, at_ms) == 1


@lru_cache(maxsize=256)
def _changes(year: int) -> tuple[int, int]:
    return _last_sunday(year, 3), _last_sunday(year, 10)


def _last_sunday(year: int, month: int) -> int:
    last = datetime(year, month, 31, 1, tzinfo=UTC)
    return milliseconds(last - timedelta(days=(last.weekday() + 1) % 7))
