"""Processes that import a tree and answer cases, each in a sandbox that holds the grader's programs and the tree."""

import asyncio
import marshal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Any, Literal

import orjson

from services.ide.sandbox import pool
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.line_stream import LineStream
from services.ide.sandbox.sandbox import Sandbox, SandboxLost
from services.ide.sandbox.system_files import HOME

_CASE_SECONDS = 5.0
# How much longer a program may take that a busy machine kept from running.
_MOST_CREDIT_SECONDS = 55.0
_LEAST_CREDIT_SECONDS = 0.05
_LONGEST_LINE = 16 << 20
# Below what a pipe holds: this much can be written while nobody reads.
_LARGEST_BATCH = 32 << 10
_PROGRAMS = Path(__file__).parent / "programs"
PROGRAMS_INSIDE = f"{HOME}/lib"
# A list of steps, as the programs read them.
Case = list[dict[str, Any]]
# Contents by path.
Tree = Mapping[str, bytes]
StopReason = Literal["early_exit", "timeout", "resource", "tamper"]
# What runs a tree: Python imports a folder of it, Node plays the cases of its `harness/cases.mjs`.
Runtime = Literal["python", "node"]
# The answers leave by a descriptor of their own, away from anything that prints.
_NODE = 'exec 3>&1 1>/dev/null 2>&1; exec /usr/local/bin/node --v8-pool-size=1 "$@"'


@dataclass(slots=True)
class Answers:
    """One run's answers to all cases, each as JSON; None where there was none."""

    texts: list[bytes | None] = field(default_factory=list)
    # Why it stopped answering, as a flag's tag.
    stopped: StopReason | None = None

    @property
    def size(self) -> int:
        return sum(len(text) for text in self.texts if text is not None)

    @property
    def count(self) -> int:
        return sum(text is not None for text in self.texts)


async def take_grader_sandbox() -> Sandbox:
    """A sandbox that holds the grader's programs and nothing else."""
    sandbox = await pool.current_pool().take()
    await _programs_image().lay_out(sandbox, f"{PROGRAMS_INSIDE}/programs")
    return sandbox


async def lay_out(tree: Tree, sandbox: Sandbox, root: str) -> None:
    await Image.of(ImageEntry(path, 0o100644, content) for path, content in tree.items()).lay_out(sandbox, root)


def program_command(statements: str) -> list[str]:
    """The command that runs statements which import the grader's programs."""
    return ["python3", "-I", "-c", f"import sys; sys.path.insert(0, {PROGRAMS_INSIDE!r}); {statements}"]


def _python_command(source: str) -> list[str]:
    return program_command(f"from programs.answer_cases import serve; serve({source!r})")


def _node_command(tree: str) -> list[str]:
    return ["/usr/bin/bash", "-c", _NODE, "node", f"{PROGRAMS_INSIDE}/programs/answer_cases.mjs", tree]


class TreeProcess:
    """A process that imports a tree and answers cases, line by line."""

    def __init__(self, sandbox: Sandbox, tree: str, source: str, runtime: Runtime = "python") -> None:
        """`tree` is where the tree lies, and `source` the folder in it that is imported from."""
        self._sandbox = sandbox
        self._credited = 0.0
        command = _node_command(tree) if runtime == "node" else _python_command(f"{tree}/{source}")
        # The working folder is not the tree: nothing in it may shadow the standard library.
        self._stream = LineStream(sandbox, command, "/", _LONGEST_LINE)
        sandbox.busy += 1

    async def answer(self, cases: Sequence[Case], *, in_batches: bool = False) -> Answers:
        """One case at a time, so that no code sees a later case; `in_batches` for trees of Dayshift's own."""
        answers = Answers()
        lines = [orjson.dumps(case) + b"\n" for case in cases]
        for batch in _batches(lines) if in_batches else ([line] for line in lines):
            self._write(b"".join(batch), answers)
            for _ in batch:
                answers.texts.append(None if answers.stopped else await self._read_answer(answers))
        return answers

    def end(self) -> None:
        """For a process whose sandbox goes on."""
        self._sandbox.busy -= 1
        if self._sandbox.end_reason is None:
            self._stream.close()

    def _write(self, lines: bytes, answers: Answers) -> None:
        if answers.stopped:
            return
        try:
            self._stream.write(lines)
        except SandboxLost:
            self._stream.end()

    async def _read_answer(self, answers: Answers) -> bytes | None:
        try:
            line = await self._next_line()
        except TimeoutError:
            # Under load a program that allocates memory may be slow at it; what it holds by now tells the two apart.
            limit = pool.current_pool().limits.memory // 8
            is_hungry = pool.measure_used_bytes(self._sandbox.process_ids()) > limit
            answers.stopped = "resource" if is_hungry else "timeout"
            return None
        if line is None:
            answers.stopped = "resource" if self._stream.has_flooded or self._sandbox.exceeded_memory else "early_exit"
            return None
        try:
            # A copy: what orjson returns holds kilobytes more than it shows, and this one is kept.
            return bytes(memoryview(orjson.dumps(orjson.loads(line))))
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            # The latter for what is nested more deeply than any answer.
            answers.stopped = "tamper"
            return None

    async def _next_line(self) -> bytes | None:
        """Within the time of a case. The time that it waited for a processor is added, once."""
        seconds = _CASE_SECONDS
        while True:
            try:
                async with asyncio.timeout(seconds):
                    return await self._stream.read_line()
            except TimeoutError:
                waited = pool.seconds_without_processor(self._sandbox.process_ids())
                credit = min(waited, _MOST_CREDIT_SECONDS)
                seconds, self._credited = credit - self._credited, max(credit, self._credited)
                if seconds < _LEAST_CREDIT_SECONDS:
                    raise


def _batches(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and size + len(line) > _LARGEST_BATCH:
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch


@cache
def _programs_image() -> Image:
    """Texts, and compiled files: a process that lives for a second should not spend a tenth of it on compiling."""
    entries = []
    for path in sorted(_PROGRAMS.glob("*.py")):
        text = path.read_bytes()
        compiled_name = f"__pycache__/{Path(cache_from_source(str(path))).name}"
        entries.append(ImageEntry(path.name, 0o100644, text))
        entries.append(ImageEntry(compiled_name, 0o100644, compile_module(path.name, text)))
    entries += [ImageEntry(path.name, 0o100644, path.read_bytes()) for path in sorted(_PROGRAMS.glob("*.mjs"))]
    return Image.of(entries)


def compile_module(name: str, text: bytes) -> bytes:
    """Valid whatever the date of the text; another version of Python ignores it."""
    unchecked = (1).to_bytes(4, "little")
    return MAGIC_NUMBER + unchecked + source_hash(text) + marshal.dumps(compile(text, name, "exec"))
