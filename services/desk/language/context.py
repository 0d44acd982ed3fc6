"""What a search needs beside its words: who searches, when, and where values are bound."""

from collections.abc import Callable
from dataclasses import dataclass

from services.desk.documents import select_ids
from services.desk.errors import InvalidSearch
from services.desk.language.dates import Span, parse_span
from services.desk.language.syntax import Property
from services.desk.rows import UserId
from services.kernel.documents import Binder


@dataclass(frozen=True, slots=True)
class SearchContext:
    """One search while it is planned."""

    binder: Binder
    now_ms: int
    me: UserId

    def read_span(self, term: Property) -> Span:
        span = parse_span(term.value, self.now_ms)
        if span is None:
            raise InvalidSearch(f"Invalid search: {term.key} needs a date such as 2026-01-31 or 4hours")
        return span


# One term as a condition on rows; None where this value can match nothing.
FieldTest = Callable[[SearchContext, Property], str | None]

ANY = "*"
NONE = "none"


def read_number(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def match_text(texts: str, parameter: str) -> str:
    """Selects the rows of a full-text index that match a bound expression."""
    return select_ids(texts, f"{texts} MATCH {parameter}", "rowid")


def id_in(select: str) -> str:
    return f"id IN ({select})"


def rows_where(table: str, condition: str) -> str:
    """A condition that an index answers alone, as a set of ids."""
    return id_in(select_ids(table, condition))
