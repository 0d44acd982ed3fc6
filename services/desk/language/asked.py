"""What a search is asked with, beside its words: who asks, when, and where values go."""

from collections.abc import Callable
from dataclasses import dataclass

from services.desk.errors import InvalidSearch
from services.desk.language.binding import Binder
from services.desk.language.moments import Span, span
from services.desk.language.syntax import Property


@dataclass(frozen=True, slots=True)
class Asked:
    """One search while it is planned."""

    binder: Binder
    now_ms: int
    me: int

    def span(self, term: Property) -> Span:
        found = span(term.value, self.now_ms)
        if found is None:
            raise InvalidSearch(f"Invalid search: {term.key} needs a date such as 2026-01-31 or 4hours")
        return found


# One term as a test of a row; None where this value can match nothing.
Test = Callable[[Asked, Property], str | None]

ANY = "*"
NONE = "none"


def number(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def ids(inner: str) -> str:
    return f"id IN ({inner})"
