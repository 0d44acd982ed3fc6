"""Times on the wire."""

from datetime import datetime
from typing import overload

from services.desk.errors import RecordInvalid
from services.kernel.clock import iso_seconds, to_milliseconds


@overload
def format_time(ms: int) -> str: ...


@overload
def format_time(ms: int | None) -> str | None: ...


def format_time(ms: int | None) -> str | None:
    """Writes milliseconds as the vendor writes times, in whole seconds."""
    return None if ms is None else iso_seconds(ms)


def parse_time(text: str, field: str) -> int:
    """Reads a time as clients write it; the refusal names `field`."""
    try:
        when = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace(" ", "T", 1))
        return to_milliseconds(when if when.tzinfo else datetime.fromisoformat(f"{when.isoformat()}+00:00"))
    except (ValueError, OverflowError) as error:
        raise RecordInvalid(field, f"{field.replace('_', ' ').capitalize()}: is not a date") from error
