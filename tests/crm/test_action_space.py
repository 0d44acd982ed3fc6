"""Routes, OpenAPI document, the client's catalogue and the README say the same."""

import json
import re
from itertools import product as pairs
from pathlib import Path
from typing import Any

import pytest
from dayshift.openapi import read_operations
from fastapi.routing import APIRoute

from services.crm.object_types import STANDARD
from services.crm.product import product
from services.kernel.app import create_api
from services.kernel.dispatch import flatten_routes

README = Path(__file__).resolve().parents[2] / "services" / "crm" / "README.md"
_ROW = re.compile(r"^\| `(crm\.[^`]+)` \| `([A-Z]+) ([^`]+)` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_api(product).openapi()


def documented(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def promised() -> dict[str, tuple[str, str]]:
    """The README's table with its placeholders filled in."""
    found: dict[str, tuple[str, str]] = {}
    for name, method, path in _ROW.findall(README.read_text()):
        found |= dict(_expanded(name, method, path))
    return found


def _expanded(name: str, method: str, path: str) -> list[tuple[str, tuple[str, str]]]:
    chosen = re.search(r"\{([^}]+)\}", name)
    if chosen is None:
        return [(name, (method, path))]
    names = [kind.name for kind in STANDARD] + ["objects"] if chosen[1] == "type" else chosen[1].split(",")
    return [(name.replace(chosen[0], one), (method, _path_of(path, one))) for one in names]


def _path_of(path: str, noun: str) -> str:
    kind = next((kind for kind in STANDARD if kind.name == noun), None)
    return (
        path if kind is None else path.replace("{objectType}", noun).replace("{objectId}", f"{{{kind.id_parameter}}}")
    )


def test_the_routes_are_what_the_document_says(document: dict[str, Any]) -> None:
    routes = {
        route.operation_id: (next(iter(route.methods)), route.path)
        for route in flatten_routes(create_api(product).routes)
        if isinstance(route, APIRoute) and route.include_in_schema
    }

    assert routes == documented(document)


def test_the_readme_is_what_the_document_says(document: dict[str, Any]) -> None:
    assert promised() == documented(document)


def test_the_client_reads_the_same_operations(document: dict[str, Any]) -> None:
    catalogue = {one.name: (one.method, one.path) for one in read_operations("crm", document)}

    assert catalogue == documented(document)


def test_every_operation_tells_an_agent_what_it_does(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            assert len(operation["description"]) > 25, operation["operationId"]
            assert operation["operationId"].startswith("crm.")


def test_nothing_in_the_document_gives_the_environment_away(document: dict[str, Any]) -> None:
    text = json.dumps(document).lower()

    for word in ("mock", "fake", "simulat", "episode", "reward", "example.com", "john doe", "lorem"):
        assert word not in text, word


@pytest.mark.parametrize(
    ("kind", "verb"), list(pairs(("contacts", "quotes", "objects"), ("create", "search", "batch_upsert")))
)
def test_every_type_has_its_own_operations(document: dict[str, Any], kind: str, verb: str) -> None:
    assert f"crm.{kind}.{verb}" in documented(document)
