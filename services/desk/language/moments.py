"""Times as people write them in a search: a day, a moment, or so long ago."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from services.kernel.clock import milliseconds, moment

_DAY = re.compile(r"\d{4}-\d{1,2}-\d{1,2}\Z", re.ASCII)
_AGO = re.compile(r"(\d{1,6})\s*(minute|hour|day|week|month|year)s?\Z", re.ASCII | re.IGNORECASE)
_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_UNITS = {
    "minute": _MINUTE_MS,
    "hour": 60 * _MINUTE_MS,
    "day": _DAY_MS,
    "week": 7 * _DAY_MS,
    "month": 30 * _DAY_MS,
    "year": 365 * _DAY_MS,
}


@dataclass(frozen=True, slots=True)
class Span:
    """From its first millisecond up to, but without, its last; empty for a point in time."""

    start_ms: int
    end_ms: int


def span(written: str, now_ms: int) -> Span | None:
    """None where it is no time at all."""
    text = written.strip()
    if (ago := _AGO.match(text)) is not None:
        at = now_ms - int(ago[1]) * _UNITS[ago[2].lower()]
        return Span(at, at)
    if text.lower() in ("today", "yesterday"):
        return _day(now_ms - (_DAY_MS if text.lower() == "yesterday" else 0))
    try:
        return _calendar(text)
    except (ValueError, OverflowError):
        return None


def _calendar(text: str) -> Span:
    if _DAY.match(text):
        year, month, day = (int(part) for part in text.split("-"))
        return _day(milliseconds(datetime(year, month, day, tzinfo=UTC)))
    when = datetime.fromisoformat(text)
    at = milliseconds(when if when.tzinfo else when.replace(tzinfo=UTC))
    return Span(at, at + 1000)


def _day(at_ms: int) -> Span:
    start = moment(at_ms).replace(hour=0, minute=0, second=0, microsecond=0)
    return Span(milliseconds(start), milliseconds(start + timedelta(days=1)))
