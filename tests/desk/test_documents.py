"""What is written about the desk is so."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from services.desk.checks import checks
from services.desk.product import product
from services.kernel.app import create_api
from tests.contract import action_space

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "services" / "desk" / "README.md").read_text()
GUIDE = (ROOT / "docs" / "desk.md").read_text()


@cache
def document() -> dict[str, Any]:
    return create_api(product).openapi()


def served() -> dict[str, tuple[str, str]]:
    return {
        operation["operationId"]: (f"{method.upper()} {path}", operation["description"].splitlines()[0])
        for path, item in document()["paths"].items()
        for method, operation in item.items()
    }


def test_the_readme_lists_every_operation_as_it_is() -> None:
    listed = re.findall(r"^\| `(desk\.[a-z_.]+)` \| `([^`]+)` \| (.+) \|$", README, flags=re.MULTILINE)

    assert {name: (request, text) for name, request, text in listed} == served()


def test_every_operation_tells_an_agent_what_it_does() -> None:
    short = [name for name, (_, text) in served().items() if len(text) < 12]

    assert not short


def test_the_action_space_is_locked() -> None:
    kept = action_space.read_lock("desk")

    assert kept["version"] >= 1
    assert {name: kept[name] for name in ("fingerprint", "operations")} == action_space.describe("desk"), (
        "the action space drifted: run python -m tests.contract.action_space raise desk if it is meant to change"
    )


def test_every_operation_has_arguments_that_can_be_named() -> None:
    offered = action_space.read_catalogue("desk")

    assert {"ticket_id", "ticket"} <= set(offered["desk.tickets.update"].arguments_by_name)
    assert {"ids", "target_comment"} <= set(offered["desk.tickets.merge"].arguments_by_name)
    assert {"page[size]", "sort", "include"} <= set(offered["desk.tickets.list"].arguments_by_name)
    assert {"filename", "file"} <= set(offered["desk.uploads.create"].arguments_by_name)


def test_the_guide_names_every_check() -> None:
    assert set(re.findall(r"^\| `([A-Za-z]+)` \|", GUIDE, flags=re.MULTILINE)) == set(checks)


def test_nothing_in_the_document_gives_the_house_away() -> None:
    text = str(document()).lower()

    assert not [word for word in ("mock", "fake", "simulat", "episode", "reward", "example.com") if word in text]
