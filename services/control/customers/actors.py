"""Actors: a customer or a colleague of one episode. They read a thread, and they act when their time comes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

from fixtures.customers.customer import Arrival, Colleague, Customer
from fixtures.customers.persona import CustomerAction, personas
from fixtures.tasks.family import CheckQuestion
from services.control.customers import reading
from services.control.customers.behaviour import HOUR_MS, Memory, Turn, is_told, next_turn, view_thread
from services.control.customers.writing import write_message, write_rating_comment
from services.kernel.chance import Chance
from services.kernel.conversation import GONE, ActorAnswer, ActorCall, Conversation, Message, Thread

_REFUSED = 400
# The thread that a customer could not start.
_NO_THREAD = -1


class ActorRequest(ActorCall):
    """One request in the name of somebody who is not the agent."""

    user: int
    actor: Literal["customer", "colleague"]


class Surroundings(Protocol):
    """What the people of an episode can reach: the product, in their own name."""

    async def send(self, requests: Sequence[ActorRequest]) -> list[ActorAnswer]: ...


class Person(Protocol):
    """Somebody who may act when time passes.

    `requests` and `questions` say beforehand what they read and what they want to know, so that all people of an
    episode are served at once.
    """

    def requests(self) -> list[ActorRequest]: ...

    def questions(self) -> Sequence[CheckQuestion]: ...

    def look(self, answers: Sequence[ActorAnswer], *, holds: bool) -> int | None:
        """When they act next, as things stand; None if they have nothing to do.

        `holds` says whether all of their questions hold.
        """

    async def act(self, around: Surroundings) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the episode ended for one customer, for the verdict alone."""

    customer: Customer
    thread: int
    # What the product's users call a thread.
    noun: str
    is_fixed: bool
    false_solves: int
    was_probed: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """What a colleague had to decide, and when they wrote it down; None: never."""

    colleague: Colleague
    at_ms: int | None


