"""The sandbox pool: sandboxes that wait for work, and a watch on the memory of those that work. One per event loop."""

import asyncio
import itertools
import logging
import os
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any, Protocol, assert_never

from services.ide.sandbox.bubblewrap import Bubblewrap
from services.ide.sandbox.isolation import NoIsolation, Runner
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.sandbox import Sandbox, SandboxLost
from services.interpreter import explain_unsupported_here
from services.kernel.config import SandboxSettings, Settings
from services.kernel.product import CannotStart

_WARM = 4
_WATCH_SECONDS = 0.05
# Sandboxes that nobody waits for are looked at in turns: a program may run on in the background.
_TURNS = 5
_PAGE = os.sysconf("SC_PAGE_SIZE")
# In pages: processes that have mapped less than this hide nothing that matters.
_LEAST_RESERVED = (512 << 20) // _PAGE
_log = logging.getLogger("dayshift.ide")


class Home(Protocol):
    """What a sandbox's home folder is to hold; equal homes hold the same."""

    def __hash__(self) -> int: ...

    async def lay_out_home(self, sandbox: Sandbox) -> None: ...


class SandboxPool:
    """Hands out sandboxes that run already, and bounds the memory of those in use."""

    def __init__(self, runner: Runner, limits: Limits, warm: int = _WARM) -> None:
        self.limits = limits
        self.runner = runner
        # Of the grader's own work, one task per processor: more at once would only make all of them wait.
        self.grader_slots = asyncio.Semaphore(os.cpu_count() or 1)
        self._warm_count = warm
        self._warm: list[Sandbox] = []
        self._starting = 0
        # Sandboxes that hold a home already, for the next episode that starts from the same one.
        self._prepared: dict[Home, Sandbox] = {}
        self._preparing: set[Home] = set()
        self._last: Home | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._living: set[Sandbox] = set()
        self._watcher: asyncio.Task[None] | None = None
        self._is_closed = False

    async def open(self) -> None:
        await self.runner.check()
        self._watcher = asyncio.create_task(self._watch_memory())
        self._refill()
        await asyncio.gather(*self._tasks)

    async def take(self) -> Sandbox:
        """A warm one if there is one; another is started in its place."""
        while self._warm:
            sandbox = self._warm.pop()
            if sandbox.end_reason is None:
                self._refill()
                return sandbox
        self._refill()
        return await self._start()

    async def take_with_home(self, home: Home) -> Sandbox:
        """With the programmer's home in it.

        Rollouts of one task come in groups: of what is wanted for a second time in a row, one more is kept ready.
        """
        prepared = self._prepared.pop(home, None)
        if home == self._last:
            self._run_soon(self._prepare(home))
        self._last = home
        if prepared is not None and prepared.end_reason is None:
            return prepared
        sandbox = await self.take()
        await home.lay_out_home(sandbox)
        return sandbox

    async def close(self) -> None:
        self._is_closed = True
        for task in (*self._tasks, *([self._watcher] if self._watcher else [])):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError, SandboxLost):
                await task
        for sandbox in tuple(self._living):
            sandbox.end()
        await self.runner.close()

    async def _prepare(self, home: Home) -> None:
        for stale in [other for other in self._prepared if other != home]:
            self._prepared.pop(stale).end()
        if home in self._prepared or home in self._preparing or self._is_closed:
            return
        self._preparing.add(home)
        try:
            sandbox = await self._start()
            await home.lay_out_home(sandbox)
            self._prepared[home] = sandbox
        except (OSError, SandboxLost) as error:
            _log.warning("no sandbox was prepared", extra={"fields": {"reason": str(error)}})
        finally:
            self._preparing.discard(home)

    def _refill(self) -> None:
        while len(self._warm) + self._starting < self._warm_count and not self._is_closed:
            self._starting += 1
            self._run_soon(self._warm_up())

    def _run_soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _warm_up(self) -> None:
        try:
            self._warm.append(await self._start())
        except OSError as error:
            _log.warning("no warm sandbox was started", extra={"fields": {"reason": str(error)}})
        finally:
            self._starting -= 1

    async def _start(self) -> Sandbox:
        sandbox = await self.runner.start(self.limits)
        self._living.add(sandbox)
        return sandbox

    async def _watch_memory(self) -> None:
        """Of all processes together: no limit of one process can bound it."""
        for turn in itertools.count():
            await asyncio.sleep(_WATCH_SECONDS)
            self._living = {sandbox for sandbox in self._living if sandbox.end_reason is None}
            busy = [sandbox for sandbox in self._living if sandbox.busy]
            watched = busy + [sandbox for sandbox in self._living if not sandbox.busy][turn % _TURNS :: _TURNS]
            # Off the loop: a sandbox may hold hundreds of processes.
            for sandbox in watched and await asyncio.to_thread(self._find_too_large, watched):
                _log.warning("a sandbox exceeded its memory", extra={"fields": {"limit": self.limits.memory}})
                sandbox.exceeded_memory = True
                with suppress(SandboxLost):
                    await sandbox.kill_everything()

    def _find_too_large(self, sandboxes: list[Sandbox]) -> list[Sandbox]:
        return [sandbox for sandbox in sandboxes if measure_used_bytes(sandbox.process_ids()) > self.limits.memory]


