"""TRL: an `environment_factory` for GRPOTrainer, and the rows of its dataset.

    trainer = GRPOTrainer(model, environment_factory=environment_factory("crm/correct-contact"), train_dataset=…)

Each row names an instance; TRL repeats it for every member of a group. A rollout that the environment failed has the
reward `None`, which TRL leaves out of the loss.
"""

import inspect
import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from dayshift.connection import Connection
from dayshift.discovery import discover_operations
from dayshift.episode import Episode
from dayshift.errors import EpisodeOver, HarnessFault, UsageError
from dayshift.job_description import first_message, system_prompt
from dayshift.metrics import EpisodeMetrics
from dayshift.open_request import open_request
from dayshift.operations import Operation
from dayshift.patient_opening import open_when_ready_blocking
from dayshift.tool_surface import Surface
from dayshift.wire import OpenRequest

_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class OfficeEnvironment:
    """One place of a rollout: TRL makes instances once and resets them, and takes every public method as a tool."""

    # Whether the tools show what known solutions use; control records it.
    _assisted = False
    _connection: Connection
    _metrics: EpisodeMetrics
    # By family: the world that the last rollout met, for the manifest of the experiment.
    fingerprints: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self._episode: Episode | None = None
        self._fault: HarnessFault | None = None

    def reset(self, **row: Any) -> str:
        """Opens the instance of a dataset row and returns the brief, which TRL adds to the last message."""
        self._close()
        self._fault = None
        names = OpenRequest.model_fields.keys() - {"menu"}
        settings = {name: row[name] for name in names if row.get(name) is not None}
        request = open_request(**settings | {"assisted": self._assisted})
        try:
            # Calls are understood whatever the surface of an episode is.
            self._episode = open_when_ready_blocking(request, connection=self._connection, surface="core")
        except HarnessFault as fault:
            # The other rollouts of the batch go on; this one gets no reward.
            self._fault = fault
            fingerprint = self.fingerprints.get(request.task or "", "")
            self._metrics.add_info({"task": request.task, "fingerprint": fingerprint, "quarantined": str(fault)})
            return ""
        opened = self._episode.protocol.opened
        self.fingerprints[opened.task or ""] = opened.fingerprint
        return first_message(opened.brief, opened.clock)

    def get_reward(self) -> float | None:
        """The verdict's reward. Work that was not handed in is judged as it stands."""
        if self._episode is None:
            return None
        try:
            failed = self._fault is not None or self._episode.protocol.fault is not None
            return None if failed else self._episode.submit().reward
        except HarnessFault:
            return None
        finally:
            self._metrics.record(self._episode.trajectory())
            self._close()

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if self._episode is None:
            return "The service does not answer."
        try:
            return self._episode.surface.call_blocking(self._episode, tool, arguments)
        except EpisodeOver:
            return "Nothing can be changed any more."
        except HarnessFault as fault:
            self._fault = fault
            return "The service does not answer."

    def _close(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.close()


def environment_factory(
    *tasks: str,
    world: str = "standard",
    surface: str = "task",
    connection: Connection | None = None,
    metrics: EpisodeMetrics | None = None,
) -> type[OfficeEnvironment]:
    """Returns a class whose methods are the tools of these families; TRL makes an instance for each rollout.

    The surface `task` keeps the prompt short; `core` and `search` show a model the same tools whatever the task.
    `metrics` counts the rollouts, and logs their pass rate, unscored rate and flags beside what TRL logs.
    """
    session = connection or Connection()
    found = session.run(session.address.control.families()).families
    families = [family for family in found if family.id in tasks]
    if missing := set(tasks) - {family.id for family in families} or not tasks:
        raise UsageError(f"name families of this stack, not {missing}")
    products = tuple(sorted({product for family in families for product in family.products}))
    operations = session.run(discover_operations(session.address.control, world, products))
    solution = [operation for family in families for operation in family.operations]
    of_task: Surface = operations.surface(surface, solution=solution)
    methods = {tool.tool_name: build_method(tool) for tool in of_task.tools}
    members: dict[str, Any] = {
        **methods,
        "_assisted": of_task.assisted,
        "_connection": session,
        "_metrics": metrics or EpisodeMetrics(every=0),
        "fingerprints": {},
    }
    return type("Dayshift", (OfficeEnvironment,), members)


def build_rows(requests: Iterable[OpenRequest]) -> list[dict[str, Any]]:
    """The rows of a dataset: the brief comes with `reset`, so that the last message is empty."""
    prompt = [{"role": "system", "content": system_prompt()}, {"role": "user", "content": ""}]
    return [{"prompt": prompt, **request.model_dump(exclude={"menu"})} for request in requests]


def build_method(operation: Operation) -> Callable[..., str]:
    """Builds a method with the signature and the docstring from which transformers writes the tool's schema."""
    properties = operation.lean_schema.get("properties", {})
    required = set(operation.lean_schema.get("required", []))
    names = {_make_identifier(name): name for name in sorted(properties, key=lambda name: name not in required)}

    def method(self: OfficeEnvironment, **arguments: Any) -> str:
        given = {names.get(name, name): value for name, value in arguments.items() if value is not None}
        return self._call(operation.tool_name, given)

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    annotations: dict[str, Any] = {"return": str}
    for identifier, name in names.items():
        annotations[identifier] = _TYPES.get(str(properties[name].get("type")), str)
        default = inspect.Parameter.empty if name in required else None
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(identifier, kind, default=default, annotation=annotations[identifier]))
    method.__name__ = method.__qualname__ = operation.tool_name
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    method.__annotations__ = annotations
    method.__doc__ = _write_docstring(operation, names, properties)
    return method


def _write_docstring(operation: Operation, names: Mapping[str, str], properties: Mapping[str, Any]) -> str:
    lines = [_in_one_line(operation.description) or operation.name, "", "Args:"]
    for identifier, name in names.items():
        lines.append(f"    {identifier}: {_describe_parameter(name, properties[name])}")
    return "\n".join([*(lines if names else lines[:1]), "", "Returns:", "    The answer."])


def _describe_parameter(name: str, schema: Mapping[str, Any]) -> str:
    """A Python type says little of an object or a list, so their schema follows."""
    text = _in_one_line(str(schema.get("description", ""))) or name
    inner = {key: schema[key] for key in ("properties", "items", "enum", "anyOf", "oneOf") if key in schema}
    return f"{text} Schema: {json.dumps(inner, separators=(',', ':'))}" if inner else text


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _make_identifier(name: str) -> str:
    identifier = re.sub(r"\W", "_", name)
    is_taken = keyword.iskeyword(identifier) or identifier == "self" or identifier[:1].isdigit()
    return f"{identifier}_" if is_taken else identifier
