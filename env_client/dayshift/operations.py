"""Operation and Catalogue: the calls that an agent can make, read from the products' OpenAPI documents."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from dayshift.calls import REPORT, SUBMIT, WAIT, Call
from dayshift.errors import UnknownOperation
from dayshift.lean_schema import JsonSchema, describe_fields, leave_out, make_lean

if TYPE_CHECKING:
    from dayshift.tool_surface import Surface

_LONGEST_NAME = 64
_OTHER_TOOL_LETTERS = re.compile(r"[^a-zA-Z0-9_-]")
# Anthropic's API refuses every request with a tool that names a parameter otherwise.
_PARAMETER_NAME = re.compile(rf"[a-zA-Z0-9_.-]{{1,{_LONGEST_NAME}}}")
_OTHER_PARAMETER_LETTERS = re.compile(r"[^a-zA-Z0-9_.-]+")
_HARNESS = ""


class ArgumentLocation(StrEnum):
    """The part of the request that carries an argument: OpenAPI's `in`, and the body."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"


class BodyEncoding(StrEnum):
    """How the arguments of the body are encoded."""

    NONE = "none"
    JSON = "json"
    # The whole body is one argument called `body`: an array, a union, or names that clash with parameters.
    WHOLE_JSON = "whole json"
    URLENCODED = "urlencoded"
    MULTIPART = "multipart"


class OpenAiFunction(TypedDict):
    name: str
    description: str
    parameters: dict[str, Any]


class OpenAiTool(TypedDict):
    """A tool definition of OpenAI's chat API."""

    type: Literal["function"]
    function: OpenAiFunction


class AnthropicTool(TypedDict):
    """A tool definition of Anthropic's messages API."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation."""

    name: str
    location: ArgumentLocation
    required: bool
    schema: JsonSchema


