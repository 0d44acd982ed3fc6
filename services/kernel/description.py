"""Corrects the OpenAPI document: FastAPI describes every body as JSON and every query as flat."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from services.kernel.encoding import JSON, Encoding

_NESTED = {"style": "deepObject", "explode": True}


# The extension that marks an operation which people of the job use every day.
_CORE = "x-core"
# The extension that holds texts for parameters which have none of their own.
_TEXTS = "x-parameter-texts"


class NotDescribed(ValueError):
    """A product names operations that it does not serve."""


def describe(
    api: FastAPI,
    encoding: Encoding,
    core: Collection[str] = (),
    parameters: Mapping[str, str] | None = None,
    rare: Collection[str] = (),
) -> None:
    """Makes the document describe the encoding that is really read, and list path parameters in the path's order.

    `core` names the operations that are used every day; `parameters` are texts for parameters that have none, by name,
    or by operation and name (`crm.lists.search:count`), and for fields within them by path (`created.gte`); `rare` are
    parameters that a core operation has beside those of daily use, by name or by their path (`ticket.brand_id`).
    """
    write_document = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            document = write_document()
            unknown = set(core) - {operation.get("operationId", "") for _, operation in _operations(document)}
            if unknown:
                raise NotDescribed(f"there is no operation {', '.join(sorted(unknown))}")
            components = document.get("components", {}).get("schemas", {})
            for path, operation in _operations(document):
                _order_path_parameters(path, operation)
                if encoding is not JSON:
                    _describe(operation, components, encoding)
                _add_texts(operation, components, parameters or {})
                if operation.get("operationId") in core:
                    operation[_CORE] = {"without": sorted(rare)}
        return api.openapi_schema or {}

    api.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        yield from ((path, operation) for operation in item.values() if isinstance(operation, dict))


def _add_texts(operation: dict[str, Any], components: dict[str, Any], texts: Mapping[str, str]) -> None:
    """Lists texts for parameters and fields of the body that the code leaves without a description.

    They stand beside the schemas and not in them, because the hash of an action space covers the schemas.
    """
    name = operation.get("operationId", "")
    fields = {
        parameter["name"]: {**parameter.get("schema", {}), **_keep_description(parameter)}
        for parameter in operation.get("parameters", ())
    }
    for content in operation.get("requestBody", {}).get("content", {}).values():
        # A field of the body that has a parameter's name goes by another.
        fields = {**_resolve(content.get("schema", {}), components).get("properties", {}), **fields}
    own_texts: dict[str, str] = {}
    for key, text in texts.items():
        only, _, path = key.rpartition(":")
        if only in {"", name} and (only or path not in own_texts) and _lacks_text(fields, path.split("."), components):
            own_texts[path] = text
    if own_texts:
        operation[_TEXTS] = own_texts


def _keep_description(parameter: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": parameter["description"]} if parameter.get("description") else {}


def _lacks_text(fields: Mapping[str, Any], path: list[str], components: dict[str, Any]) -> bool:
    """Whether there is a field at this path, and the code leaves it without a description."""
    field = fields.get(path[0])
    for name in path[1:]:
        field = None if field is None else _find_field(field, name, components)
    return field is not None and not field.get("description")


def _find_field(schema: dict[str, Any], name: str, components: dict[str, Any]) -> dict[str, Any] | None:
    """Returns a field of an object, of the entries of a list, or of one of several alternatives."""
    plain = _resolve(schema, components)
    if name in plain.get("properties", {}):
        field: dict[str, Any] = plain["properties"][name]
        return field
    inner = [*plain.get("anyOf", ()), *([plain["items"]] if isinstance(plain.get("items"), dict) else [])]
    return next((found for option in inner if (found := _find_field(option, name, components)) is not None), None)


def _order_path_parameters(path: str, operation: dict[str, Any]) -> None:
    """FastAPI names the parameters of a route's dependencies after the route's own, wherever they stand in the path."""
    if "parameters" in operation:
        names = re.findall(r"{(\w+)", path)
        operation["parameters"].sort(
            key=lambda parameter: names.index(parameter["name"]) if parameter["in"] == "path" else len(names)
        )


def _describe(operation: dict[str, Any], components: dict[str, Any], encoding: Encoding) -> None:
    # What cannot be read is refused in the product's own words, never with FastAPI's 422.
    operation["responses"].pop("422", None)
    content = operation.get("requestBody", {}).get("content", {})
    if (described := content.pop("application/json", None)) is not None:
        _without_null(described["schema"], components)
        nested = _list_nested_fields(described["schema"], components)
        content[encoding.media] = {**described, **({"encoding": nested} if nested else {})}
    for parameter in operation.get("parameters", ()):
        _without_null(parameter["schema"], components)
        if parameter["in"] == "query" and _nests(parameter["schema"], components):
            parameter |= _NESTED


def _without_null(schema: Any, components: dict[str, Any]) -> None:
    """A form cannot say null: what is optional is left out."""
    if isinstance(schema, list):
        for item in schema:
            _without_null(item, components)
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        _without_null(_resolve(schema, components), components)
        return
    if "anyOf" in schema:
        alternatives = [option for option in schema["anyOf"] if option != {"type": "null"}]
        if len(alternatives) == 1:
            del schema["anyOf"]
            schema.update(alternatives[0])
        else:
            schema["anyOf"] = alternatives
    for inner in list(schema.values()):
        _without_null(inner, components)


def _list_nested_fields(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    fields = _resolve(schema, components).get("properties", {})
    return {name: dict(_NESTED) for name, field in fields.items() if _nests(field, components)}


def _nests(schema: dict[str, Any], components: dict[str, Any]) -> bool:
    plain = _resolve(schema, components)
    if any(_nests(option, components) for option in plain.get("anyOf", ())):
        return True
    if plain.get("type") == "array":
        return _nests(plain.get("items", {}), components)
    return plain.get("type") == "object"


def _resolve(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    return schema
