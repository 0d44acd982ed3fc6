"""Encodes a call as the HTTP request of its operation."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never
from urllib.parse import quote, urlencode

from dayshift.errors import BadArguments
from dayshift.operations import ArgumentLocation, BodyEncoding, Operation

_JSON = {"content-type": "application/json"}
_FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """A request without its host and credential."""

    target: str
    headers: Mapping[str, str]
    content: bytes


def encode_request(operation: Operation, arguments: Mapping[str, Any]) -> EncodedRequest:
    """Encodes the arguments; raises only for what no request can carry, because the product judges the values."""
    if not arguments.keys() <= operation.arguments_by_name.keys():
        unknown = sorted(map(str, arguments.keys() - operation.arguments_by_name.keys()))
        taken = ", ".join(operation.arguments_by_name) or "no arguments"
        raise BadArguments(f"{operation.name} takes no {', '.join(unknown)}; it takes {taken}")
    try:
        target = _encode_target(operation, arguments)
        headers, content = _encode_body(operation, arguments)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadArguments(f"{operation.name} cannot be called so: {error}") from error
    for name in operation.names_by_location[ArgumentLocation.HEADER]:
        if name in arguments:
            headers = {**headers, name.lower(): _encode_header(arguments[name])}
    return EncodedRequest(target, headers, content)


def _encode_target(operation: Operation, arguments: Mapping[str, Any]) -> str:
    path = operation.path
    for name in operation.names_by_location[ArgumentLocation.PATH]:
        path = path.replace("{" + name + "}", _encode_segment(name, arguments))
    pairs = [
        pair
        for name in operation.names_by_location[ArgumentLocation.QUERY]
        if name in arguments
        for pair in _encode_query(name, arguments[name])
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _encode_segment(name: str, arguments: Mapping[str, Any]) -> str:
    text = _encode_value(arguments[name]) if name in arguments else ""
    # An empty or dotted segment would address another route.
    if text in {"", ".", ".."}:
        raise ValueError(f"{name} must be a non-empty text")
    return quote(text, safe="")


def _encode_query(name: str, value: Any) -> list[tuple[str, str]]:
    if value is None:
        return []
    values = value if isinstance(value, list | tuple) else [value]
    return [(name, _encode_value(item)) for item in values]


def _encode_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return _dump_json(value)


def _encode_header(value: Any) -> str:
    text = _encode_value(value)
    if not text.isprintable() or not text.isascii():
        raise BadArguments("a header takes printable ASCII alone")
    return text


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode_body(operation: Operation, arguments: Mapping[str, Any]) -> tuple[Mapping[str, str], bytes]:
    fields = {name: arguments[name] for name in operation.names_by_location[ArgumentLocation.BODY] if name in arguments}
    match operation.body:
        case BodyEncoding.NONE:
            return {}, b""
        case BodyEncoding.JSON:
            return _JSON, _dump_json(fields).encode()
        case BodyEncoding.WHOLE_JSON:
            return (_JSON, _dump_json(fields["body"]).encode()) if fields else ({}, b"")
        case BodyEncoding.URLENCODED:
            return _FORM, urlencode(list(_encode_brackets(fields))).encode()
        case BodyEncoding.MULTIPART:
            return _encode_multipart(fields)
        case _:
            assert_never(operation.body)


def _encode_brackets(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields `card[number]=4` for `{"card": {"number": 4}}`, and `items[0]=…` for a list."""
    if isinstance(value, Mapping):
        items: Iterator[tuple[Any, Any]] = iter(value.items())
    elif isinstance(value, list | tuple):
        items = iter(enumerate(value))
    else:
        yield name, "" if value is None else _encode_value(value)
        return
    for key, item in items:
        yield from _encode_brackets(item, f"{name}[{key}]" if name else str(key))


def _encode_multipart(fields: Mapping[str, Any]) -> tuple[Mapping[str, str], bytes]:
    """A value `{"filename": …, "content": …}` becomes a file; every other value is a plain field."""
    parts = [_encode_part(name, value) for name, value in fields.items()]
    # The boundary is a digest of the content, not random, because a replay must send the same bytes.
    boundary = hashlib.sha256(b"".join(parts)).hexdigest()[:32]
    line = f"--{boundary}".encode()
    content = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    return {"content-type": f"multipart/form-data; boundary={boundary}"}, content


def _encode_part(name: str, value: Any) -> bytes:
    disposition = f'Content-Disposition: form-data; name="{_quote_name(name)}"'
    if isinstance(value, Mapping) and "content" in value:
        file = f'; filename="{_quote_name(str(value.get("filename", name)))}"'
        kind = f"\r\nContent-Type: {_encode_header(value.get('type', 'application/octet-stream'))}"
        return f"{disposition}{file}{kind}\r\n\r\n{value['content']}".encode()
    return f"{disposition}\r\n\r\n{_encode_value(value)}".encode()


def _quote_name(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "%22").replace("\r", "").replace("\n", "")
