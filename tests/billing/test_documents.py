"""What is written about billing is so."""

import re
from functools import cache
from pathlib import Path

from services.billing.checks import checks
from services.billing.product import product
from services.kernel.app import create_api
from tests.contract import action_space

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "services" / "billing" / "README.md").read_text()
GUIDE = (ROOT / "docs" / "billing.md").read_text()


@cache
def served() -> dict[str, tuple[str, str]]:
    paths = create_api(product).openapi()["paths"]
    return {
        operation["operationId"]: (f"{method.upper()} {path}", operation["description"].splitlines()[0])
        for path, item in paths.items()
        for method, operation in item.items()
    }


def test_the_readme_lists_every_operation_as_it_is() -> None:
    listed = re.findall(r"^\| `(billing\.[a-z_.]+)` \| `([^`]+)` \| (.+) \|$", README, flags=re.MULTILINE)

    assert {name: (request, text) for name, request, text in listed} == served()


def test_the_action_space_is_locked() -> None:
    kept = action_space.read_lock("billing")

    assert kept["version"] >= 1
    assert {name: kept[name] for name in ("fingerprint", "operations")} == action_space.describe("billing"), (
        "the action space drifted: run python -m tests.contract.action_space raise billing if it is meant to change"
    )


def test_every_operation_has_arguments_that_can_be_named() -> None:
    offered = action_space.read_catalogue("billing")

    assert {"items", "proration_behavior", "cancel_at_period_end"} <= set(
        offered["billing.subscriptions.update"].arguments_by_name
    )
    assert {"charge", "amount", "reason"} <= set(offered["billing.refunds.create"].arguments_by_name)


def test_the_guide_names_every_check() -> None:
    assert set(re.findall(r"^\| `([A-Za-z]+)` \|", GUIDE, flags=re.MULTILINE)) == set(checks)


def test_every_word_is_one_that_the_vendors_clients_may_read() -> None:
    document = str(create_api(product).openapi()).lower()

    assert not [word for word in ("mock", "fake", "simulat", "episode", "reward") if word in document]
