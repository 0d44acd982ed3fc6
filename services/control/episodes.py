"""Episodes: open, wait, submit, close. Every episode ends once, and its ending is in the ledger before it is told."""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dayshift.wire import (
    Closed,
    Diff,
    EpisodePhase,
    EpisodeState,
    Opened,
    OpenRequest,
    Trajectory,
    Verdict,
    Waited,
)
from pydantic import JsonValue

from fixtures.tasks.family import Instance
from fixtures.tasks.registry import UnknownTask, family
from services.control import entries, outward
from services.control.customers.people import Outcome
from services.control.customers.shift import Shift
from services.control.ledger import Ending, Ledger, Recorded
from services.control.live import HOUR_MS, DoorFailed, HouseBroke, Live, Owner, broken_in, seen_by, steps_of
from services.control.planting import Soil
from services.control.problems import Conflict, Full, NotFound, NotNow
from services.control.references import resolved
from services.control.replicas import Replicas
from services.control.together import all_or_first_error
from services.control.verdicts import reckon
from services.kernel.clock import iso
from services.kernel.registry import Registry, RegistryDown
from services.kernel.telemetry import Telemetry

FREE_PLAY = "free play"
ABANDONED = "abandoned"
CLOSED_EARLY = "closed before it was submitted"
RESTARTED = "control restarted"
_ID = re.compile(r"[0-9a-f]{24}")


