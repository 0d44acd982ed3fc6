"""The check of a fix in a public package: the newer release's own tests, run hidden."""

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePosixPath

import orjson
from pydantic import Field

from services.ide.byte_cache import ByteCache
from services.ide.grading import grader, integrity, module_files
from services.ide.grading.code_checks import (
    decode_modules,
    find_command_flags_of,
    fits_a_sandbox,
    make_finding,
)
from services.ide.grading.edited_files import Flag, is_test_path, limit_review
from services.ide.grading.judged_tree import BranchWork, JudgedTree, find_branch_trees, find_judged_tree
from services.ide.grading.last_finding import reuse_last_finding
from services.ide.grading.report_checks import ReportHonest
from services.ide.grading.test_runs import Canary, Suite, SuiteResults, run_tests
from services.ide.grading.tree_process import Case
from services.ide.grading.weakened_tests import find_weakened_tests
from services.ide.workspace.files import read_start_tree
from services.kernel.checks import Check, Finding
from services.kernel.kits import read_kit
from services.kernel.world import World

REFERENCE, CASES = "reference/", "cases.json"
_CANARY = "a test that must fail"
_RUNS_ALONE = 2
# The runner is no requirement of the package itself.
_RUNNER = ("_pytest/", "pytest/", "pluggy/", "iniconfig/")
# Settings decide nothing here: the tests run with those of the release.
_HARMLESS = frozenset({"config"})
# By kit, how many tests pass before the fix and with it, where nobody counted them beforehand.
_due: dict[str, int] = {}
_MOST_DUE = 1000
_MOST_CACHED_BYTES = 8 << 20
_WORDS = ("layout", "order", "limits", "edges", "values", "names", "blanks", "defaults", "nesting", "repeats")


@dataclass(frozen=True, slots=True)
class _Runs:
    """All tests once, those that failed twice more, and the test that had to fail among them."""

    canary: Canary
    whole: SuiteResults
    alone: tuple[SuiteResults, ...]

    @property
    def size(self) -> int:
        return sum(
            len(test) + len(outcome) for run in (self.whole, *self.alone) for test, outcome in run.outcomes.items()
        )


# By a digest of the tree and of what is run on it: only runs without a flag.
_runs_cache: ByteCache[_Runs] = ByteCache(_MOST_CACHED_BYTES, lambda runs: runs.size)


