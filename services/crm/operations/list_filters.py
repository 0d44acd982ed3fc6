"""Filter branches of dynamic lists, as SQL over `objects o`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from services.crm.errors import InvalidRequest
from services.crm.indexing import fold
from services.crm.kinds import Kind
from services.crm.operations import computed, definitions, object_types
from services.crm.operations.conditions import Binder
from services.crm.operations.conditions import condition as full_condition
from services.kernel.clock import milliseconds
from services.kernel.world import World

Branch = Mapping[str, Any]
_DEEPEST = 10
_NUMBERS = {
    "IS_EQUAL_TO": "EQ",
    "IS_NOT_EQUAL_TO": "NEQ",
    "IS_GREATER_THAN": "GT",
    "IS_GREATER_THAN_OR_EQUAL_TO": "GTE",
    "IS_LESS_THAN": "LT",
    "IS_LESS_THAN_OR_EQUAL_TO": "LTE",
}
_TEXTS = {"IS_EQUAL_TO": "EQ", "IS_NOT_EQUAL_TO": "NEQ", "IS_BETWEEN": "BETWEEN"}
_PARTS = {"CONTAINS": "*{}*", "DOES_NOT_CONTAIN": "*{}*", "STARTS_WITH": "{}*", "ENDS_WITH": "*{}"}
_CHOICES = {"IS_ANY_OF": "IN", "IS_NONE_OF": "NOT_IN", "IS_EQUAL_TO": "IN", "IS_NOT_EQUAL_TO": "NOT_IN"}
_TIMES = {"IS_BEFORE": "LT", "IS_AFTER": "GT", "IS_EQUAL_TO": "EQ"}


def condition(world: World, kind: Kind, binder: Binder, name: str, operator: str, values: Sequence[str]) -> str:
    return full_condition(world, kind, binder, name, operator, values).sql


def matches(world: World, kind: Kind, binder: Binder, branch: Branch, depth: int = 0) -> str:
    """What a record must meet to belong; `o` is the record."""
    if depth > _DEEPEST:
        raise InvalidRequest(f"Filter branches may be nested {_DEEPEST} deep")
    if branch["filterBranchType"] == "ASSOCIATION":
        return _associated(world, kind, binder, branch, depth)
    joined = {"OR": " OR ", "AND": " AND ", "NOT_ALL": " AND ", "NOT_ANY": " OR "}.get(branch["filterBranchType"])
    if joined is None:
        raise InvalidRequest(f"Filter branch type {branch['filterBranchType']} is not supported")
    parts = [_filter(world, kind, binder, one) for one in branch.get("filters") or ()]
    parts += [matches(world, kind, binder, one, depth + 1) for one in branch.get("filterBranches") or ()]
    text = "(" + joined.join(parts or ["1"]) + ")"
    return f"NOT {text}" if branch["filterBranchType"].startswith("NOT_") else text


def _associated(world: World, kind: Kind, binder: Binder, branch: Branch, depth: int) -> str:
    """Some record of the other type, tied to this one, meets the branch."""
    if not isinstance(branch.get("objectTypeId"), str):
        raise InvalidRequest("An ASSOCIATION branch needs an objectTypeId")
    other = object_types.resolve(world, branch["objectTypeId"])
    inner = matches(world, other, binder, {**branch, "filterBranchType": "AND"}, depth + 1)
    others = (
        f"SELECT o.id FROM objects o WHERE o.kind = {binder.bind(other.name)} "  # noqa: S608 - bound
        f"AND o.archived_at IS NULL AND {inner}"
    )
    typed = ""
    if branch.get("associationTypeId"):
        typed = f" AND type_id = {binder.bind(branch['associationTypeId'])}"
    return (
        f"o.id IN (SELECT from_id FROM associations WHERE from_kind = {binder.bind(kind.name)} "  # noqa: S608 - bound
        f"AND to_id IN ({others}){typed})"
    )


def _filter(world: World, kind: Kind, binder: Binder, given: Branch) -> str:
    if given["filterType"] == "IN_LIST":
        return _in_list(binder, given)
    if given["filterType"] != "PROPERTY":
        raise InvalidRequest(f"Filter type {given['filterType']} is not supported")
    name, operation = given.get("property"), given.get("operation")
    if not isinstance(name, str) or not isinstance(operation, Mapping):
        raise InvalidRequest("A PROPERTY filter needs a property and an operation")
    operator, told = str(operation.get("operator")), str(operation.get("operationType"))
    if told == "ALL_PROPERTY":
        return _known(world, kind, binder, name, operator)
    build = _BUILDERS.get(told)
    if build is None:
        raise InvalidRequest(f"Operation type {told} is not supported")
    test = build(world, kind, binder, name, operation)
    if operation.get("includeObjectsWithNoValueSet") is True:
        return f"({test} OR {_known(world, kind, binder, name, 'IS_UNKNOWN')})"
    return test


def _known(world: World, kind: Kind, binder: Binder, name: str, operator: str) -> str:
    asked = {"IS_KNOWN": "HAS_PROPERTY", "IS_UNKNOWN": "NOT_HAS_PROPERTY", "IS_NOT_BLANK": "HAS_PROPERTY",
             "IS_BLANK": "NOT_HAS_PROPERTY"}  # fmt: skip
    return condition(world, kind, binder, name, _taken(asked, operator), ())


def _in_list(binder: Binder, given: Branch) -> str:
    operator, list_id = given.get("operator", "IN_LIST"), str(given.get("listId", ""))
    if not list_id.isdecimal() or len(list_id) > 15:
        raise InvalidRequest("An IN_LIST filter needs a listId")
    negative = "NOT " if operator == "NOT_IN_LIST" else ""
    return f"o.id {negative}IN (SELECT record_id FROM list_memberships WHERE list_id = {binder.bind(int(list_id))})"  # noqa: S608 - bound


def _number(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    return condition(world, kind, binder, name, _taken(_NUMBERS, operation.get("operator")), [_value(operation)])


def _number_range(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    bounds = [_value(operation, "lowerBound"), _value(operation, "upperBound")]
    test = condition(world, kind, binder, name, "BETWEEN", bounds)
    return f"NOT ({test})" if operation.get("operator") == "IS_NOT_BETWEEN" else test


def _text(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    """MULTISTRING gives several values, of which one is enough; the negative ones want none of them."""
    operator = str(operation.get("operator"))
    values = _several(operation)
    negative = operator.startswith(("IS_NOT", "DOES_NOT"))
    if operator in _PARTS:
        tests = [_part(world, kind, binder, name, _PARTS[operator].format(_literal(value))) for value in values]
    else:
        _taken(_TEXTS, operator)
        tests = [condition(world, kind, binder, name, "EQ", [value]) for value in values]
    some = "(" + " OR ".join(tests or ["0"]) + ")"
    return f"NOT {some}" if negative else some


def _part(world: World, kind: Kind, binder: Binder, name: str, pattern: str) -> str:
    if computed.expression(kind, name) is not None:
        raise InvalidRequest(f"Property {name} cannot be compared with a text")
    definitions.require(world, kind.name, name)
    return (
        f"o.id IN (SELECT object_id FROM property_values WHERE kind = {binder.bind(kind.name)} "  # noqa: S608 - bound
        f"AND name = {binder.bind(name)} AND folded GLOB {binder.bind(pattern)})"
    )


def _literal(value: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in fold(value))


def _choice(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    values = _several(operation)
    operator = _taken(_CHOICES, operation.get("operator"))
    test = condition(world, kind, binder, name, "IN", values or [""])
    return test if operator == "IN" else f"NOT ({test})"


def _flag(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    value = str(operation.get("value")).lower()
    test = condition(world, kind, binder, name, "EQ", [value])
    return f"NOT ({test})" if operation.get("operator") == "IS_NOT_EQUAL_TO" else test


def _time(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    at = str(_moment(operation.get("timePoint")))
    return condition(world, kind, binder, name, _taken(_TIMES, operation.get("operator")), [at])


def _time_range(world: World, kind: Kind, binder: Binder, name: str, operation: Branch) -> str:
    bounds = [str(_moment(operation.get(end))) for end in ("lowerBoundTimePoint", "upperBoundTimePoint")]
    test = condition(world, kind, binder, name, "BETWEEN", bounds)
    return f"NOT ({test})" if operation.get("operator") == "IS_NOT_BETWEEN" else test


_BUILDERS: dict[str, Callable[[World, Kind, Binder, str, Branch], str]] = {
    "NUMBER": _number,
    "NUMBER_RANGED": _number_range,
    "STRING": _text,
    "MULTISTRING": _text,
    "ENUMERATION": _choice,
    "BOOL": _flag,
    "TIME_POINT": _time,
    "TIME_RANGED": _time_range,
}


def _moment(point: Any) -> int:
    if not isinstance(point, Mapping):
        raise InvalidRequest("A time point is an object with year, month and day")
    try:
        hour, minute, second = (int(point.get(key) or 0) for key in ("hour", "minute", "second"))
        year, month, day = (int(point[key]) for key in ("year", "month", "day"))
        at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest("A time point is an object with year, month and day") from error
    return milliseconds(at)


def _value(operation: Branch, key: str = "value") -> str:
    value = operation.get(key)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidRequest(f"The operation needs a {key}")
    return str(value)


def _several(operation: Branch) -> list[str]:
    values = operation["values"] if "values" in operation else [operation.get("value")]
    if not isinstance(values, Sequence) or isinstance(values, str) or not all(isinstance(one, str) for one in values):
        raise InvalidRequest("The operation needs values, each a text")
    return [one for one in values if isinstance(one, str)]


def _taken(known: Mapping[str, str], operator: Any) -> str:
    if operator not in known:
        raise InvalidRequest(f"Operator {operator} is not supported here; use one of {', '.join(known)}")
    return known[operator]
