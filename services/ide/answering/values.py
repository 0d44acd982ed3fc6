"""Values as JSON that keeps their exact types: True is not 1, a subclass of int is not an int."""

import base64
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

_DEEPEST = 40
_LONGEST = 20_000
Coded = list[Any]


class TooLarge(ValueError):
    """Deeper or longer than any answer is meant to be."""


def encode(value: Any, depth: int = 0) -> Coded:
    """[type, content]; of types that are not plain data, the name and the fields."""
    if depth > _DEEPEST:
        raise TooLarge("nested too deeply")
    kind = type(value)
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return [kind.__name__, simple(value)]
    if kind in _SEQUENCES:
        if len(value) > _LONGEST:
            raise TooLarge("too many items")
        return [kind.__name__, [encode(item, depth + 1) for item in value]]
    if kind in (set, frozenset):
        return [kind.__name__, sorted((encode(item, depth + 1) for item in value), key=repr)]
    if kind in _MAPPINGS:
        pairs = [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in value.items()]
        return ["dict", pairs if kind is OrderedDict else sorted(pairs, key=repr)]
    return _encode_other(value, kind, depth)


def _encode_other(value: Any, kind: type, depth: int) -> Coded:
    if isinstance(value, Enum):
        return ["enum", f"{kind.__name__}.{value.name}"]
    if is_dataclass(value):
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return ["object", kind.__name__, [[name, encode(item, depth + 1)] for name, item in sorted(content.items())]]
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        content = dict(zip(kind._fields, tuple(value), strict=False))
        return ["object", kind.__name__, [[name, encode(item, depth + 1)] for name, item in sorted(content.items())]]
    if isinstance(value, Iterator):
        items = []
        for item in value:
            items.append(encode(item, depth + 1))
            if len(items) > _LONGEST:
                raise TooLarge("too many items")
        return ["iterator", items]
    # Neither data nor made of data: comparable with nothing, least of all by its own idea of equality.
    return ["foreign", kind.__name__, [base.__name__ for base in kind.__mro__[1:-1]]]


def decode(coded: Coded) -> Any:
    """Only of what `encode` makes of plain data: arguments."""
    kind, content = coded[0], coded[1]
    if kind in ("list", "tuple", "deque"):
        items = [decode(item) for item in content]
        return items if kind == "list" else (tuple(items) if kind == "tuple" else deque(items))
    if kind in ("set", "frozenset"):
        found = {decode(item) for item in content}
        return found if kind == "set" else frozenset(found)
    if kind == "dict":
        return {decode(key): decode(item) for key, item in content}
    return _PLAIN[kind](content)


def _moment(value: datetime) -> list[Any]:
    zone = value.tzinfo
    name = zone.key if isinstance(zone, ZoneInfo) else None
    offset = value.utcoffset()
    return [
        value.replace(tzinfo=None).isoformat(),
        name,
        None if offset is None else offset.total_seconds(),
        value.fold,
    ]


def _from_moment(content: list[Any]) -> datetime:
    text, name, offset, fold = content
    bare = datetime.fromisoformat(text).replace(fold=fold)
    if name is not None:
        return bare.replace(tzinfo=ZoneInfo(name))
    return bare if offset is None else bare.replace(tzinfo=timezone(timedelta(seconds=offset)))


_SIMPLE: dict[type, Any] = {
    type(None): lambda _: None,
    bool: lambda value: value,
    int: str,
    float: repr,
    str: lambda value: value,
    bytes: lambda value: base64.b64encode(value).decode(),
    bytearray: lambda value: base64.b64encode(value).decode(),
    Decimal: str,
    Fraction: str,
    datetime: _moment,
    date: lambda value: value.isoformat(),
    time: lambda value: value.isoformat(),
    timedelta: lambda value: [value.days, value.seconds, value.microseconds],
}
_SEQUENCES = (list, tuple, deque)
_MAPPINGS = (dict, defaultdict, OrderedDict)
_PLAIN: dict[str, Any] = {
    "NoneType": lambda _: None,
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)),
    "Decimal": Decimal,
    "Fraction": Fraction,
    "datetime": _from_moment,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
}
