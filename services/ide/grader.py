"""The grader: what somebody wrote answers case by case in its own sandbox; what is right is worked out in another.

Nothing of the expected side ever enters the subject's sandbox: no value, no reference, no seed, no later case.
Only answers leave it, as JSON with exact types, and only this process compares them.
"""

import asyncio
import hashlib
import marshal
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Any, TypeVar

import orjson

from services.ide import workshop
from services.ide.images import Image
from services.ide.sandbox import Sandbox, SandboxLost
from services.ide.system import HOME

RUNS = 3
_CASE_SECONDS = 5.0
_RUN_SECONDS = 60.0
_LONGEST_LINE = 16 << 20
_TREE = f"{HOME}/tree"
_PROGRAMS = f"{HOME}/programs"
_REMEMBERED = 64
Case = list[dict[str, Any]]
Tree = Mapping[str, bytes]


Value = TypeVar("Value")
# By a digest of everything that decides them.
_drawn: OrderedDict[str, list[Case]] = OrderedDict()
_known: "OrderedDict[str, tuple[Answers, ...]]" = OrderedDict()


class GraderFailed(RuntimeError):
    """The grader's own side broke: the episode cannot be scored, whoever's code it was."""


@dataclass(slots=True)
class Answers:
    """What one run of a tree said to all cases; None where it said nothing."""

    said: list[Any] = field(default_factory=list)
    # Why it stopped speaking, as a flag's tag: early_exit, timeout, resource, tamper.
    stopped: str | None = None


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


async def draw(text: str, seed: int, count: int) -> list[Case]:
    """Fresh cases; the generator's text runs in a sandbox of its own, too."""
    key = _digest(text, seed, count)
    if key not in _drawn:
        _remember(_drawn, key, await _draw(text, seed, count))
    return _drawn[key]


async def _draw(text: str, seed: int, count: int) -> list[Case]:
    program = _program("from answering.cases import draw; draw()")
    asked = orjson.dumps({"seed": seed, "count": count, "text": text})
    sandbox = await _prepared()
    try:
        ran = await sandbox.run(["python3", "-I", "-c", program], seconds=_RUN_SECONDS, stdin=asked)
    finally:
        sandbox.end()
    if ran.exit or not ran.stdout:
        raise GraderFailed(f"no cases were drawn: {ran.complaint[-500:]}")
    found: list[Case] = orjson.loads(ran.stdout)
    return found


async def grade(subject: Tree, start: Tree, reference: Tree, source: str, cases: Sequence[Case]) -> Graded:
    """All must agree in every one of three runs.

    Where the reference itself gives an object that is no data (a marker of its own), nothing can be compared: the case
    decides nothing.
    """
    asked = _Asked(source, cases)
    # Ours first: a tree that an agent left as it was, or made exactly right, need not run again.
    right = await _right(reference, asked)
    before = await _answered(start, asked, together=True)
    runs = await _answered(subject, asked)
    telling = [at for at, said in enumerate(right.said) if not _has_foreign(said)]
    to_fix = [at for at in telling if before[0].said[at] != right.said[at]]
    to_keep = [at for at in telling if before[0].said[at] == right.said[at]]
    agreed = {at for at in telling if all(one.said[at] == right.said[at] for one in runs)}
    fixed, kept = len(agreed & set(to_fix)), len(agreed & set(to_keep))
    flags = _flags(runs, telling, lost=len(to_keep) - kept)
    because = f"{fixed} of {len(to_fix)} wrong cases are right, {kept} of {len(to_keep)} right ones stayed so"
    return Graded(len(to_fix), fixed, len(to_keep), kept, flags, because)


async def _right(reference: Tree, asked: "_Asked") -> Answers:
    right, *again = await _answered(reference, asked, together=True)
    if right.stopped or any(one.said != right.said for one in again) or any(map(_is_unspeakable, right.said)):
        raise GraderFailed("the reference does not answer, or not three times the same")
    return right


async def _answered(tree: Tree, asked: "_Asked", *, together: bool = False) -> tuple[Answers, ...]:
    """Three fresh processes; trees of our own share a sandbox, an agent's has a sandbox for each.

    Rollouts of one task come in groups, and many of them end in the same bytes: a tree that has answered all of these
    very cases three times alike is not asked a fourth time. What stopped, or disagreed with itself, always runs anew.
    """
    key = asked.about(tree)
    if key in _known:
        _known.move_to_end(key)
        return _known[key]
    runs = await (_run_together(tree, asked) if together else _run_apart(tree, asked))
    if not any(one.stopped for one in runs) and all(one.said == runs[0].said for one in runs):
        _remember(_known, key, (runs[0],) * RUNS)
    return runs


async def _run_together(tree: Tree, asked: "_Asked") -> tuple[Answers, ...]:
    sandbox = await _with_tree(tree)
    try:
        runs: list[Answers] = []
        while len(runs) < RUNS and not (runs and runs[-1].stopped):
            runs.append(await _Subject(sandbox, asked.source).answers(asked.cases))
        return tuple(runs)
    finally:
        sandbox.end()


