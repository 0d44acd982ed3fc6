"""docs/rewards.md says what is so: its example is reckoned, its family is validated, its flags are all there are."""

import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fixtures.tasks.family import Asked, Budget, Family, Goal, Instance
from fixtures.tasks.registry import families
from services.control.suspicions import Tag
from services.control.verdicts import Seen, reckon
from services.validate.attempt import Place
from services.validate.household import Household
from services.validate.promises import Trial, tried
from tests.company import small_company

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rewards.md").read_text()


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with Household(small_company(tmp_path_factory), ("crm",), "small") as household:
        yield Place(household, "small", "train")


@pytest.fixture
def written() -> Iterator[Family[Any]]:
    """The family on the page, as if it stood in a file."""
    text = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    module = ModuleType("family_on_the_page")
    sys.modules[module.__name__] = module
    exec(compile(text[1], "rewards.md", "exec"), vars(module))
    found: Family[Any] = module.FillTown("crm/fill-town")
    families()[found.id] = found
    yield found
    del families()[found.id], sys.modules[module.__name__]


def test_the_family_on_the_page_keeps_every_promise(place: Place, written: Family[Any]) -> None:
    kept = [one for seed in range(3) for one in tried(Trial(place, written, seed))]

    assert [one for one in kept if not one.held] == []


def test_the_worked_example_is_worked_right() -> None:
    asked = Asked("crm", "RecordHasValues", {"record_id": 1, "values": {"hubspot_owner_id": "7"}})
    instance = Instance("crm/some", "", Budget(60), (Goal(asked, Fraction(1, 3)),) * 3, par=12, allowed=())
    findings = [{"check": "RecordHasValues", "score": score, "because": ""} for score in "110"]
    slip = [_renamed(2, "a", "b"), _renamed(2, "b", "a")]
    seen = Seen({"crm": findings}, {"crm": [*slip, _renamed(3, "a", "b")]}, [], 32, "", [_READ] * 32)

    reckoned = reckon(instance, seen, None)

    assert reckoned.exact == Fraction(2, 3) * Fraction(39, 40) * Fraction(1999, 2019) * Fraction(4, 5) - Fraction(1, 5)
    assert f"= {float(reckoned.exact):.5f}"[:-1] in PAGE


def test_the_page_lists_every_flag() -> None:
    listed = re.search(r"^`collateral`.*$", PAGE, re.MULTILINE)

    assert listed is not None
    assert re.findall(r"`(\w+)`", listed[0]) == [tag.value for tag in Tag]


_READ = {
    "product": "crm",
    "method": "GET",
    "path": "/crm/v3/objects/deals",
    "query": "",
    "request": "",
    "status": 200,
    "answer": "{}",
    "revision": 0,
    "fault": None,
    "replayed": False,
}


def _renamed(row: int, before: str, after: str) -> dict[str, Any]:
    return {
        "table": "objects",
        "id": row,
        "before": {"id": row, "properties": {"lastname": before}},
        "after": {"id": row, "properties": {"lastname": after}},
        "actor": "agent",
        "event": "record.updated",
        "revision": row,
    }
