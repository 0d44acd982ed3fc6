"""The grader: the agent's tree answers cases in its own sandbox; the right answers are worked out in another.

Nothing of the expected side ever enters the sandbox of the agent's tree: no value, no reference, no seed, no later
case. Only answers leave it, as JSON with exact types, and only this process compares them.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from services.ide.byte_cache import ByteCache
from services.ide.grading.tree_process import (
    Answers,
    Case,
    Runtime,
    Tree,
    TreeProcess,
    lay_out,
    program_command,
    take_grader_sandbox,
)
from services.ide.sandbox.pool import current_pool
from services.ide.sandbox.sandbox import GuestRefused, Sandbox
from services.ide.sandbox.system_files import HOME

RUNS = 3
_DRAW_SECONDS = 60.0
_TREE = f"{HOME}/tree"


@dataclass(frozen=True, slots=True)
class RepeatedAnswers:
    """A tree's answers, the same in so many runs, each in a process of its own."""

    answers: Answers
    runs: int


# By a digest of everything that decides them; the answers of one tree take some tens of kilobytes.
_case_cache: ByteCache[bytes] = ByteCache(2 << 20, len)
_answer_cache: ByteCache[RepeatedAnswers] = ByteCache(2 << 20, lambda repeated: repeated.answers.size)


class GraderFailed(RuntimeError):
    """The grader's own side failed: the episode cannot be scored, whoever's code it was."""


@dataclass(frozen=True, slots=True)
class Grade:
    """How a tree compares with the reference, case by case, and with the tree that the agent started from."""

    to_fix: int
    fixed: int
    to_keep: int
    kept: int
    flags: tuple[tuple[str, str], ...]
    because: str

    @property
    def is_right(self) -> bool:
        return self.fixed == self.to_fix and self.kept == self.to_keep and not self.flags


class GraderSandbox:
    """The grader's own side of a grading: one sandbox, started if it is needed, for trees that are no agent's.

    Only as many are at work at once as there are processors: more would be no faster, and everybody else slower.
    """

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None
        self._slots = current_pool().grader_slots
        self._lock = asyncio.Lock()
        self._trees = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        if self._sandbox is not None:
            self._sandbox.end()
            self._sandbox = None
            self._slots.release()

    async def sandbox(self) -> Sandbox:
        async with self._lock:
            if self._sandbox is None:
                await self._slots.acquire()
                try:
                    self._sandbox = await take_grader_sandbox()
                except BaseException:
                    self._slots.release()
                    raise
            return self._sandbox

    async def run(self, tree: Tree, questions: "_Questions", runs: int) -> list[Answers]:
        """So many fresh processes, unless one stops: its answers then decide."""
        sandbox = await self.sandbox()
        self._trees += 1
        root = f"{_TREE}{self._trees}"
        await lay_out(tree, sandbox, root)
        answers: list[Answers] = []
        while len(answers) < runs and not (answers and answers[-1].stopped):
            process = TreeProcess(sandbox, root, questions.source, questions.runtime)
            answers.append(await process.answer(questions.cases, in_batches=True))
            process.end()
        return answers


async def draw_cases(grader: GraderSandbox, text: str, seed: int, count: int) -> list[Case]:
    """Fresh cases; the generator's text runs in a sandbox, too."""
    key = _digest(text, seed, count)
    if key not in _case_cache:
        sandbox = await grader.sandbox()
        # Somebody may have drawn them meanwhile: rollouts of one task come in groups.
        if key not in _case_cache:
            _case_cache[key] = await _draw_cases(sandbox, text, seed, count)
    cases: list[Case] = orjson.loads(_case_cache[key])
    return cases


async def _draw_cases(sandbox: Sandbox, text: str, seed: int, count: int) -> bytes:
    request = orjson.dumps({"seed": seed, "count": count, "text": text})
    command = program_command("from programs.draw_cases import main; main()")
    result = await sandbox.run(command, seconds=_DRAW_SECONDS, stdin=request)
    if result.exit_code or not result.stdout:
        raise GraderFailed(f"no cases were drawn: {result.error_text[-500:]}")
    return result.stdout


async def grade(
    grader: GraderSandbox,
    tree: Tree,
    start: Tree,
    reference: Tree,
    source: str,
    cases: Sequence[Case],
    runtime: Runtime = "python",
) -> Grade:
    """A case counts where all of three runs agree with the reference.

    Where the reference itself returns an object that is no data (a marker of its own), nothing can be compared: the
    case decides nothing. Where the start returns one, it is part of what is wrong, and nobody's cheat.
    """
    questions = _Questions(source, cases, runtime)
    # The grader's own side first: a tree that an agent left as it was, or made exactly right, need not run again.
    right, before = await _answer_right_and_before(grader, reference, start, questions, is_judged=tree == start)
    grader.release()
    runs = await _answer_apart(tree, questions)
    compared = [index for index, text in enumerate(right.texts) if not _holds_foreign(text)]
    to_fix = [index for index in compared if before.texts[index] != right.texts[index]]
    to_keep = [index for index in compared if before.texts[index] == right.texts[index]]
    agreed = {index for index in compared if all(run.texts[index] == right.texts[index] for run in runs)}
    fixed, still_right = len(agreed & set(to_fix)), len(agreed & set(to_keep))
    suspect = [index for index in compared if not _holds_foreign(before.texts[index])]
    flags = _find_flags(runs, suspect, lost=len(to_keep) - still_right)
    because = f"{fixed} of {len(to_fix)} wrong cases are right, {still_right} of {len(to_keep)} right ones stayed so"
    return Grade(len(to_fix), fixed, len(to_keep), still_right, flags, because)


