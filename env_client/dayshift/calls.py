"""Call: what an agent does in one step."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dayshift.errors import BadArguments

WAIT = "wait"
SUBMIT = "submit"
# How a specialist gives a task back to whoever asked.
REPORT = "report"
# Who acts in a step: the orchestrator, a specialist by the name of its product, or nobody in particular.
ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True)
class Call:
    """One operation with its arguments: `{"operation": …, "arguments": …}`."""

    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments.items())
        return f"{self.operation}({inside})"

    def as_action(self) -> dict[str, Any]:
        return {"operation": self.operation, "arguments": dict(self.arguments)}


def call(operation: str, /, **arguments: Any) -> Call:
    """`dayshift.call("crm.contacts.get", contactId="17")`."""
    return Call(operation, arguments)


def parse_call(action: object) -> Call:
    """A call from whatever a policy hands over: a Call, or a mapping with JSON or plain arguments."""
    if isinstance(action, Call):
        return action
    if not isinstance(action, Mapping) or "operation" not in action:
        raise BadArguments(f'an action is {{"operation": …, "arguments": …}}, not {action!r}')
    if unknown := set(action) - {"operation", "arguments"}:
        raise BadArguments(f"an action has no {', '.join(sorted(map(str, unknown)))}")
    return Call(str(action["operation"]), parse_arguments(action.get("arguments")))


def gist(action: object) -> Call:
    """What can be kept of an action that is no call: its operation, and its arguments as they were given."""
    if isinstance(action, Call):
        return action
    if not isinstance(action, Mapping) or "operation" not in action:
        return Call("", {"given": repr(action)[:1000]})
    given = action.get("arguments") or {}
    return Call(str(action["operation"]), given if isinstance(given, Mapping) else {"given": str(given)[:1000]})


def parse_arguments(given: object) -> Mapping[str, Any]:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        given = _from_json(given)
    if not isinstance(given, Mapping):
        raise BadArguments(f"arguments are a JSON object, not {type(given).__name__}")
    return given


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"the arguments are not JSON: {error}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
