"""What OpenAPI says about encodings: FastAPI writes every body down as JSON and every query as flat."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from services.kernel.encoding import JSON, Encoding

_NESTED = {"style": "deepObject", "explode": True}


def describe(api: FastAPI, encoding: Encoding) -> None:
    """Let the document of this app speak of the encoding that is really read."""
    if encoding is JSON:
        return
    written = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            document = written()
            for operation in _operations(document):
                _describe(operation, document.get("components", {}).get("schemas", {}), encoding)
        return api.openapi_schema or {}

    api.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in document["paths"].values():
        yield from (operation for operation in item.values() if isinstance(operation, dict))


def _describe(operation: dict[str, Any], components: dict[str, Any], encoding: Encoding) -> None:
    # What cannot be read is refused in the product's own words, never with FastAPI's 422.
    operation["responses"].pop("422", None)
    content = operation.get("requestBody", {}).get("content", {})
    if (described := content.pop("application/json", None)) is not None:
        _without_null(described["schema"], components)
        nested = _nested_fields(described["schema"], components)
        content[encoding.media] = {**described, **({"encoding": nested} if nested else {})}
    for parameter in operation.get("parameters", ()):
        _without_null(parameter["schema"], components)
        if parameter["in"] == "query" and _nests(parameter["schema"], components):
            parameter |= _NESTED


def _without_null(schema: Any, components: dict[str, Any]) -> None:
    """A form cannot say null: what is optional is left out."""
    if isinstance(schema, list):
        for one in schema:
            _without_null(one, components)
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        _without_null(_resolved(schema, components), components)
        return
    if "anyOf" in schema:
        left = [one for one in schema["anyOf"] if one != {"type": "null"}]
        if len(left) == 1:
            del schema["anyOf"]
            schema.update(left[0])
        else:
            schema["anyOf"] = left
    for inner in list(schema.values()):
        _without_null(inner, components)


def _nested_fields(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    fields = _resolved(schema, components).get("properties", {})
    return {name: dict(_NESTED) for name, field in fields.items() if _nests(field, components)}


def _nests(schema: dict[str, Any], components: dict[str, Any]) -> bool:
    plain = _resolved(schema, components)
    if any(_nests(one, components) for one in plain.get("anyOf", ())):
        return True
    if plain.get("type") == "array":
        return _nests(plain.get("items", {}), components)
    return plain.get("type") == "object"


def _resolved(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    return schema
