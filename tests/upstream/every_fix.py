"""`make upstream`: every usable fix, without episodes. As found its tests fail; right ways pass; wrong ones do not."""

import ast
import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fixtures.tasks.ide.shared.fixes import make_hidden_test_arguments
from fixtures.upstream.catalogue import Fix
from fixtures.upstream.diverged import pairs, tidy
from fixtures.upstream.inputs import inputs_of
from fixtures.upstream.kits import grading_kit, requirements_kit
from fixtures.upstream.selection import usable_fixes
from fixtures.upstream.trees import is_source, list_changed_files, reference_sources, start_tree
from services.ide.grading import grader
from services.ide.grading.release_checks import ReleaseTestsPass
from services.ide.grading.test_runs import Canary, run_tests
from services.ide.sandbox.pool import close_pool, open_pool
from services.kernel.config import Settings

_CANARY_NAME = "test_layout_order_limits"
Sources = Mapping[str, bytes]


@pytest.fixture(scope="module")
def loop(archives: Path) -> Iterator[asyncio.Runner]:
    assert archives.exists()
    with asyncio.Runner() as runner:
        runner.run(open_pool(Settings.from_environment()))
        yield runner
        runner.run(close_pool())


def make_check(fix: Fix) -> ReleaseTestsPass:
    return ReleaseTestsPass.model_validate(
        make_hidden_test_arguments(fix, grading_kit(fix, reference_sources(fix)), requirements_kit(fix.package))
    )


def judge(loop: asyncio.Runner, fix: Fix, sources: Sources) -> tuple[float, str]:
    """The score and the reason, by one run of all tests and two of those that failed."""
    check = make_check(fix)
    folder = Path(fix.fail_to_pass[0].partition("::")[0]).parent
    canary = Canary(str(folder / f"{_CANARY_NAME}.py"), f"{_CANARY_NAME}_17")

    async def run() -> tuple[float, str]:
        whole = await check.run_suite(sources, canary)
        alone = [await check.run_alone(sources, canary) for _ in range(2)]
        score, because, flags = check.judge_results(whole, alone, canary, fix.pass_to_pass_count)
        if check.has_cases:
            grade = await check.grade_cases(found_sources(fix), sources)
            because = f"{because}; {grade.because}"
            score = score if grade.is_right else type(score)(0)
        return float(score), f"{because} {flags}"

    return loop.run(run())


def found_sources(fix: Fix) -> dict[str, bytes]:
    return {path: content for path, content in start_tree(fix).items() if is_source(fix, path)}


def in_another_layout(fix: Fix) -> dict[str, bytes]:
    changed = {path: ast.unparse(ast.parse(text)).encode() + b"\n" for path, text in list_changed_files(fix).items()}
    return {**reference_sources(fix), **changed}


@pytest.mark.parametrize("fix", usable_fixes(), ids=lambda fix: fix.id)
def test_a_fix(loop: asyncio.Runner, fix: Fix) -> None:
    found = found_sources(fix)

    score, because = judge(loop, fix, found)
    assert score == 0, because
    assert f"0 of {len(fix.fail_to_pass)} failing tests pass" in because
    assert f"{fix.pass_to_pass_count} of {fix.pass_to_pass_count} others" in because
    score, because = judge(loop, fix, reference_sources(fix))
    assert score == 1, because
    score, because = judge(loop, fix, in_another_layout(fix))
    assert score == 1, because
    deleted = {path: content for path, content in found.items() if path not in fix.files}
    assert judge(loop, fix, deleted)[0] == 0


@pytest.mark.parametrize("fix", [fix for fix in usable_fixes() if inputs_of(fix)], ids=lambda fix: fix.id)
def test_its_inputs_tell_the_fix_from_the_bug(loop: asyncio.Runner, fix: Fix) -> None:
    grade = loop.run(make_check(fix).grade_cases(found_sources(fix), found_sources(fix)))

    assert isinstance(grade, grader.Grade)
    assert grade.to_fix > 0
    assert grade.fixed == 0


@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: f"{pair[0].id} {pair[1].id}")
def test_a_pair(loop: asyncio.Runner, pair: tuple[Fix, Fix]) -> None:
    """Together, tidied up, the fixes pass the tests of both; each side alone fails all or some of the other's."""
    on_main, on_branch = pair
    tidied, found = tidy(pair), found_sources(on_main)
    check = make_check(on_main)
    tests = [*on_main.fail_to_pass, *on_branch.fail_to_pass]
    canary = Canary(str(Path(tests[0].partition("::")[0]).parent / f"{_CANARY_NAME}.py"), f"{_CANARY_NAME}_17")

    def run(tree: Sources) -> frozenset[str]:
        return loop.run(run_tests(check.suite, {**found, **tree}, tests, canary, check.seconds)).passed

    assert run(tidied.tidy_together) == set(tests)
    assert not run(tidied.alone[1]).intersection(on_main.fail_to_pass)
    assert run(tidied.alone[1]).issuperset(on_branch.fail_to_pass)
    assert not run(tidied.tidy_alone[0]).issuperset(on_branch.fail_to_pass)
