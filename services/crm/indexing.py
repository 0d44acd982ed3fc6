"""What the search index keeps of a record's values; SQLite's own lower() knows ASCII only, so Python folds."""

import re
import unicodedata
from datetime import UTC, datetime
from functools import lru_cache

import orjson

from services.crm.kinds import searchable_properties
from services.kernel.clock import milliseconds
from services.kernel.statements import Row

# Longer values are compared by their beginning; nobody filters a whole letter for equality.
LONGEST_FOLDED = 256
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?\Z", re.ASCII)


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()[:LONGEST_FOLDED]


def words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


def number(text: str) -> float | None:
    """The value as a number: a time counts in milliseconds since 1970, so that both can be compared."""
    if _NUMBER.match(text):
        value = float(text)
        return value if abs(value) < 1e300 else None
    return moment_ms(text) if _DATE.match(text) else None


def moment_ms(text: str) -> float | None:
    """An ISO date or time in milliseconds; a time without a zone is UTC, as the vendor reads it."""
    try:
        when = datetime.fromisoformat(text)
        return milliseconds(when if when.tzinfo else when.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def indexed(row: Row) -> str:
    """name → [folded, number, words, exact], as the triggers unfold it; null is "as folded". Live records only."""
    return orjson.dumps({name: _entry(value) for name, value in _live(row).items()}).decode()


def reindexed(before: Row | None, after: Row) -> str | None:
    """[name → folded] that leave the index and [name → entry] that come, of a record that was there before."""
    if before is None:
        return None
    old, new = _live(before), _live(after)
    gone = {name: _entry(value)[0] for name, value in old.items() if new.get(name) != value}
    come = {name: _entry(value) for name, value in new.items() if old.get(name) != value}
    return orjson.dumps((gone, come)).decode() if gone or come else None


def searchable(row: Row) -> str:
    """The text that a free `query` looks through."""
    if row["archived_at"] is not None:
        return ""
    properties = row["properties"]
    return "\n".join(
        properties[name] for name in searchable_properties(row["kind"], properties) if properties.get(name)
    )


def _live(row: Row) -> dict[str, str]:
    if row["archived_at"] is not None:
        return {}
    return {name: value for name, value in row["properties"].items() if value not in (None, "")}


# A write re-indexes a whole record, and most of its values are what they were.
@lru_cache(maxsize=16_384)
def _entry(value: str) -> tuple[str, float | None, str | None, str | None]:
    folded, found, exact = fold(value), " ".join(words(value)), value[:LONGEST_FOLDED]
    return folded, number(value), None if found == folded else found, None if exact == folded else exact
