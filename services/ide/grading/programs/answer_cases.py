"""Calls the code of a tree, one case at a time: a JSON request a line, a JSON answer a line.

It knows no expected value and no case but the present one; code that runs here may lie, and gains nothing by it.
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


# The folder that is imported from: whatever becomes of `sys.path`.
_sources: list[str] = []


class NameDisplaced(Exception):
    """What an import gives is not the module of the file that bears its name."""


def serve(source: str) -> None:
    """The channel is moved to other descriptors, away from anything that prints."""
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    requests = os.fdopen(os.dup(0), "r")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path.insert(0, source)
    _sources.append(source)
    for line in requests:
        answers.write(json.dumps(answer_case(json.loads(line))) + "\n")
        answers.flush()


def answer_case(case: list[dict[str, Any]]) -> list[Any]:
    """What each step returned or raised; a step may keep its result under a name for later ones."""
    objects: dict[str, Any] = {}
    results: list[Any] = []
    for step in case:
        try:
            arguments = [_argument(item, objects) for item in step["args"]]
            named = {name: _argument(item, objects) for name, item in step["kwargs"].items()}
            result = _target(step["call"], objects)(*arguments, **named)
            if "keep" in step:
                objects[step["keep"]] = result
                results.append(["kept", type(result).__name__])
            else:
                results.append(["gave", encode(result), [encode(item) for item in arguments if _is_mutable(item)]])
        except NameDisplaced as error:
            results.append(["displaced", str(error)])
        except (TooLarge, RecursionError) as error:
            results.append(["unspeakable", type(error).__name__])
        except Exception as error:  # noqa: BLE001 - what is raised is part of the answer
            results.append(["raised", type(error).__name__])
    return results


def _target(name: str, objects: dict[str, Any]) -> Any:
    """`package.module:name`, or `@kept.name` for an attribute of a kept result."""
    if name.startswith("@"):
        owner, _, attribute = name[1:].partition(".")
        return getattr(objects[owner], attribute)
    module, _, path = name.partition(":")
    target: Any = importlib.import_module(module)
    _require_own_file(module, target)
    for part in path.split("."):
        target = getattr(target, part)
    return target


def _require_own_file(name: str, module: Any) -> None:
    """The module's file lies where its name says, below the folder that is imported from."""
    if name.partition(".")[0] in sys.stdlib_module_names:
        return
    places = [f"{source}/{name.replace('.', '/')}" for source in _sources]
    paths = [place + ending for place in places for ending in (".py", "/__init__.py")]
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if paths and (type(module) is not type(sys) or type(origin) is not str or origin not in paths):
        raise NameDisplaced(name)


def _argument(encoded: list[Any], objects: dict[str, Any]) -> Any:
    if encoded[0] == "kept":
        return objects[encoded[1]]
    if encoded[0] == "many":
        return [objects[name] for name in encoded[1]]
    return _target(encoded[1], objects) if encoded[0] == "name" else decode(encoded)


def _is_mutable(value: Any) -> bool:
    """Whether the call may have changed it, and it can be encoded."""
    return type(value) in (list, dict, set, bytearray)
