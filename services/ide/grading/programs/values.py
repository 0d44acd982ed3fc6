"""Values as JSON that keeps their exact types: True is not 1, a subclass of int is not an int.

It starts with every run of every tree: modules that only some values need are imported when one of them comes.
"""

from __future__ import annotations

import sys
from binascii import a2b_base64, b2a_base64
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction
    from typing import Any

    Encoded = list[Any]
_DEEPEST = 40
_LONGEST = 20_000


class TooLarge(ValueError):
    """A value is nested more deeply, or longer, than an answer may be."""


def encode(value: Any, depth: int = 0) -> Encoded:
    """[type, content]; for types that are not plain data, their name and fields."""
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


def _encode_other(value: Any, kind: type, depth: int) -> Encoded:
    if isinstance(value, Enum):
        return ["enum", f"{kind.__name__}.{value.name}"]
    if kind in _exact_numbers():
        return [kind.__name__, str(value)]
    if hasattr(value if isinstance(value, type) else kind, "__dataclass_fields__"):
        from dataclasses import fields

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
    # Neither data nor made of data: it can be compared with nothing, least of all by its own `__eq__`.
    return ["foreign", kind.__name__, [base.__name__ for base in kind.__mro__[1:-1]]]


def _exact_numbers() -> list[type]:
    """A value of these types exists only where its module was imported."""
    named = (("decimal", "Decimal"), ("fractions", "Fraction"))
    return [getattr(sys.modules[module], name) for module, name in named if module in sys.modules]


def decode(encoded: Encoded) -> Any:
    """Only for what `encode` makes of plain data: arguments."""
    kind, content = encoded[0], encoded[1]
    if kind in ("list", "tuple", "deque"):
        items = [decode(item) for item in content]
        return items if kind == "list" else (tuple(items) if kind == "tuple" else deque(items))
    if kind in ("set", "frozenset"):
        unique = {decode(item) for item in content}
        return unique if kind == "set" else frozenset(unique)
    if kind == "dict":
        return {decode(key): decode(item) for key, item in content}
    return _PLAIN[kind](content)


def _encode_datetime(value: datetime) -> list[Any]:
    name = None if value.tzinfo is None else _zone_name(value.tzinfo)
    offset = value.utcoffset()
    return [
        value.replace(tzinfo=None).isoformat(),
        name,
        None if offset is None else offset.total_seconds(),
        value.fold,
    ]


def _zone_name(zone: Any) -> str | None:
    from zoneinfo import ZoneInfo

    return zone.key if isinstance(zone, ZoneInfo) else None


def _decode_datetime(content: list[Any]) -> datetime:
    text, name, offset, fold = content
    naive = datetime.fromisoformat(text).replace(fold=fold)
    if name is not None:
        from zoneinfo import ZoneInfo

        return naive.replace(tzinfo=ZoneInfo(name))
    return naive if offset is None else naive.replace(tzinfo=timezone(timedelta(seconds=offset)))


def _base64(value: bytes | bytearray) -> str:
    return b2a_base64(value, newline=False).decode()


def _decimal(text: str) -> Decimal:
    from decimal import Decimal

    return Decimal(text)


def _fraction(text: str) -> Fraction:
    from fractions import Fraction

    return Fraction(text)


_SIMPLE: dict[type, Any] = {
    type(None): lambda _: None,
    bool: lambda value: value,
    int: str,
    float: repr,
    str: lambda value: value,
    bytes: _base64,
    bytearray: _base64,
    datetime: _encode_datetime,
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
    "bytes": a2b_base64,
    "bytearray": lambda text: bytearray(a2b_base64(text)),
    "Decimal": _decimal,
    "Fraction": _fraction,
    "datetime": _decode_datetime,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
}
