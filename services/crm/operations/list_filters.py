"""Filter branches of lists, as SQL over `objects o`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from services.crm.errors import InvalidRequest
from services.crm.object_types import ObjectType
from services.crm.operations import definitions, object_types
from services.crm.operations.calculated_properties import find_expression
from services.crm.operations.conditions import compile_condition
from services.crm.rows import FilterBranch, ListFilter, Operator
from services.crm.search_index import fold
from services.kernel.clock import to_milliseconds
from services.kernel.documents import Binder
from services.kernel.world import World

# An operation as the request wrote it; nothing about it has been checked.
Operation = Mapping[str, object]
_MAX_DEPTH = 10
_JOINS = {"OR": " OR ", "AND": " AND ", "NOT_ALL": " AND ", "NOT_ANY": " OR "}
_NUMBER_OPERATORS: dict[str, Operator] = {
    "IS_EQUAL_TO": "EQ",
    "IS_NOT_EQUAL_TO": "NEQ",
    "IS_GREATER_THAN": "GT",
    "IS_GREATER_THAN_OR_EQUAL_TO": "GTE",
    "IS_LESS_THAN": "LT",
    "IS_LESS_THAN_OR_EQUAL_TO": "LTE",
}
_TEXT_OPERATORS: dict[str, Operator] = {"IS_EQUAL_TO": "EQ", "IS_NOT_EQUAL_TO": "NEQ", "IS_BETWEEN": "BETWEEN"}
_TEXT_PATTERNS = {"CONTAINS": "*{}*", "DOES_NOT_CONTAIN": "*{}*", "STARTS_WITH": "{}*", "ENDS_WITH": "*{}"}
_CHOICE_OPERATORS: dict[str, Operator] = {
    "IS_ANY_OF": "IN",
    "IS_NONE_OF": "NOT_IN",
    "IS_EQUAL_TO": "IN",
    "IS_NOT_EQUAL_TO": "NOT_IN",
}
_TIME_OPERATORS: dict[str, Operator] = {"IS_BEFORE": "LT", "IS_AFTER": "GT", "IS_EQUAL_TO": "EQ"}
_PRESENCE_OPERATORS: dict[str, Operator] = {
    "IS_KNOWN": "HAS_PROPERTY",
    "IS_UNKNOWN": "NOT_HAS_PROPERTY",
    "IS_NOT_BLANK": "HAS_PROPERTY",
    "IS_BLANK": "NOT_HAS_PROPERTY",
}


def compile_branch(world: World, object_type: ObjectType, binder: Binder, branch: FilterBranch, depth: int = 0) -> str:
    """Compiles the condition that a record `o` meets if it belongs to the list."""
    if depth > _MAX_DEPTH:
        raise InvalidRequest(f"Filter branches may be nested {_MAX_DEPTH} deep")
    branch_type = branch["filterBranchType"]
    if branch_type == "ASSOCIATION":
        return _compile_association(world, object_type, binder, branch, depth)
    if branch_type not in _JOINS:
        raise InvalidRequest(f"Filter branch type {branch_type} is not supported")
    parts = [_compile_filter(world, object_type, binder, each) for each in branch.get("filters") or ()]
    parts += [
        compile_branch(world, object_type, binder, inner, depth + 1) for inner in branch.get("filterBranches") or ()
    ]
    text = "(" + _JOINS[branch_type].join(parts or ["1"]) + ")"
    return f"NOT {text}" if branch_type.startswith("NOT_") else text


def _compile_association(
    world: World, object_type: ObjectType, binder: Binder, branch: FilterBranch, depth: int
) -> str:
    """Some record of the other type that is associated with this one meets the branch."""
    target_name = branch.get("objectTypeId")
    if not isinstance(target_name, str):
        raise InvalidRequest("An ASSOCIATION branch needs an objectTypeId")
    target = object_types.resolve(world, target_name)
    inner = compile_branch(world, target, binder, branch | {"filterBranchType": "AND"}, depth + 1)
    targets = (
        f"SELECT o.id FROM objects o WHERE o.kind = {binder.bind(target.name)} "  # noqa: S608 - bound
        f"AND o.archived_at IS NULL AND {inner}"
    )
    of_type = ""
    if branch.get("associationTypeId"):
        of_type = f" AND type_id = {binder.bind(branch['associationTypeId'])}"
    return (
        f"o.id IN (SELECT from_id FROM associations WHERE from_kind = {binder.bind(object_type.name)} "  # noqa: S608 - bound
        f"AND to_id IN ({targets}){of_type})"
    )


def _compile_filter(world: World, object_type: ObjectType, binder: Binder, request: ListFilter) -> str:
    if request["filterType"] == "IN_LIST":
        return _compile_membership(binder, request)
    if request["filterType"] != "PROPERTY":
        raise InvalidRequest(f"Filter type {request['filterType']} is not supported")
    name, operation = request.get("property"), request.get("operation")
    if not isinstance(name, str) or not isinstance(operation, Mapping):
        raise InvalidRequest("A PROPERTY filter needs a property and an operation")
    compiler = _Compiler(world, object_type, binder, name)
    operation_type = str(operation.get("operationType"))
    if operation_type == "ALL_PROPERTY":
        return compiler.compile_presence(str(operation.get("operator")))
    compile_operation = _COMPILERS.get(operation_type)
    if compile_operation is None:
        raise InvalidRequest(f"Operation type {operation_type} is not supported")
    test = compile_operation(compiler, operation)
    if operation.get("includeObjectsWithNoValueSet") is True:
        return f"({test} OR {compiler.compile_presence('IS_UNKNOWN')})"
    return test


def _compile_membership(binder: Binder, request: ListFilter) -> str:
    operator, list_id = request.get("operator", "IN_LIST"), str(request.get("listId", ""))
    if not list_id.isdecimal() or len(list_id) > 15:
        raise InvalidRequest("An IN_LIST filter needs a listId")
    negation = "NOT " if operator == "NOT_IN_LIST" else ""
    return f"o.id {negation}IN (SELECT record_id FROM list_memberships WHERE list_id = {binder.bind(int(list_id))})"  # noqa: S608 - bound


class _Compiler:
    """Compiles the operations on one property."""

    __slots__ = ("_binder", "_name", "_object_type", "_world")

    def __init__(self, world: World, object_type: ObjectType, binder: Binder, name: str) -> None:
        self._world = world
        self._object_type = object_type
        self._binder = binder
        self._name = name

    def compile_presence(self, operator: str) -> str:
        return self._compile(_require_operator(_PRESENCE_OPERATORS, operator))

    def compile_number(self, operation: Operation) -> str:
        operator = _require_operator(_NUMBER_OPERATORS, operation.get("operator"))
        return self._compile(operator, _require_value(operation, "value"))

    def compile_number_range(self, operation: Operation) -> str:
        bounds = (_require_value(operation, "lowerBound"), _require_value(operation, "upperBound"))
        return _negate_if(operation, "IS_NOT_BETWEEN", self._compile("BETWEEN", *bounds))

    def compile_text(self, operation: Operation) -> str:
        """MULTISTRING has several values, of which one is enough; the negative operators want none of them."""
        operator, values = str(operation.get("operator")), _require_values(operation)
        if operator in _TEXT_PATTERNS:
            pattern = _TEXT_PATTERNS[operator]
            tests = [self._compile_pattern(pattern.format(_escape_glob(value))) for value in values]
        else:
            _require_operator(_TEXT_OPERATORS, operator)
            tests = [self._compile("EQ", value) for value in values]
        either = "(" + " OR ".join(tests or ["0"]) + ")"
        return f"NOT {either}" if operator.startswith(("IS_NOT", "DOES_NOT")) else either

    def compile_choice(self, operation: Operation) -> str:
        values = _require_values(operation)
        operator = _require_operator(_CHOICE_OPERATORS, operation.get("operator"))
        test = self._compile("IN", *(values or [""]))
        return test if operator == "IN" else f"NOT ({test})"

    def compile_boolean(self, operation: Operation) -> str:
        return _negate_if(operation, "IS_NOT_EQUAL_TO", self._compile("EQ", str(operation.get("value")).lower()))

    def compile_time(self, operation: Operation) -> str:
        time = str(_parse_time_point(operation.get("timePoint")))
        return self._compile(_require_operator(_TIME_OPERATORS, operation.get("operator")), time)

    def compile_time_range(self, operation: Operation) -> str:
        bounds = [_parse_time_point(operation.get(key)) for key in ("lowerBoundTimePoint", "upperBoundTimePoint")]
        return _negate_if(operation, "IS_NOT_BETWEEN", self._compile("BETWEEN", *map(str, bounds)))

    def _compile(self, operator: Operator, *values: str) -> str:
        return compile_condition(self._world, self._object_type, self._binder, self._name, operator, values).sql

    def _compile_pattern(self, pattern: str) -> str:
        if find_expression(self._object_type, self._name) is not None:
            raise InvalidRequest(f"Property {self._name} cannot be compared with a text")
        definitions.require(self._world, self._object_type.name, self._name)
        bind = self._binder.bind
        return (
            f"o.id IN (SELECT object_id FROM property_values WHERE kind = {bind(self._object_type.name)} "  # noqa: S608 - bound
            f"AND name = {bind(self._name)} AND folded GLOB {bind(pattern)})"
        )


_COMPILERS: dict[str, Callable[[_Compiler, Operation], str]] = {
    "NUMBER": _Compiler.compile_number,
    "NUMBER_RANGED": _Compiler.compile_number_range,
    "STRING": _Compiler.compile_text,
    "MULTISTRING": _Compiler.compile_text,
    "ENUMERATION": _Compiler.compile_choice,
    "BOOL": _Compiler.compile_boolean,
    "TIME_POINT": _Compiler.compile_time,
    "TIME_RANGED": _Compiler.compile_time_range,
}


def _negate_if(operation: Operation, operator: str, test: str) -> str:
    return f"NOT ({test})" if operation.get("operator") == operator else test


def _escape_glob(value: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in fold(value))


def _parse_time_point(point: object) -> int:
    if not isinstance(point, Mapping):
        raise InvalidRequest("A time point is an object with year, month and day")
    try:
        hour, minute, second = (int(point.get(key) or 0) for key in ("hour", "minute", "second"))
        year, month, day = (int(point[key]) for key in ("year", "month", "day"))
        time = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest("A time point is an object with year, month and day") from error
    return to_milliseconds(time)


def _require_value(operation: Operation, key: str) -> str:
    value = operation.get(key)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidRequest(f"The operation needs a {key}")
    return str(value)


def _require_values(operation: Operation) -> list[str]:
    values = operation["values"] if "values" in operation else [operation.get("value")]
    if not isinstance(values, Sequence) or isinstance(values, str) or not all(isinstance(each, str) for each in values):
        raise InvalidRequest("The operation needs values, each a text")
    return list(values)


def _require_operator(operators: Mapping[str, Operator], name: object) -> Operator:
    if not isinstance(name, str) or name not in operators:
        raise InvalidRequest(f"Operator {name} is not supported here; use one of {', '.join(operators)}")
    return operators[name]
