"""The entries of the search index. Python folds case, because SQLite's own lower() knows ASCII only."""

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache

import orjson

from services.crm.object_types import searchable_properties
from services.crm.rows import RecordRow
from services.kernel.clock import to_milliseconds

# Longer values are compared by their beginning: nobody filters a whole letter for equality.
LONGEST_FOLDED = 256
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?\Z", re.ASCII)


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()[:LONGEST_FOLDED]


def split_words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


def parse_number(text: str) -> float | None:
    """Returns the value as a number; a time counts in milliseconds since 1970, so that both can be compared."""
    if _NUMBER.match(text):
        value = float(text)
        return value if abs(value) < 1e300 else None
    return parse_time_ms(text) if _DATE.match(text) else None


def parse_time_ms(text: str) -> float | None:
    """Returns an ISO date or time in milliseconds; a time without a zone is UTC, as the vendor reads it."""
    try:
        time = datetime.fromisoformat(text)
        return to_milliseconds(time if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def index_values(row: RecordRow) -> str:
    """Returns name → [folded, number, words, exact] as JSON for the triggers; null stands for "as folded".

    The index holds live records only.
    """
    return orjson.dumps({name: _entry(value) for name, value in _live_values(row).items()}).decode()


def diff_index(before: RecordRow | None, after: RecordRow) -> str | None:
    """Returns [name → folded] to remove and [name → entry] to add, for a record that existed before."""
    if before is None:
        return None
    old, new = _live_values(before), _live_values(after)
    removed = {name: _entry(value)[0] for name, value in old.items() if new.get(name) != value}
    added = {name: _entry(value) for name, value in new.items() if old.get(name) != value}
    return orjson.dumps((removed, added)).decode() if removed or added else None


def collect_text(row: RecordRow) -> str:
    """Returns the text in which a free `query` is looked up."""
    if row["archived_at"] is not None:
        return ""
    properties = row["properties"]
    return "\n".join(
        properties[name] for name in searchable_properties(row["kind"], properties) if properties.get(name)
    )


def _live_values(row: RecordRow) -> dict[str, str]:
    if row["archived_at"] is not None:
        return {}
    return {name: value for name, value in row["properties"].items() if value not in (None, "")}


# A write re-indexes a whole record, and most of its values are unchanged.
@lru_cache(maxsize=16_384)
def _entry(value: str) -> tuple[str, float | None, str | None, str | None]:
    folded, words, exact = fold(value), " ".join(split_words(value)), value[:LONGEST_FOLDED]
    return folded, parse_number(value), None if words == folded else words, None if exact == folded else exact
