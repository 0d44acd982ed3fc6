"""A query as SQL: one WHERE per kind of record, made of sets of ids that indexes alone can give."""

from dataclasses import dataclass

from services.desk.documents import select_ids
from services.desk.language import fields
from services.desk.language.context import SearchContext, id_in, match_text, read_number
from services.desk.language.full_text import build_match
from services.desk.language.syntax import Property, Query, Text

TABLES = {"ticket": "tickets", "user": "users", "organization": "organizations", "group": "groups"}
# What is deleted, or is never found.
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


def make_plans(context: SearchContext, query: Query) -> list[Plan]:
    """Leaves out kinds that cannot match: a user has no status."""
    unknown = [term for term in query.properties if not fields.is_known(term)]
    texts = [*query.texts, *(term.as_text() for term in unknown)]
    known = [term for term in query.properties if term not in unknown]
    plans = [_make_plan(context, kind, texts, known) for kind in query.kinds]
    return [plan for plan in plans if plan is not None]


def _make_plan(context: SearchContext, kind: str, texts: list[Text], terms: list[Property]) -> Plan | None:
    conditions = _compare_terms(context, kind, terms)
    if conditions is None:
        return None
    if len(conditions) == 1 and not texts:
        conditions = [_unwrap(kind, conditions[0])]
    conditions += [_find_words(context, kind, text) for text in texts]
    wanted = [text for text in texts if not text.is_negated]
    return Plan(kind, " AND ".join((*conditions, _ALIVE[kind])), _relevance(context, kind, wanted), bool(texts))


def _unwrap(kind: str, condition: str) -> str:
    """A single set of ids of the same table is replaced by its own condition: the set need not be built first."""
    start = f"({id_in(select_ids(TABLES[kind], ''))}".removesuffix(")")
    if condition.startswith(start) and condition.count("SELECT") == 1:
        return f"({condition.removeprefix(start).removesuffix('))')})"
    return condition


def _compare_terms(context: SearchContext, kind: str, terms: list[Property]) -> list[str] | None:
    """The same key twice means either; every exclusion counts by itself."""
    alternatives: dict[tuple[str, str], list[str]] = {}
    exclusions: list[str] = []
    for term in terms:
        test = fields.find_test(kind, term)
        if test is None:
            if term.is_negated:
                continue
            return None
        condition = test(context, term) or "0"
        if term.is_negated:
            exclusions.append(f"NOT ({condition})")
        else:
            alternatives.setdefault(_group_of(term), []).append(condition)
    return [*(f"({' OR '.join(conditions)})" for conditions in alternatives.values()), *exclusions]


def _group_of(term: Property) -> tuple[str, str]:
    """`created>a created<b` means both: only equals are alternatives to each other."""
    return fields.resolve_key(term), "" if term.sign == ":" else f"{term.sign}{term.value}"


def _find_words(context: SearchContext, kind: str, text: Text) -> str:
    condition = _match_words(context, kind, text)
    return f"NOT {condition}" if text.is_negated else condition


def _match_words(context: SearchContext, kind: str, text: Text) -> str:
    if kind == "group":
        return _match_group_name(context, text)
    match = build_match([text])
    if match is None:
        return "0"
    parameter = context.binder.bind(match)
    if kind != "ticket":
        return id_in(match_text(f"{TABLES[kind]}_texts", parameter))
    # A description is the first comment: to look through both would be to look twice.
    subjects = match_text("tickets_texts", context.binder.bind(f"subject_text : ({match})"))
    comments = select_ids("comments", id_in(match_text("comments_texts", parameter)), "ticket_id")
    either = f"{subjects} UNION ALL {comments}"
    # A number is an id where there is such a ticket, else a word: people paste order numbers too.
    key = None if text.is_phrase else read_number(text.words.lstrip("#"))
    if key is None:
        return id_in(either)
    own = select_ids("tickets", f"id = {context.binder.bind(key)}")
    return id_in(f"{own} UNION ALL {select_ids(f'({either})', f'NOT EXISTS ({own})', '*')}")


def _match_group_name(context: SearchContext, text: Text) -> str:
    folded = text.words.casefold().strip("*").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"(' ' || name_folded) LIKE {context.binder.bind(f'% {folded}%')} ESCAPE '\\'"


def _relevance(context: SearchContext, kind: str, texts: list[Text]) -> str | None:
    match = build_match(texts, _FIRST[kind]) if kind in _FIRST else None
    return None if match is None else id_in(match_text(f"{TABLES[kind]}_texts", context.binder.bind(match)))
