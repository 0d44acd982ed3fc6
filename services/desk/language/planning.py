"""A query as SQL: one WHERE per kind of thing, made of sets of ids that indexes alone can give."""

from dataclasses import dataclass

from services.desk.language import fields, words
from services.desk.language.asked import Asked, Test, ids, number
from services.desk.language.syntax import Property, Query, Text

TABLES = {"ticket": "tickets", "user": "users", "organization": "organizations", "group": "groups"}
# What is gone, or was never meant to be found.
_ALIVE = {
    "ticket": "id NOT IN (SELECT id FROM tickets WHERE deleted_at IS NOT NULL)",
    "user": "ifnull(active, 1) = 1",
    "organization": "1",
    "group": "ifnull(deleted, 0) = 0",
}
# Where a match counts most.
_FIRST = {"ticket": "subject_text", "user": "name_text", "organization": "name_text"}


@dataclass(frozen=True, slots=True)
class Plan:
    """One kind's part of a search."""

    kind: str
    where: str
    # A term that is 1 for the better matches.
    relevance: str | None
    # Whether words are looked for: what they match is not known before it is read.
    is_costly: bool

    @property
    def table(self) -> str:
        return TABLES[self.kind]


def plans(asked: Asked, query: Query) -> list[Plan]:
    """None for kinds that cannot match: a user has no status."""
    unknown = [term for term in query.properties if not fields.is_known(term)]
    texts = [*query.texts, *(term.as_text() for term in unknown)]
    known = [term for term in query.properties if term not in unknown]
    found = [_plan(asked, kind, texts, known) for kind in query.kinds]
    return [plan for plan in found if plan is not None]


def _plan(asked: Asked, kind: str, texts: list[Text], terms: list[Property]) -> Plan | None:
    conditions = _compared(asked, kind, terms)
    if conditions is None:
        return None
    if len(conditions) == 1 and not texts:
        conditions = [_unwrapped(kind, conditions[0])]
    conditions += [_found(asked, kind, text) for text in texts]
    wanted = [text for text in texts if not text.is_negated]
    return Plan(kind, " AND ".join((*conditions, _ALIVE[kind])), _relevance(asked, kind, wanted), bool(texts))


def _unwrapped(kind: str, condition: str) -> str:
    """A set of ids that is all there is to ask for needs not be made first: its own condition finds the rows."""
    start = f"(id IN (SELECT id FROM {TABLES[kind]} WHERE "  # noqa: S608 - our own name
    if condition.startswith(start) and condition.count("SELECT") == 1:
        return f"({condition.removeprefix(start).removesuffix('))')})"
    return condition


def _compared(asked: Asked, kind: str, terms: list[Property]) -> list[str] | None:
    """The same key twice means either; what is excluded is excluded each for itself."""
    either: dict[tuple[str, str], list[str]] = {}
    conditions: list[str] = []
    for term in terms:
        test = fields.test_of(kind, term)
        if test is None:
            if term.is_negated:
                continue
            return None
        told = _told(asked, test, term)
        if term.is_negated:
            conditions.append(f"NOT ({told})")
        else:
            either.setdefault(_group(term), []).append(told)
    return [*(f"({' OR '.join(told)})" for told in either.values()), *conditions]


def _group(term: Property) -> tuple[str, str]:
    """`created>a created<b` are both meant: only equals are alternatives to each other."""
    return fields.key_of(term), "" if term.sign == ":" else f"{term.sign}{term.value}"


def _told(asked: Asked, test: Test, term: Property) -> str:
    return test(asked, term) or "0"


def _found(asked: Asked, kind: str, text: Text) -> str:
    told = _words(asked, kind, text)
    return f"NOT {told}" if text.is_negated else told


def _words(asked: Asked, kind: str, text: Text) -> str:
    if kind == "group":
        return _in_name(asked, text)
    match = words.expression([text])
    if match is None:
        return "0"
    bound = asked.binder.bind(match)
    if kind != "ticket":
        return ids(f"SELECT rowid FROM {TABLES[kind]}_texts WHERE {TABLES[kind]}_texts MATCH {bound}")  # noqa: S608 - bound
    # A description is the first comment: to look through both would be to look twice.
    subject = asked.binder.bind(f"subject_text : ({match})")
    inside = f"SELECT rowid FROM tickets_texts WHERE tickets_texts MATCH {subject}"  # noqa: S608 - bound
    said = f"SELECT rowid FROM comments_texts WHERE comments_texts MATCH {bound}"  # noqa: S608 - bound
    found = f"{inside} UNION ALL SELECT ticket_id FROM comments WHERE id IN ({said})"  # noqa: S608 - bound
    # A number is an id where there is such a ticket, else a word: people paste order numbers too.
    key = None if text.is_phrase else number(text.words.lstrip("#"))
    if key is None:
        return ids(found)
    own = f"SELECT id FROM tickets WHERE id = {asked.binder.bind(key)}"  # noqa: S608 - bound
    return ids(f"{own} UNION ALL SELECT * FROM ({found}) WHERE NOT EXISTS ({own})")  # noqa: S608 - bound


def _in_name(asked: Asked, text: Text) -> str:
    folded = text.words.casefold().strip("*").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"(' ' || name_folded) LIKE {asked.binder.bind(f'% {folded}%')} ESCAPE '\\'"


def _relevance(asked: Asked, kind: str, texts: list[Text]) -> str | None:
    match = words.expression(texts, _FIRST[kind]) if kind in _FIRST else None
    if match is None:
        return None
    found = f"{TABLES[kind]}_texts"
    return ids(f"SELECT rowid FROM {found} WHERE {found} MATCH {asked.binder.bind(match)}")  # noqa: S608 - bound