async def _answer_right_and_before(
    grader: GraderSandbox, reference: Tree, start: Tree, questions: "_Questions", *, is_judged: bool
) -> tuple[Answers, Answers]:
    """One run shows what was wrong before; three are for a tree that is judged by them."""
    before = _answer_shared(grader, start, questions, RUNS if is_judged else 1)
    if start == reference:
        return await _answer_right(grader, reference, questions), (await before)[0]
    right, before_runs = await asyncio.gather(_answer_right(grader, reference, questions), before)
    return right, before_runs[0]


async def _answer_right(grader: GraderSandbox, reference: Tree, questions: "_Questions") -> Answers:
    right, *again = await _answer_shared(grader, reference, questions, RUNS)
    if right.stopped or any(run.texts != right.texts for run in again) or any(map(_is_unspeakable, right.texts)):
        raise GraderFailed("the reference does not answer, or not three times the same")
    return right


async def _answer_shared(grader: GraderSandbox, tree: Tree, questions: "_Questions", runs: int) -> list[Answers]:
    """Trees of Dayshift's own share a sandbox, with one fresh process for each run."""
    key = questions.key_of(tree)
    if _count_cached_runs(key) < runs:
        await grader.sandbox()
    # Somebody may have run it while this waited for the sandbox.
    cached = [_answer_cache[key].answers] * min(_count_cached_runs(key), runs) if key in _answer_cache else []
    if len(cached) == runs:
        return cached
    answers = [*cached, *await grader.run(tree, questions, runs - len(cached))]
    _cache_if_same(key, answers)
    return answers


async def _answer_apart(tree: Tree, questions: "_Questions") -> list[Answers]:
    """Three fresh processes, each in a sandbox of its own: nothing that one leaves behind reaches the next.

    Rollouts of one task come in groups, and many of them end in the same bytes: a tree that has answered all of these
    very cases three times alike does not run a fourth time. A tree that stopped, or disagreed with itself, always runs
    anew.
    """
    key = questions.key_of(tree)
    if _count_cached_runs(key) >= RUNS:
        return [_answer_cache[key].answers] * RUNS
    answers = list(await asyncio.gather(*(_answer_once(tree, questions) for _ in range(RUNS))))
    _cache_if_same(key, answers)
    return answers


async def _answer_once(tree: Tree, questions: "_Questions") -> Answers:
    """One fresh sandbox, one process, one case after the other; time is taken here."""
    sandbox = await take_grader_sandbox()
    try:
        try:
            await lay_out(tree, sandbox, _TREE)
        except GuestRefused:
            # A tree that a sandbox like the agent's own cannot hold is the agent's doing.
            return Answers([None] * len(questions.cases), "resource")
        process = TreeProcess(sandbox, _TREE, questions.source, questions.runtime)
        return await process.answer(questions.cases)
    finally:
        sandbox.end()


def _count_cached_runs(key: str) -> int:
    return _answer_cache[key].runs if key in _answer_cache else 0


def _cache_if_same(key: str, runs: Sequence[Answers]) -> None:
    if not any(run.stopped for run in runs) and all(run.texts == runs[0].texts for run in runs):
        _answer_cache[key] = RepeatedAnswers(runs[0], len(runs))


class _Questions:
    """All cases of one check, the folder of a tree that is imported from, and what runs it."""

    def __init__(self, source: str, cases: Sequence[Case], runtime: Runtime) -> None:
        self.source = source
        self.cases = cases
        self.runtime: Runtime = runtime
        self._digest = _digest(source, cases, runtime)

    def key_of(self, tree: Tree) -> str:
        return _digest(self._digest, sorted(tree.items()))


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _find_flags(runs: Sequence[Answers], suspect: Sequence[int], lost: int) -> tuple[tuple[str, str], ...]:
    flags: dict[str, str] = {}
    for run in runs:
        if run.stopped:
            flags.setdefault(run.stopped, f"the program stopped answering after {run.count} cases")
        if any(map(_is_displaced, run.texts)):
            flags.setdefault("tamper", "something else stands in for a module")
        if any(_holds_foreign(run.texts[index]) for index in suspect):
            flags.setdefault("eq_hack", "it returns objects that only claim to be equal")
    if any(run.texts != runs[0].texts for run in runs) and not flags:
        flags["flake"] = f"{RUNS} runs of the same cases did not agree"
    if lost and not flags:
        flags["regression"] = f"{lost} cases that were right before are wrong now"
    return tuple(flags.items())


def _is_unspeakable(text: bytes | None) -> bool:
    """The word is searched for first: parsing hundreds of answers costs more."""
    return text is None or (b'"unspeakable"' in text and any(step[0] == "unspeakable" for step in orjson.loads(text)))


def _is_displaced(text: bytes | None) -> bool:
    """Whatever runs beside the agent's code may write any JSON."""
    if text is None or b'"displaced"' not in text:
        return False
    steps = orjson.loads(text)
    return isinstance(steps, list) and any(isinstance(step, list) and step[:1] == ["displaced"] for step in steps)


def _holds_foreign(text: bytes | None) -> bool:
    return text is not None and b'"foreign"' in text and _is_or_holds_foreign(orjson.loads(text))


def _is_or_holds_foreign(value: Any) -> bool:
    return isinstance(value, list) and (value[:1] == ["foreign"] or any(map(_is_or_holds_foreign, value)))
