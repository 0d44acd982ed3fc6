"""The watchdog: once a second control checks every product and ends the episodes that cannot go on."""

import asyncio
import logging

from services.control.episodes import ABANDONED, RESTARTED, Episodes
from services.control.harness_client import HarnessError
from services.control.ledger import Ledger
from services.control.open_episode import OpenEpisode, describe_death, find_breakdown
from services.control.playground import PLAYGROUND, Playground
from services.control.problems import Unavailable
from services.control.replicas import Replicas, WatchedReplica
from services.kernel.harness_replies import EpisodeSummaryReply

_log = logging.getLogger("dayshift.control")
_INTERVAL_SECONDS = 1.0
# A person who holds an episode may have forgotten it.
_LONGEST_HOLD_SECONDS = 8 * 3600.0
# Instance → episode id → the product's summary of that episode.
Summaries = dict[str, dict[str, EpisodeSummaryReply]]


class Watchdog:
    """Ends episodes whose product died, whose fork broke or whose trainer went away; closes forks nobody owns."""

    def __init__(
        self, episodes: Episodes, replicas: Replicas, ledger: Ledger, playground: Playground, lease_seconds: float
    ) -> None:
        self._episodes = episodes
        self._replicas = replicas
        self._ledger = ledger
        self._playground = playground
        self.lease_seconds = lease_seconds
        # What the last look found, for onlookers: asking the products again would cost them.
        self.summaries: Summaries = {}

    async def start(self) -> None:
        """End what was open when control last stopped: its setup was in memory, so it cannot be judged any more."""
        for episode_id, clock in await self._ledger.list_open():
            await self._episodes.end_recorded(episode_id, clock, RESTARTED)
        await self.check()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL_SECONDS)
            try:
                await self.check()
            except Unavailable as error:
                _log.warning("watchdog skipped a check", extra={"fields": {"because": str(error)}})
            except Exception:  # noqa: BLE001 - without the watchdog nothing would ever be ended again
                _log.exception("watchdog check failed; it goes on")

    async def check(self) -> None:
        ready = {episode.id for episode in self._episodes if episode.is_ready}
        for watched in await self._replicas.check_all():
            await self._end_episodes_of(watched)
        up = [watched for watched in self._replicas.all() if watched.is_up]
        summaries = self.summaries = await self._summaries(up)
        await self._playground.keep(
            [watched for watched in up if PLAYGROUND not in summaries.get(_instance(watched), {PLAYGROUND: {}})]
        )
        if self._playground.clock is not None:
            clocks = {
                instance: summary[PLAYGROUND]["clock_ms"]
                for instance, summary in summaries.items()
                if PLAYGROUND in summary
            }
            self._playground.clock.follow(up, clocks)
        for episode in self._episodes:
            if episode.id in ready:
                await self._end_if_lost(episode, summaries)
        await self._close_orphans(up, summaries, ready)

    async def _summaries(self, up: list[WatchedReplica]) -> Summaries:
        """By instance; one that did not answer this time is left out and nothing is concluded from it."""
        answers = await asyncio.gather(*(_summary(watched) for watched in up))
        return {
            _instance(watched): summary for watched, summary in zip(up, answers, strict=True) if summary is not None
        }

    async def _end_episodes_of(self, watched: WatchedReplica) -> None:
        replica = watched.owner.replica
        was_killed = watched.because is None or watched.refusals
        cause = describe_death(replica.product) if was_killed else f"{replica.product}: {watched.because}"
        _log.error("product gone", extra={"fields": {"product": replica.product, "because": cause}})
        await self._ledger.record_event("product gone", cause, product=replica.product)
        for episode in self._episodes:
            owner = episode.owners.get(replica.product)
            if owner is not None and owner.replica.instance == replica.instance:
                await self._episodes.end(episode, cause, ours=True, without=replica.product)

    async def _end_if_lost(self, episode: OpenEpisode, summaries: Summaries) -> None:
        if episode.ending is not None:
            await self._episodes.end(episode, "", ours=True)
            return
        by_product = {
            name: summaries[owner.replica.instance]
            for name, owner in episode.owners.items()
            if owner.replica.instance in summaries
        }
        states = {name: summary[episode.id] for name, summary in by_product.items() if episode.id in summary}
        lost = next((f"{name} no longer holds it" for name in by_product if name not in states), None)
        breakdown = find_breakdown(states)
        # What the agent broke itself is judged when the episode is submitted: harm that it did stays.
        cause = breakdown.cause if breakdown is not None and not breakdown.by_agent else lost
        if cause is not None:
            await self._episodes.end(episode, cause, ours=True)
            return
        idle = min([self._episodes.idle(episode), *(state["idle_seconds"] for state in states.values())])
        lease = self.lease_seconds if episode.hold is None else _LONGEST_HOLD_SECONDS
        if episode.leased and idle > lease:
            await self._episodes.end(episode, ABANDONED, ours=False)

    async def _close_orphans(self, up: list[WatchedReplica], summaries: Summaries, ready: set[str]) -> None:
        """Close forks whose episode has ended, or was opened by a control process that is gone."""
        for watched in up:
            for episode_id in summaries.get(_instance(watched), {}):
                if episode_id == PLAYGROUND or episode_id in ready or episode_id in self._episodes:
                    continue
                try:
                    await watched.owner.client.post(f"/control/episodes/{episode_id}/close")
                except HarnessError as error:
                    _log.warning("orphan not closed", extra={"fields": {"episode": episode_id, "because": str(error)}})


def _instance(watched: WatchedReplica) -> str:
    return watched.owner.replica.instance


async def _summary(watched: WatchedReplica) -> dict[str, EpisodeSummaryReply] | None:
    try:
        answer = await watched.owner.client.get("/control/episodes")
    except HarnessError:
        return None
    return {episode["episode_id"]: episode for episode in answer["episodes"]}
