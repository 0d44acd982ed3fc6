"""OpenEpisode: one open episode as control holds it, and its calls to the products that hold its forks."""

import asyncio
from collections.abc import Awaitable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from dayshift.wire import Flag, InjectedFault, OpenRequest

from fixtures.tasks.family import CheckQuestion
from services.control.effort import EpisodeStep
from services.control.evidence import Evidence
from services.control.harness_client import ErrorAnswer, HarnessClient, HarnessError, Unreachable
from services.control.ledger import Ending
from services.control.recorded_change import RecordedChange
from services.control.task_setup import TaskSetup
from services.kernel.clock import iso
from services.kernel.conversation import ActorAnswer
from services.kernel.harness_replies import (
    AdvanceReply,
    ClosedReply,
    DiffReply,
    EpisodeSummaryReply,
    FindingReply,
    NewsReply,
    StateReply,
    StepReply,
    TailReply,
    TrajectoryReply,
    VerifyReply,
)
from services.kernel.registry import Replica

if TYPE_CHECKING:
    from services.control.customers.actors import ActorRequest
    from services.control.customers.simulation import Simulation

HOUR_MS = 3_600_000
# Checks run the agent's code and whole suites of tests, which the product bounds itself; a busy machine is slow at it.
JUDGING_SECONDS = 720.0
ReplyT = TypeVar("ReplyT")
# The last replies of the products that still answered, by product.
FinalReplies = Mapping[str, ClosedReply] | Mapping[str, VerifyReply]


class InfrastructureFailure(Exception):
    """The episode cannot be judged through a failure of Dayshift; the message is the cause."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that holds an episode's fork of one product."""

    replica: Replica
    client: HarnessClient


@dataclass(frozen=True, slots=True)
class PersonHold:
    """A person holds the agent back."""

    person: str
    since: float
    works: bool


@dataclass(eq=False)
class OpenEpisode:
    """One open episode."""

    id: str
    request: OpenRequest
    setup: TaskSetup
    owners: Mapping[str, Owner]
    touched: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waited_ms: int = 0
    # The time before each wait and how long it was, in milliseconds: a replay waits as long.
    waits: list[tuple[int, int]] = field(default_factory=list)
    # Set while a person holds the agent back: who, since when, and whether they work in its place.
    hold: "PersonHold | None" = None
    # Flags of what people did in it, which the verdict carries.
    interventions: list[Flag] = field(default_factory=list)
    # Every product holds its fork: from now on one that does not has lost it.
    is_ready: bool = False
    # Judged or ended, but not yet in the ledger: only writing it there is left.
    ending: Ending | None = None
    leased: bool = True
    # The people who act when time passes, where the task has any.
    simulation: "Simulation | None" = None
    # The agent's credentials by product, and the one for all of them together.
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    office_credential: str = field(default="", repr=False)

    @property
    def path(self) -> str:
        return f"/control/episodes/{self.id}"

    async def ask_states(self) -> dict[str, StateReply]:
        return await self._get_all("")

    async def ask_diffs(self) -> dict[str, DiffReply]:
        return await self._get_all("/diff")

    async def ask_trajectories(self) -> dict[str, TrajectoryReply]:
        return await self._get_all("/trajectory")

    async def ask_checks(self, product: str, questions: Sequence[CheckQuestion]) -> list[FindingReply]:
        findings: list[FindingReply] = (
            await self._post(product, "/find", {"checks": as_checks(questions)}, timeout=JUDGING_SECONDS)
        )["findings"]
        return findings

    async def send_actor_requests(self, product: str, requests: "Sequence[ActorRequest]") -> list[ActorAnswer]:
        """Sends requests in the name of people who are not the agent, in this order."""
        answers: list[ActorAnswer] = (await self._post(product, "/actors", {"requests": list(requests)}))["answers"]
        return answers

    async def verify(self, questions: Sequence[CheckQuestion]) -> dict[str, VerifyReply]:
        """Asks every product the task's questions to it, and closes the episode there under the same lock."""
        messages = {
            name: {"checks": as_checks([q for q in questions if q.product == name]), "close": True}
            for name in self.owners
        }
        return await self._post_all("/verify", messages, timeout=JUDGING_SECONDS)

    async def advance(self, by_ms: int) -> dict[str, AdvanceReply]:
        """Moves every clock to the latest of all and on from there: after it all products have the same time."""
        states = await self.ask_states()
        return await self.advance_to(max(state["clock_ms"] for state in states.values()) + by_ms)

    async def advance_to(self, to_ms: int) -> dict[str, AdvanceReply]:
        return await self._post_all("/advance", {name: {"to_ms": to_ms} for name in self.owners}, is_repeatable=True)

    async def pass_time(self, by_ms: int) -> dict[str, AdvanceReply]:
        """Lets time pass for products and people alike; whatever falls due happens in its order."""
        return await (self.advance(by_ms) if self.simulation is None else self.simulation.pass_time(self, by_ms))

    async def ask_news(self, since: Mapping[str, int]) -> list[str]:
        """What came in at these products after these revisions."""
        pending = {
            name: self.owners[name].client.get(f"{self.path}/news?since={revision}") for name, revision in since.items()
        }
        replies: dict[str, NewsReply] = await self._gather(pending)
        return [sentence for reply in replies.values() for sentence in reply["news"]]

    async def ask_tails(self, after: Mapping[str, tuple[int, int]]) -> dict[str, TailReply]:
        """The steps and changes after these marks, by product."""
        pending = {
            name: owner.client.get(f"{self.path}/tail?after_step={step}&after_revision={revision}")
            for name, owner in self.owners.items()
            for step, revision in (after.get(name, (0, 0)),)
        }
        return await self._gather(pending)

    async def send_holds(self, messages: Mapping[str, Mapping[str, Any]]) -> None:
        await self._post_all("/hold", messages)

    async def close_quietly(self, without: str = "") -> dict[str, ClosedReply]:
        """Closes the episode wherever that is still possible, and returns the replies that came."""
        pending = {name: self._close(owner) for name, owner in self.owners.items() if name != without}
        replies = await asyncio.gather(*pending.values())
        return {name: reply for name, reply in zip(pending, replies, strict=True) if reply is not None}

    def find_silent(self, replies: Container[str]) -> str | None:
        """The cause, where a product that holds this episode did not reply: a trainer may close before we notice."""
        return next((describe_death(product) for product in self.owners if product not in replies), None)

    async def _close(self, owner: Owner) -> ClosedReply | None:
        try:
            reply: ClosedReply = await owner.client.post(self.path + "/close")
        except HarnessError:
            return None
        return reply

    async def _get_all(self, path: str) -> dict[str, Any]:
        return await self._gather({name: owner.client.get(self.path + path) for name, owner in self.owners.items()})

    async def _post_all(
        self, path: str, messages: Mapping[str, Any], *, is_repeatable: bool = False, timeout: float | None = None
    ) -> dict[str, Any]:
        return await self._gather(
            {
                name: owner.client.post(
                    self.path + path, messages.get(name), is_repeatable=is_repeatable, timeout=timeout
                )
                for name, owner in self.owners.items()
            }
        )

    async def _post(self, product: str, path: str, message: Mapping[str, Any], timeout: float | None = None) -> Any:
        client = self.owners[product].client
        return (await self._gather({product: client.post(self.path + path, message, timeout=timeout)}))[product]

    async def _gather(self, pending: Mapping[str, Awaitable[ReplyT]]) -> dict[str, ReplyT]:
        results = await asyncio.gather(*pending.values(), return_exceptions=True)
        replies: dict[str, ReplyT] = {}
        for product, result in zip(pending, results, strict=True):
            if isinstance(result, BaseException):
                raise InfrastructureFailure(await self._find_cause(product, result)) from result
            replies[product] = result
        return replies

    async def _find_cause(self, product: str, error: BaseException) -> str:
        may_have_died = isinstance(error, Unreachable) or (isinstance(error, ErrorAnswer) and error.status == 404)
        if may_have_died and await self._has_restarted(product):
            return describe_death(product)
        if isinstance(error, HarnessError):
            return f"{product} failed: {error}"
        raise error

    async def _has_restarted(self, product: str) -> bool:
        owner = self.owners[product]
        try:
            health = await owner.client.get("/health")
        except HarnessError:
            return True
        return bool(health["instance"] != owner.replica.instance)


