"""Saboteurs: requests made to break a product, for every operation of it, from its OpenAPI document alone."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

_HUGE = "9" * 400
_DEEP = 20_000
# As they stand in a URL.
_ODD_SEGMENTS = (
    *("%00", "%ff%fe", "..%2f..%2fetc%2fpasswd", "%ed%a0%80", _HUGE, "-1", "1e400", "%F0%9F%92%A5", "a" * 5000),
    *("NaN", "null", "%2e%2e", "0x10", "1;DROP%20TABLE%20x", "%25s%25n", "9223372036854775808", "%C2%A0", "true"),
)
_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 10**18, 10**400, 1e308, "", "\x00", "x\u0000y", "\ud800", "💥" * 2000, "a" * 70_000, _HUGE),
    *([], {}, [[]], [None], [{}], {"": ""}, {"\x00": "\x00"}, {"$ne": None}, ["\ud800"], "1e400", "-0", "2026-13-45"),
    *("0000-00-00T00:00:00Z", "9999-12-31T23:59:60Z", "%s%n", "' OR 1=1 --", "(a+)+$", "*", "[", "\\"),
)
_ODD_BODIES = (
    *(b"", b"\x00", b"\xff\xfe", b"null", b"[]", b'"x"', b"1e400", b"NaN", b"{", b'{"a":1}{"a":1}', b"9" * 5000),
    *(b"[" * _DEEP, b'{"a":' * _DEEP, b'{"\\ud800":"\\udfff"}', b'{"":{"":""}}', b'{"a":"\xff"}', b"\xef\xbb\xbf{}"),
    b"a=1&a=2&a[]=3&a[b][c]=4&%00=%00&[=]&" + b"a[" * 500 + b"=1",
)
_ODD_CONTENT_TYPES = (
    *("application/json", "application/json; charset=utf-16", "application/json; charset=undefined", "text/plain"),
    *("application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=punycode", "a/b/c;;;=", ""),
    *("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=mark; charset=idna"),
    *("multipart/form-data; boundary=mark; charset=unicode_escape", f"multipart/form-data; boundary={'m' * 5000}"),
)
_ODD_HEADERS: tuple[Mapping[str, str], ...] = (
    {"idempotency-key": "\xff" * 500, "accept": "\x7f"},
    {"content-encoding": "gzip", "accept-encoding": "*;q=NaN"},
    {"range": "bytes=-1-", "if-match": "\xe9", "x-request-id": "a" * 20_000},
    {"host": "[::1", "x-forwarded-for": "999.999.999.999", "x-forwarded-host": "a b"},
    {"transfer-encoding": "chunked, chunked", "expect": "nothing", "cookie": "=;=;" * 500},
    {"accept-language": "x" * 5000, "date": "yesterday", "content-length": "-5"},
)
_PART = (
    b'--mark\r\nContent-Disposition: form-data; name="file"; filename="\\ud800\xff"\r\n\r\n\x00\xff\r\n'
    b'--mark\r\nContent-Disposition: form-data; name="\\ud800"\r\n\r\n\\ud800\xff\r\n--mark\r\n\r\n--mark--\r\n'
)


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """One request, past any client."""

    operation: str
    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes


def make_requests(
    document: Mapping[str, Any], ids: Mapping[str, str], per_operation: int, round_: int = 0
) -> Iterator[HostileRequest]:
    """So many for each operation; another round begins elsewhere among the odd values.

    Every other request names things by their known ids, so that what it says of them is read. What ends things comes
    last, so that everything else meets a world that still has them.
    """
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    for number, (method, path, operation) in enumerate(sorted(operations, key=lambda found: found[0] == "DELETE")):
        start = round_ * per_operation + number * 7
        for turn in range(start, start + per_operation):
            yield _make(document, ids if turn % 2 else {}, method, path, operation, turn)


def _make(
    document: Mapping[str, Any],
    ids: Mapping[str, str],
    method: str,
    path: str,
    operation: Mapping[str, Any],
    turn: int,
) -> HostileRequest:
    segments = islice(cycle(_ODD_SEGMENTS), turn % len(_ODD_SEGMENTS), None)
    query = []
    for parameter in (_resolve(document, found) for found in operation.get("parameters", ())):
        if parameter["in"] == "path":
            name = parameter["name"]
            path = path.replace("{" + name + "}", ids.get(name) or next(segments))
        elif parameter["in"] == "query":
            query.append(f"{parameter['name']}={next(segments)}")
    target = path + ("?" + "&".join(query) if query and turn % 3 else "")
    content, kind = _body(document, operation, turn)
    headers = {"content-type": kind, **(_ODD_HEADERS[turn % len(_ODD_HEADERS)] if turn % 8 >= 6 else {})}
    return HostileRequest(operation["operationId"], method, target, headers, content)


def _body(document: Mapping[str, Any], operation: Mapping[str, Any], turn: int) -> tuple[bytes, str]:
    declared = operation.get("requestBody", {}).get("content", {})
    kind, schema = next(((kind, found.get("schema", {})) for kind, found in declared.items()), ("", {}))
    match turn // 2 % 4:
        case 0 | 1 if declared:
            fields = _resolve(document, schema).get("properties", {"a": {}})
            values = islice(cycle(_ODD_VALUES), turn % len(_ODD_VALUES), None)
            fields_sent = {name: next(values) for name in fields if (turn + len(name)) % 3}
            if "form" in kind:
                pairs = (f"{name}={segment}" for name, segment in zip(fields_sent, cycle(_ODD_SEGMENTS), strict=False))
                return "&".join(pairs).encode(), "application/x-www-form-urlencoded"
            return json.dumps(fields_sent).encode(), "application/json"
        case 2:
            return _PART, _ODD_CONTENT_TYPES[turn // 8 % len(_ODD_CONTENT_TYPES)]
        case _:
            odd = _ODD_BODIES[turn // 8 % len(_ODD_BODIES)]
            return odd, kind or _ODD_CONTENT_TYPES[turn % len(_ODD_CONTENT_TYPES)]


def _resolve(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        node: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        schema = node
    for word in ("allOf", "anyOf", "oneOf"):
        if word in schema and "properties" not in schema:
            return _resolve(document, schema[word][0])
    return schema
