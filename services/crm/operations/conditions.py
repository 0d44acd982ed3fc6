"""Filters as SQL over `objects o`. Values are always bound; only operators and our own names become text.

Searches are put together from whatever the request asks for, so this module and its users write SQL text; everything
that is known at import is a Core `Statement`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.crm.errors import InvalidRequest
from services.crm.object_types import ObjectType
from services.crm.operations import definitions, object_types
from services.crm.operations.calculated_properties import Expression, find_expression
from services.crm.operations.definitions import Definition
from services.crm.operations.records import parse_record_id
from services.crm.rows import ObjectTypeName, Operator
from services.crm.search_index import fold, parse_number
from services.kernel.documents import Binder
from services.kernel.world import World

_COMPARISONS: dict[str, str] = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_TOKEN = re.compile(r"\**[^\W_]+(?:\*+[^\W_]+)*\**")
_MATCHES_NOTHING = "\x00"
_EXACT = "coalesce(exact, folded)"


@dataclass(frozen=True, slots=True)
class Condition:
    """One test of a record `o`, and cheaper forms of it where the index of values alone can answer.

    `rows` selects the ids that meet it; `probe` looks one record up, for scans that stop early.
    """

    sql: str
    rows: str | None = None
    probe: str | None = None


def compile_condition(
    world: World, object_type: ObjectType, binder: Binder, name: str, operator: Operator, values: Sequence[str]
) -> Condition:
    """Compiles one filter; `values` has one entry, two for BETWEEN, any number for IN, none for HAS_PROPERTY."""
    if name.startswith("associations."):
        target = name.removeprefix("associations.")
        return Condition(_compile_association(world, object_type, binder, target, operator, values))
    expression = find_expression(object_type, name)
    if expression is not None:
        return Condition(_compile_calculated(binder, expression, name, operator, values))
    definition = definitions.require(world, object_type.name, name)
    return _compile_stored(binder, object_type.name, name, definition, operator, values)


def _compile_stored(
    binder: Binder,
    type_name: ObjectTypeName,
    name: str,
    definition: Definition,
    operator: Operator,
    values: Sequence[str],
) -> Condition:
    rows = (
        "SELECT object_id AS id FROM property_values "  # noqa: S608 - bound
        f"WHERE kind = {binder.bind(type_name)} AND name = {binder.bind(name)}"
    )
    if operator == "NOT_HAS_PROPERTY":
        return Condition(f"o.id NOT IN ({rows})")
    if operator != "HAS_PROPERTY":
        rows += f" AND {_compile_test(binder, definition, name, operator, values)}"
    is_lookup = operator == "EQ" and not definition.is_numeric and not definition.is_multiple
    return Condition(f"o.id IN ({rows})", rows, f"EXISTS ({rows} AND object_id = o.id)" if is_lookup else None)


def _compile_test(binder: Binder, definition: Definition, name: str, operator: Operator, values: Sequence[str]) -> str:
    """Tests one row of property_values. A record without the value meets no test, negative ones included."""
    match operator:
        case "NOT_IN":
            return f"NOT ({_compile_test(binder, definition, name, 'IN', values)})"
        case "NOT_CONTAINS_TOKEN":
            return f"NOT ({_compile_tokens(binder, values[0])})"
        case "CONTAINS_TOKEN":
            return _compile_tokens(binder, values[0])
    if definition.is_multiple and operator in ("EQ", "NEQ", "IN"):
        return _compile_choices(binder, operator, values)
    if definition.is_numeric:
        return _compile_number(binder, name, operator, values)
    return _compile_text(binder, definition, operator, values)


def _compile_number(binder: Binder, name: str, operator: Operator, values: Sequence[str]) -> str:
    numbers = [_require_number(name, value) for value in values]
    if operator == "BETWEEN":
        return f"number BETWEEN {binder.bind(numbers[0])} AND {binder.bind(numbers[1])}"
    if operator == "IN":
        return f"number IN {binder.bind_all(numbers)}"
    return f"number {_COMPARISONS[operator]} {binder.bind(numbers[0])}"


def _compile_text(binder: Binder, definition: Definition, operator: Operator, values: Sequence[str]) -> str:
    if operator == "IN" and definition.is_exact:
        folded = [fold(value) for value in values]
        return f"{_EXACT} IN {binder.bind_all(values)} AND folded IN {binder.bind_all(folded)}"
    if operator == "IN":
        # Production wants lower case here and finds nothing otherwise.
        return f"folded IN {binder.bind_all([value for value in values if value == fold(value)])}"
    if operator == "BETWEEN":
        return f"folded BETWEEN {binder.bind(fold(values[0]))} AND {binder.bind(fold(values[1]))}"
    comparison = f"folded {_COMPARISONS[operator]} {binder.bind(fold(values[0]))}"
    if definition.is_exact and operator == "EQ":
        return f"{comparison} AND {_EXACT} = {binder.bind(values[0])}"
    if definition.is_exact and operator == "NEQ":
        return f"{_EXACT} <> {binder.bind(values[0])}"
    return comparison


def _compile_choices(binder: Binder, operator: Operator, values: Sequence[str]) -> str:
    chosen = " OR ".join(f"instr(';' || {_EXACT} || ';', {binder.bind(f';{value};')})" for value in values) or "0"
    return f"NOT ({chosen})" if operator == "NEQ" else f"({chosen})"


def _compile_tokens(binder: Binder, value: str) -> str:
    """Compares whole tokens in this order; `*` at an edge of a token stands for any letters.

    The first comparison, of the letters alone, spares most values from being copied for the second.
    """
    pattern, words = _token_pattern(value), "coalesce(words, folded)"
    letters = binder.bind(f"*{pattern.strip('* ')}*")
    return f"({words} GLOB {letters} AND ' ' || {words} || ' ' GLOB {binder.bind(pattern)})"


def _token_pattern(value: str) -> str:
    """`*@corvane.eu` stands for the tokens corvane and eu; `corv*` for a token that begins so."""
    tokens = [token for token in _TOKEN.findall(value.casefold()) if token.strip("*")]
    if not tokens:
        return "*" if "*" in value else _MATCHES_NOTHING
    before = "*" if tokens[0].startswith("*") else "* "
    after = "*" if tokens[-1].endswith("*") else " *"
    return before + " ".join(tokens).strip("*") + after


def _compile_calculated(
    binder: Binder, expression: Expression, name: str, operator: Operator, values: Sequence[str]
) -> str:
    sql = expression.sql
    if operator == "HAS_PROPERTY":
        return f"{sql} IS NOT NULL"
    if operator == "NOT_HAS_PROPERTY":
        return f"{sql} IS NULL"
    if operator in ("CONTAINS_TOKEN", "NOT_CONTAINS_TOKEN"):
        raise InvalidRequest(f"Operator {operator} cannot be used with property {name}")
    operands: list[Any] = [value if expression.type == "text" else _require_number(name, value) for value in values]
    if operator == "BETWEEN":
        return f"{sql} BETWEEN {binder.bind(operands[0])} AND {binder.bind(operands[1])}"
    if operator in ("IN", "NOT_IN"):
        return f"{sql} {'IN' if operator == 'IN' else 'NOT IN'} {binder.bind_all(operands)}"
    return f"{sql} {_COMPARISONS[operator]} {binder.bind(operands[0])}"


def _compile_association(
    world: World, object_type: ObjectType, binder: Binder, target_name: str, operator: Operator, values: Sequence[str]
) -> str:
    target = object_types.resolve(world, target_name)
    if operator in ("HAS_PROPERTY", "NOT_HAS_PROPERTY"):
        exists = f"EXISTS (SELECT 1 FROM associations WHERE from_id = o.id AND to_kind = {binder.bind(target.name)})"  # noqa: S608 - bound
        return exists if operator == "HAS_PROPERTY" else f"NOT {exists}"
    if operator not in ("EQ", "IN", "NEQ", "NOT_IN"):
        raise InvalidRequest(f"Operator {operator} cannot be used with associations.{target_name}")
    ids = [record_id for value in values if (record_id := parse_record_id(value)) is not None]
    negation = "NOT " if operator in ("NEQ", "NOT_IN") else ""
    return (
        f"o.id {negation}IN (SELECT to_id FROM associations WHERE from_id IN {binder.bind_all(ids)} "  # noqa: S608 - bound
        f"AND to_kind = {binder.bind(object_type.name)} AND from_kind = {binder.bind(target.name)})"
    )


def _require_number(name: str, value: str) -> float:
    number = parse_number(value.strip())
    if number is None:
        raise InvalidRequest(
            f"There was a problem with the request. {value!r} is not a valid value for property {name}",
            context={"propertyName": [name]},
        )
    return number
