"""Call: the operation and the arguments of one step."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dayshift.errors import BadArguments

# A model reads these names in its list of tools, so they are what an employee would say.
WAIT = "come_back_later"
SUBMIT = "finish_work"
# Names of earlier versions, which callers and recordings may still use.
_FORMER_NAMES = {"wait": WAIT, "submit": SUBMIT}
# Ends a specialist's work and hands its report to the orchestrator.
REPORT = "report"
# The actor of a step in a team; a specialist acts under the name of its product.
ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True)
class Call:
    """One operation with its arguments: `{"operation": …, "arguments": …}`. `submit` and `wait` are former names."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.operation in _FORMER_NAMES:
            object.__setattr__(self, "operation", _FORMER_NAMES[self.operation])

    def __str__(self) -> str:
        arguments = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments.items()]
        return f"{self.operation}({', '.join(arguments)})"

    def as_action(self) -> dict[str, Any]:
        return {"operation": self.operation, "arguments": dict(self.arguments)}


# What a policy returns: a call, or a mapping with `operation` and `arguments` (JSON text or an object).
Action = Mapping[str, Any] | Call


def call(operation: str, /, **arguments: Any) -> Call:
    """Returns a call: `dayshift.call("crm.contacts.get", contactId="17")`."""
    return Call(operation, arguments)


def parse_call(action: object) -> Call:
    """Returns the call of an action: a Call, or a mapping whose arguments are JSON text or an object.

    The tool calls of OpenAI's and Anthropic's APIs are understood too.
    """
    if isinstance(action, Call):
        return action
    action = _unwrap_tool_call(action)
    if not isinstance(action, Mapping) or "operation" not in action:
        raise BadArguments(f'a call is {{"operation": …, "arguments": …}}, not {action!r}')
    if unknown := set(action) - {"operation", "arguments"}:
        raise BadArguments(f"a call has no {', '.join(sorted(map(str, unknown)))}")
    return Call(str(action["operation"]), parse_arguments(action.get("arguments")))


def _unwrap_tool_call(action: object) -> object:
    """Returns a provider's tool call as an action; anything else stays as it is."""
    if not isinstance(action, Mapping) or "operation" in action:
        return action
    function = action["function"] if isinstance(action.get("function"), Mapping) else action
    if "name" in function and ("arguments" in function or "input" in function):
        return {"operation": function["name"], "arguments": function.get("arguments", function.get("input"))}
    return action


def salvage_call(action: object) -> Call:
    """Returns what a recording keeps of a malformed action: its operation, and its arguments or their text."""
    if isinstance(action, Call):
        return action
    action = _unwrap_tool_call(action)
    if not isinstance(action, Mapping) or "operation" not in action:
        return Call("", {"given": repr(action)[:1000]})
    arguments = action.get("arguments") or {}
    is_object = isinstance(arguments, Mapping)
    return Call(str(action["operation"]), arguments if is_object else {"given": str(arguments)[:1000]})


def parse_arguments(arguments: object) -> Mapping[str, Any]:
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str):
        arguments = _parse_json(arguments)
    if not isinstance(arguments, Mapping):
        raise BadArguments(f"arguments are a JSON object, not {type(arguments).__name__}")
    return arguments


def _parse_json(text: str) -> Any:
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
        # Half of a surrogate pair parses, but no request and no recording can hold it.
        json.dumps(parsed, ensure_ascii=False).encode()
        return parsed
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"the arguments are not JSON: {error}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