def describe_death(product: str) -> str:
    return f"{product} process died"


def as_checks(questions: Sequence[CheckQuestion]) -> list[dict[str, Any]]:
    return [{"name": question.check, "arguments": dict(question.arguments)} for question in questions]


def gather_evidence(replies: FinalReplies, findings: Mapping[str, Sequence[FindingReply]] | None = None) -> Evidence:
    """The products' last replies, put together for the verdict."""
    return Evidence(
        findings=findings or {},
        history={product: list(map(RecordedChange, reply["changes"]["history"])) for product, reply in replies.items()},
        faults=[
            InjectedFault(product=product, kind=fault["kind"], operation=fault["operation"])
            for product, reply in replies.items()
            for fault in reply["faults"]
        ],
        steps=sum(reply["steps"] for reply in replies.values()),
        clock=iso(max((reply["clock_ms"] for reply in replies.values()), default=0)),
        trajectory=merge_steps({product: reply.get("trajectory", []) for product, reply in replies.items()}),
        unknown_credentials=sum(reply["unknown_credentials"] for reply in replies.values()),
    )


def merge_steps(trajectories: Mapping[str, Sequence[StepReply]]) -> list[EpisodeStep]:
    """The steps of all products in the order of the episode's time."""
    steps: list[EpisodeStep] = [
        {"product": product, **step} for product, trajectory in trajectories.items() for step in trajectory
    ]
    return sorted(steps, key=lambda step: int(step["clock_ms"]))


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Why a product failed in an episode, and whether the agent's own doing made it fail."""

    cause: str
    by_agent: bool


def find_breakdown(states: Mapping[str, StateReply | EpisodeSummaryReply]) -> Breakdown | None:
    """The first breakdown that a product reports; one that the agent has no part in comes before all others."""
    breakdowns = [
        Breakdown(f"{product}: {state['broken']}", state["broken_by_agent"])
        for product, state in states.items()
        if state["broken"]
    ]
    return min(breakdowns, key=lambda breakdown: breakdown.by_agent, default=None)
