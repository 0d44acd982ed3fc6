"""How a product's clients encode what they send: as JSON, or as forms whose names carry brackets."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from services.kernel.errors import MalformedRequest, UnsupportedMediaType

_NAME = re.compile(r"^([^\[\]]+)((?:\[[^\[\]]*\])*)$")
_PART = re.compile(r"\[([^\[\]]*)\]")
_MOST_PAIRS = 2_000
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Encoding:
    """One media type for bodies; where query strings nest too, how to read them."""

    media: str
    # From the request's own media type and its bytes.
    body: Callable[[bytes, bytes], Any]
    # The other way round, for clients of the product.
    write: Callable[[Any], bytes]
    # None: query strings are flat, as FastAPI reads them.
    query: Callable[[bytes], Any] | None = None


def from_json(media: bytes, body: bytes) -> Any:
    if media and b"json" not in media.lower():
        raise UnsupportedMediaType
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedRequest(f"Invalid input JSON: {error.msg} at character {error.pos}.") from error


def from_form(media: bytes, body: bytes) -> Any:
    if media and b"application/x-www-form-urlencoded" not in media.lower():
        raise UnsupportedMediaType
    return from_brackets(body)


def to_form(body: Any) -> bytes:
    return urlencode(list(_brackets(body, ""))).encode()


def _brackets(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _brackets(inner, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _brackets(inner, f"{name}[{index}]")
    else:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


def from_brackets(text: bytes) -> dict[str, Any]:
    """`a[b]=1&c[0][d]=2&e[]=3&e[]=4` as nested dicts and lists of texts; blanks are kept, they mean something."""
    try:
        pairs = parse_qsl(text.decode(), keep_blank_values=True, max_num_fields=_MOST_PAIRS, errors="strict")
    except ValueError as error:
        raise MalformedRequest(f"The form could not be read: {error}.") from error
    tree: dict[str, Any] = {}
    for name, value in pairs:
        _insert(tree, _path(name), value)
    return {key: _resolve_lists(value) for key, value in tree.items()}


def _path(name: str) -> list[str]:
    match = _NAME.match(name)
    if match is None:
        return [name]
    path = [match[1], *_PART.findall(match[2])]
    if len(path) > _DEEPEST:
        raise MalformedRequest(f"{name[:60]}: nested too deeply.")
    return path


class _Values(list[Any]):
    """The values of a name that was written more than once, or with empty brackets."""


def _insert(tree: dict[str, Any], path: list[str], value: str) -> None:
    node = tree
    for index, part in enumerate(path[:-1]):
        if path[index + 1] == "" and index + 2 == len(path):
            values = node.setdefault(part, _Values())
            if not isinstance(values, _Values):
                raise MalformedRequest(f"{part}: both a list and something else.")
            values.append(value)
            return
        inner = node.setdefault(part, {})
        if not isinstance(inner, dict):
            raise MalformedRequest(f"{part}: both a value and something nested.")
        node = inner
    _put(node, path[-1], value)


def _put(node: dict[str, Any], name: str, value: str) -> None:
    if name not in node:
        node[name] = value
    elif isinstance(node[name], _Values):
        node[name].append(value)
    elif isinstance(node[name], dict):
        raise MalformedRequest(f"{name}: both a value and something nested.")
    else:
        node[name] = _Values((node[name], value))


def _resolve_lists(value: Any) -> Any:
    """Turns dicts whose keys are all numbers into lists."""
    if isinstance(value, _Values):
        return list(value)
    if not isinstance(value, dict):
        return value
    resolved = {key: _resolve_lists(inner) for key, inner in value.items()}
    if resolved and all(key.isascii() and key.isdigit() for key in resolved):
        return [resolved[key] for key in sorted(resolved, key=int)]
    return resolved


JSON = Encoding("application/json", from_json, orjson.dumps)
BRACKETS = Encoding("application/x-www-form-urlencoded", from_form, to_form, from_brackets)