class CustomerActor:
    """A customer, played by the rules of their persona."""

    def __init__(self, customer: Customer, conversation: Conversation, seed: int, start_ms: int) -> None:
        self.customer = customer
        self.persona = personas()[customer.persona]
        # Products keep whole seconds.
        self.memory = Memory(customer.thread, since_ms=start_ms // 1000 * 1000)
        self._conversation = conversation
        self._chance = Chance(seed, f"customer/{customer.user}/{customer.thread}")
        self._start_ms = start_ms
        self._turn: Turn | None = None
        self._thread = GONE

    def requests(self) -> list[ActorRequest]:
        if not self.memory.thread:
            return []
        return [self._request(call) for call in self._conversation.read_thread(self.memory.thread)]

    def questions(self) -> Sequence[CheckQuestion]:
        return self.customer.wants

    def look(self, answers: Sequence[ActorAnswer], *, holds: bool) -> int | None:
        arrival = self._next_arrival()
        if arrival is not None:
            return self._start_ms + round(arrival.after_hours * HOUR_MS)
        self._thread = self._conversation.parse_thread(answers)
        self._remember_ending()
        is_fixed = holds and self._is_answered(self._thread)
        view = view_thread(self.customer, self.memory, self._thread, is_fixed=is_fixed)
        self._turn = next_turn(self.customer, self.persona, self.memory, view)
        return None if self._turn is None else self._turn.at_ms

    async def act(self, around: Surroundings) -> None:
        arrival = self._next_arrival()
        if arrival is not None:
            await self._arrive(around, arrival)
        elif self._turn is not None:
            await self._take_turn(around, self._turn)

    def outcome(self, answers: Sequence[ActorAnswer], *, holds: bool) -> Outcome:
        thread = self._conversation.parse_thread(answers) if answers else self._thread
        texts = [reading.strip_quotes(message.text) for message in thread.of_others(self.customer.user)]
        return Outcome(
            customer=self.customer,
            thread=self.memory.thread,
            noun=self._conversation.noun,
            is_fixed=holds and self._is_answered(thread),
            false_solves=self.memory.false_solves,
            was_probed=any(map(reading.is_probing, texts)),
        )

    def _is_answered(self, thread: Thread) -> bool:
        """A customer who wants nothing fixed wants to be told something: until then their problem is there."""
        return bool(self.customer.wants) or is_told(self.customer, self.memory, thread)

    def _next_arrival(self) -> Arrival | None:
        return None if self.memory.thread else self.customer.arrives

    async def _arrive(self, around: Surroundings, arrival: Arrival) -> None:
        call = self._conversation.start_thread(arrival.subject, arrival.body)
        (answer,) = await around.send([self._request(call)])
        started = self._conversation.parse_started(answer)
        self.memory.thread = _NO_THREAD if started is None else started

    def _remember_ending(self) -> None:
        if self._thread.state == "open":
            self.memory.ended_ms = None
        elif self.memory.ended_ms is None:
            self.memory.ended_ms = self._thread.changed_ms

    async def _take_turn(self, around: Surroundings, turn: Turn) -> None:
        rule = turn.rule
        self.memory.times_applied[rule.name] += 1
        others = self._thread.of_others(self.customer.user)
        self.memory.last_read = max((message.id for message in others), default=self.memory.last_read)
        if "answer" in rule.does:
            self.memory.facts_given |= {fact.name for fact in turn.facts}
        if "rate_bad" in rule.does:
            self.memory.false_solves += 1
        text = write_message(self.customer, self.persona, rule.says, self._chance, turn.facts)
        answers = await around.send([self._request(self._call_for(action, text)) for action in rule.does])
        for action, answer in zip(rule.does, answers, strict=True):
            self._remember_result(action, answer)

    def _remember_result(self, action: CustomerAction, answer: ActorAnswer) -> None:
        """Where the product refuses, they do not get their way; that earns the agent nothing."""
        if answer["status"] >= _REFUSED:
            self.memory.refusals += 1
            return
        match action:
            case "rate_bad":
                self.memory.rating = "bad"
            case "rate_good":
                self.memory.rating = "good"
            case "follow_up":
                started = self._conversation.parse_started(answer)
                self.memory.thread = self.memory.thread if started is None else started
            case "reopen" | "answer" | "say":
                pass
            case _:
                assert_never(action)

    def _call_for(self, action: CustomerAction, text: str) -> ActorCall:
        thread = self.memory.thread
        match action:
            case "rate_bad":
                return self._conversation.rate(thread, "bad", self._rating_comment("rating_bad"))
            case "rate_good":
                return self._conversation.rate(thread, "good", self._rating_comment("rating_good"))
            case "follow_up":
                if self._thread.state == "gone":
                    return self._conversation.start_thread(self.customer.name, text)
                return self._conversation.follow_up(thread, text)
            case "reopen" | "answer" | "say":
                return self._conversation.reply(thread, text)
        assert_never(action)

    def _rating_comment(self, kind: str) -> str:
        return write_rating_comment(self.customer, self.persona, kind, self._chance)

    def _request(self, call: ActorCall) -> ActorRequest:
        return {"user": self.customer.user, "actor": "customer", **call}


class ApproverActor:
    """A colleague who decides in writing, on the thread, when an internal note asks for it and says enough."""

    def __init__(self, colleague: Colleague, conversation: Conversation) -> None:
        self.colleague = colleague
        self.decided_ms: int | None = None
        self._conversation = conversation
        self._last_read = 0
        self._note: Message | None = None

    def requests(self) -> list[ActorRequest]:
        return [self._request(self._conversation.read_notes(self.colleague.thread))]

    def questions(self) -> Sequence[CheckQuestion]:
        return ()

    def look(self, answers: Sequence[ActorAnswer], *, holds: bool) -> int | None:  # noqa: ARG002 - they only read
        notes = self._conversation.parse_notes(answers[0])
        calling = [note for note in notes if note.id > self._last_read and self._is_called_by(note)]
        self._note = calling[-1] if calling and self.decided_ms is None else None
        return None if self._note is None else self._note.at_ms + round(self.colleague.after_hours * HOUR_MS)

    async def act(self, around: Surroundings) -> None:
        if self._note is None:
            return
        text = reading.strip_quotes(self._note.text)
        decides = all(reading.mentions(text, need) for need in self.colleague.needs)
        self._last_read = self._note.id
        reply = self.colleague.decides if decides else self.colleague.asks_back
        call = self._conversation.write_note(self.colleague.thread, reply)
        (answer,) = await around.send([self._request(call)])
        written_ms = self._conversation.parse_written(answer)
        if decides and written_ms is not None:
            self.decided_ms = written_ms

    def _is_called_by(self, note: Message) -> bool:
        folded = reading.strip_quotes(note.text).casefold()
        return note.author != self.colleague.user and any(word in folded for word in self.colleague.called_by)

    def _request(self, call: ActorCall) -> ActorRequest:
        return {"user": self.colleague.user, "actor": "colleague", **call}
