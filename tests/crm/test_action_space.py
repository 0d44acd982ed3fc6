"""Routes, OpenAPI document, the client's catalogue and the README say the same; and the lock holds."""

import json
import re
from itertools import product as pairs
from pathlib import Path
from typing import Any

import pytest
from dayshift.openapi import read_operations
from fastapi.routing import APIRoute

from services.crm import action_space
from services.crm.kinds import STANDARD
from services.crm.product import product
from services.kernel.app import create_api
from services.kernel.dispatch import _flat

README = Path(action_space.__file__).with_name("README.md")
_ROW = re.compile(r"^\| `(crm\.[^`]+)` \| `([A-Z]+) ([^`]+)` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_api(product).openapi()


def documented(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        told["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, told in methods.items()
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
    return path if kind is None else path.replace("{objectType}", noun).replace("{objectId}", f"{{{kind.path_id}}}")


def test_the_routes_are_what_the_document_says(document: dict[str, Any]) -> None:
    routes = {
        route.operation_id: (next(iter(route.methods)), route.path)
        for route in _flat(create_api(product).routes)
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
        for told in methods.values():
            assert len(told["description"]) > 25, told["operationId"]
            assert told["operationId"].startswith("crm.")


def test_nothing_in_the_document_gives_the_house_away(document: dict[str, Any]) -> None:
    text = json.dumps(document).lower()

    for word in ("mock", "fake", "simulat", "episode", "reward", "example.com", "john doe", "lorem"):
        assert word not in text, word


def test_the_action_space_is_locked(document: dict[str, Any]) -> None:
    kept, present = action_space.locked(), action_space.operations(document)

    changed = sorted(
        name for name in {*kept["operations"], *present} if kept["operations"].get(name) != present.get(name)
    )
    assert not changed, f"raise VERSION in action_space.py, then run python -m services.crm.action_space: {changed}"
    assert kept["version"] == action_space.VERSION


def test_a_change_under_the_same_version_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "action_space.json"
    lock.write_text(json.dumps({"version": action_space.VERSION, "digests": {str(action_space.VERSION): "another"}}))
    monkeypatch.setattr(action_space, "LOCK", lock)

    with pytest.raises(action_space.VersionNotRaised):
        action_space.lock()
    monkeypatch.setattr(action_space, "VERSION", action_space.VERSION + 1)
    action_space.lock()
    assert set(json.loads(lock.read_text())["digests"]) == {"1", "2"}


@pytest.mark.parametrize(
    ("kind", "verb"), list(pairs(("contacts", "quotes", "objects"), ("create", "search", "batch_upsert")))
)
def test_every_type_has_its_own_operations(document: dict[str, Any], kind: str, verb: str) -> None:
    assert f"crm.{kind}.{verb}" in documented(document)
