"""Office hours: how long the desk was open between two times, and when it will have been open for so long.

Summer time follows the European rule, which is written here, because tables of time zones differ between machines.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from services.desk.rows.settings import ScheduleBody
from services.kernel.clock import to_datetime, to_milliseconds

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
    def from_body(cls, body: ScheduleBody) -> "Schedule":
        intervals = tuple(sorted((interval["start_time"], interval["end_time"]) for interval in body["intervals"]))
        return cls(intervals, body["utc_offset_minutes"], bool(body["has_summer_time"]))

    def open_ms(self, start_ms: int, end_ms: int) -> int:
        """Returns how long the desk was open between two times."""
        if end_ms <= start_ms:
            return 0
        return sum(
            max(0, min(end, end_ms) - max(start, start_ms))
            for week in range(self._week_of(start_ms), self._week_of(end_ms) + 1)
            for start, end in _openings(self, week)
        )

    def after_ms(self, start_ms: int, open_ms: int) -> int:
        """Returns the time at which the desk has been open for so long since `start_ms`."""
        remaining_ms, first = open_ms, self._week_of(start_ms)
        for week in range(first, first + _FURTHEST_WEEKS):
            for start, end in _openings(self, week):
                opened = max(start, start_ms)
                if end <= opened:
                    continue
                if end - opened >= remaining_ms:
                    return opened + remaining_ms
                remaining_ms -= end - opened
        return start_ms + _FURTHEST_WEEKS * 7 * DAY_MS

    def is_open(self, at_ms: int) -> bool:
        return any(start <= at_ms < end for start, end in _openings(self, self._week_of(at_ms)))

    def _week_of(self, at_ms: int) -> int:
        """Counts weeks since 4 January 1970, a Sunday, by local time."""
        return (at_ms + self._offset_ms(at_ms) - 3 * DAY_MS) // (7 * DAY_MS)

    def _offset_ms(self, at_ms: int) -> int:
        summer = self.has_summer_time and is_summer(at_ms)
        return self.utc_offset_minutes * MINUTE_MS + (HOUR_MS if summer else 0)

    def utc_ms(self, local_ms: int) -> int:
        """Converts a local time to UTC; in the hour that the clocks skip or repeat, by standard time."""
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
    """Summer time lasts from the last Sunday of March to the last Sunday of October, both at 01:00 UTC."""
    changes = _changes(to_datetime(at_ms).year)
    return bisect_right(changes, at_ms) == 1


@lru_cache(maxsize=256)
def _changes(year: int) -> tuple[int, int]:
    return _last_sunday(year, 3), _last_sunday(year, 10)


def _last_sunday(year: int, month: int) -> int:
    last = datetime(year, month, 31, 1, tzinfo=UTC)
    return to_milliseconds(last - timedelta(days=(last.weekday() + 1) % 7))
