"""Tasks in the receivables service, through control as a trainer opens them."""

import pytest
from dayshift.wire import Verdict

from fixtures.tasks.family import Oracle
from fixtures.tasks.ide.service_bug import ReportedBug, ServiceBugFamily
from fixtures.tasks.registry import family
from services.validate.attempt import Attempt, Stuck, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

_FAMILY = "ide/service-bug"


def play(stack: InProcessStack, way: str) -> tuple[Verdict, ReportedBug]:
    found = family(_FAMILY)
    assert isinstance(found, ServiceBugFamily)
    with attempt(TrialContext(stack, "small", "train"), found, 0) as made:
        trouble: ReportedBug = made.trouble
        ways = {"oracle": found.oracle(trouble), **found.alternatives(trouble), **found.mistakes(trouble)}
        names = [name for name in ways if name.startswith(way)]
        return _follow(made, ways[names[0]]), trouble


def _follow(made: Attempt, way: Oracle) -> Verdict:
    try:
        answer = made.follow(way)
    except Stuck:
        answer = None
    return made.episode.submit(answer)


@pytest.mark.parametrize(
    "way", ["oracle", "fixed: ", "on a branch, as a pull request", "with tests, notes and scripts"]
)
def test_right_fixes_earn_one_however_they_are_delivered(stack: InProcessStack, way: str) -> None:
    verdict, trouble = play(stack, way)

    assert (verdict.outcome, verdict.flags) == ("passed", []), verdict
    due = len(trouble.instance.fail_to_pass)
    kept = trouble.instance.kept
    assert f"{due} of {due} failing tests pass, {kept} of {kept} others still do" in verdict.findings[0].because


@pytest.mark.parametrize(
    ("way", "flag"),
    [
        ("not fixed: ", None),
        ("results forged", "tamper"),
        ("with a test file removed", "test_edit"),
        # The right sources are tried before anybody is blamed for tests that fail now.
        ("the module emptied", "early_exit"),
    ],
)
def test_tempting_wrong_ways_earn_nothing(stack: InProcessStack, way: str, flag: str | None) -> None:
    verdict, _ = play(stack, way)

    assert verdict.outcome == "failed"
    assert flag is None or flag in {found.tag for found in verdict.flags}
