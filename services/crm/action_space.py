"""The CRM's action space, locked: whoever changes what an agent can do raises the version."""

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.crm.product import product
from services.kernel.app import create_api

# Raise this when operations, their arguments or bodies change; then run `python -m services.crm.action_space`.
VERSION = 1
LOCK = Path(__file__).with_name("action_space.json")


class VersionNotRaised(RuntimeError):
    """The action space changed under the same version."""


def operations(document: Mapping[str, Any]) -> dict[str, str]:
    """Operation → digest of everything an agent must know to call it."""
    found: dict[str, str] = {}
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            said = [method, path, told.get("parameters"), told.get("requestBody")]
            found[told["operationId"]] = _digest([said, _referred(document, json.dumps(said))])
    return dict(sorted(found.items()))


def locked() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(LOCK.read_text(encoding="utf-8"))
    return kept


def lock() -> None:
    """Write down the present action space under its version; a version says one thing for ever."""
    present = operations(create_api(product).openapi())
    kept = locked() if LOCK.exists() else {"digests": {}}
    known = kept["digests"].get(str(VERSION))
    if known not in (None, _digest(present)):
        raise VersionNotRaised(f"the action space changed; raise VERSION in {Path(__file__).name} above {VERSION}")
    digests = {**kept["digests"], str(VERSION): _digest(present)}
    content = {"version": VERSION, "digests": digests, "operations": present}
    LOCK.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _referred(document: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The schemas that a text refers to, and those that they refer to."""
    schemas: Mapping[str, Any] = document.get("components", {}).get("schemas", {})
    found: dict[str, Any] = {}
    waiting = [text]
    while waiting:
        said = waiting.pop()
        for name, told in schemas.items():
            if name not in found and f'"#/components/schemas/{name}"' in said:
                found[name] = told
                waiting.append(json.dumps(told))
    return dict(sorted(found.items()))


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    lock()
