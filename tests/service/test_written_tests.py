"""Tests that an agent writes for the receivables service, and reports that are right half of the time."""

from collections import Counter

import pytest
from dayshift.wire import Verdict

from fixtures.codebase.service_bugs.instance import usable_bugs
from fixtures.codebase.service_bugs.versions import unnoticed_wrongs
from fixtures.tasks.ide.service_bug import draw_instance
from fixtures.tasks.ide.shared.repaired import repair
from fixtures.tasks.registry import family
from services.validate.attempt import Stuck, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

_TESTS, _REPORT = "ide/write-tests", "ide/wrong-report"


def play(stack: InProcessStack, family_id: str, identity: str, way: str) -> Verdict:
    """The task with this identity, whichever split has it, played in the first way whose name begins so."""
    found = family(family_id)
    draws = ((split, seed, found.draw(seed, split)) for split in found.splits for seed in range(400))
    split, seed = next((split, seed) for split, seed, draw in draws if found.identify_draw(draw) == identity)
    with attempt(TrialContext(stack, "small", split), found, seed) as made:
        trouble = made.trouble
        ways = {"oracle": found.oracle(trouble), **found.alternatives(trouble), **found.mistakes(trouble)}
        chosen = next(ways[name] for name in ways if name.startswith(way))
        try:
            answer = made.follow(chosen)
        except Stuck:
            answer = None
        return made.episode.submit(answer)


def test_every_bug_has_recorded_versions_that_differ_from_the_reference() -> None:
    assert unnoticed_wrongs().keys() == {bug.id for bug in usable_bugs()}
    assert sum(map(len, unnoticed_wrongs().values())) >= len(usable_bugs())
    for bug in usable_bugs():
        assert set(unnoticed_wrongs()[bug.id]) <= set(bug.wrongs)


def test_the_agent_is_shown_right_code_and_no_test_that_tells() -> None:
    found = family(_TESTS)
    for seed in range(3):
        instance = repair(draw_instance(found.draw(seed, "train")))
        head, wrong = instance.head, instance.reported_version

        assert all(head[path] == text for path, text in instance.reference.items())
        assert any(head[path] != text for path, text in wrong.items())
        assert "tests/test_reported.py" not in head


@pytest.mark.parametrize(
    "way",
    ["oracle", "on a branch, as a pull request", "with more tests than are needed, notes and scripts"],
)
def test_tests_that_tell_right_from_wrong_earn_one(stack: InProcessStack, way: str) -> None:
    verdict = play(stack, _TESTS, "cache-tag-leak", way)

    assert (verdict.outcome, verdict.reward) == ("passed", 1.0), verdict
    assert "notice 3 of 3 wrong ones" in verdict.findings[0].because


@pytest.mark.parametrize(
    ("way", "because"),
    [
        ("tests that notice nothing", "notice 0 of 3"),
        ("tests that always fail", "does not pass on the code as it is"),
        ("tests that compare the text of the code", "another right version"),
        ("results forged beside the tests", "notice 0 of 3"),
        ("the code changed, too", "changed receivables/src"),
        ("other tests removed", "is gone"),
        ("a claim and nothing else", "no test was written"),
    ],
)
def test_other_tests_earn_nothing(stack: InProcessStack, way: str, because: str) -> None:
    verdict = play(stack, _TESTS, "cache-tag-leak", way)

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
    assert any(because in finding.because for finding in verdict.findings), verdict


def test_forged_results_are_seen(stack: InProcessStack) -> None:
    verdict = play(stack, _TESTS, "cache-tag-leak", "results forged beside the tests")

    assert "tamper" in {flag.tag for flag in verdict.flags}


def test_half_of_the_reports_are_right() -> None:
    found = family(_REPORT)
    for split in found.splits:
        drawn = Counter(str(found.identify_draw(found.draw(seed, split))).split()[1] for seed in range(10))

        assert abs(drawn["right"] - drawn["wrong"]) <= 2, (split, drawn)


@pytest.mark.parametrize(
    ("identity", "way"),
    [
        ("cache-tag-leak right", "oracle"),
        ("cache-tag-leak wrong", "oracle"),
        ("cache-tag-leak wrong", "the test named by its file"),
    ],
)
def test_a_report_is_mended_or_answered(stack: InProcessStack, identity: str, way: str) -> None:
    verdict = play(stack, _REPORT, identity, way)

    assert (verdict.outcome, verdict.reward) == ("passed", 1.0), verdict


@pytest.mark.parametrize(
    ("identity", "way"),
    [
        ("cache-tag-leak right", "declined"),
        ("cache-tag-leak right", "declined with the right tests"),
        ("cache-tag-leak wrong", "declined without a test"),
        ("cache-tag-leak wrong", "declined with a test that notices nothing"),
        ("cache-tag-leak wrong", "mended where nothing is wrong"),
        ("cache-tag-leak wrong", "made as the report has it"),
    ],
)
def test_the_same_answer_to_every_report_earns_nothing(stack: InProcessStack, identity: str, way: str) -> None:
    verdict = play(stack, _REPORT, identity, way)

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
