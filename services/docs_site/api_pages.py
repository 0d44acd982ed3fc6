"""Writes a Markdown page for a product's API from its OpenAPI document: operations, parameters, bodies and answers."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from services.kernel.app import create_api
from services.kernel.product import Product

Json = Mapping[str, Any]
_MANY = 12
_LIMITS = {
    "minimum": "≥ {}",
    "maximum": "≤ {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "pattern": "`{}`",
}


def api_page(product: Product) -> str:
    document = create_api(product).openapi()
    operations = sorted(_operations(document), key=lambda operation: operation["operationId"])
    schemas: Json = document.get("components", {}).get("schemas", {})
    lines = [
        f"# {product.title}",
        "",
        f"{len(operations)} operations, written from the service's own OpenAPI; agents use port {product.port}.",
        f"What they mean, and what differs from the vendor, stands in [{product.name}](../products/{product.name}.md).",
        "",
    ]
    for noun, same_noun in groupby(operations, key=_noun):
        lines += [
            f"## {noun}",
            "",
            "| operation | method and path | parameters | body | answers |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(operation) for operation in same_noun]
        lines.append("")
    return "\n".join([*lines, *_bodies(operations, schemas)])


def _operations(document: Json) -> Iterator[dict[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield {**operation, "method": method.upper(), "path": path}


def _noun(operation: Json) -> str:
    return str(operation["operationId"]).split(".")[1]


def _row(operation: Json) -> str:
    about = _cell(operation.get("description") or operation.get("summary") or "")
    cells = (
        f"`{operation['operationId']}`<br>{about}",
        f"`{operation['method']} {operation['path']}`",
        "<br>".join(map(_parameter, operation.get("parameters", ()))) or "–",
        _body(operation),
        "<br>".join(f"{status} {_schema_of(answer)}".strip() for status, answer in operation["responses"].items()),
    )
    return f"| {' | '.join(cells)} |"


def _parameter(parameter: Json) -> str:
    name = f"**{parameter['name']}**" if parameter.get("required") else parameter["name"]
    return f"{name}: {_type(parameter.get('schema', {}))} ({parameter['in']})"


def _body(operation: Json) -> str:
    named = _list_named(_content(operation.get("requestBody", {})))
    return f"[{named}](#{_anchor(named)})" if named else _schema_of(operation.get("requestBody", {})) or "–"


def _schema_of(about: Json) -> str:
    content = _content(about)
    return _type(content) if content else ""


def _content(about: Json) -> Json:
    for kind in about.get("content", {}).values():
        schema: Json = kind.get("schema", {})
        return schema
    return {}


def _list_named(schema: Json) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _bodies(operations: list[dict[str, Any]], schemas: Json) -> Iterator[str]:
    """Every schema that a request can hold, however deep."""
    names = dict.fromkeys(
        name for operation in operations if (name := _list_named(_content(operation.get("requestBody", {}))))
    )
    pending = list(names)
    while pending:
        inner = [name for name in _references(schemas[pending.pop()]) if name not in names]
        names |= dict.fromkeys(inner)
        pending += inner
    if names:
        yield "## Bodies\n"
    for name in sorted(names):
        yield f"### {name} {{#{_anchor(name)}}}\n"
        yield from _fields(schemas[name])
        yield ""


def _fields(schema: Json) -> Iterator[str]:
    if "properties" not in schema:
        yield _type(schema)
        return
    yield "| field | type | |"
    yield "|---|---|---|"
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        label = f"**{name}**" if name in required else name
        yield f"| {label} | {_type(field)} | {_cell(field.get('description', ''))} |"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield _list_named(value)
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _type(schema: Json) -> str:
    """In words, with what bounds it."""
    if name := _list_named(schema):
        return f"`{name}`"
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(_type, options)))
    if "enum" in schema:
        choices = ", ".join(f"`{_cell(str(value))}`" for value in schema["enum"][:_MANY])
        return choices + (" …" if len(schema["enum"]) > _MANY else "")
    if schema.get("type") == "array":
        list_type = f"list of {_type(schema.get('items', {}))}"
    else:
        list_type = str(schema.get("format") or schema.get("type") or "anything")
    limits = [_cell(text.format(schema[key])) for key, text in _LIMITS.items() if key in schema]
    default = [f"default `{_cell(str(schema['default']))}`"] if schema.get("default") not in (None, "") else []
    return ", ".join([list_type, *limits, *default])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")


def _anchor(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())
