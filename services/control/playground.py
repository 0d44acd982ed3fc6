"""The playground: a standing episode for people who only want the APIs."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from services.control.doors import Refused
from services.control.live import DoorFailed
from services.control.problems import NotNow
from services.control.replicas import Replicas, Watched
from services.kernel.config import BadSetting

PLAYGROUND = "playground"
_SHORTEST = 8
_FAVOURITE = "standard"
_ALREADY_OPEN = 409


class Playground:
    """One credential, every product, no lease, no brief, no verdict; kept open on every process that is up."""

    def __init__(self, replicas: Replicas, credential: str) -> None:
        if len(credential) < _SHORTEST:
            raise BadSetting(f"DAYSHIFT_PLAYGROUND_TOKEN must have at least {_SHORTEST} characters")
        self._replicas = replicas
        self._credential = credential
        self._turn = asyncio.Lock()

    async def keep(self, lacking: Iterable[Watched]) -> None:
        """Open it wherever it is missing: after a start, and after a product came back."""
        async with self._turn:
            for one in lacking:
                if one.worlds:
                    await self._open(one)

    async def reset(self) -> None:
        """Back to the template, everywhere."""
        async with self._turn:
            for one in self._replicas.all():
                if one.is_up and one.worlds:
                    with suppress(*DoorFailed):
                        await one.owner.door.post(f"/control/episodes/{PLAYGROUND}/close")
                    await self._open(one)

    async def _open(self, one: Watched) -> None:
        world = _FAVOURITE if _FAVOURITE in one.worlds else min(one.worlds)
        try:
            await one.owner.door.post(
                "/control/episodes",
                {
                    "episode_id": PLAYGROUND,
                    "credential": self._credential,
                    "seed": 0,
                    "world": world,
                    "leased": False,
                },
            )
        except DoorFailed as error:
            # A reset may have opened it since the watch looked.
            if isinstance(error, Refused) and error.status == _ALREADY_OPEN:
                return
            raise NotNow(f"{one.owner.replica.product} did not open the playground: {error}") from error
