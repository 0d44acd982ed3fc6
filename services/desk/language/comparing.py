"""Kinds of fields: how a term becomes SQL over the rows of one table.

Every test is one that an index can answer alone, as a set of ids: a body is long, and reading past it costs more
than the whole rest of the search.
"""

from collections.abc import Mapping

from services.desk.errors import InvalidSearch
from services.desk.language import words
from services.desk.language.asked import ANY, NONE, Asked, Test, ids, number
from services.desk.language.syntax import Property, Text


def ranked(table: str, column: str, order: tuple[str, ...]) -> Test:
    """`status<solved`: values that stand in an order."""

    def test(asked: Asked, term: Property) -> str | None:
        value = term.value.lower()
        if value in (NONE, ANY):
            # Whatever is set stands above nothing.
            unset = value == NONE and term.sign != ">"
            return ids(f"SELECT id FROM {table} WHERE {column} IS {'' if unset else 'NOT '}NULL")  # noqa: S608 - our own names
        if value not in order:
            if term.sign == ":":
                return None
            raise InvalidSearch(f"Invalid search: {term.key} is one of {', '.join(order)}")
        bound = asked.binder.bind(order.index(value))
        return ids(f"SELECT id FROM {table} WHERE {column} {_sign(term)} {bound}")  # noqa: S608 - bound

    return test


def moment(table: str, column: str) -> Test:
    """A day is a stretch: later than a day means after its end."""

    def test(asked: Asked, term: Property) -> str | None:
        if term.value.lower() == NONE:
            return ids(f"SELECT id FROM {table} WHERE {column} IS NULL")  # noqa: S608 - our own names
        found = asked.span(term)
        start, end = asked.binder.bind(found.start_ms), asked.binder.bind(found.end_ms)
        match term.sign:
            case ":":
                told = f"{column} >= {start} AND {column} < {end}"
            case ">":
                told = f"{column} >= {end}"
            case ">=":
                told = f"{column} >= {start}"
            case "<":
                told = f"{column} < {start}"
            case _:
                told = f"{column} < {end}"
        return ids(f"SELECT id FROM {table} WHERE {told}")  # noqa: S608 - bound

    return test


def exact(table: str, column: str, *, folded: bool = False) -> Test:
    """The whole value; a star at its end asks for the beginning."""

    def test(asked: Asked, term: Property) -> str | None:
        value = term.value.casefold() if folded else term.value
        if value in (NONE, ANY):
            return ids(f"SELECT id FROM {table} WHERE {column} IS {'' if value == NONE else 'NOT '}NULL")  # noqa: S608 - our own names
        if value.endswith(ANY):
            start = value.rstrip(ANY)
            low, high = asked.binder.bind(start), asked.binder.bind(f"{start}\U0010ffff")
            return ids(f"SELECT id FROM {table} WHERE {column} >= {low} AND {column} < {high}")  # noqa: S608 - bound
        return ids(f"SELECT id FROM {table} WHERE {column} = {asked.binder.bind(value)}")  # noqa: S608 - bound

    return test


def flag(table: str, column: str) -> Test:
    def test(asked: Asked, term: Property) -> str | None:
        wanted = int(term.value.lower() in ("true", "1", "yes"))
        return ids(f"SELECT id FROM {table} WHERE ifnull({column}, 0) = {asked.binder.bind(wanted)}")  # noqa: S608 - bound

    return test


def identity(asked: Asked, term: Property) -> str | None:
    found = number(term.value)
    return None if found is None else f"id {_sign(term)} {asked.binder.bind(found)}"


def linked(links: str, kind: str) -> Test:
    """Tags and the like: several in one value, all of them."""

    def test(asked: Asked, term: Property) -> str | None:
        holders = f"SELECT owner_id FROM {links} WHERE kind = {asked.binder.bind(kind)}"  # noqa: S608 - bound
        if term.value.lower() in (NONE, ANY):
            inside = ids(holders)
            return f"NOT {inside}" if term.value.lower() == NONE else inside
        told = [ids(f"{holders} AND {_starting(asked, one)}") for one in term.value.casefold().split()]
        return " AND ".join(told) or None

    return test


