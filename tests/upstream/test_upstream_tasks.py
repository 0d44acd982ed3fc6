"""Tasks in forks of public packages, with the real archives of three small ones; `make upstream` tries every fix."""

import asyncio
import os
from pathlib import Path

import pytest
from dayshift import Episode
from dayshift.errors import ControlRefused

from fixtures.tasks.ide.shared.fixes import make_hidden_test_arguments
from fixtures.tasks.registry import family
from fixtures.upstream import archives as reading
from fixtures.upstream.archives import WrongArchive, read_release
from fixtures.upstream.catalogue import load_catalogue
from fixtures.upstream.fetching import fetch_archives
from fixtures.upstream.inputs import inputs_of
from fixtures.upstream.kits import grading_kit, requirements_kit
from fixtures.upstream.reports import user_report
from fixtures.upstream.selection import split_of, usable_fixes
from fixtures.upstream.trees import is_source, read_fixed_tree, reference_sources
from services.ide.grading.release_checks import ReleaseTestsPass
from services.ide.grading.test_runs import Canary, SuiteResults, run_tests
from services.ide.sandbox.pool import close_pool, open_pool
from services.kernel.config import Settings
from services.kernel.kits import NoKit, read_kit, write_kit
from services.validate.attempt import TrialContext, attempt
from services.validate.in_process_stack import InProcessStack
from tests.upstream.plays import alternative, mistake, oracle, play

_BUG = "ide/upstream-bug"
_SCHEDULE, _SCHEMA = "schedule-1.2.0-1", "schema-0.7.2-1"


@pytest.mark.usefixtures("archives")
def test_families_are_offered_where_the_archives_are() -> None:
    assert family(_BUG).is_available()


@pytest.fixture
def loop_check(archives: Path) -> ReleaseTestsPass:
    assert archives.exists()
    fix = load_catalogue().fixes[_SCHEDULE]
    kits = grading_kit(fix, reference_sources(fix)), requirements_kit(fix.package)
    return ReleaseTestsPass.model_validate(make_hidden_test_arguments(fix, *kits))


def test_the_catalogue_gives_enough_tasks_of_every_package() -> None:
    fixes = usable_fixes()

    assert len(fixes) >= 110
    assert {fix.package for fix in fixes} == set(load_catalogue().packages)
    assert sum(len(fix.functions) > 1 for fix in fixes) >= 40
    assert not any(fix.has_timing_assertion for fix in fixes)
    used = {fix.id for fix in fixes}
    assert not any(used.intersection(fix.overlaps) for fix in fixes)


def test_releases_of_2026_are_for_the_test_alone() -> None:
    packages = load_catalogue().packages

    for fix in usable_fixes():
        is_recent = packages[fix.package].releases[fix.to_version].released.year >= 2026
        assert (split_of(fix) == "test") == is_recent, fix.id


def test_every_fix_has_a_report_and_most_have_inputs() -> None:
    assert all(user_report(fix).title and user_report(fix).body for fix in usable_fixes())
    assert sum(inputs_of(fix) is not None for fix in usable_fixes()) >= 100


def test_the_reference_earns_one_and_the_hidden_tests_tell(stack: InProcessStack) -> None:
    verdict = play(stack, _BUG, _SCHEDULE, oracle)

    assert (verdict.outcome, verdict.reward) == ("passed", 1.0), verdict
    assert "1 of 1 failing tests pass, 28 of 28 others still do" in verdict.findings[0].because
    assert "wrong cases are right" in verdict.findings[0].because


@pytest.mark.parametrize(
    "way", ["in another layout", "on a branch, as a pull request", "with tests, notes and scripts of one's own"]
)
def test_other_right_fixes_earn_one(stack: InProcessStack, way: str) -> None:
    assert play(stack, _BUG, _SCHEMA, alternative(way)).reward == 1.0


@pytest.mark.parametrize(
    ("way", "flag"),
    [
        ("results forged in the package", "tamper"),
        ("results forged beside the tests", "tamper"),
        ("the module emptied", "early_exit"),
        ("with a test file removed", "test_edit"),
    ],
)
def test_cheats_earn_nothing_and_are_seen(stack: InProcessStack, way: str, flag: str) -> None:
    verdict = play(stack, _BUG, _SCHEDULE, mistake(way))

    assert verdict.outcome == "failed"
    assert verdict.reward is not None
    assert verdict.reward <= 0
    assert flag in {found.tag for found in verdict.flags}


def test_code_that_never_ends_is_judged_and_named(loop_check: ReleaseTestsPass) -> None:
    hanging = {"schedule/__init__.py": b"while True:\n    pass\n"}
    canary = Canary("test_order_limits.py", "test_order_limits_12")

    async def judge() -> SuiteResults:
        await open_pool(Settings.from_environment())
        try:
            return await run_tests(loop_check.suite, hanging, loop_check.fail_to_pass, canary, 2.0)
        finally:
            await close_pool()

    results = asyncio.run(judge())
    score, because, flags = loop_check.judge_results(results, [results], canary, 28)

    assert score == 0
    assert results.stopped == "timeout"
    assert "0 of 1 failing tests pass" in because
    assert {tag for tag, _ in flags} == {"timeout"}


def test_the_agent_never_finds_the_newer_release(stack: InProcessStack) -> None:
    found, fix = family(_BUG), load_catalogue().fixes[_SCHEDULE]
    right = next(text for path, text in read_fixed_tree(fix).items() if is_source(fix, path))
    words = "cd schedule && git log --oneline | cat && git grep -c . $(git rev-list --all) -- schedule/__init__.py"
    with attempt(TrialContext(stack, "small", "train"), found, 22) as made:
        assert made.trouble.fix.package == "schedule"
        step = made.episode.step("ide.runtime.execute", command=words, shell=True, cwd="/home/dev")
        tree = made.episode.step(
            "ide.runtime.execute", command="cat schedule/schedule/__init__.py", shell=True, cwd="/home/dev"
        )

    assert "Take schedule 1.2" in step.text
    assert right.decode() not in tree.json()["stdout"]


def test_an_archive_with_another_hash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archives: Path
) -> None:
    release = load_catalogue().packages["schedule"].releases["1.2.1"]
    (tmp_path / "sdists").mkdir()
    content = (archives / "sdists" / release.archive.file).read_bytes()
    (tmp_path / "sdists" / release.archive.file).write_bytes(content[:-1])
    monkeypatch.setattr(reading, "upstream_folder", lambda: tmp_path)
    read_release.cache_clear()

    with pytest.raises(WrongArchive, match="another hash"):
        read_release("schedule", "1.2.1")


def test_without_a_registry_the_failure_is_reported_and_nothing_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    fetched = fetch_archives(tmp_path)

    assert fetched.failed
    assert list((tmp_path / "sdists").iterdir()) == []


def test_without_archives_a_family_refuses_and_says_why(stack: InProcessStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "upstream_folder", lambda: None)
    read_release.cache_clear()
    request = TrialContext(stack, "small", "train").request(family(_BUG), 48)
    assert not family(_BUG).is_available()

    with pytest.raises(ControlRefused, match="DAYSHIFT_UPSTREAM is 0"), Episode.open(request, connection=stack):
        pass


def test_a_kit_that_was_changed_is_refused(tmp_path: Path) -> None:
    digest = write_kit({"a/b.txt": b"one", "c": b""}, tmp_path)
    assert read_kit(digest, tmp_path) == {"a/b.txt": b"one", "c": b""}
    path = tmp_path / digest[:2] / digest
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(NoKit, match="cannot be read"):
        read_kit(digest, tmp_path)
