"""Moves the playground's clock with the wall clock, where people asked for it.

Products still ask their world for the time: control advances it, as a trainer's `wait` does, so that what falls due on
the way happens. No episode is moved.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from services.control.harness_client import HarnessError
from services.control.replicas import WatchedReplica

_log = logging.getLogger("dayshift.control")
# What falls due in a week is handled in a moment; a world that is months behind catches up in steps.
_MOST_AT_ONCE_MS = 7 * 86_400_000


class PlaygroundClock:
    """The wall clock, or the company's own time going on at the same pace where the company is ahead of it."""

    def __init__(self, wall_ms: Callable[[], int], path: str) -> None:
        self._wall_ms = wall_ms
        self._path = path
        # By instance: the company's time less the wall's, when the playground was first seen there.
        self._ahead: dict[str, int] = {}
        self._moving: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, replicas: list[WatchedReplica], clocks: Mapping[str, int]) -> None:
        """Starts to advance those that are behind; `clocks` is the playground's time by instance."""
        for watched in replicas:
            instance = watched.owner.replica.instance
            if instance in clocks and instance not in self._moving:
                self._start(watched, instance, clocks[instance])

    def _start(self, watched: WatchedReplica, instance: str, clock_ms: int) -> None:
        wall = self._wall_ms()
        ahead = max(0, self._ahead.setdefault(instance, clock_ms - wall))
        target = min(wall + ahead, clock_ms + _MOST_AT_ONCE_MS)
        if target <= clock_ms:
            return
        self._moving.add(instance)
        task = asyncio.create_task(self._advance(watched, instance, target))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _advance(self, watched: WatchedReplica, instance: str, target: int) -> None:
        """Beside the watchdog, which must not wait for what falls due."""
        try:
            await watched.owner.client.post(self._path, {"to_ms": target})
        except HarnessError as error:
            _log.warning("the playground's clock stands still", extra={"fields": {"because": str(error)}})
        finally:
            self._moving.discard(instance)
