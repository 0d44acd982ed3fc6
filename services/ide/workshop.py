"""The workshop: warm sandboxes, beginnings, and a watch on what runs. One per event loop."""

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path

from services.ide import runner
from services.ide.images import Images
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
        self.images = Images(self.take)
        self._warm_count = warm
        self._warm: list[Sandbox] = []
        self._warming: set[asyncio.Task[None]] = set()
        self._live: set[Sandbox] = set()
        self._watching: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        await self.runner.check()
        self._watching = asyncio.create_task(self._watch())
        await asyncio.gather(*(self._warm_one() for _ in range(self._warm_count)))

    async def take(self) -> Sandbox:
        """A warm one if there is one; another is warmed in its place."""
        while self._warm:
            sandbox = self._warm.pop()
            if sandbox.over is None:
                self._refill()
                return sandbox
        self._refill()
        return await self._started()

    async def close(self) -> None:
        self._closed = True
        for task in (*self._warming, *([self._watching] if self._watching else [])):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for sandbox in tuple(self._live):
            sandbox.end()
        await self.runner.close()

    def _refill(self) -> None:
        while len(self._warm) + len(self._warming) < self._warm_count and not self._closed:
            task = asyncio.create_task(self._warm_one())
            self._warming.add(task)
            task.add_done_callback(self._warming.discard)

    async def _warm_one(self) -> None:
        try:
            self._warm.append(await self._started())
        except OSError as error:
            _log.warning("no warm sandbox", extra={"fields": {"because": str(error)}})

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
            _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
            pages += int(resident) - int(shared)
    return pages * _PAGE


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


async def stop() -> None:
    workshop = _of_loop.pop(id(asyncio.get_running_loop()), None)
    if workshop is not None:
        await workshop.close()
