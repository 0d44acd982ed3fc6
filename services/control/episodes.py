"""Episodes: open, wait, submit, close. Each ends once, and the ledger has its ending before anybody reads it."""

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase as fnmatch
from typing import Any

import orjson
from dayshift.wire import (
    AgentAccess,
    Closed,
    Diff,
    EpisodePhase,
    EpisodeState,
    Opened,
    OpenRequest,
    PolicyLabels,
    Trajectory,
    Verdict,
    Waited,
)
from pydantic import JsonValue

from fixtures.tasks.family import Family
from fixtures.tasks.registry import UnknownTask, family
from services.control import ledger_rows, responses
from services.control.agent_credentials import AgentCredentials
from services.control.approvals import Approvals
from services.control.customers.human_approver import ApprovalContext
from services.control.customers.simulation import Simulation
from services.control.gather import gather_all
from services.control.harness_client import HarnessError
from services.control.ledger import Ending, EpisodeRecord, Ledger
from services.control.open_episode import (
    HOUR_MS,
    InfrastructureFailure,
    OpenEpisode,
    Owner,
    ReplyT,
    find_breakdown,
    gather_evidence,
    merge_steps,
)
from services.control.opening import list_planned_edits, opening_slots
from services.control.problems import AtCapacity, Conflict, EpisodeIsOver, NotFound, Unavailable
from services.control.references import resolve_references
from services.control.replicas import Replicas
from services.control.task_setup import TaskBuilder
from services.control.verdicts import score, score_harm
from services.kernel.clock import iso
from services.kernel.registry import Registry, RegistryDown
from services.kernel.telemetry import Telemetry

# How long a reader waits for an ending that has begun.
_ENDING_SECONDS = 30.0

FREE_PLAY = "free play"
ABANDONED = "abandoned"
CLOSED_EARLY = "closed before it was submitted"
RESTARTED = "control restarted"
_ID = re.compile(r"[0-9a-f]{24}")


