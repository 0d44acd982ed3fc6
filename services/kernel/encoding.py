"""How a product's clients write what they send: JSON, or forms whose names carry brackets."""

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
    # The other way round, for whoever asks.
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
        for at, inner in enumerate(value):
            yield from _brackets(inner, f"{name}[{at}]")
    else:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


def from_brackets(written: bytes) -> dict[str, Any]:
    """`a[b]=1&c[0][d]=2&e[]=3&e[]=4` as nested dicts and lists of texts; blanks are kept, they mean something."""
    try:
        pairs = parse_qsl(written.decode(), keep_blank_values=True, max_num_fields=_MOST_PAIRS, errors="strict")
    except ValueError as error:
        raise MalformedRequest(f"The form could not be read: {error}.") from error
    tree: dict[str, Any] = {}
    for name, value in pairs:
        _plant(tree, _path(name), value)
    return {key: _settled(value) for key, value in tree.items()}


def _path(name: str) -> list[str]:
    found = _NAME.match(name)
    if found is None:
        return [name]
    path = [found[1], *_PART.findall(found[2])]
    if len(path) > _DEEPEST:
        raise MalformedRequest(f"{name[:60]}: nested too deeply.")
    return path


class _Several(list[Any]):
    """The values of a name that was written more than once, or with empty brackets."""


def _plant(tree: dict[str, Any], path: list[str], value: str) -> None:
    node = tree
    for at, part in enumerate(path[:-1]):
        if path[at + 1] == "" and at + 2 == len(path):
            kept = node.setdefault(part, _Several())
            if not isinstance(kept, _Several):
                raise MalformedRequest(f"{part}: both a list and something else.")
            kept.append(value)
            return
        inner = node.setdefault(part, {})
        if not isinstance(inner, dict):
            raise MalformedRequest(f"{part}: both a value and something nested.")
        node = inner
    _put(node, path[-1], value)


def _put(node: dict[str, Any], name: str, value: str) -> None:
    if name not in node:
        node[name] = value
    elif isinstance(node[name], _Several):
        node[name].append(value)
    elif isinstance(node[name], dict):
        raise MalformedRequest(f"{name}: both a value and something nested.")
    else:
        node[name] = _Several((node[name], value))


def _settled(value: Any) -> Any:
    """Names that are all numbers are places in a list."""
    if isinstance(value, _Several):
        return list(value)
    if not isinstance(value, dict):
        return value
    settled = {key: _settled(inner) for key, inner in value.items()}
    if settled and all(key.isascii() and key.isdigit() for key in settled):
        return [settled[key] for key in sorted(settled, key=int)]
    return settled


JSON = Encoding("application/json", from_json, orjson.dumps)
BRACKETS = Encoding("application/x-www-form-urlencoded", from_form, to_form, from_brackets)
