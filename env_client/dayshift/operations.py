"""Operation and Catalogue: what an agent can do, read from the products themselves."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from dayshift.calls import REPORT, SUBMIT, WAIT
from dayshift.errors import UnknownOperation

JsonSchema = Mapping[str, Any]

_LONGEST_TOOL_NAME = 64
_HARNESS = ""


class Place(StrEnum):
    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"


class BodyForm(StrEnum):
    """How the body arguments travel."""

    NONE = "none"
    JSON = "json"
    # The whole body is one argument called `body`: an array, a union, or names that clash with parameters.
    WHOLE_JSON = "whole json"
    URLENCODED = "urlencoded"
    MULTIPART = "multipart"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation, wherever in the request it travels."""

    name: str
    place: Place
    required: bool
    schema: JsonSchema


@dataclass(frozen=True)
class Operation:
    """One thing an agent can do, with the JSON schema of its arguments."""

    name: str
    product: str
    method: str
    path: str
    description: str
    arguments: tuple[Argument, ...]
    body: BodyForm
    schema: JsonSchema

    @property
    def belongs_to_harness(self) -> bool:
        return self.product == _HARNESS

    @cached_property
    def reads_only(self) -> bool:
        return self.method in {"GET", "HEAD"} or self.name.endswith((".search", ".batch_read"))

    @cached_property
    def by_name(self) -> Mapping[str, Argument]:
        return {argument.name: argument for argument in self.arguments}

    @cached_property
    def names_at(self) -> Mapping[Place, tuple[str, ...]]:
        return {place: tuple(one.name for one in self.arguments if one.place is place) for place in Place}

    @cached_property
    def tool_name(self) -> str:
        """The name in the alphabet that model providers allow; long ones end in a digest."""
        plain = re.sub(r"[^a-zA-Z0-9_-]", "_", self.name)
        if len(plain) <= _LONGEST_TOOL_NAME:
            return plain
        return f"{plain[: _LONGEST_TOOL_NAME - 9]}_{hashlib.sha256(plain.encode()).hexdigest()[:8]}"

    def openai_tool(self) -> dict[str, Any]:
        function = {"name": self.tool_name, "description": self.description, "parameters": dict(self.schema)}
        return {"type": "function", "function": function}

    def anthropic_tool(self) -> dict[str, Any]:
        return {"name": self.tool_name, "description": self.description, "input_schema": dict(self.schema)}


class Catalogue(Mapping[str, Operation]):
    """Every operation of an episode's products, then `wait` and `submit`; the order is the action space's."""

    def __init__(
        self,
        operations: list[Operation],
        answer_schema: JsonSchema | None = None,
        closing: tuple[Operation, ...] | None = None,
    ) -> None:
        offered = sorted(operations, key=lambda operation: operation.name)
        last = (_wait(), _submit(answer_schema)) if closing is None else closing
        self._by_name = {operation.name: operation for operation in (*offered, *last)}
        self._narrowed: dict[str, Catalogue] = {}
        self.names = tuple(self._by_name)

    def __getitem__(self, name: str) -> Operation:
        found = self._by_name.get(name)
        if found is None:
            raise UnknownOperation(f"there is no operation {name!r}; {self._nearest(name)}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @cached_property
    def fingerprint(self) -> str:
        """The action space's hash: the same if and only if the same calls can be written."""
        said = [[one.name, one.method, one.path, one.body, one.schema] for one in self.values() if one.product]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _by_tool_name(self) -> Mapping[str, Operation]:
        return {operation.tool_name: operation for operation in self.values()}

    def index(self, name: str) -> int:
        return self.names.index(self[name].name)

    def by_tool_name(self, tool_name: str) -> Operation:
        """The operation that a model means when it names one of our tools."""
        return self._by_tool_name.get(tool_name) or self[tool_name]

    def openai_tools(self) -> list[dict[str, Any]]:
        return [operation.openai_tool() for operation in self.values()]

    def anthropic_tools(self) -> list[dict[str, Any]]:
        return [operation.anthropic_tool() for operation in self.values()]

    def asking(self, answer_schema: JsonSchema | None) -> "Catalogue":
        """This catalogue for a task that asks for such an answer."""
        products = [operation for operation in self.values() if not operation.belongs_to_harness]
        return self if answer_schema is None else Catalogue(products, answer_schema)

    def of_product(self, product: str) -> "Catalogue":
        """What a specialist may call: one product's operations, and `report`."""
        if product not in self._narrowed:
            own = [operation for operation in self.values() if operation.product == product]
            self._narrowed[product] = Catalogue(own, closing=(_report(),))
        return self._narrowed[product]

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches  # late: only a mistake needs it

        near = get_close_matches(name, self.names, n=3, cutoff=0.4)
        return f"did you mean {' or '.join(near)}?" if near else f"there are {len(self)}, from {self.names[0]} on"


def harness_operation(name: str, description: str, arguments: tuple[Argument, ...]) -> Operation:
    """One that no product serves: it is answered by whoever runs the episode."""
    schema = {
        "type": "object",
        "properties": {one.name: dict(one.schema) for one in arguments},
        "required": [one.name for one in arguments if one.required],
        "additionalProperties": False,
    }
    return Operation(name, _HARNESS, "POST", "", description, arguments, BodyForm.JSON, schema)


def _report() -> Operation:
    text = {"type": "string", "description": "What was found and what was done, for whoever asked."}
    asked = (Argument("text", Place.BODY, required=True, schema=text),)
    return harness_operation(REPORT, "Give the task back with a report.", asked)


def _wait() -> Operation:
    hours = {"type": "number", "exclusiveMinimum": 0, "maximum": 24 * 366, "description": "Hours to let pass."}
    said = "Let working time pass, so that others can answer and scheduled things can happen."
    return harness_operation(WAIT, said, (Argument("hours", Place.BODY, required=True, schema=hours),))


def _submit(answer_schema: JsonSchema | None) -> Operation:
    answer: JsonSchema = answer_schema or {"description": "The answer, where the assignment asks for one."}
    asked = (Argument("answer", Place.BODY, required=bool(answer_schema), schema=answer),)
    return harness_operation(SUBMIT, "Declare the work done.", asked)
