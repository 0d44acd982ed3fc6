"""Filters as SQL over `objects o`. Values are always bound; only shapes and our own names become text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from services.crm.errors import InvalidRequest
from services.crm.indexing import fold, number
from services.crm.kinds import Kind
from services.crm.operations import computed, definitions, object_types
from services.crm.operations.definitions import Definition
from services.crm.operations.records import number as record_number
from services.kernel.world import World

COMPARISONS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_NEGATIVE = {"NEQ": "EQ", "NOT_IN": "IN", "NOT_CONTAINS_TOKEN": "CONTAINS_TOKEN"}
_TOKEN = re.compile(r"\**[^\W_]+(?:\*+[^\W_]+)*\**")
_NOTHING = "\x00"
_EXACT = "coalesce(exact, folded)"


class Binder:
    """Collects parameters, each under a name of its own."""

    __slots__ = ("parameters",)

    def __init__(self, **parameters: Any) -> None:
        self.parameters: dict[str, Any] = dict(parameters)

    def bind(self, value: Any) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"

    def bind_all(self, values: Sequence[Any]) -> str:
        return f"(SELECT value FROM json_each({self.bind(orjson.dumps(list(values)).decode())}))"  # noqa: S608 - bound


@dataclass(frozen=True, slots=True)
class Condition:
    """One test of a record `o`, and cheaper forms of it where the index of values alone can tell.

    `rows` selects the ids that meet it; `probe` looks one record up, for walks that stop early.
    """

    sql: str
    rows: str | None = None
    probe: str | None = None


def condition(world: World, kind: Kind, binder: Binder, name: str, operator: str, values: Sequence[str]) -> Condition:
    """One filter; `values` has one entry, two for BETWEEN, any number for IN, none for HAS_PROPERTY."""
    if name.startswith("associations."):
        return Condition(_associated(world, kind, binder, name.removeprefix("associations."), operator, values))
    found = computed.expression(kind, name)
    if found is not None:
        return Condition(_computed(binder, found, name, operator, values))
    return _held(binder, kind.name, name, definitions.require(world, kind.name, name), operator, values)


def _held(
    binder: Binder, kind: str, name: str, definition: Definition, operator: str, values: Sequence[str]
) -> Condition:
    rows = (
        "SELECT object_id AS id FROM property_values "  # noqa: S608 - bound
        f"WHERE kind = {binder.bind(kind)} AND name = {binder.bind(name)}"
    )
    if operator == "NOT_HAS_PROPERTY":
        return Condition(f"o.id NOT IN ({rows})")
    if operator != "HAS_PROPERTY":
        rows += f" AND {_test(binder, definition, name, operator, values)}"
    is_lookup = operator == "EQ" and not definition.is_numeric and not definition.is_multiple
    return Condition(f"o.id IN ({rows})", rows, f"EXISTS ({rows} AND object_id = o.id)" if is_lookup else None)


def _test(binder: Binder, definition: Definition, name: str, operator: str, values: Sequence[str]) -> str:
    """A test of one row of property_values. A record without the value meets no test, negative ones included."""
    if operator in _NEGATIVE and operator != "NEQ":
        return f"NOT ({_test(binder, definition, name, _NEGATIVE[operator], values)})"
    if operator == "CONTAINS_TOKEN":
        return _tokens(binder, values[0])
    if definition.is_multiple and operator in ("EQ", "NEQ", "IN"):
        return _any_choice(binder, operator, values)
    if definition.is_numeric:
        return _numeric(binder, name, operator, values)
    return _textual(binder, definition, operator, values)


def _numeric(binder: Binder, name: str, operator: str, values: Sequence[str]) -> str:
    asked = [_number(name, value) for value in values]
    if operator == "BETWEEN":
        return f"number BETWEEN {binder.bind(asked[0])} AND {binder.bind(asked[1])}"
    if operator == "IN":
        return f"number IN {binder.bind_all(asked)}"
    return f"number {COMPARISONS[operator]} {binder.bind(asked[0])}"


def _textual(binder: Binder, definition: Definition, operator: str, values: Sequence[str]) -> str:
    if operator == "IN" and definition.is_exact:
        return f"{_EXACT} IN {binder.bind_all(values)} AND folded IN {binder.bind_all([fold(one) for one in values])}"
    if operator == "IN":
        # Production wants lower case here and finds nothing otherwise.
        return f"folded IN {binder.bind_all([value for value in values if value == fold(value)])}"
    if operator == "BETWEEN":
        return f"folded BETWEEN {binder.bind(fold(values[0]))} AND {binder.bind(fold(values[1]))}"
    folded = f"folded {COMPARISONS[operator]} {binder.bind(fold(values[0]))}"
    if definition.is_exact and operator == "EQ":
        return f"{folded} AND {_EXACT} = {binder.bind(values[0])}"
    if definition.is_exact and operator == "NEQ":
        return f"{_EXACT} <> {binder.bind(values[0])}"
    return folded


def _any_choice(binder: Binder, operator: str, values: Sequence[str]) -> str:
    chosen = " OR ".join(f"instr(';' || {_EXACT} || ';', {binder.bind(f';{value};')})" for value in values) or "0"
    return f"NOT ({chosen})" if operator == "NEQ" else f"({chosen})"


def _tokens(binder: Binder, value: str) -> str:
    """Whole tokens in this order; `*` at an edge of a token stands for any letters.

    The first look, at the letters alone, spares most values from being copied for the second.
    """
    pattern, words = _pattern(value), "coalesce(words, folded)"
    letters = binder.bind(f"*{pattern.strip('* ')}*")
    return f"({words} GLOB {letters} AND ' ' || {words} || ' ' GLOB {binder.bind(pattern)})"


def _pattern(value: str) -> str:
    """`*@corvane.eu` asks for the tokens corvane and eu; `corv*` for a token that begins so."""
    tokens = [found for found in _TOKEN.findall(value.casefold()) if found.strip("*")]
    if not tokens:
        return "*" if "*" in value else _NOTHING
    inner = " ".join(tokens)
    before = "*" if tokens[0].startswith("*") else "* "
    after = "*" if tokens[-1].endswith("*") else " *"
    return before + inner.strip("*") + after


def _computed(binder: Binder, found: tuple[str, str], name: str, operator: str, values: Sequence[str]) -> str:
    sql, yields = found
    if operator == "HAS_PROPERTY":
        return f"{sql} IS NOT NULL"
    if operator == "NOT_HAS_PROPERTY":
        return f"{sql} IS NULL"
    if "TOKEN" in operator:
        raise InvalidRequest(f"Operator {operator} cannot be used with property {name}")
    asked: list[Any] = [value if yields == "text" else _number(name, value) for value in values]
    if operator == "BETWEEN":
        return f"{sql} BETWEEN {binder.bind(asked[0])} AND {binder.bind(asked[1])}"
    if operator in ("IN", "NOT_IN"):
        return f"{sql} {'IN' if operator == 'IN' else 'NOT IN'} {binder.bind_all(asked)}"
    return f"{sql} {COMPARISONS[operator]} {binder.bind(asked[0])}"


def _associated(world: World, kind: Kind, binder: Binder, other_name: str, operator: str, values: Sequence[str]) -> str:
    other = object_types.resolve(world, other_name)
    if operator in ("HAS_PROPERTY", "NOT_HAS_PROPERTY"):
        some = f"EXISTS (SELECT 1 FROM associations WHERE from_id = o.id AND to_kind = {binder.bind(other.name)})"  # noqa: S608 - bound
        return some if operator == "HAS_PROPERTY" else f"NOT {some}"
    if operator not in ("EQ", "IN", "NEQ", "NOT_IN"):
        raise InvalidRequest(f"Operator {operator} cannot be used with associations.{other_name}")
    ids = [found for value in values if (found := record_number(value)) is not None]
    negative = "NOT " if operator in _NEGATIVE else ""
    return (
        f"o.id {negative}IN (SELECT to_id FROM associations WHERE from_id IN {binder.bind_all(ids)} "  # noqa: S608 - bound
        f"AND to_kind = {binder.bind(kind.name)} AND from_kind = {binder.bind(other.name)})"
    )


def _number(name: str, value: str) -> float:
    found = number(value.strip())
    if found is None:
        raise InvalidRequest(
            f"There was a problem with the request. {value!r} is not a valid value for property {name}",
            context={"propertyName": [name]},
        )
    return found
