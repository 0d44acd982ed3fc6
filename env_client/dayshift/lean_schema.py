"""Lean schemas: what a model needs to write a call, without what only a validator needs."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

JsonSchema = Mapping[str, Any]

_DEFINITIONS = "#/$defs/"
# Whoever writes a call gains nothing from these: the product judges the values.
_DROPPED = frozenset(
    (
        "title",
        "additionalProperties",
        "examples",
        "example",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "propertyNames",
        "patternProperties",
        "minProperties",
        "maxProperties",
        "minimum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        # Not JSON Schema's: so pydantic writes bounds that it cannot tell otherwise.
        "ge",
        "gt",
        "le",
        "lt",
    )
)
# A larger maximum bounds the type and not the choice.
_LARGEST_TELLING_MAXIMUM = 1_000
# Keywords whose values are schemas by name: their keys are names of fields and not keywords.
_NAMED = frozenset({"properties", "$defs"})
# Keywords whose values are not schemas.
_VALUES = frozenset({"enum", "default", "required", "const"})
_NULL: JsonSchema = {"type": "null"}
_EMPTY: JsonSchema = {"type": "string", "const": ""}


def make_lean(schema: JsonSchema) -> dict[str, Any]:
    """Returns the schema without titles, nulls and bounds; a definition that is used once stands where it is used."""
    used = _reachable_from(schema, schema.get("$defs", {}))
    definitions = {name: inner for name, inner in schema.get("$defs", {}).items() if name in used}
    uses = _count_uses([schema.get("properties", {}), *definitions.values()])
    is_recursive = {name for name in definitions if name in _reachable(name, definitions)}
    shared = {name for name in definitions if uses[name] > 1 or name in is_recursive}
    writer = _LeanWriter(definitions, frozenset(shared))
    lean = writer.write({key: value for key, value in schema.items() if key != "$defs"})
    named = {name: writer.write(definitions[name]) for name in definitions if name in shared}
    return {**lean, "$defs": named} if named else lean


def describe_fields(schema: JsonSchema, texts: Mapping[str, str]) -> JsonSchema:
    """Returns the schema with these descriptions of fields, by their path (`limit`, `ticket.comment.body`).

    A field that has a description keeps it; the entries of a list are fields of the list's own path.
    """
    return _describe(schema, texts, "", schema.get("$defs", {}))


def _describe(
    schema: JsonSchema, texts: Mapping[str, str], prefix: str, definitions: Mapping[str, JsonSchema]
) -> JsonSchema:
    """Returns the same object where nothing is described, so that a definition stays shared where it can."""
    if not any(path.startswith(prefix) for path in texts):
        return schema
    if isinstance(schema.get("$ref"), str):
        inner = definitions.get(schema["$ref"].removeprefix(_DEFINITIONS), {})
        described = _describe(inner, texts, prefix, definitions)
        return schema if described is inner else {**described, **{k: v for k, v in schema.items() if k != "$ref"}}
    changed: dict[str, Any] = {}
    for name, field in schema.get("properties", {}).items():
        path = prefix + name
        described = {"description": texts[path], **field} if path in texts else field
        described = _describe(described, texts, f"{path}.", definitions)
        if described is not field:
            changed[name] = described
    new: dict[str, Any] = {"properties": {**schema["properties"], **changed}} if changed else {}
    if "anyOf" in schema:
        options = [_describe(option, texts, prefix, definitions) for option in schema["anyOf"]]
        if any(option is not old for option, old in zip(options, schema["anyOf"], strict=True)):
            new["anyOf"] = options
    if isinstance(schema.get("items"), Mapping):
        items = _describe(schema["items"], texts, prefix, definitions)
        if items is not schema["items"]:
            new["items"] = items
    return {**schema, **new} if new else schema


def leave_out(schema: JsonSchema, paths: Collection[str]) -> JsonSchema:
    """Returns the schema without the optional fields at these paths (`page`, `ticket.comment.html_body`)."""
    return {**_leave_out(schema, frozenset(paths), "", schema.get("$defs", {})), "$defs": schema.get("$defs", {})}


def _leave_out(
    schema: JsonSchema, paths: frozenset[str], prefix: str, definitions: Mapping[str, JsonSchema]
) -> JsonSchema:
    concerned = [path for path in paths if path.startswith(prefix)]
    if not concerned:
        return schema
    if isinstance(schema.get("$ref"), str):
        inner = definitions.get(schema["$ref"].removeprefix(_DEFINITIONS))
        if inner is None or not any(_has(inner, path.removeprefix(prefix)) for path in concerned):
            return schema
        schema = {**inner, **{key: value for key, value in schema.items() if key != "$ref"}}
    if "anyOf" in schema:
        return {**schema, "anyOf": [_leave_out(option, paths, prefix, definitions) for option in schema["anyOf"]]}
    fields = {
        name: _leave_out(field, paths, f"{prefix}{name}.", definitions)
        for name, field in schema.get("properties", {}).items()
        if prefix + name not in paths or name in schema.get("required", ())
    }
    new: dict[str, Any] = {"properties": fields} if "properties" in schema else {}
    if isinstance(schema.get("items"), Mapping):
        new["items"] = _leave_out(schema["items"], paths, prefix, definitions)
    return {**schema, **new}


def _has(schema: JsonSchema, path: str) -> bool:
    return path.partition(".")[0] in schema.get("properties", {})


class _LeanWriter:
    """Writes schemas whose references are replaced by their definitions, except for those that several share."""

    def __init__(self, definitions: Mapping[str, JsonSchema], shared: frozenset[str]) -> None:
        self._definitions = definitions
        self._shared = shared

    def write(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self.write(item) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        lean: dict[str, Any] = {}
        for key, value in self._resolve(schema).items():
            if key in _DROPPED or _says_nothing(key, value):
                continue
            if key in _NAMED:
                lean[key] = {name: self.write(inner) for name, inner in value.items()}
            else:
                lean[key] = value if key in _VALUES else self.write(value)
        return _describe_list_once(_without_null(lean))

    def _resolve(self, schema: JsonSchema) -> JsonSchema:
        """Replaces a reference by its definition; what stands beside the reference comes first."""
        while isinstance(schema.get("$ref"), str):
            name = schema["$ref"].removeprefix(_DEFINITIONS)
            if name in self._shared or name not in self._definitions:
                return schema
            schema = {**self._definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema


def _describe_list_once(schema: dict[str, Any]) -> dict[str, Any]:
    """The description of a list tells what its entries are."""
    entry = schema.get("items")
    if "description" not in schema or not isinstance(entry, dict) or "description" not in entry:
        return schema
    return {**schema, "items": {key: value for key, value in entry.items() if key != "description"}}


def _says_nothing(key: str, value: Any) -> bool:
    return (
        (key == "default" and value in (None, [], {}))
        or (key == "required" and not value)
        or (key == "maximum" and value > _LARGEST_TELLING_MAXIMUM)
    )


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` with null or an empty text means that the field may be left out or cleared."""
    for union in ("anyOf", "oneOf"):
        if union in schema:
            options = [option for option in schema[union] if option not in (_NULL, _EMPTY)]
            if len(options) == 1:
                rest = {key: value for key, value in schema.items() if key != union}
                return {**options[0], **rest}
            schema = {**schema, union: options}
    if isinstance(schema.get("type"), list):
        types = [name for name in schema["type"] if name != "null"]
        schema = {**schema, "type": types[0] if len(types) == 1 else types}
    return _merge_types(schema)


def _merge_types(schema: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` of types alone is a list of types."""
    options = schema.get("anyOf", ())
    if not options or any(set(option) != {"type"} or not isinstance(option["type"], str) for option in options):
        return schema
    types = list(dict.fromkeys(option["type"] for option in options))
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {"type": types[0] if len(types) == 1 else types, **rest}


def _count_uses(schema: Any) -> Counter[str]:
    return Counter(_references(schema))


def _reachable_from(schema: JsonSchema, definitions: Mapping[str, JsonSchema]) -> set[str]:
    return _follow(_references(schema.get("properties", {})), definitions)


def _reachable(name: str, definitions: Mapping[str, JsonSchema]) -> set[str]:
    return _follow(_references(definitions[name]), definitions)


def _follow(references: Iterator[str], definitions: Mapping[str, JsonSchema]) -> set[str]:
    reached: set[str] = set()
    queue = list(references)
    while queue:
        other = queue.pop()
        if other not in reached:
            reached.add(other)
            queue += _references(definitions.get(other, {}))
    return reached


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(_DEFINITIONS)
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
