"""Draws cases from a seed: a generator's text on standard input, encoded cases on standard output."""

from __future__ import annotations

import json
import random  # noqa: TID251 - seeded, and inside a sandbox: the generator's only chance
import sys

from .values import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class KeptObject:
    """Stands in arguments for a result that an earlier step kept."""

    def __init__(self, name: str) -> None:
        self.name = name


class Name:
    """Stands in arguments for an object of the package, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Many:
    """Stands in arguments for a list of results that earlier steps kept."""

    def __init__(self, *names: str) -> None:
        self.names = names


def main() -> None:
    """`{"seed", "count", "text"}` on standard input; the cases on standard output."""
    request = json.load(sys.stdin)
    json.dump(draw_cases(request["text"], request["seed"], request["count"]), sys.stdout)


def draw_cases(text: str, seed: int, count: int) -> list[list[dict[str, Any]]]:
    """The text defines `cases(rng)`, which yields lists of steps."""
    scope: dict[str, Any] = {"kept": KeptObject, "name": Name, "many": Many}
    exec(compile(text, "cases", "exec"), scope)  # noqa: S102 - our own text
    cases = []
    for case in scope["cases"](random.Random(seed)):  # noqa: S311 - not a secret from this side
        cases.append([_step(*step) for step in case])
        if len(cases) >= count:
            break
    return cases


def _step(call: str, args: Any = (), kwargs: Any = None, keep: str | None = None) -> dict[str, Any]:
    named = {name: _encode_argument(item) for name, item in (kwargs or {}).items()}
    step = {"call": call, "args": [_encode_argument(item) for item in args], "kwargs": named}
    return step if keep is None else {**step, "keep": keep}


def _encode_argument(value: Any) -> Any:
    if isinstance(value, KeptObject):
        return ["kept", value.name]
    if isinstance(value, Many):
        return ["many", list(value.names)]
    return ["name", value.name] if isinstance(value, Name) else encode(value)
