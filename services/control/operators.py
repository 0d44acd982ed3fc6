"""Operators: what people see of open episodes, and how they step in. Whatever one of them does is in the audit log."""

import secrets
from collections.abc import Mapping
from typing import Any

import orjson
from dayshift import wire

from services.control import responses
from services.control.episodes import Episodes
from services.control.harness_client import HarnessError
from services.control.ledger import Ledger
from services.control.open_episode import InfrastructureFailure, OpenEpisode, PersonHold, merge_steps
from services.control.problems import Conflict, NotFound, Unavailable
from services.control.replicas import Replicas
from services.control.watchdog import Watchdog
from services.kernel.clock import iso

TAKEN_OVER = "taken_over"
_LONGEST_BRIEF = 2000
_MOST_EVENTS = 500
_MOST_REVIEWS = 500


class Operators:
    """The part of control for people. It reads what the watchdog saw, and never keeps an episode's lease alive."""

    def __init__(self, episodes: Episodes, replicas: Replicas, ledger: Ledger, watchdog: Watchdog, most: int) -> None:
        self._episodes = episodes
        self._replicas = replicas
        self._ledger = ledger
        self._watchdog = watchdog
        self._most = most

    def overview(self) -> wire.LiveOverview:
        return wire.LiveOverview(
            episodes=[self._describe(episode) for episode in self._episodes if episode.is_ready],
            services=[
                wire.ServiceState(
                    product=(replica := watched.owner.replica).product,
                    instance=replica.instance,
                    url=replica.url,
                    harness_url=replica.harness_url,
                    state=watched.because or "ok",
                    episodes=replica.load,
                )
                for watched in self._replicas.all()
            ],
            max_episodes=self._most,
            lease_seconds=self._watchdog.lease_seconds,
        )

    async def tail(self, episode_id: str, after: Mapping[str, tuple[int, int]]) -> wire.Tail:
        """Steps and changes since the marks. What has ended is read from the ledger, by its trajectory and diff."""
        episode = self._require_open(episode_id)
        tails = await self._episodes.ask(episode, episode.ask_tails(after))
        if tails is None:
            raise _not_open(episode_id)
        steps = merge_steps({product: reply["steps"] for product, reply in tails.items()})
        changed = {product: reply["changes"] for product, reply in tails.items() if reply["changes"]}
        return wire.Tail(
            episode_id=episode_id,
            steps=responses.trajectory(episode_id, steps).steps,
            changes=responses.diff(changed).products,
            next={product: (reply["next_step"], reply["next_revision"]) for product, reply in tails.items()},
            state=responses.open_state(episode, {product: reply["state"] for product, reply in tails.items()}),
        )

    async def pause(self, episode_id: str, person: str) -> wire.EpisodeState:
        episode = self._require_open(episode_id)
        if episode.hold is not None:
            raise Conflict(f"{episode.hold.person} holds this episode already")
        return await self._hold(episode, person, works=False)

    async def resume(self, episode_id: str, person: str) -> wire.EpisodeState:
        episode = self._require_open(episode_id)
        if episode.hold is None:
            raise Conflict("nobody holds this episode")
        await self._ledger.record_event("resumed", f"held by {episode.hold.person}", episode_id, person=person)
        await self._send(episode, {name: {"held": False} for name in episode.owners})
        episode.hold = None
        return await self._episodes.state(episode_id)

    async def take_over(self, episode_id: str, person: str) -> wire.TakenOver:
        """Holds the agent back and gives the person what it was given, with a credential of their own."""
        episode = self._require_open(episode_id)
        if episode.hold is not None and (episode.hold.works or episode.hold.person != person):
            raise Conflict(f"{episode.hold.person} holds this episode already")
        credentials = {
            name: self._replicas.products[name].create_credential(secrets.token_hex(20)) for name in episode.owners
        }
        await self._hold(episode, person, works=True, credentials=credentials)
        opened = responses.make_opened(episode, mcp_url="")
        return wire.TakenOver(
            episode_id=episode_id,
            task=opened.task,
            brief=opened.brief,
            budget=opened.budget,
            products=responses.product_access(episode, credentials),
            clock=opened.clock,
            answer_schema=opened.answer_schema,
        )

    async def close(self, episode_id: str, person: str) -> wire.Closed:
        if episode_id in self._episodes:
            await self._ledger.record_event("closed", "closed by a person", episode_id, person=person)
        return await self._episodes.close(episode_id)

    async def audit(self, episode_id: str | None) -> wire.Audit:
        return wire.Audit(events=await self._ledger.list_events(episode_id, _MOST_EVENTS))

    async def reviews(self, after: int) -> wire.Reviews:
        rows = await self._ledger.list_reviews(after, _MOST_REVIEWS)
        last = rows[-1][0] if len(rows) == _MOST_REVIEWS else None
        return wire.Reviews(reviews=[orjson.loads(body) for _, body in rows], next=last)

    async def _hold(
        self, episode: OpenEpisode, person: str, *, works: bool, credentials: Mapping[str, str] | None = None
    ) -> wire.EpisodeState:
        state = await self._episodes.state(episode.id)
        kind = "taken over" if works else "paused"
        await self._ledger.record_event(kind, f"after step {state.steps}, at {state.clock}", episode.id, person=person)
        messages = {name: {"held": True, "credential": (credentials or {}).get(name)} for name in episode.owners}
        await self._send(episode, messages)
        episode.hold = PersonHold(person, self._episodes.now(), works)
        if works:
            evidence = f"{person} worked in the agent's place after step {state.steps}"
            episode.interventions.append(wire.Flag(tag=TAKEN_OVER, evidence=evidence))
        return state

    async def _send(self, episode: OpenEpisode, messages: Mapping[str, Mapping[str, Any]]) -> None:
        try:
            await episode.send_holds(messages)
        except (InfrastructureFailure, HarnessError) as failure:
            raise Unavailable(str(failure)) from failure

    def _require_open(self, episode_id: str) -> OpenEpisode:
        episode = self._episodes.find(episode_id)
        if episode is None or not episode.is_ready or episode.ending is not None:
            raise _not_open(episode_id)
        return episode

    def _describe(self, episode: OpenEpisode) -> wire.LiveEpisode:
        summaries = {
            name: summary
            for name, owner in episode.owners.items()
            if (summary := self._watchdog.summaries.get(owner.replica.instance, {}).get(episode.id)) is not None
        }
        request, setup, instance = episode.request, episode.setup, episode.setup.instance
        idle = min([self._episodes.idle(episode), *(each["idle_seconds"] for each in summaries.values())])
        has_lease = episode.leased and episode.hold is None
        return wire.LiveEpisode(
            episode_id=episode.id,
            task=request.task,
            seed=request.seed,
            split=request.split,
            world=request.world,
            faults=request.faults,
            brief="" if instance is None else instance.brief[:_LONGEST_BRIEF],
            products=sorted(episode.owners),
            steps=sum(each["steps"] for each in summaries.values()),
            budget=None if instance is None else wire.Budget(steps=instance.budget.steps, hours=instance.budget.hours),
            clock=iso(max((each["clock_ms"] for each in summaries.values()), default=setup.clock_ms)),
            revisions={name: each["revision"] for name, each in summaries.items()},
            idle_seconds=idle,
            lease_left=max(0.0, self._watchdog.lease_seconds - idle) if has_lease else None,
            held_by=None if episode.hold is None else episode.hold.person,
            taken_over=episode.hold is not None and episode.hold.works,
            because=next((each["broken"] for each in summaries.values() if each["broken"]), None),
        )


def _not_open(episode_id: str) -> NotFound:
    return NotFound(f"no episode {episode_id[:60]!r} is open")
