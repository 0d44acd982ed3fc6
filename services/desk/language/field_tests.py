"""Kinds of fields: how a term becomes a condition on the rows of one table.

Every condition is one that an index can answer alone, as a set of ids: a body is long, and reading past it costs more
than the rest of the search.
"""

from collections.abc import Mapping

from services.desk.documents import select_ids
from services.desk.errors import InvalidSearch
from services.desk.language.context import (
    ANY,
    NONE,
    FieldTest,
    SearchContext,
    id_in,
    match_text,
    read_number,
    rows_where,
)
from services.desk.language.full_text import build_match
from services.desk.language.syntax import Property, Text


def _is_null(column: str, *, is_null: bool) -> str:
    return f"{column} IS {'' if is_null else 'NOT '}NULL"


def rank(table: str, column: str, order: tuple[str, ...]) -> FieldTest:
    """`status<solved`: values that have an order."""

    def test(context: SearchContext, term: Property) -> str | None:
        value = term.value.lower()
        if value in (NONE, ANY):
            # Whatever is set stands above nothing.
            return rows_where(table, _is_null(column, is_null=value == NONE and term.sign != ">"))
        if value not in order:
            if term.sign == ":":
                return None
            raise InvalidSearch(f"Invalid search: {term.key} is one of {', '.join(order)}")
        return rows_where(table, f"{column} {_sign(term)} {context.binder.bind(order.index(value))}")

    return test


def moment(table: str, column: str) -> FieldTest:
    """A day has a length: later than a day means after its end."""

    def test(context: SearchContext, term: Property) -> str | None:
        if term.value.lower() == NONE:
            return rows_where(table, _is_null(column, is_null=True))
        span = context.read_span(term)
        start, end = context.binder.bind(span.start_ms), context.binder.bind(span.end_ms)
        match term.sign:
            case ":":
                condition = f"{column} >= {start} AND {column} < {end}"
            case ">":
                condition = f"{column} >= {end}"
            case ">=":
                condition = f"{column} >= {start}"
            case "<":
                condition = f"{column} < {start}"
            case _:
                condition = f"{column} < {end}"
        return rows_where(table, condition)

    return test


def whole_value(table: str, column: str, *, folded: bool = False) -> FieldTest:
    """The whole value; a star at its end means the beginning of one."""

    def test(context: SearchContext, term: Property) -> str | None:
        value = term.value.casefold() if folded else term.value
        if value in (NONE, ANY):
            return rows_where(table, _is_null(column, is_null=value == NONE))
        return rows_where(table, _matches(context, column, value))

    return test


def _matches(context: SearchContext, column: str, value: str) -> str:
    if not value.endswith(ANY):
        return f"{column} = {context.binder.bind(value)}"
    start = value.rstrip(ANY)
    low, high = context.binder.bind(start), context.binder.bind(f"{start}\U0010ffff")
    return f"{column} >= {low} AND {column} < {high}"


def flag(table: str, column: str) -> FieldTest:
    def test(context: SearchContext, term: Property) -> str | None:
        wanted = int(term.value.lower() in ("true", "1", "yes"))
        return rows_where(table, f"ifnull({column}, 0) = {context.binder.bind(wanted)}")

    return test


def identity(context: SearchContext, term: Property) -> str | None:
    number = read_number(term.value)
    return None if number is None else f"id {_sign(term)} {context.binder.bind(number)}"


def tag(links: str, kind: str) -> FieldTest:
    """Tags and the like: several in one value mean all of them."""

    def test(context: SearchContext, term: Property) -> str | None:
        linked = f"kind = {context.binder.bind(kind)}"
        if term.value.lower() in (NONE, ANY):
            return _any_link(links, linked, term)
        values = term.value.casefold().split()
        conditions = [
            id_in(select_ids(links, f"{linked} AND {_matches(context, 'value', one)}", "owner_id")) for one in values
        ]
        return " AND ".join(conditions) or None

    return test


def value(links: str, kind: str) -> FieldTest:
    """A custom value, whole and as it was written."""

    def test(context: SearchContext, term: Property) -> str | None:
        linked = f"kind = {context.binder.bind(kind)}"
        if term.value.lower() in (NONE, ANY):
            return _any_link(links, linked, term)
        return id_in(select_ids(links, f"{linked} AND {_matches(context, 'value', term.value)}", "owner_id"))

    return test


def _any_link(links: str, linked: str, term: Property) -> str:
    owners = id_in(select_ids(links, linked, "owner_id"))
    return f"NOT {owners}" if term.value.lower() == NONE else owners


def words_in(texts: str, column: str | None = None) -> FieldTest:
    """Words in one column of a full-text index."""

    def test(context: SearchContext, term: Property) -> str | None:
        match = build_match([Text(term.value, is_phrase=term.is_quoted)], column)
        return None if match is None else id_in(match_text(texts, context.binder.bind(match)))

    return test


def person(column: str) -> FieldTest:
    """Somebody around a ticket: `me`, `none`, an id, an address, or words of a name."""

    def test(context: SearchContext, term: Property) -> str | None:
        name = term.value.casefold()
        if name in (NONE, ANY):
            return rows_where("tickets", _is_null(column, is_null=name == NONE))
        who = match_person(context, term)
        return None if who is None else rows_where("tickets", f"{column} {who}")

    return test


def match_person(context: SearchContext, term: Property) -> str | None:
    """Returns a comparison for a column that holds a user's id."""
    name = term.value.casefold()
    if name == "me":
        return f"= {context.binder.bind(context.me)}"
    if (number := read_number(name)) is not None:
        return f"= {context.binder.bind(number)}"
    if "@" in name:
        address = context.binder.bind(name)
        owners = select_ids("identities", f"value_folded = {address}", "user_id")
        return f"IN ({owners} UNION {select_ids('users', f'email_folded = {address}')})"
    match = build_match([Text(term.value, is_phrase=term.is_quoted)], "name_text")
    return None if match is None else f"IN ({match_text('users_texts', context.binder.bind(match))})"


def name_reference(table: str, column: str, others: str) -> FieldTest:
    """An organization or a group by its id or by its whole name; a star means the beginning of one."""

    def test(context: SearchContext, term: Property) -> str | None:
        name = term.value.casefold()
        if name in (NONE, ANY):
            return rows_where(table, _is_null(column, is_null=name == NONE))
        if (number := read_number(name)) is not None:
            return rows_where(table, f"{column} = {context.binder.bind(number)}")
        named = whole_value(others, "name_folded", folded=True)(context, term) or "0"
        return rows_where(table, f"{column} IN ({select_ids(others, named)})")

    return test


def one_of(table: str, column: str, aliases: Mapping[str, str] | None = None) -> FieldTest:
    """A short list of values, in any case; `aliases` gives those that are kept under another name."""

    def test(context: SearchContext, term: Property) -> str | None:
        name = term.value.lower()
        if name == NONE:
            return rows_where(table, _is_null(column, is_null=True))
        return rows_where(table, f"{column} = {context.binder.bind((aliases or {}).get(name, name))}")

    return test


def _sign(term: Property) -> str:
    return "=" if term.sign == ":" else term.sign
