"""Upgrades of libraries of the receivables service, through control as a trainer opens them."""

import pytest
from dayshift.wire import Verdict

from fixtures.codebase.service_bugs.upgrades import service_upgrades, upgrade_results, usable_upgrades
from fixtures.codebase.service_tree import library_files
from fixtures.tasks.registry import family
from services.validate.attempt import Stuck, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

_FAMILY = "ide/upgrade-dependency"


def play(stack: InProcessStack, way: str) -> Verdict:
    found = family(_FAMILY)
    with attempt(TrialContext(stack, "small", "train"), found, 0) as made:
        trouble = made.trouble
        ways = {"oracle": found.oracle(trouble), **found.alternatives(trouble), **found.mistakes(trouble)}
        chosen = next(ways[name] for name in ways if name.startswith(way))
        try:
            answer = made.follow(chosen)
        except Stuck:
            answer = None
        return made.episode.submit(answer)


def test_every_upgrade_was_tried_and_leaves_the_library_alone() -> None:
    assert upgrade_results().keys() == service_upgrades().keys()
    for upgrade in usable_upgrades():
        assert any(path.startswith(f"libs/{upgrade.id}/") for path in library_files())
        assert all(path.startswith("src/") for path in upgrade.planted)
        assert min(len(upgrade.rights), len(upgrade.wrongs)) >= 2


def test_each_upgrade_shows_in_the_suite_and_has_tests_that_nobody_sees() -> None:
    for name, result in upgrade_results().items():
        hidden = {test for test in result["fail_to_pass"] if test.startswith("tests/test_reported.py")}
        assert hidden, name
        assert set(result["fail_to_pass"]) - hidden, name


@pytest.mark.parametrize("way", ["oracle", "adapted: "])
def test_an_adapted_service_earns_one(stack: InProcessStack, way: str) -> None:
    verdict = play(stack, way)

    assert (verdict.outcome, verdict.reward, verdict.flags) == ("passed", 1.0, []), verdict


@pytest.mark.parametrize("way", ["not adapted: ", "the library changed instead"])
def test_other_ways_earn_nothing(stack: InProcessStack, way: str) -> None:
    verdict = play(stack, way)

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