class Episodes:
    """All open episodes, and the way to their records once they have ended."""

    def __init__(
        self,
        soil: Soil,
        replicas: Replicas,
        ledger: Ledger,
        registry: Registry,
        telemetry: Telemetry,
        max_episodes: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._soil = soil
        self._replicas = replicas
        self._ledger = ledger
        self._registry = registry
        self._telemetry = telemetry
        self._max = max_episodes
        self._now = now
        self._live: dict[str, Live] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Live]:
        return iter(tuple(self._live.values()))

    def __contains__(self, episode_id: str) -> bool:
        return episode_id in self._live

    async def open(self, request: OpenRequest) -> Opened:
        if len(self._live) >= self._max:
            raise Full(len(self._live), self._max)
        plot = self._soil.plot(_family(request.task), request)
        owners = {
            product: self._replicas.choose(product, request.world, planted.template)
            for product, planted in plot.planted.items()
        }
        live = Live(secrets.token_hex(12), request, plot, owners, self._now())
        live.shift = _shift(live)
        self._live[live.id] = live
        credentials = {name: self._replicas.products[name].mint(secrets.token_hex(20)) for name in owners}
        try:
            await all_or_first_error(
                self._ledger.begin(entries.beginning(live)),
                self._registry.own(live.id, {name: owner.replica.instance for name, owner in owners.items()}),
                *(self._plant(live, name, owner, credentials[name]) for name, owner in owners.items()),
            )
        except BaseException as error:
            await self._failed_to_open(live, error)
            raise
        live.is_ready = True
        await self._tell({"event": "opened", "episode": live.id, "task": request.task, "seed": request.seed})
        return outward.opened(live, credentials)

    async def state(self, episode_id: str) -> EpisodeState:
        live = self._live.get(episode_id)
        if live is None or live.ending is not None:
            return outward.recorded_state(await self._recorded(episode_id))
        self._touch(live)
        return outward.open_state(live, await _asked(live.ask_all()))

    async def wait(self, episode_id: str, hours: float) -> Waited:
        live = await self._open_one(episode_id)
        async with live.lock:
            self._require_open(live)
            by_ms = round(hours * HOUR_MS)
            _afford(live, by_ms)
            said = await _asked(live.pass_time(by_ms))
            live.waited_ms += by_ms
        clock = iso(max(one["clock_ms"] for one in said.values()))
        return Waited(clock=clock, visible={product: one["changes"] for product, one in said.items()})

    async def submit(self, episode_id: str, answer: JsonValue) -> Verdict:
        live = self._live.get(episode_id)
        if live is None:
            return await self._verdict(episode_id)
        async with live.lock:
            if live.id not in self._live:
                return await self._verdict(episode_id)
            if live.ending is None:
                live.ending = await self._judge(live, answer)
            return await self._settle(live, live.ending)

    async def close(self, episode_id: str) -> Closed:
        live = self._live.get(episode_id)
        if live is not None:
            verdict = await self.end(live, FREE_PLAY if live.plot.instance is None else CLOSED_EARLY, ours=False)
            return Closed(episode_id=episode_id, outcome=verdict.outcome, because=verdict.because)
        verdict = await self._verdict(episode_id)
        await self._ledger.close_judged(episode_id)
        return Closed(episode_id=episode_id, outcome=verdict.outcome, because=verdict.because)

    async def end(self, live: Live, because: str, *, ours: bool, without: str = "") -> Verdict:
        """End without judging, and without asking a product that is gone; whatever ended it first stands."""
        async with live.lock:
            if live.id not in self._live:
                return await self._verdict(live.id)
            if live.ending is None:
                said = await live.close_quietly(without)
                cause = broken_in(said) or (None if ours else live.silent_in(said))
                live.ending = entries.unjudged(live, cause or because, said, ours=ours or cause is not None)
            return await self._settle(live, live.ending)

    async def end_recorded(self, episode_id: str, clock: str, because: str) -> None:
        """End an episode of which only the record is left."""
        verdict = Verdict(outcome="unscored", reward=None, because=because, clock=clock)
        await self._ledger.end(Ending(episode_id, EpisodePhase.CLOSED, verdict, ours=True))

    async def diff(self, episode_id: str) -> Diff:
        live = self._live.get(episode_id)
        if live is not None and live.ending is None:
            self._touch(live)
            said = await _asked(live.ask_all("/diff"))
            return outward.diff({product: one["changes"]["history"] for product, one in said.items()})
        kept = (
            live.ending.diff
            if live is not None and live.ending is not None
            else await self._ledger.diff(_well_formed(episode_id))
        )
        if kept is None:
            raise _unknown(episode_id)
        return outward.diff(kept)

    async def trajectory(self, episode_id: str) -> Trajectory:
        live = self._live.get(episode_id)
        if live is not None and live.ending is None:
            self._touch(live)
            said = await _asked(live.ask_all("/trajectory"))
            return outward.trajectory(
                episode_id, steps_of({name: {"trajectory": one["steps"]} for name, one in said.items()})
            )
        kept = live.ending.steps if live is not None and live.ending is not None else None
        steps = kept if kept is not None else await self._ledger.trajectory(_well_formed(episode_id))
        if steps is None:
            raise _unknown(episode_id)
        return outward.trajectory(episode_id, steps)

    def idle(self, live: Live) -> float:
        return self._now() - live.touched

    async def _plant(self, live: Live, product: str, owner: Owner, credential: str) -> None:
        planted, instance = live.plot.planted[product], live.plot.instance
        await owner.door.post(
            "/control/episodes",
            {
                "episode_id": live.id,
                "credential": credential,
                "seed": live.request.seed,
                "world": live.request.world,
                "faults": live.request.faults,
                "steps": None if instance is None else instance.budget.steps,
                "leased": live.leased,
                "planted": planted.rows,
                "counters": planted.counters,
                "meanwhile": [] if instance is None else _edits(instance, product),
            },
        )

    async def _failed_to_open(self, live: Live, error: BaseException) -> None:
        await live.close_quietly()
        self._live.pop(live.id, None)
        with suppress(NotNow):
            await self.end_recorded(live.id, iso(live.plot.clock_ms), f"could not be opened: {error}")
        if isinstance(error, (*DoorFailed, RegistryDown)):
            raise NotNow(f"the episode could not be opened: {error}") from error

    async def _judge(self, live: Live, answer: JsonValue) -> Ending:
        instance = live.plot.instance
        if instance is None:
            return entries.unjudged(live, FREE_PLAY, await live.close_quietly(), ours=False)
        questions: dict[str, Any] = {name: {"checks": [], "close": True} for name in live.owners}
        try:
            if len(live.owners) > 1 or live.plot.settling_hours:
                await live.pass_time(live.plot.settling_hours * HOUR_MS)
            outcomes = [] if live.shift is None else await live.shift.outcomes(live)
            for asked in await resolved(live, instance.asked()):
                questions[asked.product]["checks"].append({"name": asked.check, "arguments": dict(asked.arguments)})
            said = await live.tell_all("/verify", questions)
        except HouseBroke as broke:
            return entries.unjudged(live, str(broke), await live.close_quietly(), ours=True)
        cause = broken_in(said)
        if cause is not None:
            return entries.unjudged(live, cause, said, ours=True)
        return self._scored(live, said, answer, outcomes)

    def _scored(
        self, live: Live, said: dict[str, dict[str, Any]], answer: JsonValue, outcomes: list[Outcome]
    ) -> Ending:
        assert live.plot.instance is not None, "free play is not judged"
        decisions = [] if live.shift is None else live.shift.decisions()
        seen = replace(seen_by(said), customers=outcomes, decisions=decisions)
        reckoned = reckon(live.plot.instance, seen, answer)
        return entries.judged(live, reckoned, said)

    async def _settle(self, live: Live, ending: Ending) -> Verdict:
        """Into the ledger first; only then is the episode over and the verdict told."""
        stood = await self._ledger.end(ending)
        self._live.pop(live.id, None)
        with suppress(RegistryDown):
            await self._registry.disown(live.id)
        if not stood:
            return await self._verdict(live.id)
        verdict = ending.verdict
        if ending.ours:
            self._telemetry.unscored.inc()
        await self._tell(
            {
                "event": "ended",
                "episode": live.id,
                "outcome": verdict.outcome,
                "reward": verdict.reward,
                "because": verdict.because,
            }
        )
        return verdict

    async def _tell(self, event: Mapping[str, Any]) -> None:
        """The feed is for onlookers: nobody's episode fails because nobody can look."""
        with suppress(RegistryDown):
            await self._registry.publish(event)

    async def _open_one(self, episode_id: str) -> Live:
        live = self._live.get(episode_id)
        if live is None:
            recorded = await self._recorded(episode_id)
            raise Conflict(f"episode {recorded.id} is over; open another")
        self._touch(live)
        return live

    def _require_open(self, live: Live) -> None:
        if live.ending is not None or live.id not in self._live:
            raise Conflict(f"episode {live.id} is over; open another")

    def _touch(self, live: Live) -> None:
        live.touched = self._now()

    async def _recorded(self, episode_id: str) -> Recorded:
        recorded = await self._ledger.recorded(_well_formed(episode_id))
        if recorded is None:
            raise _unknown(episode_id)
        return recorded

    async def _verdict(self, episode_id: str) -> Verdict:
        recorded = await self._recorded(episode_id)
        if recorded.verdict is None:
            raise Conflict(f"episode {episode_id} is still being opened")
        return recorded.verdict


async def _asked(asking: Awaitable[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    try:
        return await asking
    except HouseBroke as broke:
        raise NotNow(f"{broke}; submit or close the episode to have that recorded") from broke


def _edits(instance: Instance, product: str) -> list[dict[str, Any]]:
    return [
        {"after_steps": edit.after_steps, "table": edit.table, "key": edit.row, "values": dict(edit.values)}
        for edit in instance.meanwhile
        if edit.product == product
    ]


def _shift(live: Live) -> Shift | None:
    instance = live.plot.instance
    if instance is None or not (instance.customers or instance.colleagues):
        return None
    return Shift(instance, live.request.seed, live.plot.clock_ms)


def _family(task: str | None) -> Any:
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


def _afford(live: Live, by_ms: int) -> None:
    instance = live.plot.instance
    if instance is None:
        return
    left = instance.budget.hours * HOUR_MS - live.waited_ms
    if by_ms > left:
        budget = instance.budget.hours
        raise Conflict(f"the budget has {left / HOUR_MS:g} of {budget} hours left, not {by_ms / HOUR_MS:g}")
