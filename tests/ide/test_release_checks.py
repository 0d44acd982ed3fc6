"""A fix of a package is whole or it is none, and the same bytes are run once."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from services.ide.byte_cache import ByteCache
from services.ide.grading import release_checks
from services.ide.grading.release_checks import ReleaseTestsPass
from services.ide.grading.test_runs import Canary, Suite, SuiteResults

CANARY = Canary("tests/test_order.py", "test_order_17")
FIRST, SECOND, KEPT = "tests/test_a.py::test_first", "tests/test_a.py::test_second", "tests/test_a.py::test_kept"
CHECK = ReleaseTestsPass(
    root="pkg", source="pkg/", kit="k", requirements="r", modules=("tests/test_a.py",), fail_to_pass=(FIRST, SECOND)
)


def results(*passed: str, canary: Canary = CANARY) -> SuiteResults:
    outcomes = dict.fromkeys((FIRST, SECOND, KEPT, canary.test), "failed")
    return SuiteResults({**outcomes, **dict.fromkeys(passed, "passed")})


@pytest.mark.parametrize(("passed", "score"), [((FIRST, SECOND, KEPT), 1), ((FIRST, KEPT), 0), ((FIRST, SECOND), 0)])
def test_a_part_of_a_fix_earns_nothing(passed: tuple[str, ...], score: int) -> None:
    run = results(*passed)

    assert CHECK.judge_results(run, [run, run], CANARY, 1)[0] == score


class Runner:
    """Stands in for a sandbox: it counts how often it is asked."""

    def __init__(self, *passed: str) -> None:
        self.passed = passed
        self.runs = 0

    async def __call__(
        self, _suite: Suite, _sources: Mapping[str, bytes], _tests: Sequence[str], canary: Canary, _seconds: float
    ) -> SuiteResults:
        self.runs += 1
        return results(*self.passed, canary=canary)


@pytest.mark.parametrize(
    ("trees", "passed", "runs"),
    [
        pytest.param((b"a", b"a"), (FIRST, KEPT), 3, id="the same bytes"),
        pytest.param((b"a", b"b"), (FIRST, KEPT), 6, id="other bytes"),
        pytest.param(
            (b"a", b"a"), (FIRST, *(f"tests/test_edges.py::test_edges_{n}" for n in range(2))), 6, id="flagged before"
        ),
    ],
)
def test_a_tree_that_was_judged_without_a_flag_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, trees: tuple[bytes, ...], passed: tuple[str, ...], runs: int
) -> None:
    runner = Runner(*passed)
    monkeypatch.setattr(release_checks, "run_tests", runner)
    monkeypatch.setattr(release_checks, "_runs_cache", ByteCache(1 << 20, lambda kept: kept.size))
    for number, text in enumerate(trees):
        canary = Canary("tests/test_edges.py", f"test_edges_{number}")
        asyncio.run(CHECK._run_or_recall({"pkg/a.py": text}, canary))

    assert runner.runs == runs
