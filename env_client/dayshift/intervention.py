"""Supervisor: lets somebody pause an episode, replace or veto a call, or take over, and marks it in the recording."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, JsonValue

from dayshift.calls import Call
from dayshift.operations import Catalogue
from dayshift.step import Step
from dayshift.wire import Message

InterventionKind = Literal["paused", "replaced", "vetoed", "took_over"]


class Intervention(Message):
    """Somebody stepped into an episode: what they did, at which step, who and why, and what the policy proposed."""

    kind: InterventionKind
    step: int
    by: str
    because: str = ""
    operation: str = ""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def changed_call(self) -> bool:
        """False for a pause, which the agent cannot notice: the episode's clock counts its own requests."""
        return self.kind != "paused"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The call that a policy wants to make, and what is known when it does."""

    call: Call
    brief: str
    clock: str
    steps_left: int | None
    history: Sequence[Step]
    operations: Catalogue
    task: str | None
    seed: int
    episode_id: str


@dataclass(frozen=True, slots=True)
class Allow:
    """The call is made as proposed."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Another call is made; the agent reads its answer."""

    call: Call
    because: str = ""


@dataclass(frozen=True, slots=True)
class Veto:
    """No call is made; the agent reads that it was declined and why, and it costs a step."""

    because: str


Decision = Allow | Replace | Veto
Review = Callable[[Proposal], Decision]
Choice = Callable[[Proposal], Call]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to be done with a proposal, and what the recording says about it."""

    decision: Decision
    interventions: tuple[Intervention, ...] = ()


class Supervisor:
    """Stands between a policy and its episodes; `Episode.open(…, supervisor=…)`, `rollouts(…, supervisor=…)`.

    review  a function from a `Proposal` to `Allow()`, `Replace(call, because)` or `Veto(because)`
    by      who it is, for the recording

    `pause`, `resume`, `take_over` and `hand_back` may be called from any thread while episodes run.
    """

    def __init__(self, review: Review | None = None, *, by: str = "supervisor") -> None:
        self.by = by
        self._review = review
        self._choose: Choice | None = None
        self._running = threading.Event()
        self._running.set()
        self._pause_reason = ""

    @property
    def is_paused(self) -> bool:
        return not self._running.is_set()

    def pause(self, because: str = "") -> None:
        """Holds every episode before its next call, until `resume`."""
        self._pause_reason = because
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    def take_over(self, choose: Choice) -> None:
        """From now on `choose` makes the calls, and what the policy proposes is recorded and not made."""
        self._choose = choose

    def hand_back(self) -> None:
        self._choose = None

    def rule(self, proposal: Proposal) -> Ruling:
        """Waits while paused, then decides."""
        pause = self._note_pause(proposal)
        self._running.wait()
        return self._decide(proposal, pause)

    async def rule_async(self, proposal: Proposal) -> Ruling:
        """As `rule`, for an event loop: neither a pause nor a slow reviewer holds up other episodes."""
        pause = self._note_pause(proposal)
        if pause:
            await asyncio.to_thread(self._running.wait)
        if self._review is None and self._choose is None:
            return self._decide(proposal, pause)
        return await asyncio.to_thread(self._decide, proposal, pause)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def _note_pause(self, proposal: Proposal) -> tuple[Intervention, ...]:
        return (self._note("paused", proposal, self._pause_reason),) if self.is_paused else ()

    def _decide(self, proposal: Proposal, before: tuple[Intervention, ...]) -> Ruling:
        if self._choose is not None:
            return Ruling(Replace(self._choose(proposal)), (*before, self._note("took_over", proposal, "")))
        decision = Allow() if self._review is None else self._review(proposal)
        match decision:
            case Replace(because=because):
                return Ruling(decision, (*before, self._note("replaced", proposal, because)))
            case Veto(because=because):
                return Ruling(decision, (*before, self._note("vetoed", proposal, because)))
            case Allow():
                return Ruling(decision, before)

    def _note(self, kind: InterventionKind, proposal: Proposal, because: str) -> Intervention:
        arguments = _to_json(proposal.call.arguments)
        step, operation = len(proposal.history) + 1, proposal.call.operation
        return Intervention(kind=kind, step=step, by=self.by, because=because, operation=operation, arguments=arguments)


def _to_json(arguments: Mapping[str, Any]) -> dict[str, Any]:
    from dayshift.trajectory import to_json_value  # a trajectory holds interventions

    return dict(to_json_value(dict(arguments)))
