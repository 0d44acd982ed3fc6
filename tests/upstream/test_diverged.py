"""Forks whose branches have grown apart: backports, and branches that conflict with main."""

from collections.abc import Callable
from typing import Any

import pytest
from dayshift.wire import Verdict

from fixtures.tasks.family import Family, Oracle
from fixtures.tasks.registry import family
from fixtures.upstream.diverged import backports, is_backport
from fixtures.upstream.selection import of_split
from services.validate.attempt import TrialContext, attempt
from services.validate.in_process_stack import InProcessStack
from tests.upstream.plays import alternative, follow, mistake, oracle

_BACKPORT = "ide/backport"
# Small packages, whose suites take a second.
_SCHEDULE = "schedule-1.2.0-1"
Way = Callable[[Family[Any], Any], Oracle]


def play(stack: InProcessStack, family_id: str, name: str, way: Way) -> Verdict:
    """The task of the train split about this fix or pair."""
    found = family(family_id)
    draws = ((seed, found.draw(seed, "train")) for seed in range(200))
    seed = next(seed for seed, draw in draws if found.identify_draw(draw) == name)
    with attempt(TrialContext(stack, "small", "train"), found, seed) as made:
        return follow(made, way(found, made.trouble))


@pytest.mark.usefixtures("archives")
def test_there_are_enough_backports_in_every_split() -> None:
    assert len(backports()) >= 80
    assert all(len(of_split(backports(), split)) >= 10 for split in ("train", "validation", "test"))


@pytest.mark.usefixtures("archives")
def test_a_backport_conflicts_and_its_fix_has_no_line_of_the_tidying() -> None:
    """Recorded by `python -m fixtures.upstream.diverged`; some are tried again."""
    small = [fix for fix in backports() if fix.package in ("schedule", "schema", "simpleeval")]

    assert len(small) >= 8
    assert all(is_backport(fix) for fix in small)


@pytest.mark.parametrize(
    "way", [oracle, alternative("picked, with conflicts resolved"), alternative("in a worktree, checkout untouched")]
)
def test_a_backport_is_judged_on_the_branch_that_it_is_for(stack: InProcessStack, way: Way) -> None:
    verdict = play(stack, _BACKPORT, _SCHEDULE, way)

    assert (verdict.outcome, verdict.reward) == ("passed", 1.0), verdict


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("main's files copied", "takes over"),
        ("main merged", "in its history"),
        ("proposed for main", "0 of 1 failing tests pass"),
        ("pushed and not proposed", "0 of 1 failing tests pass"),
        ("the branch as it was", "0 of 1 failing tests pass"),
        ("a claim and nothing else", "0 of 1 failing tests pass"),
    ],
)
def test_nothing_but_the_fix_on_its_branch_earns_anything(stack: InProcessStack, name: str, because: str) -> None:
    verdict = play(stack, _BACKPORT, _SCHEDULE, mistake(name))

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
    assert any(because in finding.because for finding in verdict.findings), verdict
