"""The search language: `field:'value' AND total>1000 AND metadata['k']:'v'`, compiled to one SQL statement."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import sqlalchemy as sa

from services.billing.errors import InvalidRequest
from services.billing.operations.listing import Page
from services.billing.tables import (
    charges,
    customers,
    invoices,
    payment_intents,
    prices,
    products,
    subscriptions,
    tables,
)
from services.kernel.statements import Statement, facts
from services.kernel.world import World

Kind = Literal["text", "folded", "number", "flag", "metadata"]

# Which fields each noun is searched by: the column and how it is compared.
FIELDS: Mapping[str, Mapping[str, tuple[str, Kind]]] = {
    customers.name: {
        "email": ("email_folded", "folded"),
        "name": ("name_folded", "folded"),
        "phone": ("phone_folded", "folded"),
    },
    products.name: {"active": ("active", "flag"), "name": ("name_folded", "folded")},
    prices.name: {
        "active": ("active", "flag"),
        "currency": ("currency", "text"),
        "lookup_key": ("lookup_key", "text"),
        "product": ("product", "text"),
        "type": ("type", "text"),
    },
    subscriptions.name: {"status": ("status", "text"), "canceled_at": ("canceled_at", "number")},
    invoices.name: {
        "currency": ("currency", "text"),
        "customer": ("customer", "text"),
        "number": ("number", "text"),
        "status": ("status", "text"),
        "subscription": ("subscription", "text"),
        "total": ("total", "number"),
    },
    charges.name: {
        "amount": ("amount", "number"),
        "currency": ("currency", "text"),
        "customer": ("customer", "text"),
        "disputed": ("disputed", "flag"),
        "payment_method_details.card.last4": ("last4", "text"),
        "refunded": ("refunded", "flag"),
        "status": ("status", "text"),
    },
    payment_intents.name: {
        "amount": ("amount", "number"),
        "currency": ("currency", "text"),
        "customer": ("customer", "text"),
        "status": ("status", "text"),
    },
}
_CREATED: tuple[str, Kind] = ("created", "number")
_METADATA: tuple[str, Kind] = ("body", "metadata")

_CLAUSE = re.compile(
    r"""\s*(?P<not>-)?\s*(?:metadata\[(?P<mq>['"])(?P<key>(?:\\.|(?!(?P=mq)).)+)(?P=mq)\]|(?P<field>[a-z_0-9.]+))
        \s*(?P<sign>:|~|>=|<=|>|<)\s*
        (?:(?P<quote>['"])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<bare>null|-?[0-9]+))\s*""",
    re.VERBOSE,
)
_JOIN = re.compile(r"(AND|OR)\b|(?=-|[a-z])", re.IGNORECASE)
_MOST_CLAUSES = 10
_SHORTEST_PART = 3
_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison of a query."""

    field: str
    metadata: bool
    sign: str
    value: str | None
    negated: bool


def search(world: World, table: sa.Table, query: str, limit: int, page: str | None) -> Page:
    clauses, joined = parse(query)
    terms = [_term(table, clause) for clause in clauses]
    parameters: dict[str, Any] = {"limit": limit + 1}
    for at, (clause, term) in enumerate(zip(clauses, terms, strict=True)):
        parameters |= _bound(clause, term, at)
    if page is not None:
        parameters |= _opened(page)
    with world.searched(lambda name: tables.tables[name]):
        found = world.find(_statement(table, tuple(terms), joined, page is not None), **parameters)
    more = len(found) > limit
    last = found[limit - 1] if more else None
    return Page([row["body"] for row in found[:limit]], more, _sealed(last) if last else None)


@dataclass(frozen=True, slots=True)
class Term:
    """What two clauses share that differ only in the value they look for."""

    column: str
    kind: Kind
    sign: str
    null: bool
    negated: bool


def _term(table: sa.Table, clause: Clause) -> Term:
    """The shape of a clause, if it can be asked of this noun at all."""
    if clause.metadata:
        column, kind = _METADATA
    elif clause.field == "created":
        column, kind = _CREATED
    elif clause.field in FIELDS[table.name]:
        column, kind = FIELDS[table.name][clause.field]
    else:
        raise _bad(f"Field `{clause.field}` is an unsupported search field for resource `{table.name}`.")
    null = clause.value is None
    if null and clause.sign != ":":
        raise _bad("Only equality can be asked of null.")
    if clause.sign == "~" and kind not in ("folded", "metadata"):
        raise _bad(f"Field `{clause.field}` does not support substring matches.")
    if clause.sign not in (":", "~") and kind != "number":
        raise _bad(f"Field `{clause.field}` does not support comparisons.")
    return Term(column, kind, clause.sign, null, clause.negated)


def _bound(clause: Clause, term: Term, at: int) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    if clause.metadata:
        if '"' in clause.field:
            raise _bad("A metadata key has no quotes.")
        bound[f"key_{at}"] = f'$.metadata."{clause.field}"'
    if clause.value is None:
        return bound
    if clause.sign == "~":
        if len(clause.value) < _SHORTEST_PART:
            raise _bad(f"Substring matches need at least {_SHORTEST_PART} characters.")
        return {**bound, f"value_{at}": clause.value.casefold()}
    return {**bound, f"value_{at}": _typed(term.kind, clause)}


@lru_cache(maxsize=1000)
def _statement(table: sa.Table, terms: tuple[Term, ...], joined: str, placed: bool) -> Statement:
    conditions = [_condition(table, term, at) for at, term in enumerate(terms)]
    matching = sa.or_(*conditions) if joined == "OR" else sa.and_(*conditions)
    core = sa.select(*facts(table), table.c.created).where(matching)
    if "deleted" in table.c:
        core = core.where(table.c.deleted.is_(None))
    if placed:
        here = sa.tuple_(sa.bindparam("at_created"), sa.bindparam("at_seq"))
        core = core.where(sa.tuple_(table.c.created, table.c.seq) < here)
    order = (table.c.created.desc(), table.c.seq.desc())
    return Statement(core.order_by(*order).limit(sa.bindparam("limit", type_=sa.Integer)))


def _condition(table: sa.Table, term: Term, at: int) -> sa.ColumnElement[bool]:
    column: sa.ColumnElement[Any] = table.c[term.column]
    if term.kind == "metadata":
        column = sa.func.json_extract(column, sa.bindparam(f"key_{at}"))
    condition = _compared(column, term, sa.bindparam(f"value_{at}"))
    return sa.not_(sa.func.coalesce(condition, False)) if term.negated else condition


def _compared(column: sa.ColumnElement[Any], term: Term, value: sa.BindParameter[Any]) -> sa.ColumnElement[bool]:
    if term.null:
        return column.is_(None)
    match term.sign:
        case ":":
            return column == value
        case "~":
            return sa.func.instr(sa.func.lower(column), value) > 0
        case ">":
            return column > value
        case "<":
            return column < value
        case ">=":
            return column >= value
    return column <= value


def parse(query: str) -> tuple[list[Clause], str]:
    clauses: list[Clause] = []
    joins: set[str] = set()
    at = 0
    while True:
        found = _CLAUSE.match(query, at)
        if found is None:
            raise _bad(f"Unable to parse the query near {query[at : at + 20]!r}.")
        clauses.append(_clause(found))
        at = found.end()
        if at >= len(query):
            break
        joint = _JOIN.match(query, at)
        if joint is None:
            raise _bad(f"Unable to parse the query near {query[at : at + 20]!r}.")
        joins.add((joint[1] or "AND").upper())
        at = joint.end()
    if len(joins) > 1:
        raise _bad("A query joins its clauses with AND or with OR, never with both.")
    if len(clauses) > _MOST_CLAUSES:
        raise _bad(f"A query has at most {_MOST_CLAUSES} clauses.")
    return clauses, joins.pop() if joins else "AND"


def _clause(found: re.Match[str]) -> Clause:
    text = found["text"]
    if text is not None:
        text = re.sub(r"\\(.)", r"\1", text)
    value = text if text is not None else None if found["bare"] == "null" else found["bare"]
    key = found["key"]
    name = re.sub(r"\\(.)", r"\1", key) if key is not None else found["field"]
    return Clause(name, key is not None, found["sign"], value, found["not"] is not None)


def _typed(kind: Kind, clause: Clause) -> Any:
    value = clause.value or ""
    if kind == "number":
        if not re.fullmatch(r"-?[0-9]{1,18}", value):
            raise _bad(f"Field `{clause.field}` takes a whole number.")
        return max(-_LARGEST, min(int(value), _LARGEST))
    if kind == "flag":
        if value not in ("true", "false"):
            raise _bad(f"Field `{clause.field}` is either 'true' or 'false'.")
        return int(value == "true")
    return value.casefold() if kind == "folded" else value


def _sealed(row: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(f"{row['created']}.{row['seq']}".encode()).decode()


def _opened(page: str) -> dict[str, int]:
    try:
        created, _, seq = base64.urlsafe_b64decode(page.encode()).decode().partition(".")
        return {"at_created": min(int(created), _LARGEST), "at_seq": min(int(seq), _LARGEST)}
    except (ValueError, binascii.Error):
        raise InvalidRequest("Invalid page token.", "page") from None


def _bad(message: str) -> InvalidRequest:
    return InvalidRequest(message, "query")