def measure_used_bytes(pids: list[int]) -> int:
    """Memory of processes' own, and memory that they share without a file; files lie on mounts with a size."""
    sizes = [size for pid in pids if (size := _read_size(pid)) is not None]
    own = sum(resident - shared for _, resident, shared in sizes)
    reserved = sum(total for total, _, _ in sizes)
    if reserved < _LEAST_RESERVED:
        return own * _PAGE
    # A mapping of /dev/zero is such memory, and belongs to whoever maps it, even if somebody else has filled it.
    return own * _PAGE + sum({inode: size for pid in pids for inode, size in _find_zero_mappings(pid)}.values())


def _read_size(pid: int) -> tuple[int, int, int] | None:
    """In pages: all that is mapped, what of it is resident, and what of that is shared."""
    with suppress(OSError, ValueError):
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - twenty times a second of whatever runs
            total, resident, shared, *_ = map(int, file.read().split())
        return total, resident, shared
    return None


def _find_zero_mappings(pid: int) -> Iterator[tuple[str, int]]:
    """(inode, bytes); all that is mapped for a process that does not let itself be looked into."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:  # noqa: PTH123 - as above
            lines = file.readlines()
    except PermissionError:
        total, *_ = _read_size(pid) or (0,)
        yield f"process {pid}", total * _PAGE
    except OSError:
        return
    else:
        for span, _, _, _, inode, *_ in (line.split() for line in lines if b"/dev/zero" in line):
            start, _, end = span.partition(b"-")
            yield inode.decode(), int(end, 16) - int(start, 16)


def seconds_without_processor(pids: list[int]) -> float:
    """How long the process that waited longest could have run and was not scheduled: the second of three numbers.

    Of all its threads together: where one of them waits for another that is not scheduled, its own number stands still.
    """
    return max([0, *(sum(_read_waits(pid)) for pid in pids)]) / 1e9


def _read_waits(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as above
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/task/{task}/schedstat", "rb") as file:  # noqa: PTH123 - as above
                yield int(file.read().split()[1])


def choose_runner(settings: SandboxSettings) -> Runner:
    match settings.runner:
        case "bubblewrap":
            return Bubblewrap(settings)
        case "docker":
            # Late: who runs on bubblewrap needs no engine and no SDK for one.
            from services.ide.sandbox.containers import Containers

            return Containers(settings)
        case unknown:
            assert_never(unknown)


_pools: dict[int, SandboxPool] = {}


def current_pool() -> SandboxPool:
    return _pools[id(asyncio.get_running_loop())]


async def open_pool(settings: Settings) -> None:
    """Refuses where nothing can isolate: an agent's program never runs beside the service."""
    if (reason := explain_unsupported_here()) is not None:
        raise CannotStart(f"the IDE {reason}")
    try:
        pool = SandboxPool(choose_runner(settings.sandbox), Limits())
        await pool.open()
    except NoIsolation as error:
        raise CannotStart(f"the IDE runs nothing without isolation: {error}") from error
    _pools[id(asyncio.get_running_loop())] = pool


def find_missing(settings: Settings) -> str | None:
    """What keeps this machine from isolating a program, if anything does."""

    async def check() -> None:
        runner = choose_runner(settings.sandbox)
        await runner.check()
        await runner.close()

    if (reason := explain_unsupported_here()) is not None:
        return reason
    try:
        asyncio.run(check())
    except NoIsolation as error:
        return str(error)
    return None


async def close_pool() -> None:
    pool = _pools.pop(id(asyncio.get_running_loop()), None)
    if pool is not None:
        await pool.close()
