"""Writes a call as the request of its operation."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from dayshift.errors import BadArguments
from dayshift.operations import BodyForm, Operation, Place

_JSON = {"content-type": "application/json"}
_FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class Written:
    """A request without its host: what the operation and the arguments say of it."""

    target: str
    headers: Mapping[str, str]
    content: bytes


def write(operation: Operation, arguments: Mapping[str, Any]) -> Written:
    """The product judges the values; only what cannot be written at all is refused here."""
    if not arguments.keys() <= operation.by_name.keys():
        unknown = sorted(map(str, arguments.keys() - operation.by_name.keys()))
        raise BadArguments(f"{operation.name} takes no {', '.join(unknown)}")
    try:
        target = _target(operation, arguments)
        headers, content = _body(operation, arguments)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadArguments(f"{operation.name} cannot be called so: {error}") from error
    for name in operation.names_at[Place.HEADER]:
        if name in arguments:
            headers = {**headers, name.lower(): _header_text(arguments[name])}
    return Written(target, headers, content)


def _target(operation: Operation, arguments: Mapping[str, Any]) -> str:
    path = operation.path
    for name in operation.names_at[Place.PATH]:
        path = path.replace("{" + name + "}", _segment(name, arguments))
    pairs = [
        pair
        for name in operation.names_at[Place.QUERY]
        if name in arguments
        for pair in _query_pairs(name, arguments[name])
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _segment(name: str, arguments: Mapping[str, Any]) -> str:
    text = _plain(arguments[name]) if name in arguments else ""
    # An empty or dotted segment would name another route.
    if text in {"", ".", ".."}:
        raise ValueError(f"{name} must be a non-empty text")
    return quote(text, safe="")


def _query_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    if value is None:
        return []
    values = value if isinstance(value, list | tuple) else [value]
    return [(name, _plain(one)) for one in values]


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return _dumped(value)


def _header_text(value: Any) -> str:
    text = _plain(value)
    if not text.isprintable() or not text.isascii():
        raise BadArguments("a header takes printable ASCII alone")
    return text


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _body(operation: Operation, arguments: Mapping[str, Any]) -> tuple[Mapping[str, str], bytes]:
    given = {name: arguments[name] for name in operation.names_at[Place.BODY] if name in arguments}
    match operation.body:
        case BodyForm.NONE:
            return {}, b""
        case BodyForm.JSON:
            return _JSON, _dumped(given).encode()
        case BodyForm.WHOLE_JSON:
            return (_JSON, _dumped(given["body"]).encode()) if given else ({}, b"")
        case BodyForm.URLENCODED:
            return _FORM, urlencode(list(_brackets(given))).encode()
        case BodyForm.MULTIPART:
            return _multipart(given)


def _brackets(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """`{"card": {"number": 4}}` as `card[number]=4`, lists as `items[0]=…`."""
    if isinstance(value, Mapping):
        inner: Iterator[tuple[Any, Any]] = iter(value.items())
    elif isinstance(value, list | tuple):
        inner = iter(enumerate(value))
    else:
        yield name, "" if value is None else _plain(value)
        return
    for key, one in inner:
        yield from _brackets(one, f"{name}[{key}]" if name else str(key))


def _multipart(given: Mapping[str, Any]) -> tuple[Mapping[str, str], bytes]:
    """Files are `{"filename": …, "content": …}`; everything else is a plain field."""
    parts = [_part(name, value) for name, value in given.items()]
    # From the content, not from chance: a replay must send the same bytes.
    boundary = hashlib.sha256(b"".join(parts)).hexdigest()[:32]
    line = f"--{boundary}".encode()
    content = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return {"content-type": f"multipart/form-data; boundary={boundary}"}, content


def _part(name: str, value: Any) -> bytes:
    disposition = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    if isinstance(value, Mapping) and "content" in value:
        file = f'; filename="{_quoted(str(value.get("filename", name)))}"'
        kind = f"\r\nContent-Type: {_header_text(value.get('type', 'application/octet-stream'))}"
        return f"{disposition}{file}{kind}\r\n\r\n{value['content']}".encode()
    return f"{disposition}\r\n\r\n{_plain(value)}".encode()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "%22").replace("\r", "").replace("\n", "")
