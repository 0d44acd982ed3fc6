"""The reason of a finding in plain words: checks write values as Python does, and readers need not know Python."""

import ast
import re
from collections.abc import Iterator
from typing import Any

_OPENING = re.compile(r"[\[{(]|(?<![\w\"'])[\"']")
_CLOSING = {"[": "]", "{": "}", "(": ")", "'": "'", '"': '"'}
# Ids and numbers differ between episodes.
_VARIABLE = re.compile(r"\b[a-z]{2,6}_[A-Za-z0-9]{8,}\b|\b[0-9a-f]{8,}\b|\d+")
_LONGEST = 4_000
_MOST_TRIED = 60


def plain_words(text: str) -> str:
    """`record 7 reads {'phone': ('+1',)}` becomes `record 7 reads phone: +1`; what is no literal stays as it is."""
    if len(text) > _LONGEST:
        return text
    return re.sub(r"\bNone\b", "nothing", "".join(_pieces(text)))


def mask_variables(text: str) -> str:
    """The text without its ids and numbers, so that the same refusal or reason is the same text in every episode."""
    return _VARIABLE.sub("#", text)


def _pieces(text: str) -> Iterator[str]:
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        yield text[position : opening.start()]
        value, end = _read_literal(text, opening.start())
        yield text[opening.start()] if value is None else _describe(value)
        position = end
    yield text[position:]


def _read_literal(text: str, start: int) -> tuple[Any, int]:
    """The value that begins here and where it ends; None for what only looks like one, such as `(330)`."""
    closing, end = _CLOSING[text[start]], start
    for _ in range(_MOST_TRIED):
        end = text.find(closing, end + 1)
        if end < 0:
            break
        # An apostrophe within a word ends nothing.
        if closing in "'\"" and text[end + 1 : end + 2].isalnum():
            continue
        try:
            value = ast.literal_eval(text[start : end + 1])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict | list | tuple | str):
            return value, end + 1
        break
    return None, start + 1


def _describe(value: Any) -> str:
    return f"“{value}”" if isinstance(value, str) else _join(value)


def _join(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{name}: {_join(part)}" for name, part in value.items()) or "nothing"
        case tuple():
            return " or ".join(map(_join, value)) or "nothing"
        case list() | set():
            return ", ".join(map(_join, value)) or "nothing"
        case None:
            return "nothing"
        case _:
            return str(value)
