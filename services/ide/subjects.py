"""Subjects: trees that answer cases, each in a process of a sandbox that holds the grader's programs and the tree."""

import asyncio
import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Any

import orjson

from services.ide import workshop
from services.ide.images import Image
from services.ide.sandbox import Sandbox, SandboxLost
from services.ide.system import HOME

_CASE_SECONDS = 5.0
# How much longer a program may take that a busy machine kept from running.
_MOST_CREDIT_SECONDS = 55.0
_LEAST_CREDIT_SECONDS = 0.05
_LONGEST_LINE = 16 << 20
# Below what a pipe holds: who has been asked this much can be asked without anybody waiting for anybody.
_ASKED_AT_ONCE = 32 << 10
_PROGRAMS = f"{HOME}/programs"
Case = list[dict[str, Any]]
Tree = Mapping[str, bytes]


@dataclass(slots=True)
class Answers:
    """What one run of a tree said to all cases, each as JSON; None where it said nothing."""

    said: list[bytes | None] = field(default_factory=list)
    # Why it stopped speaking, as a flag's tag: early_exit, timeout, resource, tamper.
    stopped: str | None = None

    @property
    def size(self) -> int:
        return sum(len(said) for said in self.said if said is not None)


async def prepared() -> Sandbox:
    """A sandbox that holds the grader's programs and nothing else."""
    sandbox = await workshop.current().take()
    await _programs().lay_out(sandbox, f"{_PROGRAMS}/answering")
    return sandbox


async def lay_out(tree: Tree, sandbox: Sandbox, where: str) -> None:
    await Image.of((path, 0o100644, content, 0) for path, content in tree.items()).lay_out(sandbox, where)


def program(statement: str) -> list[str]:
    return ["python3", "-I", "-c", f"import sys; sys.path.insert(0, {_PROGRAMS!r}); {statement}"]


class Subject:
    """A process that is asked line by line."""

    def __init__(self, sandbox: Sandbox, source: str) -> None:
        """`source` is the folder that is imported from."""
        self._sandbox = sandbox
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._partial = b""
        self._flooded = False
        self._credited = 0.0
        serve = program(f"from answering.subject import serve; serve({source!r})")
        # The working folder is not the tree: nothing in it may stand before the standard library.
        self._number = sandbox.pipe(serve, self._heard, cwd="/")
        sandbox.busy += 1

    async def answers(self, cases: Sequence[Case], *, at_once: bool = False) -> Answers:
        """One case at a time, so that nobody sees a later one; `at_once` for trees of our own, which may."""
        answers = Answers()
        asked = [orjson.dumps(case) + b"\n" for case in cases]
        for some in _portions(asked) if at_once else ([line] for line in asked):
            self._say(b"".join(some), answers)
            for _ in some:
                answers.said.append(None if answers.stopped else await self._answer(answers))
        return answers

    def end(self) -> None:
        """Of one whose sandbox goes on."""
        self._sandbox.busy -= 1
        if self._sandbox.over is None:
            self._sandbox.say(self._number, None)
            self._sandbox.let_go(self._number)

    def _say(self, lines: bytes, answers: Answers) -> None:
        if answers.stopped:
            return
        try:
            self._sandbox.say(self._number, lines)
        except SandboxLost:
            self._lines.put_nowait(None)

    async def _answer(self, answers: Answers) -> bytes | None:
        try:
            line = await self._next_line()
        except TimeoutError:
            # Under load a program that eats memory may be slow at it; what it holds by now tells.
            hungry = workshop.private_bytes(self._sandbox.processes()) > workshop.current().limits.memory // 8
            answers.stopped = "resource" if hungry else "timeout"
            return None
        if line is None:
            answers.stopped = "resource" if self._flooded or self._sandbox.overspent else "early_exit"
            return None
        try:
            # A copy: what orjson gives out holds kilobytes more than it shows, and this one is kept.
            return bytes(memoryview(orjson.dumps(orjson.loads(line))))
        except orjson.JSONDecodeError:
            answers.stopped = "tamper"
            return None

    async def _next_line(self) -> bytes | None:
        """In its time. What it waited for a processor on a busy machine is not its own time, and is given back once."""
        seconds = _CASE_SECONDS
        while True:
            try:
                async with asyncio.timeout(seconds):
                    return await self._lines.get()
            except TimeoutError:
                waited = min(workshop.kept_waiting(self._sandbox.processes()), _MOST_CREDIT_SECONDS)
                seconds, self._credited = waited - self._credited, max(waited, self._credited)
                if seconds < _LEAST_CREDIT_SECONDS:
                    raise

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


def _portions(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    portion: list[bytes] = []
    size = 0
    for line in lines:
        if portion and size + len(line) > _ASKED_AT_ONCE:
            yield portion
            portion, size = [], 0
        portion.append(line)
        size += len(line)
    if portion:
        yield portion


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
