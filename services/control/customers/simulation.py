"""Simulation: the people of one episode, and time that passes among them. Whatever falls due happens in its order."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import orjson

from fixtures.tasks.family import CheckQuestion, Instance, find_conversation
from services.control.customers.actors import (
    ActorRequest,
    ApproverActor,
    CustomerActor,
    Decision,
    Outcome,
    Person,
)
from services.control.customers.behaviour import HOUR_MS
from services.control.customers.human_approver import ApprovalContext, HumanApprover
from services.control.open_episode import OpenEpisode
from services.kernel.conversation import ActorAnswer
from services.kernel.harness_replies import AdvanceReply, StateReply

# What products do by themselves (automations, jobs, renewals) is noticed no later than this.
_LOOK_EVERY_MS = 24 * HOUR_MS


class Simulation:
    """Customers and colleagues, in the order of the task; all of them use the one product that has a conversation."""

    def __init__(
        self,
        instance: Instance,
        products: Iterable[str],
        seed: int,
        start_ms: int,
        approval_context: ApprovalContext | None = None,
    ) -> None:
        """With an approval context, a person decides for the colleagues."""
        self._product, conversation = find_conversation(products)
        self.customer_actors = tuple(
            CustomerActor(customer, conversation, seed, start_ms) for customer in instance.customers
        )
        self._humans = (
            ()
            if approval_context is None
            else tuple(HumanApprover(colleague, conversation, approval_context) for colleague in instance.colleagues)
        )
        self._approver_actors: tuple[ApproverActor, ...] = self._humans or tuple(
            ApproverActor(colleague, conversation) for colleague in instance.colleagues
        )
        self._people: tuple[Person, ...] = (*self.customer_actors, *self._approver_actors)
        self._seen_revisions: dict[str, int] | None = None
        self._due: list[tuple[int, Person]] = []

    async def pass_time(self, episode: OpenEpisode, by_ms: int) -> dict[str, AdvanceReply]:
        """Moves every clock from one turn to the next, until all of the time has passed and nobody has a turn left."""
        around = _ProductAccess(episode, self._product)
        for human in self._humans:
            human.begin_waiting()
        before = await episode.ask_states()
        now = max(state["clock_ms"] for state in before.values())
        end = now + by_ms
        states: Mapping[str, StateReply] = await episode.advance_to(now)
        while True:
            first = await self._find_first(around, states)
            next_ms = min(end, now + _LOOK_EVERY_MS, end if first is None else first[0])
            if next_ms > now:
                now = next_ms
                states = await episode.advance_to(now)
                first = await self._find_first(around, states)
            if first is not None and first[0] <= now:
                # One at a time: what somebody does may change everybody else's plans.
                await first[1].act(around)
                # Also where the product refused and nothing changed: they have tried.
                self._seen_revisions = None
                states = await episode.ask_states()
            elif now >= end:
                return {
                    name: {**state, "changes": state["revision"] - before[name]["revision"]}
                    for name, state in states.items()
                }

    async def outcomes(self, episode: OpenEpisode) -> list[Outcome]:
        views = await _ProductAccess(episode, self._product).look_for(self.customer_actors)
        return [
            actor.outcome(answers, holds=holds)
            for actor, (answers, holds) in zip(self.customer_actors, views, strict=True)
        ]

    def decisions(self) -> list[Decision]:
        return [Decision(actor.colleague, actor.decided_ms) for actor in self._approver_actors]

    @property
    def declined_by(self) -> str | None:
        """The person who declined what the task's goals need, if one did."""
        return next((human.declined_by for human in self._humans if human.declined_by is not None), None)

    async def _find_first(
        self, around: "_ProductAccess", states: Mapping[str, StateReply]
    ) -> tuple[int, Person] | None:
        """Whoever is due first. While no product has changed, nobody changes their plans."""
        revisions = {name: int(state["revision"]) for name, state in states.items()}
        if revisions != self._seen_revisions:
            views = await around.look_for(self._people)
            plans = [
                (person.look(answers, holds=holds), person)
                for person, (answers, holds) in zip(self._people, views, strict=True)
            ]
            self._due = [(at_ms, person) for at_ms, person in plans if at_ms is not None]
            self._seen_revisions = revisions
        return min(self._due, key=lambda turn: turn[0], default=None)


class _ProductAccess:
    """The products of one episode as its people reach them."""

    def __init__(self, episode: OpenEpisode, product: str) -> None:
        self._episode = episode
        self._product = product

    async def send(self, requests: Sequence[ActorRequest]) -> list[ActorAnswer]:
        return await self._episode.send_actor_requests(self._product, requests)

    async def look_for(self, people: Sequence[Person]) -> list[tuple[list[ActorAnswer], bool]]:
        """What each of them reads, and whether their questions hold; asked for all of them at once."""
        requests = [person.requests() for person in people]
        flat = [request for own in requests for request in own]
        answers = iter(await self.send(flat) if flat else ())
        holds = await self._ask(
            dict.fromkeys(_Question.of(question) for person in people for question in person.questions())
        )
        return [
            (list(islice(answers, len(own))), all(holds[_Question.of(question)] for question in person.questions()))
            for person, own in zip(people, requests, strict=True)
        ]

    async def _ask(self, questions: Iterable["_Question"]) -> dict["_Question", bool]:
        holds: dict[_Question, bool] = {}
        by_product: dict[str, list[_Question]] = {}
        for question in questions:
            by_product.setdefault(question.product, []).append(question)
        for product, own in by_product.items():
            findings = await self._episode.ask_checks(product, [question.as_check() for question in own])
            # What could not be checked counts as fixed: harm to a customer must be shown.
            holds |= {
                question: finding["held"] or finding.get("unanswered", False)
                for question, finding in zip(own, findings, strict=True)
            }
        return holds


class _Question(NamedTuple):
    """A question to a product in a form that can be compared, so that it is asked once for everybody."""

    product: str
    check: str
    arguments: bytes

    @classmethod
    def of(cls, question: CheckQuestion) -> "_Question":
        return cls(question.product, question.check, orjson.dumps(dict(question.arguments)))

    def as_check(self) -> CheckQuestion:
        return CheckQuestion(self.product, self.check, orjson.loads(self.arguments))
