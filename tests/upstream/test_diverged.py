"""Forks whose branches have grown apart: backports, and branches that conflict with main."""

from collections.abc import Callable
from typing import Any

import pytest
from dayshift.wire import Verdict

from fixtures.tasks.family import Family, Oracle
from fixtures.tasks.registry import family
from fixtures.upstream.catalogue import load_catalogue
from fixtures.upstream.diverged import backports, is_backport, is_pair, pairs
from fixtures.upstream.outdated_tests import find_outdated_tests
from fixtures.upstream.selection import of_split, split_of
from services.validate.attempt import TrialContext, attempt
from services.validate.in_process_stack import InProcessStack
from tests.upstream.plays import alternative, follow, mistake, oracle

_BACKPORT, _CONFLICT = "ide/backport", "ide/resolve-conflict"
# Small packages, whose suites take a second.
_SCHEDULE, _PAIR = "schedule-1.2.0-1", "schedule-0.6.0-5 schedule-0.6.0-1"
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


@pytest.mark.usefixtures("archives")
def test_expected_output_that_a_fix_makes_wrong_counts_as_outdated() -> None:
    outdated = find_outdated_tests(load_catalogue().fixes["mistune-3.2.0-1"])

    assert {"tests/fixtures/fenced_toc.txt", "tests/fixtures/rst_toc.txt"} <= set(outdated)
    assert "tests/fixtures/table.txt" not in outdated, "the release leaves it as it was"


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
        ("proposed for main", "the package is as it was found"),
        ("pushed and not proposed", "the package is as it was found"),
        ("the branch as it was", "the package is as it was found"),
        ("a claim and nothing else", "the package is as it was found"),
    ],
)
def test_nothing_but_the_fix_on_its_branch_earns_anything(stack: InProcessStack, name: str, because: str) -> None:
    verdict = play(stack, _BACKPORT, _SCHEDULE, mistake(name))

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
    assert any(because in finding.because for finding in verdict.findings), verdict


@pytest.mark.usefixtures("archives")
def test_pairs_conflict_and_stay_in_their_split() -> None:
    small = [pair for pair in pairs() if pair[0].package in ("schedule", "schema", "simpleeval")]

    assert len(pairs()) >= 20
    assert len(small) >= 5
    assert all(is_pair(pair) for pair in small)
    assert all(split_of(one) == split_of(other) for one, other in pairs())


@pytest.mark.parametrize(
    "way", [oracle, alternative("rebased"), alternative("merged in a worktree, with tests and scripts of one's own")]
)
def test_a_branch_with_both_sides_earns_one(stack: InProcessStack, way: Way) -> None:
    verdict = play(stack, _CONFLICT, _PAIR, way)

    assert (verdict.outcome, verdict.reward) == ("passed", 1.0), verdict


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("main's side taken", "16 of 20 others"),
        ("the branch's side taken", "the package is as it was found"),
        ("main merged and ignored", "the package is as it was found"),
        ("the right files without a merge", "in its history"),
        ("pushed to another branch", "the package is as it was found"),
        ("the branch thrown away", "16 of 20 others"),
        ("a claim and nothing else", "the package is as it was found"),
    ],
)
def test_one_side_alone_earns_nothing(stack: InProcessStack, name: str, because: str) -> None:
    verdict = play(stack, _CONFLICT, _PAIR, mistake(name))

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
    assert any(because in finding.because for finding in verdict.findings), verdict