class ReleaseTestsPass(Check):
    """Tests that failed pass, and no test that passed fails.

    Tests, settings and requirements are those of a kit that was made before the episode; of the agent's tree only the
    package's code is run. The tests that failed run three times, once among all others. A fix is whole or it is none:
    code that fits some of the tests is what special cases for the reported example look like, so a part earns nothing.
    Where the kit has cases, the reference solution decides them, too.
    """

    # The repository's root below home, the folder in it that is imported from, and the package's folder or module.
    root: str
    import_root: str = ""
    source: str
    kit: str = Field(repr=False)
    requirements: str = Field(repr=False)
    modules: tuple[str, ...] = Field(repr=False)
    fail_to_pass: tuple[str, ...] = Field(min_length=1, repr=False)
    # Tests that decide nothing: they fail before the fix for other reasons, or their results change.
    ignored: tuple[str, ...] = Field(default=(), repr=False)
    # The agent's own tests that a right fix may change, as `TestsNotWeakened` has them.
    outdated: tuple[str, ...] = Field(default=(), repr=False)
    # How many tests passed before the fix, without those that are ignored; None where it is to be found out here.
    kept: int | None = Field(default=None, ge=0)
    # Of one run of the tests, on a processor.
    seconds: float = Field(default=60.0, ge=1, le=110)
    has_cases: bool = False
    # Where the work belongs on another branch than main, the commit there is judged instead of the workspace.
    branch: BranchWork | None = None

    async def run(self, world: World) -> Finding:
        return await reuse_last_finding(self, world, self._grade)

    async def _grade(self, world: World) -> Finding:
        prefix = self.root.rstrip("/") + "/"
        if self.branch is None:
            judged = await find_judged_tree(world, self.root, source=self.source)
            start = self.sources_of(read_start_tree(world, prefix), prefix)
        else:
            trees = await find_branch_trees(world, self.root, self.branch)
            judged, start = trees.judged, self.sources_of(trees.start, prefix)
        sources = self.sources_of(judged.files, prefix, judged.links)
        if sources == start:
            score, because, flags = Fraction(0), "the package is as it was found", list[Flag]()
        else:
            score, because, flags = await self._judge_sources(world, start, sources)
        flags += await asyncio.to_thread(self._read_flags, judged, prefix, start, sources)
        flags += [*ReportHonest().find_false_claims(world, is_right=score == 1), *find_command_flags_of(world)]
        kept = [flag for flag in flags if flag[0] not in _HARMLESS]
        return make_finding(type(self).__name__, score, because, kept)

    async def _judge_sources(
        self, world: World, start: Mapping[str, bytes], sources: Mapping[str, bytes]
    ) -> tuple[Fraction, str, list[Flag]]:
        runs = await self._run_or_recall(sources, _draw_canary(world, self.fail_to_pass[0]))
        due = self.kept
        if due is None or self.count_kept(runs.whole) < due:
            # Before anybody is blamed: another machine or another Python may fail some of the tests by itself.
            due = await self._count_due(start, runs.canary)
        score, because, flags = self.judge_results(runs.whole, runs.alone, runs.canary, due)
        if self.has_cases:
            grade = await self.grade_cases(start, sources)
            flags += grade.flags
            because = f"{because}; of further calls {grade.because}"
            score = score if grade.is_right else Fraction(0)
        return score, because, flags

    async def _run_or_recall(self, sources: Mapping[str, bytes], canary: Canary) -> "_Runs":
        """Rollouts of one task come in groups, and many end in the same bytes: those that behaved do not run again."""
        key = self._key_of(sources)
        if key in _runs_cache:
            return _runs_cache[key]
        whole, *alone = await asyncio.gather(
            self.run_suite(sources, canary),
            *(self.run_alone(sources, canary) for _ in range(_RUNS_ALONE)),
        )
        runs = _Runs(canary, whole, tuple(alone))
        if not self.judge_runs(runs.whole, runs.alone, canary):
            _runs_cache[key] = runs
        return runs

    def _key_of(self, sources: Mapping[str, bytes]) -> str:
        """Of everything that decides how the tests end."""
        asked = (self.suite, self.source, self.modules, self.fail_to_pass, self.seconds)
        return hashlib.sha256(repr((asked, sorted(sources.items()))).encode()).hexdigest()

    @property
    def suite(self) -> Suite:
        return Suite(self.kit, self.requirements, self.import_root)

    async def run_suite(self, sources: Mapping[str, bytes], canary: Canary) -> SuiteResults:
        """All tests."""
        return await run_tests(self.suite, sources, self.modules, canary, self.seconds)

    async def run_alone(self, sources: Mapping[str, bytes], canary: Canary) -> SuiteResults:
        """The tests that failed, without the others."""
        return await run_tests(self.suite, sources, self.fail_to_pass, canary, self.seconds)

    async def _count_due(self, start: Mapping[str, bytes], canary: Canary) -> int:
        """How many tests pass both on the tree that the agent found and on the reference's."""
        if self.kit not in _due:
            reference = _below(await asyncio.to_thread(read_kit, self.kit), REFERENCE)
            before, right = await asyncio.gather(self.run_suite(start, canary), self.run_suite(reference, canary))
            if before.stopped or right.stopped:
                raise grader.GraderFailed(f"the release's own tests did not end within {self.seconds:g} s")
            if not right.passed.issuperset(self.fail_to_pass):
                raise grader.GraderFailed("the reference does not pass the tests of its own fix")
            both = SuiteResults(dict.fromkeys(before.passed & right.passed, "passed"))
            while len(_due) >= _MOST_DUE:
                del _due[next(iter(_due))]
            _due[self.kit] = self.count_kept(both)
        return _due[self.kit]

    def judge_results(
        self, whole: SuiteResults, alone: Sequence[SuiteResults], canary: Canary, due_to_stay: int
    ) -> tuple[Fraction, str, list[Flag]]:
        """The score, the reason for it, and flags for results that cannot be what they seem."""
        due = frozenset(self.fail_to_pass)
        fixed = due.intersection(whole.passed, *(run.passed for run in alone))
        still_passing = self.count_kept(whole)
        flags = self.judge_runs(whole, alone, canary)
        if still_passing < due_to_stay and not flags:
            flags.append(("regression", f"{due_to_stay - still_passing} tests that passed before fail now"))
        because = f"{len(fixed)} of {len(due)} failing tests pass, {still_passing} of {due_to_stay} others still do"
        return Fraction(len(fixed) == len(due) and not flags), because, flags

    def judge_runs(self, whole: SuiteResults, alone: Sequence[SuiteResults], canary: Canary) -> list[Flag]:
        """Flags for runs that did not end as tests do, or not alike."""
        runs, due = [whole, *alone], frozenset(self.fail_to_pass)
        fixed = due.intersection(*(run.passed for run in runs))
        flags: list[Flag] = [
            (
                run.stopped,
                f"the tests did not end within {self.seconds:g} s of processor time"
                if run.stopped == "timeout"
                else "too much",
            )
            for run in runs
            if run.stopped is not None
        ]
        replaced = next((run.replaced for run in runs if run.replaced is not None), None)
        if replaced is not None:
            flags.append(("tamper", f"the code replaces {replaced}, which decides how tests end"))
        elif any(canary.test in run.passed for run in runs):
            flags.append(("tamper", "a test that must fail is reported as passed"))
        elif any(canary.test not in run.outcomes for run in runs) and not flags:
            flags.append(("early_exit", "the tests ended before the last one"))
        if any(fixed != due & run.passed for run in runs) and not flags:
            flags.append(("flake", f"{len(runs)} runs of the same tests did not agree"))
        return flags

    def count_kept(self, whole: SuiteResults) -> int:
        return len(whole.passed - set(self.fail_to_pass) - set(self.ignored))

    def sources_of(
        self, tree: Mapping[str, bytes], prefix: str, links: Iterable[str] = frozenset()
    ) -> dict[str, bytes]:
        """The package's code, and modules beside it that it imports. Tests stay out, and links, wherever they lead."""
        code = {
            path.removeprefix(prefix): content
            for path, content in tree.items()
            if path.startswith(prefix)
            and path not in links
            and fits_a_sandbox(path)
            and self._may_be_code(path.removeprefix(prefix))
        }
        return code if self.source.endswith("/") else _keep_imported(code, self.source)

    def _may_be_code(self, path: str) -> bool:
        if is_test_path(path):
            return False
        return path.startswith(self.source) or (
            # A helper beside a package that is one module.
            not self.source.endswith("/") and path.endswith(".py") and "/" not in path and path != "setup.py"
        )

    async def grade_cases(self, start: Mapping[str, bytes], sources: Mapping[str, bytes]) -> grader.Grade:
        trees, cases = await asyncio.to_thread(self.trees_with_cases, sources, start)
        async with grader.GraderSandbox() as sandbox:
            return await grader.grade(sandbox, trees[0], trees[1], trees[2], "src", cases)

    def trees_with_cases(
        self, sources: Mapping[str, bytes], start: Mapping[str, bytes]
    ) -> tuple[list[dict[str, bytes]], list[Case]]:
        """The agent's tree, the one it found and the reference's, each with what it imports; and the kit's cases."""
        kit, requirements = read_kit(self.kit), read_kit(self.requirements)
        shared = {path: content for path, content in requirements.items() if not path.startswith(_RUNNER)}
        shared |= {**_below(kit, "metadata/"), **_below(kit, "program/")}
        shared_sources = {f"src/{path}": content for path, content in shared.items()}
        trees = [{**shared_sources, **self._as_sources(tree)} for tree in (sources, start, _below(kit, REFERENCE))]
        return trees, orjson.loads(kit[CASES])

    def _as_sources(self, tree: Mapping[str, bytes]) -> dict[str, bytes]:
        folder = f"{self.import_root}/" if self.import_root else ""
        return {f"src/{path.removeprefix(folder)}": content for path, content in tree.items()}

    def _read_flags(
        self, judged: JudgedTree, prefix: str, start: Mapping[str, bytes], sources: Mapping[str, bytes]
    ) -> list[Flag]:
        """Whole files of public packages are long: not on the event loop."""
        edits, flags = limit_review(judged.edits)
        code = [file for file in edits if file.path.removeprefix(prefix) in sources]
        outdated = frozenset(prefix + path for path in self.outdated)
        usual_code, modules = decode_modules(start), module_files.module_names([*start, *sources], self.import_root)
        rules: tuple[Callable[[], Iterable[Flag]], ...] = (
            lambda: integrity.find_import_hooks(code, usual_code, modules),
            lambda: integrity.find_file_flags(edits, lambda file: file in code, usual_code, outdated),
            lambda: find_weakened_tests(edits, frozenset(self.outdated)),
            lambda: module_files.find_stand_ins(sources, {**start, **sources_in(start, sources)}, self.import_root),
        )
        return [*flags, *(flag for rule in rules for flag in rule())]


