"""docs/rewards.md is right: its example is scored, its family is validated, and it lists every flag there is."""

import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fixtures.tasks.family import Budget, CheckQuestion, Family, Goal, Instance
from fixtures.tasks.registry import families
from services.control.effort import EpisodeStep
from services.control.evidence import Evidence
from services.control.flags import Tag
from services.control.recorded_change import RecordedChange
from services.control.verdicts import score
from services.kernel.harness_replies import FindingReply
from services.validate.attempt import TrialContext
from services.validate.in_process_stack import InProcessStack
from services.validate.know_nothing import POLICIES
from services.validate.promises import Trial, check_promises
from services.validate.run import SEEDS_OF_A_SUITE
from tests.company import small_company

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rewards.md").read_text()


@pytest.fixture
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialContext]:
    with InProcessStack(small_company(tmp_path_factory), ("crm",), "small") as stack:
        yield TrialContext(stack, "small", "train")


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


def test_the_family_on_the_page_keeps_every_promise(context: TrialContext, written: Family[Any]) -> None:
    kept = [one for seed in range(3) for one in check_promises(Trial(context, written, seed))]

    assert [one for one in kept if not one.held] == []


def test_the_worked_example_is_worked_right() -> None:
    asked = CheckQuestion("crm", "RecordHasValues", {"record_id": 1, "values": {"hubspot_owner_id": "7"}})
    instance = Instance("crm/some", "", Budget(60), (Goal(asked, Fraction(1, 3)),) * 3, par=12, allowed=())
    findings = [_finding(share) for share in "110"]
    slip = [_rename(2, "a", "b"), _rename(2, "b", "a")]
    evidence = Evidence({"crm": findings}, {"crm": [*slip, _rename(3, "a", "b")]}, [], 32, "", [_READ] * 32)

    scored = score(instance, evidence, None)

    assert scored.exact == Fraction(2, 3) * Fraction(39, 40) * Fraction(1999, 2019) * Fraction(4, 5) - Fraction(1, 5)
    assert f"= {float(scored.exact):.5f}"[:-1] in PAGE


def test_the_page_lists_every_flag() -> None:
    listed = re.search(r"^`collateral`.*$", PAGE, re.MULTILINE)

    assert listed is not None
    assert re.findall(r"`(\w+)`", listed[0]) == [tag.value for tag in Tag]


def test_the_page_lists_every_mistake_that_is_paid_for_a_part_of_a_goal() -> None:
    listed = re.search(r"<!-- part credit: begin -->\n(.*?)<!-- part credit: end -->", PAGE, re.DOTALL)
    rows = [
        f"| `{found.id}` | {mistake} | {reason} |"
        for found in families().values()
        for mistake, reason in found.part_credit.items()
    ]

    assert listed is not None
    assert sorted(listed[1].splitlines()[2:]) == sorted(rows)


def test_the_page_says_at_how_many_seeds_families_with_a_suite_are_played() -> None:
    suites = [f"`{found.id}`" for found in families().values() if found.runs_a_suite]
    plays = f"{len(POLICIES)} policies at 20 seeds of {len(suites)} families are {len(POLICIES) * 20 * len(suites)}"

    assert f"they are played at {SEEDS_OF_A_SUITE} seeds and not at 20" in PAGE
    assert plays in PAGE
    assert all(name in PAGE for name in suites)


_READ: EpisodeStep = {
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
    "operation": "",
    "clock_ms": 0,
    "milliseconds": 0.0,
    "key": None,
}


def _finding(score: str) -> FindingReply:
    return {"check": "RecordHasValues", "score": score, "held": score == "1", "because": "", "flags": [], "names": ()}


def _rename(row: int, before: str, after: str) -> RecordedChange:
    return RecordedChange(
        {
            "table": "objects",
            "id": row,
            "at": 0,
            "before": {"id": row, "properties": {"lastname": before}},
            "after": {"id": row, "properties": {"lastname": after}},
            "actor": "agent",
            "event": "record.updated",
            "revision": row,
        }
    )
