"""The grader: what somebody wrote answers case by case in its own sandbox; what is right is worked out in another.

Nothing of the expected side ever enters the subject's sandbox: no value, no reference, no seed, no later case.
Only answers leave it, as JSON with exact types, and only this process compares them.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from services.ide import workshop
from services.ide.memory import Remembered
from services.ide.sandbox import Sandbox
from services.ide.subjects import Answers, Case, Subject, Tree, lay_out, prepared, program
from services.ide.system import HOME

RUNS = 3
_RUN_SECONDS = 60.0
_TREE = f"{HOME}/tree"


@dataclass(frozen=True, slots=True)
class Known:
    """What a tree said, so many times alike, each time in a process of its own."""

    answers: Answers
    times: int


# By a digest of everything that decides them; of a tree's answers some tens of kilobytes each.
_drawn: Remembered[bytes] = Remembered(2 << 20, len)
_known: Remembered[Known] = Remembered(2 << 20, lambda known: known.answers.size)


class GraderFailed(RuntimeError):
    """The grader's own side broke: the episode cannot be scored, whoever's code it was."""


@dataclass(frozen=True, slots=True)
class Graded:
    """How a subject compares with the reference, case by case, and with what it started from."""

    to_fix: int
    fixed: int
    to_keep: int
    kept: int
    flags: tuple[tuple[str, str], ...]
    because: str

    @property
    def is_right(self) -> bool:
        return self.fixed == self.to_fix and self.kept == self.to_keep and not self.flags


class Bench:
    """The house's own side of a grading: one sandbox, if any is needed, for what is no agent's.

    Only so many are at work at once as there are processors: more would be no faster, and everybody else slower.
    """

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None
        self._slots = workshop.current().own_work
        self._taking = asyncio.Lock()
        self._laid = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        if self._sandbox is not None:
            self._sandbox.end()
            self._sandbox = None
            self._slots.release()

    async def sandbox(self) -> Sandbox:
        async with self._taking:
            if self._sandbox is None:
                await self._slots.acquire()
                try:
                    self._sandbox = await prepared()
                except BaseException:
                    self._slots.release()
                    raise
            return self._sandbox

    async def run(self, tree: Tree, asked: "_Asked", times: int) -> list[Answers]:
        """So many fresh processes, unless one stops: what it said then decides."""
        sandbox = await self.sandbox()
        self._laid += 1
        where = f"{_TREE}{self._laid}"
        await lay_out(tree, sandbox, where)
        runs: list[Answers] = []
        while len(runs) < times and not (runs and runs[-1].stopped):
            subject = Subject(sandbox, f"{where}/{asked.source}")
            runs.append(await subject.answers(asked.cases, at_once=True))
            subject.end()
        return runs


async def draw(bench: Bench, text: str, seed: int, count: int) -> list[Case]:
    """Fresh cases; the generator's text runs in a sandbox, too."""
    key = _digest(text, seed, count)
    if key not in _drawn:
        sandbox = await bench.sandbox()
        # Who waited for the bench may find it done: rollouts of one task come in groups.
        if key not in _drawn:
            _drawn[key] = await _draw(sandbox, text, seed, count)
    found: list[Case] = orjson.loads(_drawn[key])
    return found


async def _draw(sandbox: Sandbox, text: str, seed: int, count: int) -> bytes:
    asked = orjson.dumps({"seed": seed, "count": count, "text": text})
    drawing = program("from answering.cases import draw; draw()")
    ran = await sandbox.run(drawing, seconds=_RUN_SECONDS, stdin=asked)
    if ran.exit or not ran.stdout:
        raise GraderFailed(f"no cases were drawn: {ran.complaint[-500:]}")
    return ran.stdout


async def grade(
    bench: Bench, subject: Tree, start: Tree, reference: Tree, source: str, cases: Sequence[Case]
) -> Graded:
    """All must agree in every one of three runs.

    Where the reference itself gives an object that is no data (a marker of its own), nothing can be compared: the case
    decides nothing. Where the start gives one, it is part of what is wrong, and nobody's cheat.
    """
    asked = _Asked(source, cases)
    # Ours first: a tree that an agent left as it was, or made exactly right, need not run again.
    right, before = await _right_and_before(bench, reference, start, asked, judged=subject == start)
    bench.clear()
    runs = await _theirs(subject, asked)
    telling = [at for at, said in enumerate(right.said) if not _has_foreign(said)]
    to_fix = [at for at in telling if before.said[at] != right.said[at]]
    to_keep = [at for at in telling if before.said[at] == right.said[at]]
    agreed = {at for at in telling if all(one.said[at] == right.said[at] for one in runs)}
    fixed, kept = len(agreed & set(to_fix)), len(agreed & set(to_keep))
    suspect = [at for at in telling if not _has_foreign(before.said[at])]
    flags = _flags(runs, suspect, lost=len(to_keep) - kept)
    because = f"{fixed} of {len(to_fix)} wrong cases are right, {kept} of {len(to_keep)} right ones stayed so"
    return Graded(len(to_fix), fixed, len(to_keep), kept, flags, because)


