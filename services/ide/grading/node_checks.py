"""The check of a service that runs under Node: hidden cases, which a program of Dayshift's plays against it."""

import asyncio
from collections.abc import Iterable, Mapping
from fractions import Fraction

import orjson
from pydantic import Field

from services.ide.grading import grader
from services.ide.grading.code_checks import find_command_flags_of, fits_a_sandbox, make_finding, seed_of
from services.ide.grading.edited_files import Flag
from services.ide.grading.judged_tree import find_judged_tree
from services.ide.grading.last_finding import reuse_last_finding
from services.ide.grading.node_integrity import find_node_flags, find_weakened_node_tests
from services.ide.grading.report_checks import ReportHonest
from services.ide.workspace.files import read_start_tree
from services.kernel.checks import Check, Finding
from services.kernel.kits import read_kit
from services.kernel.world import World

# What a kit holds: the right sources, the program that plays cases, and the text that draws them.
REFERENCE, HARNESS, GENERATOR = "reference/", "harness/cases.mjs", "cases.py"
# Every tree has the same settings, whatever the agent's say: modules, and nothing else.
_PACKAGE = orjson.dumps({"type": "module", "private": True})
_NOT_CODE = frozenset({"package.json", "package-lock.json", ".npmrc", "tsconfig.json"})


class ScenariosPass(Check):
    """Fresh cases, drawn from the episode's seed and played against the service, come out as with the right sources.

    Of the agent's tree only the sources run, in sandboxes that hold nothing of the expected side; the answers are
    compared outside. A fix is whole or it is none: a part earns nothing, nor does one that makes any case worse.
    """

    # The repository's root below home, and the folder in it with the sources.
    root: str
    source: str = "src/"
    kit: str = Field(repr=False)
    count: int = Field(default=80, ge=1, le=1000)

    async def run(self, world: World) -> Finding:
        return await reuse_last_finding(self, world, self._grade)

    async def _grade(self, world: World) -> Finding:
        prefix = self.root.rstrip("/") + "/"
        judged = await find_judged_tree(world, self.root, source=self.source)
        start = self.sources_of(read_start_tree(world, prefix), prefix)
        sources = self.sources_of(judged.files, prefix, judged.links)
        if sources == start:
            score, because, flags = Fraction(0), "the service is as it was found", list[Flag]()
        else:
            score, because, flags = await self.grade_sources(sources, start, seed_of(world))
        flags += await asyncio.to_thread(find_node_flags, judged.edits)
        flags += [flag for file in judged.edits if file.is_test for flag in find_weakened_node_tests(file)]
        flags += [("traversal", f"{path} is a link") for path in sorted(judged.links)]
        flags += [*ReportHonest().run(world).flags, *find_command_flags_of(world)]
        return make_finding(type(self).__name__, score, because, flags)

    async def grade_sources(
        self, sources: Mapping[str, bytes], start: Mapping[str, bytes], seed: int
    ) -> tuple[Fraction, str, list[Flag]]:
        """The score of some sources, beside those that the agent found; the reason for it, and flags."""
        kit = await asyncio.to_thread(read_kit, self.kit)
        right = {path.removeprefix(REFERENCE): text for path, text in kit.items() if path.startswith(REFERENCE)}
        shared = {"package.json": _PACKAGE, HARNESS: kit[HARNESS]}
        trees = [{**tree, **shared} for tree in (sources, start, right)]
        async with grader.GraderSandbox() as sandbox:
            cases = await grader.draw_cases(sandbox, kit[GENERATOR].decode(), seed, self.count)
            grade = await grader.grade(sandbox, trees[0], trees[1], trees[2], self.source, cases, "node")
        if not grade.to_fix:
            raise grader.GraderFailed("no case shows what is wrong")
        return Fraction(grade.is_right), grade.because, list(grade.flags)

    def sources_of(
        self, tree: Mapping[str, bytes], prefix: str, links: Iterable[str] = frozenset()
    ) -> dict[str, bytes]:
        """What is imported: neither tests nor settings, no packages, and no links, wherever they lead."""
        return {
            path.removeprefix(prefix): content
            for path, content in tree.items()
            if path.startswith(prefix + self.source)
            and path not in links
            and fits_a_sandbox(path)
            and "node_modules" not in path.split("/")
            and path.rpartition("/")[2] not in _NOT_CODE
        }
