"""What must pass: honest work at the desk, in whatever manner, is paid in full or for its share."""

import os
from typing import Any

import pytest

from fixtures.tasks.registry import families, family
from services.validate.attempt import TrialContext, draw_instance
from services.validate.promises import Trial, check_promises
from tests.exploits.controls import told_of

FAMILIES = sorted(name for name, found in families().items() if found.products[0] == "desk")
_THIRD = 3
_FULL = os.environ.get("DAYSHIFT_REDTEAM") == "full"
# Where a report goes and where people are pointed is the order itself; what has to be found out is the rest.
_TOLD_OUTRIGHT = {"desk/bug-report", "desk/outage"}
TRIED = FAMILIES if _FULL else FAMILIES[::_THIRD]


@pytest.mark.parametrize("family_id", TRIED)
def test_every_promise_of_the_family_is_kept(
    context: TrialContext, seeds: range, family_id: str, record_property: Any
) -> None:
    """The oracle, in any order, in other ways, under faults, with extra reads, in part; slips, strays, harm."""
    for seed in seeds:
        kept = check_promises(Trial(_in_split_of(context, family_id), family(family_id), seed))
        for told in told_of(kept, family_id, seed):
            record_property(*told)

        assert [one for one in kept if not one.held] == []


def test_at_least_twelve_families_of_which_two_are_held_out() -> None:
    held_out = [name for name in FAMILIES if family(name).splits == ("test",)]

    assert len(FAMILIES) >= 12
    assert len(held_out) >= 2


@pytest.mark.parametrize("family_id", sorted(set(FAMILIES) - _TOLD_OUTRIGHT))
def test_no_brief_names_what_only_the_work_brings_to_light(context: TrialContext, family_id: str) -> None:
    """What a customer must be told is for the agent to find out."""
    found = family(family_id)
    for split in found.splits:
        instance, _ = draw_instance(TrialContext(context.stack, context.world, split), found, 0)
        words = [word.casefold() for one in instance.customers for saying in one.tells for word in saying.any_of[:1]]

        assert [word for word in words if word in instance.brief.casefold()] == []


def _in_split_of(context: TrialContext, family_id: str) -> TrialContext:
    return TrialContext(context.stack, context.world, family(family_id).splits[0])