@dataclass(frozen=True)
class Operation:
    """One call that an agent can make, with the JSON schema of its arguments."""

    name: str
    product: str
    method: str
    path: str
    description: str
    arguments: tuple[Argument, ...]
    body: BodyEncoding
    schema: JsonSchema
    # Its product names it among those that are used every day.
    is_core: bool = False
    # Parameters beside those of daily use, by name or by their path in the body (`ticket.brand_id`).
    rare_parameters: frozenset[str] = frozenset()
    # Descriptions of parameters whose schemas have none.
    parameter_texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def belongs_to_harness(self) -> bool:
        return self.product == _HARNESS

    @cached_property
    def is_read_only(self) -> bool:
        return self.method in {"GET", "HEAD"} or self.name.endswith((".search", ".batch_read"))

    @cached_property
    def arguments_by_name(self) -> Mapping[str, Argument]:
        return {argument.name: argument for argument in self.arguments}

    @cached_property
    def names_by_location(self) -> Mapping[ArgumentLocation, tuple[str, ...]]:
        return {
            location: tuple(argument.name for argument in self.arguments if argument.location is location)
            for location in ArgumentLocation
        }

    @cached_property
    def lean_schema(self) -> dict[str, Any]:
        """The schema as a model is given it."""
        lean = make_lean(describe_fields(self.schema, self.parameter_texts))
        if not self.parameter_names:
            return lean
        required = [self.parameter_names.get(name, name) for name in lean.get("required", ())]
        named = {**lean, "properties": self.rename_for_model(lean["properties"])}
        return {**named, "required": required} if required else named

    @cached_property
    def tool_name(self) -> str:
        """The name in the alphabet that model providers allow; a long name ends in a digest."""
        return _shorten(_OTHER_TOOL_LETTERS.sub("_", self.name))

    @cached_property
    def parameter_names(self) -> Mapping[str, str]:
        """Names for models of the parameters whose own names providers refuse: `page_after` for `page[after]`."""
        names: dict[str, str] = {}
        for name in self.arguments_by_name:
            if not _PARAMETER_NAME.fullmatch(name):
                allowed = _OTHER_PARAMETER_LETTERS.sub("_", name).strip("_")
                while allowed in self.arguments_by_name or allowed in names.values():
                    allowed += "_"
                names[name] = _shorten(allowed)
        return names

    def rename_for_model(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments, or anything by their names, under the names that a tool's schema has."""
        return {self.parameter_names.get(name, name): value for name, value in arguments.items()}

    def rename_from_model(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the arguments under their own names; a call may use those or the ones of the tool's schema."""
        if not self._own_names or not arguments.keys() & self._own_names.keys():
            return arguments
        own = {name: self._own_names.get(name, name) for name in arguments}
        # Of a parameter that is given under both names, the second is refused as unknown.
        return {name if own[name] in arguments else own[name]: value for name, value in arguments.items()}

    @cached_property
    def _own_names(self) -> Mapping[str, str]:
        return {model_name: name for name, model_name in self.parameter_names.items()}

    @cached_property
    def core(self) -> "Operation":
        """This operation with the parameters of daily use alone; a call may use the others all the same."""
        return replace(self, schema=leave_out(self.schema, self.rare_parameters)) if self.rare_parameters else self

    def openai_tool(self) -> OpenAiTool:
        return {
            "type": "function",
            "function": {
                "name": self.tool_name,
                "description": self.description,
                "parameters": self.lean_schema,
            },
        }

    def anthropic_tool(self) -> AnthropicTool:
        return {"name": self.tool_name, "description": self.description, "input_schema": self.lean_schema}


class Catalogue(Mapping[str, Operation]):
    """The operations of an episode's products, then `come_back_later` and `finish_work`, in a stable order."""

    def __init__(
        self,
        operations: list[Operation],
        answer_schema: JsonSchema | None = None,
        closing: tuple[Operation, ...] | None = None,
    ) -> None:
        product_operations = sorted(operations, key=lambda operation: operation.name)
        last = (_wait_operation(), _submit_operation(answer_schema)) if closing is None else closing
        self._by_name = {operation.name: operation for operation in (*product_operations, *last)}
        self._by_product: dict[str, Catalogue] = {}
        # Thousands of episodes share one catalogue, and its surfaces with it.
        self._surfaces: dict[tuple[str, int], Surface] = {}
        self.names = tuple(self._by_name)

    def __getitem__(self, name: str) -> Operation:
        operation = self.find(name)
        if operation is None:
            raise UnknownOperation(f"there is no operation {name!r}; {self._suggest(name)}")
        return operation

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def find(self, name: str) -> Operation | None:
        """Returns the operation of that name, former name or tool name."""
        return self._by_name.get(name) or self._by_tool_name.get(name) or self._by_name.get(Call(name).operation)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def values(self) -> ValuesView[Operation]:
        """Not by looking up one name after the other, as a mapping does: every episode walks hundreds of operations."""
        return self._by_name.values()

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the action space: equal if and only if the same calls can be written."""
        signatures = [
            [operation.name, operation.method, operation.path, operation.body, operation.schema]
            for operation in self.values()
            if not operation.belongs_to_harness
        ]
        return hashlib.sha256(json.dumps(signatures, sort_keys=True).encode()).hexdigest()

    @cached_property
    def _by_tool_name(self) -> Mapping[str, Operation]:
        return {operation.tool_name: operation for operation in self.values()}

    def index(self, name: str) -> int:
        return self.names.index(self[name].name)

    def by_tool_name(self, tool_name: str) -> Operation:
        """Returns the operation that a model means when it names one of the tools."""
        return self[tool_name]

    def openai_tools(self) -> list[OpenAiTool]:
        return [operation.openai_tool() for operation in self.values()]

    def anthropic_tools(self) -> list[AnthropicTool]:
        return [operation.anthropic_tool() for operation in self.values()]

    def surface(self, name: str = "core", *, max_answer_chars: int | None = None, **options: Any) -> "Surface":
        """Returns the tools that a model is given: `core`, `search`, `task`, `full`, or what `only(…)` names."""
        from dayshift.answer_text import MAX_ANSWER_CHARS  # a surface is built from a catalogue
        from dayshift.tool_surface import build_surface, is_task_surface

        limit = MAX_ANSWER_CHARS if max_answer_chars is None else max_answer_chars
        if is_task_surface(name):
            return build_surface(self, name, max_answer_chars=limit, **options)
        key = (name, limit)
        if key not in self._surfaces:
            self._surfaces[key] = build_surface(self, name, max_answer_chars=limit)
        return self._surfaces[key]

    def of_products(self, products: Iterable[str]) -> "Catalogue":
        """Returns the operations of these products, and those of this catalogue that no product serves."""
        wanted = frozenset(products)
        own = [operation for operation in self.values() if operation.product in wanted]
        closing = tuple(operation for operation in self.values() if operation.belongs_to_harness)
        return Catalogue(own, closing=closing)

    def with_answer_schema(self, answer_schema: JsonSchema | None) -> "Catalogue":
        """Returns this catalogue with a `finish_work` that takes an answer of that schema."""
        if answer_schema is None:
            return self
        products = [operation for operation in self.values() if not operation.belongs_to_harness]
        return Catalogue(products, answer_schema)

    def of_product(self, product: str) -> "Catalogue":
        """Returns a specialist's catalogue: the operations of one product, and `report`."""
        if product not in self._by_product:
            own = [operation for operation in self.values() if operation.product == product]
            self._by_product[product] = Catalogue(own, closing=(_report_operation(),))
        return self._by_product[product]

    def _suggest(self, name: str) -> str:
        from difflib import get_close_matches  # only a mistake needs it

        matches = get_close_matches(name, self.names, n=3, cutoff=0.4)
        return f"did you mean {' or '.join(matches)}?" if matches else f"there are {len(self)}, from {self.names[0]} on"


def _shorten(name: str) -> str:
    """Returns a name of at most 64 characters; a long one ends in a digest."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def harness_operation(name: str, description: str, arguments: tuple[Argument, ...]) -> Operation:
    """Builds an operation that no product serves; the harness answers it."""
    schema = {
        "type": "object",
        "properties": {argument.name: dict(argument.schema) for argument in arguments},
        "required": [argument.name for argument in arguments if argument.required],
        "additionalProperties": False,
    }
    return Operation(name, _HARNESS, "POST", "", description, arguments, BodyEncoding.JSON, schema)


def _report_operation() -> Operation:
    schema = {"type": "string", "description": "What was found and what was done, for whoever asked."}
    text = Argument("text", ArgumentLocation.BODY, required=True, schema=schema)
    return harness_operation(REPORT, "Hand the work back with a report.", (text,))


def _wait_operation() -> Operation:
    schema = {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 24 * 366,
        "description": "Working hours until you come back.",
    }
    hours = Argument("hours", ArgumentLocation.BODY, required=True, schema=schema)
    description = (
        "Leave your desk for some hours and come back, so that others can answer. Says what came in meanwhile."
    )
    return harness_operation(WAIT, description, (hours,))


def _submit_operation(answer_schema: JsonSchema | None) -> Operation:
    schema: JsonSchema = answer_schema or {"description": "The answer, where you were asked for one."}
    answer = Argument("answer", ArgumentLocation.BODY, required=bool(answer_schema), schema=schema)
    return harness_operation(SUBMIT, "Say that your work is done. Nothing can be changed afterwards.", (answer,))
