"""Reads the operations of a product from its OpenAPI document."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dayshift.errors import WireMismatch
from dayshift.lean_schema import JsonSchema
from dayshift.operations import Argument, ArgumentLocation, BodyEncoding, Operation

_METHODS = ("get", "post", "put", "patch", "delete")
_COMPONENTS = "#/components/schemas/"
_BODY_ENCODINGS = {
    "application/json": BodyEncoding.JSON,
    "application/x-www-form-urlencoded": BodyEncoding.URLENCODED,
    "multipart/form-data": BodyEncoding.MULTIPART,
}
# The client sets these headers itself.
_CLIENT_HEADERS = frozenset({"authorization", "idempotency-key", "content-type", "accept", "x-api-key"})


def read_operations(product: str, document: Mapping[str, Any]) -> list[Operation]:
    if not isinstance(document.get("paths"), Mapping):
        raise WireMismatch(f"{product} serves no OpenAPI document")
    components = document.get("components", {}).get("schemas", {})
    return [
        _read_operation(product, method, path, definition, shared, components)
        for path, method, definition, shared in _iterate_routes(document["paths"])
    ]


def read_public_url(document: Mapping[str, Any]) -> str:
    """Returns the address of the product that its links carry, or an empty text where the document names none."""
    urls = [str(server.get("url", "")) for server in document.get("servers", ())]
    return next((url.rstrip("/") for url in urls if url.startswith("https://")), "")


def credential_headers(document: Mapping[str, Any], credential: str) -> dict[str, str]:
    """Returns the headers that carry the credential to this product; Bearer unless its document says otherwise."""
    schemes = document.get("components", {}).get("securitySchemes", {}).values()
    if any(scheme.get("scheme") == "bearer" for scheme in schemes):
        return {"authorization": f"Bearer {credential}"}
    for scheme in schemes:
        if scheme.get("type") == "apiKey" and scheme.get("in") == "header":
            return {scheme["name"].lower(): credential}
    return {"authorization": f"Bearer {credential}"}


def host_header(public_url: str) -> dict[str, str]:
    """With the product's own host, its links name that host and not the address of this stack."""
    return {"host": public_url.partition("://")[2]} if public_url else {}


def _iterate_routes(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], list[Any]]]:
    for path, item in paths.items():
        for method in _METHODS:
            if method in item:
                yield path, method, item[method], item.get("parameters", [])


def _read_operation(
    product: str, method: str, path: str, definition: Mapping[str, Any], shared: list[Any], components: JsonSchema
) -> Operation:
    parameters = [
        _read_parameter(parameter)
        for parameter in (*shared, *definition.get("parameters", ()))
        if parameter["in"] != "cookie" and parameter["name"].lower() not in _CLIENT_HEADERS
    ]
    body, fields = _read_body(definition.get("requestBody"), {argument.name for argument in parameters}, components)
    arguments = (*parameters, *fields)
    return Operation(
        name=definition.get("operationId") or _derive_name(product, method, path),
        product=product,
        method=method.upper(),
        path=path,
        description=definition.get("description") or definition.get("summary") or "",
        arguments=arguments,
        body=body,
        schema=_build_schema(arguments, components),
        is_core="x-core" in definition,
        parameter_texts=definition.get("x-parameter-texts", {}),
        rare_parameters=frozenset(definition.get("x-core", {}).get("without", ())),
    )


def _derive_name(product: str, method: str, path: str) -> str:
    return f"{product}.{method}.{re.sub(r'[^a-zA-Z0-9]+', '_', path).strip('_')}"


def _read_parameter(definition: Mapping[str, Any]) -> Argument:
    schema = dict(definition.get("schema", {}))
    if definition.get("description"):
        schema.setdefault("description", definition["description"])
    required = bool(definition.get("required")) or definition["in"] == "path"
    return Argument(definition["name"], ArgumentLocation(definition["in"]), required, schema)


def _read_body(
    definition: Mapping[str, Any] | None, names: set[str], components: JsonSchema
) -> tuple[BodyEncoding, list[Argument]]:
    if not definition:
        return BodyEncoding.NONE, []
    encoding, schema = _read_content(definition.get("content", {}))
    fields = _read_fields(schema, components)
    required = bool(definition.get("required"))
    if encoding is BodyEncoding.JSON and (fields is None or names & {field.name for field in fields}):
        return BodyEncoding.WHOLE_JSON, [Argument("body", ArgumentLocation.BODY, required, schema)]
    return encoding, fields or []


def _read_content(content: Mapping[str, Any]) -> tuple[BodyEncoding, JsonSchema]:
    for media_type, definition in content.items():
        if (encoding := _BODY_ENCODINGS.get(media_type.partition(";")[0])) is not None:
            return encoding, definition.get("schema", {})
    raise WireMismatch(f"no body encoding is known for {', '.join(content) or 'an empty body'}")


def _read_fields(schema: JsonSchema, components: JsonSchema) -> list[Argument] | None:
    """Returns the body's fields as arguments, or None where the body is not a plain object of named fields."""
    body = _resolve(schema, components)
    if not body.get("properties") or any(union in body for union in ("anyOf", "oneOf", "allOf")):
        return None
    required = body.get("required", [])
    return [
        Argument(name, ArgumentLocation.BODY, name in required, definition)
        for name, definition in body["properties"].items()
    ]


def _resolve(schema: JsonSchema, components: JsonSchema) -> JsonSchema:
    while "$ref" in schema:
        schema = components[schema["$ref"].removeprefix(_COMPONENTS)]
    return schema


def _build_schema(arguments: tuple[Argument, ...], components: JsonSchema) -> JsonSchema:
    """Builds one self-contained object schema; the components that it refers to are under `$defs`."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: _move_references(argument.schema) for argument in arguments},
        "required": [argument.name for argument in arguments if argument.required],
        "additionalProperties": False,
    }
    names = _collect_components(schema["properties"], components)
    if names:
        schema["$defs"] = {name: _move_references(components[name]) for name in sorted(names)}
    return schema


def _move_references(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {
            key: value.replace(_COMPONENTS, "#/$defs/") if key == "$ref" else _move_references(value)
            for key, value in schema.items()
        }
    return [_move_references(item) for item in schema] if isinstance(schema, list) else schema


def _collect_components(schema: Any, components: JsonSchema) -> set[str]:
    names: set[str] = set()
    queue = list(_find_references(schema))
    while queue:
        name = queue.pop()
        if name not in names:
            names.add(name)
            queue += _find_references(_move_references(components[name]))
    return names


def _find_references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from _find_references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _find_references(value)
