"""Parses a query such as `printer type:ticket status<solved -tags:spam "first invoice" order_by:created`."""

import re
from dataclasses import dataclass
from functools import lru_cache

KINDS = ("ticket", "user", "organization", "group")
_TERM = re.compile(
    r"""(?P<not>-)?
        (?: (?P<key>[A-Za-z_][A-Za-z0-9_.]*) (?P<sign><=|>=|:|<|>) (?: "(?P<quoted>[^"]*)"? | (?P<bare>[^\s"]+) )
          | "(?P<phrase>[^"]*)"?
          | (?P<word>[^\s"]+) )""",
    re.VERBOSE,
)
_SORTS = frozenset({"order_by", "sort_by", "sort", "sort_order"})
_DIRECTIONS = {"asc": False, "ascending": False, "desc": True, "descending": True}
_MOST_TERMS = 60
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Text:
    """Words to be found anywhere; a phrase keeps its words together and in order."""

    words: str
    is_phrase: bool = False
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Property:
    """One comparison: `status<solved`."""

    key: str
    sign: str
    value: str
    is_quoted: bool = False
    is_negated: bool = False

    def as_text(self) -> Text:
        """Returns the words themselves, which is what a term with an unknown key means."""
        return Text(f"{self.key}{self.sign}{self.value}", is_phrase=True, is_negated=self.is_negated)


@dataclass(frozen=True, slots=True)
class Query:
    """A whole search."""

    kinds: tuple[str, ...]
    texts: tuple[Text, ...]
    properties: tuple[Property, ...]
    order_by: str | None = None
    descending: bool | None = None


class TooLong(ValueError):
    """The query is longer than the desk reads."""


@lru_cache(maxsize=1000)
def parse(text: str) -> Query:
    if len(text) > LONGEST:
        raise TooLong(f"a query has at most {LONGEST} characters")
    terms = [_read_term(match) for match in _TERM.finditer(text.replace("\x00", " "))]
    if len(terms) > _MOST_TERMS:
        raise TooLong(f"a query has at most {_MOST_TERMS} terms")
    properties = [term for term in terms if isinstance(term, Property)]
    return Query(
        kinds=_read_kinds(properties),
        texts=tuple(term for term in terms if isinstance(term, Text) and term.words.strip("*- ")),
        properties=tuple(term for term in properties if term.key != "type" and term.key not in _SORTS),
        order_by=next((term.value.lower() for term in properties if term.key in ("order_by", "sort_by")), None),
        descending=_read_direction(properties),
    )


def _read_term(match: re.Match[str]) -> Text | Property:
    is_negated = match["not"] is not None
    if match["key"] is not None:
        quoted = match["quoted"]
        value = quoted if quoted is not None else match["bare"]
        return Property(match["key"].lower(), match["sign"], value, quoted is not None, is_negated)
    if match["phrase"] is not None:
        return Text(match["phrase"], is_phrase=True, is_negated=is_negated)
    return Text(match["word"], is_negated=is_negated)


def _read_kinds(properties: list[Property]) -> tuple[str, ...]:
    """`type:` named twice means either; negated, all the others; unknown kinds match nothing."""
    named = [term for term in properties if term.key == "type"]
    wanted = {term.value.lower() for term in named if not term.is_negated}
    unwanted = {term.value.lower() for term in named if term.is_negated}
    return tuple(kind for kind in KINDS if (not wanted or kind in wanted) and kind not in unwanted)


def _read_direction(properties: list[Property]) -> bool | None:
    named = (term.value.lower() for term in properties if term.key in ("sort", "sort_order"))
    return next((_DIRECTIONS[name] for name in named if name in _DIRECTIONS), None)
