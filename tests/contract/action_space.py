"""The lock on a product's action space: what an agent can do changes only on purpose, with a new version.

Each product has a file `action_space.json` that names its operations. A test compares it with what the product serves.
`python -m tests.contract.action_space raise crm` writes the file for the present operations under the next version.
"""

import argparse
import json
from functools import cache
from pathlib import Path
from typing import TypedDict

from dayshift.openapi import read_operations
from dayshift.operations import Catalogue

from services.kernel import catalog
from services.kernel.app import create_api

ROOT = Path(__file__).resolve().parents[2]


class ActionSpace(TypedDict):
    """Everything that decides which calls an agent can write; the fingerprint covers the schemas of the arguments."""

    fingerprint: str
    operations: dict[str, str]


class Lock(ActionSpace):
    """An action space under its version."""

    version: int


class NothingToRaise(RuntimeError):
    """The action space is the one that is locked already: its version stays."""


def lock_path(product: str) -> Path:
    return ROOT / "services" / product / "action_space.json"


@cache
def read_catalogue(product: str) -> Catalogue:
    return Catalogue(read_operations(product, create_api(catalog.product(product)).openapi()))


def describe(product: str) -> ActionSpace:
    catalogue = read_catalogue(product)
    operations = {
        operation.name: f"{operation.method} {operation.path} ({', '.join(operation.arguments_by_name)})"
        for operation in catalogue.values()
        if operation.product
    }
    return {"fingerprint": catalogue.fingerprint, "operations": operations}


def read_lock(product: str, path: Path | None = None) -> Lock:
    lock: Lock = json.loads((path or lock_path(product)).read_text(encoding="utf-8"))
    return lock


def list_differences(product: str, lock: Lock) -> list[str]:
    """Returns the operations that differ; one that differs only in a schema cannot be named."""
    present, locked = describe(product)["operations"], lock["operations"]
    names = sorted(name for name in {*present, *locked} if present.get(name) != locked.get(name))
    is_same = describe(product)["fingerprint"] == lock["fingerprint"]
    return names or ([] if is_same else ["the schema of an argument"])


def raise_version(product: str, path: Path | None = None) -> int:
    """Locks the present action space under the next version; a product without a lock starts with version 1."""
    path = path or lock_path(product)
    version = 0
    if path.exists():
        lock = read_lock(product, path)
        if not list_differences(product, lock):
            raise NothingToRaise(f"the action space of {product} is locked as it is, under version {lock['version']}")
        version = lock["version"]
    content = {"version": version + 1, **describe(product)}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return version + 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["raise"])
    parser.add_argument("product", choices=catalog.all_names())
    arguments = parser.parse_args()
    try:
        print(f"{arguments.product}: version {raise_version(arguments.product)}")
    except NothingToRaise as nothing:
        parser.exit(1, f"{nothing}\n")
