"""The watch: once a second control looks at every product and ends what cannot go on."""

import asyncio
import logging
from typing import Any

from services.control.episodes import ABANDONED, RESTARTED, Episodes
from services.control.ledger import Ledger
from services.control.live import DoorFailed, Live, broken_in, died
from services.control.playground import PLAYGROUND, Playground
from services.control.problems import NotNow
from services.control.replicas import Replicas, Watched

_log = logging.getLogger("dayshift.control")
_EVERY_SECONDS = 1.0
# Instance → episode → what the product says of it.
Held = dict[str, dict[str, dict[str, Any]]]


class Watch:
    """Ends episodes whose product died, whose fork broke or whose trainer went away; closes forks nobody owns."""

    def __init__(
        self, episodes: Episodes, replicas: Replicas, ledger: Ledger, playground: Playground, lease_seconds: float
    ) -> None:
        self._episodes = episodes
        self._replicas = replicas
        self._ledger = ledger
        self._playground = playground
        self._lease_seconds = lease_seconds

    async def start(self) -> None:
        """What was open when control last stopped cannot be judged any more: the plot was in its memory."""
        for episode_id, clock in await self._ledger.still_open():
            await self._episodes.end_recorded(episode_id, clock, RESTARTED)
        await self.look()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_SECONDS)
            try:
                await self.look()
            except NotNow as error:
                _log.warning("watch", extra={"fields": {"because": str(error)}})
            except Exception:  # noqa: BLE001 - without the watch nothing would ever be ended again
                _log.exception("the watch failed and goes on")

    async def look(self) -> None:
        known = {live.id for live in self._episodes if live.is_ready}
        gone = await self._replicas.look()
        for one in gone:
            await self._bury(one)
        up = [one for one in self._replicas.all() if one.is_up]
        held = await self._held(up)
        await self._playground.keep([one for one in up if PLAYGROUND not in held.get(_instance(one), {PLAYGROUND: {}})])
        for live in self._episodes:
            if live.id in known:
                await self._judge_life(live, held)
        await self._close_strays(up, held, known)

    async def _held(self, up: list[Watched]) -> Held:
        """By instance; one that did not answer this time is left out and nothing is concluded from it."""
        said = await asyncio.gather(*(_summary(one) for one in up))
        return {_instance(one): summary for one, summary in zip(up, said, strict=True) if summary is not None}

    async def _bury(self, one: Watched) -> None:
        replica = one.owner.replica
        cause = died(replica.product) if one.because is None or one.refusals else f"{replica.product}: {one.because}"
        _log.error("product gone", extra={"fields": {"product": replica.product, "because": cause}})
        await self._ledger.happened("product gone", cause, product=replica.product)
        for live in self._episodes:
            owner = live.owners.get(replica.product)
            if owner is not None and owner.replica.instance == replica.instance:
                await self._episodes.end(live, cause, ours=True, without=replica.product)

    async def _judge_life(self, live: Live, held: Held) -> None:
        if live.ending is not None:
            await self._episodes.end(live, "", ours=True)
            return
        asked = {
            name: held[owner.replica.instance] for name, owner in live.owners.items() if owner.replica.instance in held
        }
        said = {name: found[live.id] for name, found in asked.items() if live.id in found}
        lost = next((f"{name} no longer holds it" for name in asked if name not in said), None)
        cause = broken_in(said) or lost
        if cause is not None:
            await self._episodes.end(live, cause, ours=True)
            return
        idle = min([self._episodes.idle(live), *(one["idle_seconds"] for one in said.values())])
        if live.leased and idle > self._lease_seconds:
            await self._episodes.end(live, ABANDONED, ours=False)

    async def _close_strays(self, up: list[Watched], held: Held, known: set[str]) -> None:
        """Forks whose episode has ended, or was opened by a control that is no more."""
        for one in up:
            for episode_id in held.get(_instance(one), {}):
                if episode_id == PLAYGROUND or episode_id in known or episode_id in self._episodes:
                    continue
                try:
                    await one.owner.door.post(f"/control/episodes/{episode_id}/close")
                except DoorFailed as error:
                    _log.warning("stray", extra={"fields": {"episode": episode_id, "because": str(error)}})


def _instance(one: Watched) -> str:
    return one.owner.replica.instance


async def _summary(one: Watched) -> dict[str, dict[str, Any]] | None:
    try:
        said = await one.owner.door.get("/control/episodes")
    except DoorFailed:
        return None
    return {episode["episode_id"]: episode for episode in said["episodes"]}
