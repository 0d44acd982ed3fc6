"""A product's action space as a file: what an agent can do changes only on purpose, with a new version.

`python -m tests.contract.action_space billing` writes the file anew; raise its version when you do.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from dayshift.openapi import read_operations
from dayshift.operations import Catalogue

from services.kernel import catalog
from services.kernel.app import create_api

ROOT = Path(__file__).resolve().parents[2]


def place(product: str) -> Path:
    return ROOT / "services" / product / "action_space.json"


@cache
def offered(product: str) -> Catalogue:
    return Catalogue(read_operations(product, create_api(catalog.product(product)).openapi()))


def described(product: str) -> dict[str, Any]:
    """Everything that decides which calls can be written."""
    space = offered(product)
    operations = {
        one.name: f"{one.method} {one.path} ({', '.join(one.by_name)})" for one in space.values() if one.product
    }
    return {"fingerprint": space.fingerprint, "operations": operations}


def locked(product: str) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(place(product).read_text())
    return kept


def write(product: str) -> None:
    file = place(product)
    version = locked(product)["version"] if file.exists() else 0
    if file.exists() and locked(product)["fingerprint"] == described(product)["fingerprint"]:
        return
    file.write_text(json.dumps({"version": version + 1, **described(product)}, indent=2) + "\n")


if __name__ == "__main__":
    write(sys.argv[1])
