"""Billing periods: calendar months and years from an anchor, never drifting."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

from services.billing.objects.catalogue import Interval, Recurring

_DAYS: dict[str, int] = {"day": 1, "week": 7}
_MONTHS: dict[str, int] = {"month": 1, "year": 12}


def add_intervals(anchor: datetime, interval: Interval, count: int) -> int:
    """Returns the moment so many intervals after the anchor; the 31st becomes the last day of a shorter month."""
    if interval in _DAYS:
        return int((anchor + timedelta(days=_DAYS[interval] * count)).timestamp())
    months = anchor.year * 12 + anchor.month - 1 + _MONTHS[interval] * count
    year, month = divmod(months, 12)
    day = min(anchor.day, monthrange(year, month + 1)[1])
    return int(anchor.replace(year=year, month=month + 1, day=day).timestamp())


def next_period_end(anchor: int, recurring: Recurring, after: int) -> int:
    """Returns the first boundary of the anchor's grid that lies after a moment."""
    interval, count = recurring["interval"], recurring["interval_count"]
    start = datetime.fromtimestamp(anchor, UTC)
    boundary, steps = anchor, max(0, _steps(start, interval, count, after) - 1)
    while boundary <= after:
        steps += 1
        boundary = add_intervals(start, interval, count * steps)
    return boundary


def _steps(start: datetime, interval: Interval, count: int, after: int) -> int:
    """Returns about how many whole intervals lie between; never too many."""
    span = after - int(start.timestamp())
    longest = {"day": 86_400, "week": 604_800, "month": 31 * 86_400, "year": 366 * 86_400}[interval]
    return max(0, span // (longest * count))


def format_day(timestamp: int) -> str:
    """Writes a day as descriptions of lines do: `16 Nov 2026`."""
    moment = datetime.fromtimestamp(timestamp, UTC)
    return f"{moment.day} {moment:%b %Y}"
