"""Reads a product's OpenAPI document into operations."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dayshift.errors import WireMismatch
from dayshift.operations import Argument, BodyForm, JsonSchema, Operation, Place

_METHODS = ("get", "post", "put", "patch", "delete")
_COMPONENTS = "#/components/schemas/"
_BODY_FORMS = {
    "application/json": BodyForm.JSON,
    "application/x-www-form-urlencoded": BodyForm.URLENCODED,
    "multipart/form-data": BodyForm.MULTIPART,
}
# Headers that the client writes itself.
_OWN_HEADERS = frozenset({"authorization", "idempotency-key", "content-type", "accept", "x-api-key"})


def read_operations(product: str, document: Mapping[str, Any]) -> list[Operation]:
    if not isinstance(document.get("paths"), Mapping):
        raise WireMismatch(f"{product} serves no OpenAPI document")
    components = document.get("components", {}).get("schemas", {})
    return [
        _read(product, method, path, described, shared, components)
        for path, method, described, shared in _routes(document["paths"])
    ]


def credential_headers(document: Mapping[str, Any], credential: str) -> dict[str, str]:
    """How this product wants to be shown a credential; Bearer unless it says otherwise."""
    schemes = document.get("components", {}).get("securitySchemes", {}).values()
    if any(scheme.get("scheme") == "bearer" for scheme in schemes):
        return {"authorization": f"Bearer {credential}"}
    for scheme in schemes:
        if scheme.get("type") == "apiKey" and scheme.get("in") == "header":
            return {scheme["name"].lower(): credential}
    return {"authorization": f"Bearer {credential}"}


def _routes(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], list[Any]]]:
    for path, item in paths.items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method], item.get("parameters", [])


def _read(
    product: str, method: str, path: str, described: Mapping[str, Any], shared: list[Any], components: JsonSchema
) -> Operation:
    parameters = [
        _parameter(one)
        for one in (*shared, *described.get("parameters", ()))
        if one["in"] != "cookie" and one["name"].lower() not in _OWN_HEADERS
    ]
    body, fields = _body(described.get("requestBody"), {one.name for one in parameters}, components)
    arguments = (*parameters, *fields)
    return Operation(
        name=described.get("operationId") or _derived_name(product, method, path),
        product=product,
        method=method.upper(),
        path=path,
        description=described.get("description") or described.get("summary") or "",
        arguments=arguments,
        body=body,
        schema=_schema(arguments, components),
    )


def _derived_name(product: str, method: str, path: str) -> str:
    return f"{product}.{method}.{re.sub(r'[^a-zA-Z0-9]+', '_', path).strip('_')}"


def _parameter(described: Mapping[str, Any]) -> Argument:
    schema = dict(described.get("schema", {}))
    if described.get("description"):
        schema.setdefault("description", described["description"])
    required = bool(described.get("required")) or described["in"] == "path"
    return Argument(described["name"], Place(described["in"]), required, schema)


def _body(
    described: Mapping[str, Any] | None, taken: set[str], components: JsonSchema
) -> tuple[BodyForm, list[Argument]]:
    if not described:
        return BodyForm.NONE, []
    form, schema = _content(described.get("content", {}))
    fields = _fields(schema, components)
    required = bool(described.get("required"))
    if form is BodyForm.JSON and (fields is None or taken & {one.name for one in fields}):
        return BodyForm.WHOLE_JSON, [Argument("body", Place.BODY, required, schema)]
    return form, fields or []


def _content(content: Mapping[str, Any]) -> tuple[BodyForm, JsonSchema]:
    for kind, described in content.items():
        if (form := _BODY_FORMS.get(kind.partition(";")[0])) is not None:
            return form, described.get("schema", {})
    raise WireMismatch(f"no body form is known for {', '.join(content) or 'an empty body'}")


def _fields(schema: JsonSchema, components: JsonSchema) -> list[Argument] | None:
    """The body's fields as arguments, or None where the body is not a plain object of named fields."""
    plain = _resolved(schema, components)
    if not plain.get("properties") or any(union in plain for union in ("anyOf", "oneOf", "allOf")):
        return None
    required = plain.get("required", [])
    return [Argument(name, Place.BODY, name in required, described) for name, described in plain["properties"].items()]


def _resolved(schema: JsonSchema, components: JsonSchema) -> JsonSchema:
    while "$ref" in schema:
        schema = components[schema["$ref"].removeprefix(_COMPONENTS)]
    return schema


def _schema(arguments: tuple[Argument, ...], components: JsonSchema) -> JsonSchema:
    """One self-contained object schema: what it refers to travels along under `$defs`."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: _relocated(one.schema) for one in arguments},
        "required": [one.name for one in arguments if one.required],
        "additionalProperties": False,
    }
    reached = _reached(schema["properties"], components)
    if reached:
        schema["$defs"] = {name: _relocated(components[name]) for name in sorted(reached)}
    return schema


def _relocated(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: value.replace(_COMPONENTS, "#/$defs/") if key == "$ref" else _relocated(value)
            for key, value in schema.items()
        }
    return [_relocated(one) for one in schema] if isinstance(schema, list) else schema


def _reached(schema: Any, components: JsonSchema) -> set[str]:
    reached: set[str] = set()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(_relocated(components[name]))
    return reached


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
