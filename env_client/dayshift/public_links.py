"""Links of the products' answers: the call that a link stands for, so that a model can follow it."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dayshift.calls import Call
from dayshift.errors import BadArguments
from dayshift.operations import Catalogue, Operation

_LINK = re.compile(r"(?:(GET|POST|PUT|PATCH|DELETE) )?(https?://\S+)")
# What clients of some products append to a path; their operations are declared without it.
_SUFFIX = ".json"
_BRACKETS = re.compile(r"\[([^\]]*)\]")


def is_link(name: str) -> bool:
    """Whether a call names an address, with or without a method before it, instead of an operation."""
    return _LINK.fullmatch(name) is not None


def read_link(call: Call, operations: Catalogue, public_urls: Mapping[str, str]) -> Call:
    """Returns the call of the operation that is served at the link; further arguments are added to it."""
    match = _LINK.fullmatch(call.operation)
    assert match is not None, "the caller has looked"
    method, url = match[1] or "GET", urlsplit(match[2])
    product = next((name for name, own in public_urls.items() if urlsplit(own).netloc == url.netloc), None)
    if product is None:
        raise BadArguments(f"{url.netloc} is none of your systems: {', '.join(filter(None, public_urls.values()))}")
    for path in (url.path, url.path.removesuffix(_SUFFIX)):
        candidates = [
            (operation, in_path)
            for operation in operations.values()
            if operation.product == product
            and operation.method == method
            and (in_path := _match_path(operation, path)) is not None
        ]
        if candidates:
            # A path with fewer parameters is the more exact one: `/tickets/count` is no ticket.
            operation, in_path = min(candidates, key=lambda candidate: len(candidate[1]))
            return Call(operation.name, {**in_path, **_read_query(operation, url.query), **call.arguments})
    raise BadArguments(f"no operation is served at {method} {url.path}")


def _match_path(operation: Operation, path: str) -> dict[str, str] | None:
    pattern, names = _compile_path(operation.path)
    match = pattern.fullmatch(path)
    return None if match is None else dict(zip(names, map(unquote, match.groups()), strict=True))


@lru_cache(maxsize=4096)
def _compile_path(path: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    literal = re.split(r"\{(\w+)\}", path)
    parts = ["([^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(literal)]
    if not literal[-1]:
        # The path of a file in a repository, which comes last, has slashes of its own.
        parts[-2] = "(.+)" if literal[-2] == "path" else parts[-2]
    return re.compile("".join(parts)), tuple(literal[1::2])


def _read_query(operation: Operation, query: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in operation.arguments_by_name:
            is_repeated = name in arguments
            earlier = arguments.get(name, [])
            values = [*(earlier if isinstance(earlier, list) else [earlier]), value]
            arguments[name] = values if is_repeated else value
        else:
            _set_nested(arguments, name, value)
    return arguments


def _set_nested(arguments: dict[str, Any], name: str, value: str) -> None:
    """`created[gte]=1` is the field `gte` of the argument `created`."""
    outer, *inner = [name.partition("[")[0], *_BRACKETS.findall(name)]
    if not inner:
        arguments[outer] = value
        return
    target = arguments.setdefault(outer, {})
    for key in inner[:-1]:
        target = target.setdefault(key, {}) if isinstance(target, dict) else {}
    if isinstance(target, dict):
        target[inner[-1]] = value