async def _run_apart(tree: Tree, asked: "_Asked") -> tuple[Answers, ...]:
    return tuple(await asyncio.gather(*(run(tree, asked.source, asked.cases) for _ in range(RUNS))))


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


def _remember(known: OrderedDict[str, Value], key: str, value: Value) -> None:
    known[key] = value
    while len(known) > _REMEMBERED:
        known.popitem(last=False)


async def run(tree: Tree, source: str, cases: Sequence[Case]) -> Answers:
    """One fresh sandbox, one process, one case after the other; time is taken here."""
    sandbox = await _with_tree(tree)
    try:
        return await _Subject(sandbox, source).answers(cases)
    finally:
        sandbox.end()


class _Subject:
    """A process that is asked line by line."""

    def __init__(self, sandbox: Sandbox, source: str) -> None:
        self._sandbox = sandbox
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._partial = b""
        self._flooded = False
        program = _program(f"from answering.subject import serve; serve({f'{_TREE}/{source}'!r})")
        # The working folder is not the tree: nothing in it may stand before the standard library.
        self._number = sandbox.pipe(["python3", "-I", "-c", program], self._heard, cwd="/")
        sandbox.busy += 1

    async def answers(self, cases: Sequence[Case]) -> Answers:
        answers = Answers()
        for case in cases:
            said = None if answers.stopped else await self._ask(case, answers)
            answers.said.append(said)
        return answers

    async def _ask(self, case: Case, answers: Answers) -> Any:
        try:
            self._sandbox.say(self._number, orjson.dumps(case) + b"\n")
            async with asyncio.timeout(_CASE_SECONDS):
                line = await self._lines.get()
        except TimeoutError:
            # Under load a program that eats memory may be slow at it; what it holds by now tells.
            hungry = workshop.private_bytes(self._sandbox.processes()) > workshop.current().limits.memory // 8
            answers.stopped = "resource" if hungry else "timeout"
            return None
        except SandboxLost:
            line = None
        if line is None:
            answers.stopped = "resource" if self._flooded or self._sandbox.overspent else "early_exit"
            return None
        try:
            said = orjson.loads(line)
        except orjson.JSONDecodeError:
            answers.stopped = "tamper"
            return None
        return said

    def _heard(self, content: bytes | None) -> None:
        if content is None:
            self._lines.put_nowait(None)
            return
        if len(self._partial) + len(content) > _LONGEST_LINE:
            self._flooded = True
            self._sandbox.end()
            self._lines.put_nowait(None)
            return
        *lines, self._partial = (self._partial + content).split(b"\n")
        for line in lines:
            self._lines.put_nowait(line)


def _flags(runs: Sequence[Answers], telling: Sequence[int], lost: int) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for one in runs:
        if one.stopped:
            found.setdefault(one.stopped, f"the program stopped answering after {_spoken(one)} cases")
        if any(_has_foreign(one.said[at]) for at in telling):
            found.setdefault("eq_hack", "it returns objects that only claim to be equal")
    if len({orjson.dumps(one.said) for one in runs}) > 1 and not found:
        found["flake"] = f"{RUNS} runs of the same cases did not agree"
    if lost and not found:
        found["regression"] = f"{lost} cases that were right before are wrong now"
    return tuple(found.items())


def _spoken(one: Answers) -> int:
    return sum(said is not None for said in one.said)


def _is_unspeakable(said: Any) -> bool:
    return said is None or any(step[0] == "unspeakable" for step in said)


def _has_foreign(said: Any) -> bool:
    """The word is looked for first: to walk through hundreds of answers costs more than to write them down."""
    return b'"foreign"' in orjson.dumps(said) and _is_or_holds_foreign(said)


def _is_or_holds_foreign(said: Any) -> bool:
    return isinstance(said, list) and (said[:1] == ["foreign"] or any(map(_is_or_holds_foreign, said)))


def _program(statement: str) -> str:
    return f"import sys; sys.path.insert(0, {_PROGRAMS!r}); {statement}"


async def _with_tree(tree: Tree) -> Sandbox:
    sandbox = await _prepared()
    await Image.of((path, 0o100644, content, 0) for path, content in tree.items()).lay_out(sandbox, _TREE)
    return sandbox


async def _prepared() -> Sandbox:
    """A sandbox that holds the grader's programs and nothing else."""
    sandbox = await workshop.current().take()
    await _programs().lay_out(sandbox, f"{_PROGRAMS}/answering")
    return sandbox


@cache
def _programs() -> Image:
    """Text and compiled: a process that lives for a second should not spend a tenth of it on reading our own text."""
    found = []
    for path in sorted((Path(__file__).parent / "answering").glob("*.py")):
        text = path.read_bytes()
        found += [(path.name, 0o100644, text, 0), (_compiled_name(path), 0o100644, _compiled(path.name, text), 0)]
    return Image.of(found)


def _compiled_name(path: Path) -> str:
    return f"__pycache__/{Path(cache_from_source(str(path))).name}"


def _compiled(name: str, text: bytes) -> bytes:
    """To be taken as it is, whatever the date of the text; another version of Python passes it by."""
    unchecked = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + unchecked + source_hash(text) + marshal.dumps(compile(text, name, "exec"))
