"""Times as people write them in a search: a day, a time, or so long ago."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from services.kernel.clock import to_datetime, to_milliseconds

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


def parse_span(text: str, now_ms: int) -> Span | None:
    """Returns None where the text is no time."""
    text = text.strip()
    if (ago := _AGO.match(text)) is not None:
        time_ms = now_ms - int(ago[1]) * _UNITS[ago[2].lower()]
        return Span(time_ms, time_ms)
    if text.lower() in ("today", "yesterday"):
        return _span_of_day(now_ms - (_DAY_MS if text.lower() == "yesterday" else 0))
    try:
        return _parse_calendar(text)
    except (ValueError, OverflowError):
        return None


def _parse_calendar(text: str) -> Span:
    if _DAY.match(text):
        year, month, day = (int(part) for part in text.split("-"))
        return _span_of_day(to_milliseconds(datetime(year, month, day, tzinfo=UTC)))
    when = datetime.fromisoformat(text)
    time_ms = to_milliseconds(when if when.tzinfo else when.replace(tzinfo=UTC))
    return Span(time_ms, time_ms + 1000)


def _span_of_day(at_ms: int) -> Span:
    start = to_datetime(at_ms).replace(hour=0, minute=0, second=0, microsecond=0)
    return Span(to_milliseconds(start), to_milliseconds(start + timedelta(days=1)))