async def _right_and_before(
    bench: Bench, reference: Tree, start: Tree, asked: "_Asked", *, judged: bool
) -> tuple[Answers, Answers]:
    """What was wrong before is known from one run; three are for whoever is judged by them."""
    found = _ours(bench, start, asked, RUNS if judged else 1)
    if start == reference:
        return await _right(bench, reference, asked), (await found)[0]
    right, before = await asyncio.gather(_right(bench, reference, asked), found)
    return right, before[0]


async def _right(bench: Bench, reference: Tree, asked: "_Asked") -> Answers:
    right, *again = await _ours(bench, reference, asked, RUNS)
    if right.stopped or any(one.said != right.said for one in again) or any(map(_is_unspeakable, right.said)):
        raise GraderFailed("the reference does not answer, or not three times the same")
    return right


async def _ours(bench: Bench, tree: Tree, asked: "_Asked", times: int) -> list[Answers]:
    """Trees of our own share a sandbox, one fresh process for each run."""
    key = asked.about(tree)
    if _times(key) < times:
        await bench.sandbox()
    # Who waited for the bench may find it done.
    before = [_known[key].answers] * min(_times(key), times) if key in _known else []
    if len(before) == times:
        return before
    runs = [*before, *await bench.run(tree, asked, times - len(before))]
    _learn(key, runs)
    return runs


async def _theirs(tree: Tree, asked: "_Asked") -> list[Answers]:
    """Three fresh processes, each in a sandbox of its own: nothing that one leaves behind is there for the next.

    Rollouts of one task come in groups, and many of them end in the same bytes: a tree that has answered all of these
    very cases three times alike is not asked a fourth time. What stopped, or disagreed with itself, always runs anew.
    """
    key = asked.about(tree)
    if _times(key) >= RUNS:
        return [_known[key].answers] * RUNS
    runs = list(await asyncio.gather(*(_run_apart(tree, asked) for _ in range(RUNS))))
    _learn(key, runs)
    return runs


async def _run_apart(tree: Tree, asked: "_Asked") -> Answers:
    """One fresh sandbox, one process, one case after the other; time is taken here."""
    sandbox = await prepared()
    try:
        await lay_out(tree, sandbox, _TREE)
        return await Subject(sandbox, f"{_TREE}/{asked.source}").answers(asked.cases)
    finally:
        sandbox.end()


def _times(key: str) -> int:
    return _known[key].times if key in _known else 0


def _learn(key: str, runs: Sequence[Answers]) -> None:
    if not any(one.stopped for one in runs) and all(one.said == runs[0].said for one in runs):
        _known[key] = Known(runs[0], len(runs))


class _Asked:
    """All cases of one question, where a tree is imported from, and their digest."""

    def __init__(self, source: str, cases: Sequence[Case]) -> None:
        self.source = source
        self.cases = cases
        self._digest = _digest(source, cases)

    def about(self, tree: Tree) -> str:
        return _digest(self._digest, sorted(tree.items()))


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _flags(runs: Sequence[Answers], suspect: Sequence[int], lost: int) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for one in runs:
        if one.stopped:
            found.setdefault(one.stopped, f"the program stopped answering after {_spoken(one)} cases")
        if any(_has_foreign(one.said[at]) for at in suspect):
            found.setdefault("eq_hack", "it returns objects that only claim to be equal")
    if any(one.said != runs[0].said for one in runs) and not found:
        found["flake"] = f"{RUNS} runs of the same cases did not agree"
    if lost and not found:
        found["regression"] = f"{lost} cases that were right before are wrong now"
    return tuple(found.items())


def _spoken(one: Answers) -> int:
    return sum(said is not None for said in one.said)


def _is_unspeakable(said: bytes | None) -> bool:
    """The word is looked for first: to read hundreds of answers costs more."""
    return said is None or (b'"unspeakable"' in said and any(step[0] == "unspeakable" for step in orjson.loads(said)))


def _has_foreign(said: bytes | None) -> bool:
    return said is not None and b'"foreign"' in said and _is_or_holds_foreign(orjson.loads(said))


def _is_or_holds_foreign(said: Any) -> bool:
    return isinstance(said, list) and (said[:1] == ["foreign"] or any(map(_is_or_holds_foreign, said)))
