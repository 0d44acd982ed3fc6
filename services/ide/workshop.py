"""The workshop: warm sandboxes, beginnings, and a watch on what runs. One per event loop."""

import asyncio
import logging
import os
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from services.ide import runner
from services.ide.images import Beginning, Images
from services.ide.limits import Limits
from services.ide.runner import NoIsolation, Runner
from services.ide.sandbox import Sandbox, SandboxLost
from services.kernel.product import CannotStart

_WARM = 4
_WATCH_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_log = logging.getLogger("dayshift.ide")


class Workshop:
    """Hands out sandboxes that are running already, and keeps those in use within their memory."""

    def __init__(self, chosen: Runner, limits: Limits, warm: int = _WARM) -> None:
        self.limits = limits
        self.runner = chosen
        self.images = Images()
        # Of what the house itself has to work out, one thing per processor: more at once would only make all wait.
        self.own_work = asyncio.Semaphore(os.cpu_count() or 1)
        self._warm_count = warm
        self._warm: list[Sandbox] = []
        self._coming = 0
        self._laid: dict[Beginning, Sandbox] = {}
        self._laying: set[Beginning] = set()
        self._last: Beginning | None = None
        self._ahead: set[asyncio.Task[None]] = set()
        self._live: set[Sandbox] = set()
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        await self.runner.check()
        self._watching = asyncio.create_task(self._watch())
        self._refill()
        await asyncio.gather(*self._ahead)

    async def take(self) -> Sandbox:
        """A warm one if there is one; another is warmed in its place."""
        while self._warm:
            sandbox = self._warm.pop()
            if sandbox.over is None:
                self._refill()
                return sandbox
        self._refill()
        return await self._started()

    async def laid_out(self, beginning: Beginning) -> Sandbox:
        """With the programmer's home in it.

        Rollouts of one task come in groups: of what is asked for a second time in a row, one more is kept ready.
        """
        ready = self._laid.pop(beginning, None)
        if beginning == self._last:
            self._soon(self._lay_ahead(beginning))
        self._last = beginning
        if ready is not None and ready.over is None:
            return ready
        sandbox = await self.take()
        await beginning.lay_out_home(sandbox)
        return sandbox

    async def _lay_ahead(self, beginning: Beginning) -> None:
        for stale in [other for other in self._laid if other != beginning]:
            self._laid.pop(stale).end()
        if beginning in self._laid or beginning in self._laying or self._closed:
            return
        self._laying.add(beginning)
        try:
            sandbox = await self._started()
            await beginning.lay_out_home(sandbox)
            self._laid[beginning] = sandbox
        except (OSError, SandboxLost) as error:
            _log.warning("nothing laid ahead", extra={"fields": {"because": str(error)}})
        finally:
            self._laying.discard(beginning)

    async def close(self) -> None:
        self._closed = True
        for task in (*self._ahead, *([self._watching] if self._watching else [])):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError, SandboxLost):
                await task
        for sandbox in tuple(self._live):
            sandbox.end()
        await self.runner.close()

    def _refill(self) -> None:
        while len(self._warm) + self._coming < self._warm_count and not self._closed:
            self._coming += 1
            self._soon(self._warm_one())

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._ahead.add(task)
        task.add_done_callback(self._ahead.discard)

    async def _warm_one(self) -> None:
        try:
            self._warm.append(await self._started())
        except OSError as error:
            _log.warning("no warm sandbox", extra={"fields": {"because": str(error)}})
        finally:
            self._coming -= 1

    async def _started(self) -> Sandbox:
        sandbox = await self.runner.start(self.limits)
        self._live.add(sandbox)
        return sandbox

    async def _watch(self) -> None:
        """Memory of all processes together: no limit of one process can bound it."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            self._live = {sandbox for sandbox in self._live if sandbox.over is None}
            for sandbox in [one for one in self._live if one.busy]:
                if private_bytes(sandbox.processes()) > self.limits.memory:
                    _log.warning("memory spent", extra={"fields": {"limit": self.limits.memory}})
                    sandbox.overspent = True
                    with suppress(SandboxLost):
                        await sandbox.kill_everything()


def private_bytes(pids: list[int]) -> int:
    pages = 0
    for pid in pids:
        with suppress(OSError):
            with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - twenty times a second of whatever runs
                _, resident, shared, *_ = file.read().split()
            pages += int(resident) - int(shared)
    return pages * _PAGE


def kept_waiting(pids: list[int]) -> float:
    """Seconds for which the one that waited longest could have run and was not let: the second number of three."""
    waited = [0]
    for pid in pids:
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/schedstat", "rb") as file:  # noqa: PTH123 - as above
            waited.append(int(file.read().split()[1]))
    return max(waited) / 1e9


_of_loop: dict[int, Workshop] = {}


def current() -> Workshop:
    return _of_loop[id(asyncio.get_running_loop())]


async def start() -> None:
    """Refuses where nothing can isolate: an agent's program never runs beside us."""
    try:
        workshop = Workshop(runner.chosen(os.environ), Limits())
        await workshop.open()
    except NoIsolation as error:
        raise CannotStart(f"the IDE runs nothing without isolation: {error}") from error
    _of_loop[id(asyncio.get_running_loop())] = workshop


def lacking() -> str | None:
    """What keeps this machine from isolating a program, if anything does."""

    async def tried() -> None:
        one = runner.chosen(os.environ)
        await one.check()
        await one.close()

    try:
        asyncio.run(tried())
    except NoIsolation as error:
        return str(error)
    return None


async def stop() -> None:
    workshop = _of_loop.pop(id(asyncio.get_running_loop()), None)
    if workshop is not None:
        await workshop.close()
