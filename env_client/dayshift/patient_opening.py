"""Opens an episode once there is room: trainers start as many rollouts as they like, and the stack says when to ask."""

import asyncio
import time
from typing import Any

from dayshift.connection import AsyncConnection, Connection
from dayshift.episode import AsyncEpisode, Episode
from dayshift.errors import AtCapacity, RetryLater
from dayshift.wire import OpenRequest

_ATTEMPTS = 20
_LONGEST_WAIT = 5.0


async def open_when_ready(
    request: OpenRequest,
    *,
    connection: AsyncConnection | None = None,
    waits_for_room: bool = True,
    **options: Any,
) -> AsyncEpisode:
    """Asks again after the time that the stack names; the last refusal is raised.

    Without `waits_for_room` a full stack is a refusal at once, for callers who have an answer of their own for it.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return await AsyncEpisode.open(request, connection=connection, **options)
        except RetryLater as later:
            if isinstance(later, AtCapacity) and not waits_for_room:
                raise
            await asyncio.sleep(_choose_wait(later))
    return await AsyncEpisode.open(request, connection=connection, **options)


def open_when_ready_blocking(request: OpenRequest, *, connection: Connection | None = None, **options: Any) -> Episode:
    """The same for callers without an event loop."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return Episode.open(request, connection=connection, **options)
        except RetryLater as later:
            time.sleep(_choose_wait(later))
    return Episode.open(request, connection=connection, **options)


def _choose_wait(later: RetryLater) -> float:
    return min(float(later.problem.retry_after or 1), _LONGEST_WAIT)
