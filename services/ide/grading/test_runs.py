"""Runs a release's tests on a tree, each time in a sandbox of its own.

The tests, their settings and everything that they need come from kits that were made before the episode. Of the
agent's tree only the package's own code is laid out among them.
"""

import asyncio
import hashlib
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import PurePosixPath
from typing import Literal

import orjson

from services.ide.byte_cache import ByteCache
from services.ide.grading.programs.run_tests import RUNNER
from services.ide.grading.tree_process import PROGRAMS_INSIDE, compile_module, program_command, take_grader_sandbox
from services.ide.sandbox import pool
from services.ide.sandbox.image import Image, ImageEntry
from services.ide.sandbox.sandbox import GuestRefused, ProcessResult, Sandbox
from services.ide.sandbox.system_files import HOME
from services.kernel.kits import read_kit

TREE, METADATA = "tree/", "metadata/"
_TREE, _REQUIREMENTS = f"{HOME}/tree", f"{HOME}/requirements"
_METADATA = f"{HOME}/metadata"
_FILE = 0o100644
StopReason = Literal["timeout", "resource"]
# A run has its seconds on a processor, and some times as many by the clock: programs also wait for other programs.
_TIMES_BY_CLOCK, _LONGEST_BY_CLOCK = 4, 300.0
# How often somebody looks whether it waited for a processor meanwhile: that time is added, up to the longest.
_LOOK_SECONDS = 2.0
# The signals for a processor's time, as an exit code and as a shell has it.
_OUT_OF_TIME = frozenset({-signal.SIGXCPU, 128 + signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGKILL})
# Kits as images, compiled: all attempts at a task use the same ones.
_images: ByteCache[Image] = ByteCache(64 << 20, lambda image: image.size)


@dataclass(frozen=True, slots=True)
class Suite:
    """A release's tests: the kits that hold them, and the folder that the package is imported from."""

    kit: str
    requirements: str
    import_root: str


@dataclass(slots=True)
class SuiteResults:
    """Outcomes by test, and why the tests stopped before their end."""

    outcomes: dict[str, str] = field(default_factory=dict)
    stopped: StopReason | None = None
    # A part of the test runner that the code replaced.
    replaced: str | None = None

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(test for test, outcome in self.outcomes.items() if outcome == "passed")


@dataclass(frozen=True, slots=True)
class Canary:
    """A test that must fail: code that forges results of tests which it does not know forges this one's."""

    path: str
    name: str

    @property
    def test(self) -> str:
        return f"{self.path}::{self.name}"

    @property
    def text(self) -> str:
        return f"def {self.name}():\n    assert sorted([2, 1]) == [2, 1]\n"


async def run_tests(
    suite: Suite,
    sources: Mapping[str, bytes],
    tests: Sequence[str],
    canary: Canary,
    seconds: float,
    replaced: Iterable[str] = (),
) -> SuiteResults:
    """Runs these tests, modules or single ones, and the canary; `seconds` are those on a processor.

    `replaced` are paths of `sources` that the kit may have, too: what is compiled of the kit's files would hide them.
    """
    images = await asyncio.gather(_image(suite.kit, TREE), _image(suite.kit, METADATA), _image(suite.requirements, ""))
    sandbox = await take_grader_sandbox()
    try:
        try:
            for image, root in zip(images, (_TREE, _METADATA, _REQUIREMENTS), strict=True):
                await image.lay_out(sandbox, root)
            await _own_image(sources, canary, replaced).lay_out(sandbox, _TREE)
        except GuestRefused:
            # A tree that a sandbox like the agent's own cannot hold is the agent's doing.
            return SuiteResults(stopped="resource")
        word = hashlib.sha256(canary.test.encode()).hexdigest()
        request = {
            "root": _TREE,
            "path": [f"{_TREE}/{suite.import_root}".rstrip("/"), _TREE, _METADATA, _REQUIREMENTS],
            "programs": PROGRAMS_INSIDE,
            "tests": [*tests, canary.test],
            "word": word,
            "seconds": int(seconds),
        }
        command = program_command("from programs.run_tests import main; main()")
        result = await _run_by_clock(sandbox, command, orjson.dumps(request) + b"\n", seconds)
        used_up = result.timed_out or result.exit_code in _OUT_OF_TIME
        stopped: StopReason | None = "timeout" if used_up else None
        if sandbox.exceeded_memory:
            stopped = "resource"
        outcomes = dict(_read_outcomes(result.stdout, word))
        return SuiteResults(outcomes, stopped, outcomes.pop(RUNNER, None))
    finally:
        sandbox.end()


async def _run_by_clock(sandbox: Sandbox, command: Sequence[str], stdin: bytes, seconds: float) -> ProcessResult:
    """The limit by the clock is for programs that sleep; time that they waited for a processor does not count."""
    by_clock = min(_LONGEST_BY_CLOCK, _TIMES_BY_CLOCK * seconds)
    running = asyncio.ensure_future(sandbox.run(command, seconds=_LONGEST_BY_CLOCK, stdin=stdin))
    loop = asyncio.get_running_loop()
    start, waited, others = loop.time(), 0.0, set(sandbox.process_ids())
    try:
        while not running.done():
            await asyncio.wait([running], timeout=_LOOK_SECONDS)
            own = [pid for pid in sandbox.process_ids() if pid not in others]
            # A process that is gone takes what it waited with it.
            waited = max(waited, await asyncio.to_thread(pool.seconds_without_processor, own))
            if not running.done() and loop.time() - start - waited > by_clock:
                await sandbox.kill_everything()
        return await running
    finally:
        running.cancel()


def _read_outcomes(output: bytes, word: str) -> Iterator[tuple[str, str]]:
    """Whatever runs beside the tests may write any line."""
    for line in output.splitlines():
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        match entry:
            case [said, str(test), str(outcome)] if said == word:
                yield test, outcome


def _own_image(sources: Mapping[str, bytes], canary: Canary, replaced: Iterable[str]) -> Image:
    entries = [ImageEntry(path, _FILE, content) for path, content in sources.items()]
    # Python reads the source where the compiled file is empty.
    entries += [ImageEntry(_make_compiled_path(path), _FILE, b"") for path in replaced if path.endswith(".py")]
    return Image.of([*entries, ImageEntry(canary.path, _FILE, canary.text.encode())])


async def _image(digest: str, prefix: str) -> Image:
    key = f"{digest} {prefix}"
    if key not in _images:
        # Reading and compiling take a second: not on the event loop.
        _images[key] = await asyncio.to_thread(_make_image, digest, prefix)
    return _images[key]


def _make_image(digest: str, prefix: str) -> Image:
    files = {
        path.removeprefix(prefix): content for path, content in read_kit(digest).items() if path.startswith(prefix)
    }
    return Image.of([*(ImageEntry(path, _FILE, content) for path, content in files.items()), *_compile_files(files)])


def _compile_files(files: Mapping[str, bytes]) -> Iterable[ImageEntry]:
    """A process that runs for a second should not spend another one on compiling."""
    for path, content in files.items():
        if path.endswith(".py"):
            try:
                compiled = compile_module(PurePosixPath(path).name, content)
            except (SyntaxError, ValueError):
                # Some test data is Python that does not parse.
                continue
            yield ImageEntry(_make_compiled_path(path), _FILE, compiled)


def _make_compiled_path(path: str) -> str:
    place = PurePosixPath(path)
    return str(place.parent / "__pycache__" / PurePosixPath(cache_from_source(place.name)).name)
