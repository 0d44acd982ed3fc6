"""What providers refuse in a list of tools: one such tool, and every request of the conversation fails."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# OpenAI takes no more tools, no other letters, and no description that is longer.
MOST_TOOLS = 128
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_DESCRIPTION = 1_024
# Anthropic takes no other name of a parameter, nor of a field within one.
_FIELD_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS = frozenset({"anyOf", "oneOf", "allOf", "enum", "not"})
# Keywords whose values are schemas by name, and those whose values are no schemas.
_NAMED = frozenset({"properties", "$defs", "patternProperties"})
_VALUES = frozenset({"enum", "default", "required", "const", "examples"})


def find_refused(name: str, description: str, parameters: Mapping[str, Any]) -> list[str]:
    """Lists why OpenAI or Anthropic refuse this tool."""
    reasons = []
    if not _NAME.fullmatch(name):
        reasons.append(f"{name!r} does not match {_NAME.pattern}")
    if len(description) > _LONGEST_DESCRIPTION:
        reasons.append(f"{name}: the description has {len(description)} characters")
    if parameters.get("type") != "object" or "properties" not in parameters or _UNIONS & parameters.keys():
        reasons.append(f"{name}: the schema is no plain object")
    for schema in find_schemas(parameters):
        fields = [field for field in schema.get("properties", {}) if not _FIELD_NAME.fullmatch(field)]
        reasons += [f"{name}: property keys should match {_FIELD_NAME.pattern}, not {field!r}" for field in fields]
        types = schema.get("type", ())
        if "array" in ([types] if isinstance(types, str) else types) and not isinstance(schema.get("items"), Mapping):
            reasons.append(f"{name}: array schema missing items")
    return reasons


def find_schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every schema inside a schema, but not the maps of named ones."""
    if isinstance(schema, list):
        for item in schema:
            yield from find_schemas(item)
    elif isinstance(schema, Mapping):
        yield schema
        for key, value in schema.items():
            if key in _NAMED:
                yield from find_schemas(list(value.values()))
            elif key not in _VALUES:
                yield from find_schemas(value)


def find_refused_tools(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """The same for the tools of a request in any of the three protocols."""
    listed = [tool.get("function", tool) for tool in tools]
    reasons = [f"there are {len(listed)} tools"] if len(listed) > MOST_TOOLS else []
    for tool in listed:
        # A tool without parameters may leave the schema out.
        schema = tool.get("parameters") or tool.get("input_schema") or {"type": "object", "properties": {}}
        reasons += find_refused(tool["name"], tool.get("description") or "", schema)
    return reasons