def valued(links: str, kind: str) -> Test:
    """A custom value, whole and as it was written."""

    def test(asked: Asked, term: Property) -> str | None:
        holders = f"SELECT owner_id FROM {links} WHERE kind = {asked.binder.bind(kind)}"  # noqa: S608 - bound
        if term.value.lower() in (NONE, ANY):
            return f"NOT {ids(holders)}" if term.value.lower() == NONE else ids(holders)
        return ids(f"{holders} AND {_starting(asked, term.value)}")

    return test


def _starting(asked: Asked, value: str) -> str:
    if not value.endswith(ANY):
        return f"value = {asked.binder.bind(value)}"
    start = value.rstrip(ANY)
    return f"value >= {asked.binder.bind(start)} AND value < {asked.binder.bind(f'{start}{chr(0x10FFFF)}')}"


def written(texts: str, column: str | None = None) -> Test:
    """Words in one column of a full-text index."""

    def test(asked: Asked, term: Property) -> str | None:
        found = words.expression([Text(term.value, is_phrase=term.is_quoted)], column)
        if found is None:
            return None
        return ids(f"SELECT rowid FROM {texts} WHERE {texts} MATCH {asked.binder.bind(found)}")  # noqa: S608 - bound

    return test


def person(column: str) -> Test:
    """Who: `me`, `none`, an id, an address, or words of a name."""

    def test(asked: Asked, term: Property) -> str | None:
        value = term.value.casefold()
        if value in (NONE, ANY):
            return ids(f"SELECT id FROM tickets WHERE {column} IS {'' if value == NONE else 'NOT '}NULL")  # noqa: S608 - our own names
        who = people(asked, term)
        return None if who is None else ids(f"SELECT id FROM tickets WHERE {column} {who}")  # noqa: S608 - bound

    return test


def people(asked: Asked, term: Property) -> str | None:
    """A test of a column that holds a user's id."""
    value = term.value.casefold()
    if value == "me":
        return f"= {asked.binder.bind(asked.me)}"
    if (found := number(value)) is not None:
        return f"= {asked.binder.bind(found)}"
    if "@" in value:
        address = asked.binder.bind(value)
        known = f"SELECT user_id FROM identities WHERE value_folded = {address}"  # noqa: S608 - bound
        return f"IN ({known} UNION SELECT id FROM users WHERE email_folded = {address})"  # noqa: S608 - bound
    name = words.expression([Text(term.value, is_phrase=term.is_quoted)], "name_text")
    if name is None:
        return None
    return f"IN (SELECT rowid FROM users_texts WHERE users_texts MATCH {asked.binder.bind(name)})"  # noqa: S608 - bound


def named(table: str, column: str, others: str) -> Test:
    """An organization or a group by its id or by its whole name; a star asks for the beginning of one."""

    def test(asked: Asked, term: Property) -> str | None:
        value = term.value.casefold()
        if value in (NONE, ANY):
            return ids(f"SELECT id FROM {table} WHERE {column} IS {'' if value == NONE else 'NOT '}NULL")  # noqa: S608 - our own names
        if (found := number(value)) is not None:
            return ids(f"SELECT id FROM {table} WHERE {column} = {asked.binder.bind(found)}")  # noqa: S608 - bound
        there = exact(others, "name_folded", folded=True)(asked, term) or "0"
        return ids(f"SELECT id FROM {table} WHERE {column} IN (SELECT id FROM {others} WHERE {there})")  # noqa: S608 - bound

    return test


def one_of(table: str, column: str, spelt: Mapping[str, str] | None = None) -> Test:
    """A short list of values, in any case; `spelt` gives those that are kept under another name."""

    def test(asked: Asked, term: Property) -> str | None:
        value = term.value.lower()
        if value == NONE:
            return ids(f"SELECT id FROM {table} WHERE {column} IS NULL")  # noqa: S608 - our own names
        kept = (spelt or {}).get(value, value)
        return ids(f"SELECT id FROM {table} WHERE {column} = {asked.binder.bind(kept)}")  # noqa: S608 - bound

    return test


def _sign(term: Property) -> str:
    return "=" if term.sign == ":" else term.sign