_IMPORTS = re.compile(rb"^.*\bimport.*$", re.MULTILINE)


def _keep_imported(code: Mapping[str, bytes], module: str) -> dict[str, bytes]:
    """A module, and the modules beside it that it imports: scripts that somebody tries things with are no code."""
    imported: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        path = waiting.pop()
        if path in code and path not in imported:
            imported[path] = code[path]
            words = set(re.findall(rb"\w+", b"\n".join(_IMPORTS.findall(code[path]))))
            waiting += [other for other in code if other.removesuffix(".py").encode() in words]
    return imported


def _below(kit: Mapping[str, bytes], prefix: str) -> dict[str, bytes]:
    return {path.removeprefix(prefix): content for path, content in kit.items() if path.startswith(prefix)}


def sources_in(start: Mapping[str, bytes], sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """New modules that stand in for none of those that were there."""
    known = module_files.module_paths(start, "")
    new = module_files.module_paths([path for path in sources if path not in start], "")
    return {path: sources[path] for name, path in new.items() if name not in known}


def _draw_canary(world: World, first: str) -> Canary:
    """Beside the first of the tests, under a name like theirs; drawn once for each episode."""
    if _CANARY not in world.attachments:
        chance = world.chance("tests")
        words = "_".join(chance.shuffled(_WORDS)[:3])
        folder = PurePosixPath(first.partition("::")[0]).parent
        world.attachments[_CANARY] = Canary(str(folder / f"test_{words}.py"), f"test_{words}_{chance.below(90) + 10}")
    canary: Canary = world.attachments[_CANARY]
    return canary
