"""The search language: `field:'value' AND total>1000 AND metadata['k']:'v'`, compiled to one SQL statement."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from services.billing.errors import InvalidRequest
from services.billing.operations.records import NEWEST_FIRST, Page
from services.billing.rows import BillingTable, BodyT, IdT
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
from services.kernel.documents import Where, is_null, select_slice
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
_METADATA: Kind = "metadata"

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
    is_metadata: bool
    sign: str
    value: str | None
    is_negated: bool


def search(world: World, table: BillingTable[IdT, BodyT], query: str, limit: int, page: str | None) -> Page[BodyT]:
    clauses, joint = parse(query)
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    columns = [_column(table, clause) for clause in clauses]
    for index, (clause, column) in enumerate(zip(clauses, columns, strict=True)):
        condition, values = _condition(clause, *column, index)
        conditions.append(condition)
        parameters |= values
    where = Where(f" {joint} ".join(f"({condition})" for condition in conditions), parameters)
    if "deleted" in table.c:
        where &= is_null("deleted")
    place = _read_token(page) if page is not None else None
    with world.lag_search(lambda name: tables.tables[name]):
        part = select_slice(world, table, where, NEWEST_FIRST, limit, place)
    token = _write_token(part.places[-1]) if part.has_more else None
    return Page([row["body"] for row in part.rows], part.has_more, token)


def _column(table: sa.Table, clause: Clause) -> tuple[str, Kind]:
    """Returns the column that a clause compares and how, if this noun can be searched by it."""
    column, kind = "body", _METADATA
    if not clause.is_metadata:
        if clause.field != "created" and clause.field not in FIELDS[table.name]:
            raise _bad(f"Field `{clause.field}` is an unsupported search field for resource `{table.name}`.")
        column, kind = _CREATED if clause.field == "created" else FIELDS[table.name][clause.field]
    if clause.value is None and clause.sign != ":":
        raise _bad("Only equality can be asked of null.")
    if clause.sign == "~" and kind not in ("folded", "metadata"):
        raise _bad(f"Field `{clause.field}` does not support substring matches.")
    if clause.sign not in (":", "~") and kind != "number":
        raise _bad(f"Field `{clause.field}` does not support comparisons.")
    return column, kind


def _condition(clause: Clause, column: str, kind: Kind, index: int) -> tuple[str, dict[str, Any]]:
    """Returns the clause as SQL with its parameters."""
    values: dict[str, Any] = {}
    if clause.is_metadata:
        if '"' in clause.field:
            raise _bad("A metadata key has no quotes.")
        column = f"json_extract(body, :key_{index})"
        values[f"key_{index}"] = f'$.metadata."{clause.field}"'
    if clause.value is None:
        sql = f"{column} IS NULL"
    elif clause.sign == "~":
        if len(clause.value) < _SHORTEST_PART:
            raise _bad(f"Substring matches need at least {_SHORTEST_PART} characters.")
        sql = f"instr(lower({column}), :value_{index}) > 0"
        values[f"value_{index}"] = clause.value.casefold()
    else:
        sql = f"{column} {'=' if clause.sign == ':' else clause.sign} :value_{index}"
        values[f"value_{index}"] = _parse_value(kind, clause)
    return (f"NOT coalesce({sql}, 0)" if clause.is_negated else sql), values


def parse(query: str) -> tuple[list[Clause], Literal["AND", "OR"]]:
    """Returns the clauses of a query and what joins them."""
    clauses: list[Clause] = []
    joins: set[str] = set()
    position = 0
    while True:
        clause = _CLAUSE.match(query, position)
        if clause is None:
            raise _bad(f"Unable to parse the query near {query[position : position + 20]!r}.")
        clauses.append(_clause(clause))
        position = clause.end()
        if position >= len(query):
            break
        joint = _JOIN.match(query, position)
        if joint is None:
            raise _bad(f"Unable to parse the query near {query[position : position + 20]!r}.")
        joins.add((joint[1] or "AND").upper())
        position = joint.end()
    if len(joins) > 1:
        raise _bad("A query joins its clauses with AND or with OR, never with both.")
    if len(clauses) > _MOST_CLAUSES:
        raise _bad(f"A query has at most {_MOST_CLAUSES} clauses.")
    return clauses, "OR" if "OR" in joins else "AND"


def _clause(match: re.Match[str]) -> Clause:
    text = match["text"]
    if text is not None:
        text = re.sub(r"\\(.)", r"\1", text)
    value = text if text is not None else None if match["bare"] == "null" else match["bare"]
    key = match["key"]
    name = re.sub(r"\\(.)", r"\1", key) if key is not None else match["field"]
    return Clause(name, key is not None, match["sign"], value, match["not"] is not None)


def _parse_value(kind: Kind, clause: Clause) -> str | int:
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


def _write_token(place: tuple[Any, ...]) -> str:
    created, seq = place
    return base64.urlsafe_b64encode(f"{created}.{seq}".encode()).decode()


def _read_token(page: str) -> tuple[int, int]:
    try:
        created, _, seq = base64.urlsafe_b64decode(page.encode()).decode().partition(".")
        return min(int(created), _LARGEST), min(int(seq), _LARGEST)
    except (ValueError, binascii.Error):
        raise InvalidRequest("Invalid page token.", "page") from None


def _bad(message: str) -> InvalidRequest:
    return InvalidRequest(message, "query")
