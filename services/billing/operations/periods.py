"""Billing periods: calendar months and years from an anchor, never drifting."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "year": 12}


def later(anchor: datetime, interval: str, count: int) -> int:
    """So many intervals after the anchor; the 31st becomes the last day of a shorter month."""
    if interval in _DAYS:
        return int((anchor + timedelta(days=_DAYS[interval] * count)).timestamp())
    months = anchor.year * 12 + anchor.month - 1 + _MONTHS[interval] * count
    year, month = divmod(months, 12)
    day = min(anchor.day, monthrange(year, month + 1)[1])
    return int(anchor.replace(year=year, month=month + 1, day=day).timestamp())


def next_end(anchor: int, interval: str, count: int, after: int) -> int:
    """The first boundary of the anchor's grid that lies after a moment."""
    start = datetime.fromtimestamp(anchor, UTC)
    at, steps = anchor, max(0, _steps(start, interval, count, after) - 1)
    while at <= after:
        steps += 1
        at = later(start, interval, count * steps)
    return at


def _steps(start: datetime, interval: str, count: int, after: int) -> int:
    """About how many whole intervals lie between; never too many."""
    span = after - int(start.timestamp())
    longest = {"day": 86_400, "week": 604_800, "month": 31 * 86_400, "year": 366 * 86_400}[interval]
    return max(0, span // (longest * count))


def day(at: int) -> str:
    """`16 Nov 2026`, as descriptions of lines write it."""
    moment = datetime.fromtimestamp(at, UTC)
    return f"{moment.day} {moment:%b %Y}"
