"""Calls what somebody wrote, one case at a time: a JSON request a line, a JSON answer a line.

It knows no expected value and no case but the one it is asked; whatever runs here may lie, and gains nothing by it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

from .values import TooLarge, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def serve(source: str) -> None:
    """The channel is moved out of the way of anything that prints."""
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    requests = os.fdopen(os.dup(0), "r")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path.insert(0, source)
    for line in requests:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(case: list[dict[str, Any]]) -> list[Any]:
    """What each step gave, or raised; a step may keep its result under a name for later ones."""
    kept: dict[str, Any] = {}
    results: list[Any] = []
    for step in case:
        try:
            arguments = [_argument(item, kept) for item in step["args"]]
            named = {name: _argument(item, kept) for name, item in step["kwargs"].items()}
            result = _target(step["call"], kept)(*arguments, **named)
            if "keep" in step:
                kept[step["keep"]] = result
                results.append(["kept", type(result).__name__])
            else:
                results.append(["gave", encode(result), [encode(item) for item in arguments if _is_data(item)]])
        except (TooLarge, RecursionError) as error:
            results.append(["unspeakable", type(error).__name__])
        except Exception as error:  # noqa: BLE001 - what is raised is part of the answer
            results.append(["raised", type(error).__name__])
    return results


def _target(name: str, kept: dict[str, Any]) -> Any:
    """`package.module:name`, or `@kept.name` for an attribute of something kept."""
    if name.startswith("@"):
        owner, _, attribute = name[1:].partition(".")
        return getattr(kept[owner], attribute)
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _argument(coded: list[Any], kept: dict[str, Any]) -> Any:
    if coded[0] == "kept":
        return kept[coded[1]]
    if coded[0] == "many":
        return [kept[name] for name in coded[1]]
    return _target(coded[1], kept) if coded[0] == "name" else decode(coded)


def _is_data(value: Any) -> bool:
    """What could have been changed by the call and can be told."""
    return type(value) in (list, dict, set, bytearray)
