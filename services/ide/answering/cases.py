"""Draws cases from a seed: a generator's text in, encoded cases out."""

import json
import random  # noqa: TID251 - seeded, and inside a sandbox: the generator's only chance
import sys
from typing import Any

from .values import encode


class Kept:
    """Stands in arguments for what an earlier step kept."""

    def __init__(self, name: str) -> None:
        self.name = name


class Name:
    """Stands in arguments for something of the package, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


def draw() -> None:
    """`{"seed", "count", "text"}` on standard input; the text defines `cases(rng)`, which yields lists of steps."""
    asked = json.load(sys.stdin)
    scope: dict[str, Any] = {"kept": Kept, "name": Name}
    exec(compile(asked["text"], "cases", "exec"), scope)  # noqa: S102 - our own text, in a sandbox
    found = []
    for case in scope["cases"](random.Random(asked["seed"])):  # noqa: S311 - not a secret from this side
        found.append([_step(*step) for step in case])
        if len(found) >= asked["count"]:
            break
    json.dump(found, sys.stdout)


def _step(call: str, args: Any = (), kwargs: Any = None, keep: str | None = None) -> dict[str, Any]:
    named = {name: _coded(item) for name, item in (kwargs or {}).items()}
    step = {"call": call, "args": [_coded(item) for item in args], "kwargs": named}
    return step if keep is None else {**step, "keep": keep}


def _coded(value: Any) -> Any:
    if isinstance(value, Kept):
        return ["kept", value.name]
    return ["name", value.name] if isinstance(value, Name) else encode(value)
