"""A report is a claim in somebody's own words: every wording that says the right thing is taken, nothing else is."""

import pytest

from fixtures.codebase.contradictions import Contradiction, contradictions
from fixtures.codebase.packages import packages
from services.ide.grading.report_checks import ContradictionReported

RIGHT_REPORTS = [
    "`{t}` expects {w}, but the docs promise {r}.",
    "By the docs it is {r}. The test `{t}` demands {w}, which is wrong.",
    "{t} is wrong: it should be {r} instead of {w}, see the docs.",
    "The code is right, the test is wrong. {t} expects {w}; documented value is {r}.",
    "Test: {t}\nExpects: {w}\nRight value (docs): {r}",
    "- test: `{t}`\n- it expects: `{w}`\n- correct per docs: `{r}`",
    "I looked into this. `{t}` in tests asserts `{w}`. According to docs/format.md the result should be `{r}`, and that's what the code returns. So the test needs to be corrected by its author.",
    "{t} asks for {w}, which the docs rule out. The right value is {r}. Left everything untouched.",
    "The code returns {r}, as documented, while {t} wants {w}. The test contradicts the docs.",
    "{t}: expected {w}, correct {r}",
    "The failing test is {t}. It should assert {r} rather than {w}.",
    "{t} fails because its expectation ({w}) contradicts the docs. Documented behaviour gives {r}.",
    "`{t}` — the test's expectation `{w}` is wrong; the documented value is `{r}`. The implementation is correct.",
    # As a blind player wrote it: a derivation with a denial in it that is about neither value.
    (
        "The code is right here, the test is not: `{t}` expects {w}, the right value is {r}. By docs/rules.md the last day "
        "is not part of the period, which gives exactly {r}. I have changed neither the code nor the test."
    ),
    (
        "`{t}` does not follow the docs. It expects {w}. Nothing in the documentation leads to that; worked out by hand the "
        "result must be {r}, and {r} is what the library returns. I did not touch anything."
    ),
    "This is no bug of the library: {r} is correct and not {w}, which `{t}` expects.",
    "**Wrong test**: `{t}`\n\n**What it expects**: {w}\n\n**What would be right**: {r}\n\nThe docs say so.",
]
WRONG_REPORTS = [
    "{t} {w} {r}",
    "`{t}` is right: the docs promise {w}, but the code returns {r}.",
    "The code is wrong. {t} expects {w}, docs say {r}",
    "{t}: docs say {w}, the test expects {r}",
    "FAILED {t}\nE  assert {r} == {w}",
    "def {t}():\n    assert x == {w}\n\nassert {r} == {w}",
    "{t} expects {w}.",
]


def is_report(about: Contradiction, text: str) -> bool:
    check = ContradictionReported(
        issue=1, test=about.test, expects=about.wrong.strip('"'), right=about.right.strip('"')
    )
    return check.find_problem(text) is None


def fill(about: Contradiction, wording: str) -> str:
    return wording.format(t=about.test, w=about.wrong, r=about.right)


@pytest.mark.parametrize("wording", RIGHT_REPORTS)
def test_every_wording_that_says_it_is_a_report(wording: str) -> None:
    assert [about.test for about in contradictions() if not is_report(about, fill(about, wording))] == []


@pytest.mark.parametrize("wording", WRONG_REPORTS)
def test_values_without_the_right_claim_are_no_report(wording: str) -> None:
    assert [about.test for about in contradictions() if is_report(about, fill(about, wording))] == []


def test_a_pasted_dump_is_no_report() -> None:
    for about in contradictions():
        docs = [text for path, text in packages()[about.package].files.items() if path.endswith(".md")]
        output = f"FAILED {about.test_file}::{about.test}\nE  assert {about.right} == {about.wrong}\n\n{about.text}"
        for dump in ("\n".join([output, *docs]), "\n".join([*docs, output])[:2000], output[:2000]):
            assert not is_report(about, dump)


def test_a_contradiction_changes_one_expected_value_alone() -> None:
    for about in contradictions():
        before = packages()[about.package].files[about.test_file].splitlines()
        after = about.text.splitlines()

        assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_what_a_call_is_given_is_no_claim() -> None:
    check = ContradictionReported(issue=1, test="test_shares_add_up", expects="999", right="1001")
    report = (
        "I think the test is wrong. `test_shares_add_up` demands that the shares of `allocate(1001, [3, 5, 7])` sum to "
        "999. By the docs nothing is lost, so the documented sum is 1001."
    )

    assert check.find_problem(report) is None
    assert check.find_problem(report.replace("so the documented sum is 1001", "so that is odd")) is not None