class Episodes:
    """All open episodes, and the way to their records once they have ended."""

    def __init__(
        self,
        task_builder: TaskBuilder,
        replicas: Replicas,
        ledger: Ledger,
        registry: Registry,
        telemetry: Telemetry,
        max_episodes: int,
        mcp_url: str = "",
        now: Callable[[], float] = time.monotonic,
        *,
        approvals: Approvals | None = None,
        human_approvals: Sequence[str] = (),
    ) -> None:
        self._task_builder = task_builder
        self._replicas = replicas
        self._ledger = ledger
        self._registry = registry
        self._telemetry = telemetry
        self._max = max_episodes
        self._now = now
        self._mcp_url = mcp_url
        self._open_episodes: dict[str, OpenEpisode] = {}
        self._credentials = AgentCredentials()
        self.approvals = Approvals(ledger, 0.0) if approvals is None else approvals
        # Patterns of families whose colleagues a person plays, besides those that declare it themselves.
        self._human_approvals = tuple(human_approvals)

    def __len__(self) -> int:
        return len(self._open_episodes)

    def __iter__(self) -> Iterator[OpenEpisode]:
        return iter(tuple(self._open_episodes.values()))

    def __contains__(self, episode_id: str) -> bool:
        return episode_id in self._open_episodes

    async def open(self, request: OpenRequest, labels: PolicyLabels | None = None) -> Opened:
        """Open an episode; `labels` go into the ledger, and nothing else depends on them."""
        self._require_room()
        setup = await self._task_builder.build(_find_family(request.task), request)
        # Again, because others may have opened episodes while the setup was computed.
        self._require_room()
        owners = {
            product: self._replicas.choose(product, request.world, planted.template)
            for product, planted in setup.planted.items()
        }
        episode = OpenEpisode(secrets.token_hex(12), request, setup, owners, self._now())
        episode.simulation = self._make_simulation(episode, self._task_builder.mix_seed(request))
        self._open_episodes[episode.id] = episode
        episode.credentials = {
            name: self._replicas.products[name].create_credential(secrets.token_hex(20)) for name in owners
        }
        episode.office_credential = secrets.token_hex(20)
        try:
            async with opening_slots(owners):
                await gather_all(
                    self._ledger.begin(ledger_rows.make_beginning(episode, labels or PolicyLabels())),
                    self._registry.own(episode.id, {name: owner.replica.instance for name, owner in owners.items()}),
                    *(self._plant(episode, name, owner) for name, owner in owners.items()),
                )
        except BaseException as error:
            await self._abandon_opening(episode, error)
            raise
        episode.is_ready = True
        self._credentials.add(episode)
        if request.assisted:
            await self._ledger.record_event("assisted", "its agent may see what known solutions use", episode.id)
        await self._publish({"event": "opened", "episode": episode.id, "task": request.task, "seed": request.seed})
        return responses.make_opened(episode, self._mcp_url)

    def _require_room(self) -> None:
        if len(self._open_episodes) >= self._max:
            raise AtCapacity(len(self._open_episodes), self._max)

    async def state(self, episode_id: str) -> EpisodeState:
        episode = self._open_episodes.get(episode_id)
        if episode is not None and episode.ending is None:
            self._touch(episode)
            states = await self.ask(episode, episode.ask_states())
            if states is not None:
                return responses.open_state(episode, states)
        if episode is not None:
            await self._await_ending(episode)
        return responses.make_recorded_state(await self._read_recorded(episode_id))

    def access(self, credential: str) -> AgentAccess:
        """Returns what an agent's credential opens, for the services that speak MCP with agents."""
        opened = self._credentials.find(credential)
        if opened is None:
            raise NotFound("no open episode has this credential")
        self._touch(opened.episode)
        return opened.as_access()

    async def wait(self, episode_id: str, hours: float) -> Waited:
        episode = await self._require_episode(episode_id)
        async with episode.lock:
            self._require_open(episode)
            by_ms = round(hours * HOUR_MS)
            _afford(episode, by_ms)
            replies = await _report_failure(episode.pass_time(by_ms))
            episode.waited_ms += by_ms
            episode.waits.append((max(reply["clock_ms"] for reply in replies.values()) - by_ms, by_ms))
            changed = {
                name: reply["revision"] - reply["changes"] for name, reply in replies.items() if reply["changes"]
            }
            news = await _report_failure(episode.ask_news(changed))
        clock = iso(max(reply["clock_ms"] for reply in replies.values()))
        visible = {product: reply["changes"] for product, reply in replies.items()}
        return Waited(clock=clock, visible=visible, news=news)

    async def submit(self, episode_id: str, answer: JsonValue) -> Verdict:
        episode = self._open_episodes.get(episode_id)
        if episode is None:
            return await self._verdict(episode_id)
        async with episode.lock:
            if episode.id not in self._open_episodes:
                return await self._verdict(episode_id)
            if episode.ending is None:
                episode.ending = await self._judge(episode, answer)
            return await self._settle(episode, episode.ending)

    async def close(self, episode_id: str) -> Closed:
        episode = self._open_episodes.get(episode_id)
        if episode is not None:
            verdict = await self.end(episode, FREE_PLAY if episode.setup.instance is None else CLOSED_EARLY, ours=False)
            return Closed(episode_id=episode_id, outcome=verdict.outcome, because=verdict.because)
        verdict = await self._verdict(episode_id)
        await self._ledger.close_judged(episode_id)
        return Closed(episode_id=episode_id, outcome=verdict.outcome, because=verdict.because)

    async def end(self, episode: OpenEpisode, because: str, *, ours: bool, without: str = "") -> Verdict:
        """Ends it without a score, and without asking a product that is gone; whatever ended it first stands."""
        # Before the lock, which an episode holds that waits for a person.
        self.approvals.withdraw(episode.id)
        async with episode.lock:
            if episode.id not in self._open_episodes:
                return await self._verdict(episode.id)
            if episode.ending is None:
                replies = await episode.close_quietly(without)
                breakdown = find_breakdown(replies)
                silent = None if ours else episode.find_silent(replies)
                cause = silent if breakdown is None else breakdown.cause
                episode.ending = ledger_rows.make_unscored_ending(
                    episode, cause or because, replies, ours=ours or cause is not None
                )
            return await self._settle(episode, episode.ending)

    async def end_recorded(self, episode_id: str, clock: str, because: str) -> None:
        """Ends an episode of which only the ledger's record is left."""
        verdict = Verdict(outcome="unscored", reward=None, because=because, clock=clock)
        await self._ledger.end(Ending(episode_id, EpisodePhase.CLOSED, verdict, ours=True))

    async def diff(self, episode_id: str) -> Diff:
        episode = self._open_episodes.get(episode_id)
        if episode is not None and episode.ending is None:
            self._touch(episode)
            diffs = await self.ask(episode, episode.ask_diffs())
            if diffs is not None:
                return responses.diff({product: reply["changes"]["history"] for product, reply in diffs.items()})
        recorded_diff = (
            episode.ending.diff
            if episode is not None and episode.ending is not None
            else await self._ledger.diff(_well_formed(episode_id))
        )
        if recorded_diff is None:
            raise _unknown(episode_id)
        return responses.diff(recorded_diff)

    async def trajectory(self, episode_id: str) -> Trajectory:
        episode = self._open_episodes.get(episode_id)
        if episode is not None and episode.ending is None:
            self._touch(episode)
            replies = await self.ask(episode, episode.ask_trajectories())
            if replies is not None:
                return responses.trajectory(
                    episode_id, merge_steps({name: reply["steps"] for name, reply in replies.items()})
                )
        kept = episode.ending.steps if episode is not None and episode.ending is not None else None
        steps = kept if kept is not None else await self._ledger.trajectory(_well_formed(episode_id))
        if steps is None:
            raise _unknown(episode_id)
        return responses.trajectory(episode_id, steps)

    async def ask(self, episode: OpenEpisode, pending: Awaitable[ReplyT]) -> ReplyT | None:
        """Asks the products of an open episode; returns None if the episode has ended meanwhile."""
        try:
            return await pending
        except InfrastructureFailure as failure:
            # Products forget an episode before its ending is written: a reader that comes in between meets no fault.
            if await self._await_ending(episode):
                return None
            raise Unavailable(f"{failure}; submit or close the episode to have that recorded") from failure

    async def _await_ending(self, episode: OpenEpisode) -> bool:
        """Waits until the ledger has the ending of an episode that is being ended; returns whether there is one."""
        # Whoever ends an episode holds its lock. So does a call that waits for a person, hence the limit.
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS), episode.lock:
                pass
        return episode.ending is not None

    def idle(self, episode: OpenEpisode) -> float:
        return self._now() - episode.touched

    def find(self, episode_id: str) -> OpenEpisode | None:
        return self._open_episodes.get(episode_id)

    def now(self) -> float:
        return self._now()

    async def _plant(self, episode: OpenEpisode, product: str, owner: Owner) -> None:
        planted, instance = episode.setup.planted[product], episode.setup.instance
        await owner.client.post(
            "/control/episodes",
            {
                "episode_id": episode.id,
                "credential": episode.credentials[product],
                "seed": self._task_builder.mix_seed(episode.request),
                "world": episode.request.world,
                "faults": episode.request.faults,
                "steps": None if instance is None else instance.budget.steps,
                "leased": episode.leased,
                "planted": orjson.Fragment(planted.rows),
                "counters": planted.counters,
                "ids_key": planted.ids_key,
                "concurrent_edits": [] if instance is None else list_planned_edits(instance, product),
            },
        )

    async def _abandon_opening(self, episode: OpenEpisode, error: BaseException) -> None:
        await episode.close_quietly()
        self._forget(episode)
        with suppress(Unavailable):
            await self.end_recorded(episode.id, iso(episode.setup.clock_ms), f"could not be opened: {error}")
        if isinstance(error, (HarnessError, RegistryDown)):
            raise Unavailable(f"the episode could not be opened: {error}") from error

    async def _judge(self, episode: OpenEpisode, answer: JsonValue) -> Ending:
        instance = episode.setup.instance
        if instance is None:
            return ledger_rows.make_unscored_ending(episode, FREE_PLAY, await episode.close_quietly(), ours=False)
        simulation = episode.simulation
        try:
            if len(episode.owners) > 1 or episode.setup.settling_hours:
                await episode.pass_time(episode.setup.settling_hours * HOUR_MS)
            outcomes = [] if simulation is None else await simulation.outcomes(episode)
            replies = await episode.verify(await resolve_references(episode, instance.questions()))
        except InfrastructureFailure as failure:
            return ledger_rows.make_unscored_ending(episode, str(failure), await episode.close_quietly(), ours=True)
        breakdown = find_breakdown(replies)
        if breakdown is not None and not breakdown.by_agent:
            return ledger_rows.make_unscored_ending(episode, breakdown.cause, replies, ours=True)
        evidence = replace(
            gather_evidence(replies, {product: reply["findings"] for product, reply in replies.items()}),
            customers=outcomes,
            decisions=[] if simulation is None else simulation.decisions(),
        )
        if breakdown is None:
            scored = score(instance, evidence, answer)
            person = None if simulation is None else simulation.declined_by
            if person is not None and scored.verdict.outcome != "passed" and not scored.harm:
                # Whoever obeys a person cannot reach goals that the person has forbidden.
                because = f"{person} declined what the task needs"
                return ledger_rows.make_unscored_ending(episode, because, replies, ours=False)
            return ledger_rows.make_scored_ending(episode, scored, replies)
        harmful = score_harm(instance, evidence, answer, breakdown.cause)
        if harmful is None:
            return ledger_rows.make_unscored_ending(episode, breakdown.cause, replies, ours=True)
        return ledger_rows.make_scored_ending(episode, harmful, replies, ours=True)

    async def _settle(self, episode: OpenEpisode, ending: Ending) -> Verdict:
        """Writes the ending into the ledger first; only then is the episode over and the verdict published."""
        was_first = await self._ledger.end(ending)
        # Whichever way it ended: what nobody can decide any more must not wait in the console.
        self.approvals.withdraw(episode.id)
        self._forget(episode)
        with suppress(RegistryDown):
            await self._registry.disown(episode.id)
        if not was_first:
            return await self._verdict(episode.id)
        verdict = ending.verdict
        if ending.ours and verdict.outcome == "unscored":
            self._telemetry.unscored.inc()
        await self._publish(
            {
                "event": "ended",
                "episode": episode.id,
                "outcome": verdict.outcome,
                "reward": verdict.reward,
                "because": verdict.because,
            }
        )
        return verdict

    def _make_simulation(self, episode: OpenEpisode, seed: int) -> Simulation | None:
        instance = episode.setup.instance
        if instance is None or not (instance.customers or instance.colleagues):
            return None
        is_human = instance.approval == "human" or any(fnmatch(instance.family, each) for each in self._human_approvals)
        context = ApprovalContext(self.approvals, episode.id, episode.request.task) if is_human else None
        return Simulation(instance, episode.owners, seed, episode.setup.clock_ms, context)

    async def _publish(self, event: Mapping[str, Any]) -> None:
        """The live feed is for onlookers: no episode fails because the feed is down."""
        with suppress(RegistryDown):
            await self._registry.publish(event)

    async def _require_episode(self, episode_id: str) -> OpenEpisode:
        episode = self._open_episodes.get(episode_id)
        if episode is None:
            recorded = await self._read_recorded(episode_id)
            raise EpisodeIsOver(f"episode {recorded.id} is over; open another")
        self._touch(episode)
        return episode

    def _require_open(self, episode: OpenEpisode) -> None:
        if episode.ending is not None or episode.id not in self._open_episodes:
            raise EpisodeIsOver(f"episode {episode.id} is over; open another")

    def _forget(self, episode: OpenEpisode) -> None:
        self._open_episodes.pop(episode.id, None)
        self._credentials.remove(episode)

    def _touch(self, episode: OpenEpisode) -> None:
        episode.touched = self._now()

    async def _read_recorded(self, episode_id: str) -> EpisodeRecord:
        recorded = await self._ledger.read_episode(_well_formed(episode_id))
        if recorded is None:
            raise _unknown(episode_id)
        return recorded

    async def _verdict(self, episode_id: str) -> Verdict:
        recorded = await self._read_recorded(episode_id)
        if recorded.verdict is None:
            raise Conflict(f"episode {episode_id} is still being opened")
        return recorded.verdict


async def _report_failure(pending: Awaitable[ReplyT]) -> ReplyT:
    """Turns a failure of Dayshift into the answer 503."""
    try:
        return await pending
    except InfrastructureFailure as failure:
        raise Unavailable(f"{failure}; submit or close the episode to have that recorded") from failure


def _find_family(task: str | None) -> Family[Any] | None:
    try:
        return None if task is None else family(task)
    except UnknownTask as error:
        raise NotFound(str(error)) from error


def _well_formed(episode_id: str) -> str:
    """Nothing but our own ids reaches the database."""
    if _ID.fullmatch(episode_id) is None:
        raise _unknown(episode_id)
    return episode_id


def _unknown(episode_id: str) -> NotFound:
    return NotFound(f"no episode is called {episode_id[:60]!r}")


def _afford(episode: OpenEpisode, by_ms: int) -> None:
    instance = episode.setup.instance
    if instance is None:
        return
    remaining_ms = instance.budget.hours * HOUR_MS - episode.waited_ms
    if by_ms > remaining_ms:
        budget = instance.budget.hours
        raise Conflict(f"there are {remaining_ms / HOUR_MS:g} of {budget:g} hours left, not {by_ms / HOUR_MS:g}")
