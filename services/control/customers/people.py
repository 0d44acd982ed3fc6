"""People: a customer or a colleague of one episode, at the desk: they look, and when their time comes they act."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from fixtures.customers.customer import Arrival, Colleague, Customer
from fixtures.customers.persona import Deed, personas
from fixtures.tasks.family import Asked
from services.control.customers import reading
from services.control.customers.mind import HOUR_MS, Memory, Turn, impression, is_told, next_turn
from services.control.customers.thread import GONE, Message, Thread, messages_of, moment_ms, read_thread
from services.control.customers.voice import remark, written
from services.kernel.chance import Chance

_REFUSED = 400
_ENDED = frozenset({"solved", "closed", GONE})
Visit = dict[str, Any]


class Surroundings(Protocol):
    """What people of an episode can reach: the desk, in their own name."""

    async def visit(self, visits: Sequence[Visit]) -> list[Mapping[str, Any]]: ...


class Person(Protocol):
    """Somebody who may act when time passes.

    What they look at and what they wonder about is said before they look: all people of an episode look at once.
    """

    def visits(self) -> list[Visit]: ...

    def wonders(self) -> Sequence[Asked]: ...

    def look(self, answers: Sequence[Mapping[str, Any]], *, is_so: bool) -> int | None:
        """When they act next, as things stand; None if nothing is on their mind."""

    async def act(self, around: Surroundings) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended for one customer, for the verdict alone."""

    customer: Customer
    ticket: int
    fixed: bool
    false_solves: int
    probed: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """What a colleague was asked for, and when they wrote it down; None: never."""

    colleague: Colleague
    at_ms: int | None


class Patron:
    """A customer, played by the rules of their persona."""

    def __init__(self, customer: Customer, seed: int, start_ms: int) -> None:
        self.customer = customer
        self.persona = personas()[customer.persona]
        self.memory = Memory(customer.ticket)
        self._chance = Chance(seed, f"customer/{customer.user}/{customer.ticket}")
        self._start_ms = start_ms
        self._turn: Turn | None = None
        self._thread = Thread(GONE, 0, ())

    def visits(self) -> list[Visit]:
        if not self.memory.ticket:
            return []
        path = f"/api/v2/requests/{self.memory.ticket}"
        return [self._visit("GET", path), self._visit("GET", f"{path}/comments")]

    def wonders(self) -> Sequence[Asked]:
        return self.customer.wants

    def look(self, answers: Sequence[Mapping[str, Any]], *, is_so: bool) -> int | None:
        arrival = self._arrival()
        if arrival is not None:
            return self._start_ms + round(arrival.after_hours * HOUR_MS)
        self._thread = _read(answers)
        self._remember_ending()
        seen = impression(self.customer, self.memory, self._thread, fixed=is_so and self._is_answered(self._thread))
        self._turn = next_turn(self.customer, self.persona, self.memory, seen)
        return None if self._turn is None else self._turn.at_ms

    async def act(self, around: Surroundings) -> None:
        arrival = self._arrival()
        if arrival is not None:
            await self._arrive(around, arrival)
        elif self._turn is not None:
            await self._take(around, self._turn)

    def outcome(self, answers: Sequence[Mapping[str, Any]], *, is_so: bool) -> Outcome:
        thread = _read(answers) if answers else self._thread
        texts = [reading.own_words(one.text) for one in thread.of_others(self.customer.user)]
        return Outcome(
            customer=self.customer,
            ticket=self.memory.ticket,
            fixed=is_so and self._is_answered(thread),
            false_solves=self.memory.false_solves,
            probed=any(map(reading.is_probing, texts)),
        )

    def _is_answered(self, thread: Thread) -> bool:
        """Whoever wants nothing mended wanted to be told something: until then their problem is there."""
        return bool(self.customer.wants) or is_told(self.customer, thread.of_others(self.customer.user))

    def _arrival(self) -> Arrival | None:
        return None if self.memory.ticket else self.customer.arrives

    async def _arrive(self, around: Surroundings, arrival: Arrival) -> None:
        request = {"subject": arrival.subject, "comment": {"body": arrival.body}}
        (answer,) = await around.visit([self._visit("POST", "/api/v2/requests", {"request": request})])
        made = _json(answer)
        self.memory.ticket = int(made["request"]["id"]) if made else -1

    def _remember_ending(self) -> None:
        if self._thread.status not in _ENDED:
            self.memory.ended_ms = None
        elif self.memory.ended_ms is None:
            self.memory.ended_ms = self._thread.changed_ms

    async def _take(self, around: Surroundings, turn: Turn) -> None:
        rule = turn.rule
        self.memory.fired[rule.name] += 1
        others = self._thread.of_others(self.customer.user)
        self.memory.dealt_with = max((one.id for one in others), default=self.memory.dealt_with)
        if "answer" in rule.does:
            self.memory.told |= {fact.name for fact in turn.facts}
        if "rate_bad" in rule.does:
            self.memory.false_solves += 1
        text = written(self.customer, self.persona, rule.says, self._chance, turn.facts)
        answers = await around.visit([self._deed(deed, text) for deed in rule.does])
        for deed, answer in zip(rule.does, answers, strict=True):
            self._take_note(deed, answer)

    def _take_note(self, deed: Deed, answer: Mapping[str, Any]) -> None:
        """Where the desk turns them away they do not get their way; whoever brought that about is not paid for it."""
        if answer["status"] >= _REFUSED:
            self.memory.refused += 1
        elif deed in ("rate_bad", "rate_good"):
            self.memory.rating = deed.removeprefix("rate_")
        elif deed == "follow_up":
            self.memory.ticket = int((_json(answer) or {"request": {"id": self.memory.ticket}})["request"]["id"])

    def _deed(self, deed: Deed, text: str) -> Visit:
        ticket = self.memory.ticket
        match deed:
            case "rate_bad" | "rate_good":
                score = deed.removeprefix("rate_")
                comment = remark(self.customer, self.persona, f"rating_{score}", self._chance)
                rating = {"score": score, **({"comment": comment} if comment else {})}
                path = f"/api/v2/tickets/{ticket}/satisfaction_rating"
                return self._visit("POST", path, {"satisfaction_rating": rating})
            case "follow_up":
                source = {} if self._thread.status == GONE else {"via_followup_source_id": ticket}
                subject = self.customer.name if self._thread.status == GONE else f"Re: request {ticket}"
                request = {"subject": subject, "comment": {"body": text}, **source}
                return self._visit("POST", "/api/v2/requests", {"request": request})
            case "reopen" | "answer" | "say":
                comment_on = {"request": {"comment": {"body": text}}}
                return self._visit("PUT", f"/api/v2/requests/{ticket}", comment_on)

    def _visit(self, method: str, path: str, body: dict[str, Any] | None = None) -> Visit:
        return {"user": self.customer.user, "actor": "customer", "method": method, "path": path, "body": body}


class Approver:
    """A colleague who decides in writing, on the ticket, when an internal note asks for it and says enough."""

    def __init__(self, colleague: Colleague) -> None:
        self.colleague = colleague
        self.decided_ms: int | None = None
        self._dealt_with = 0
        self._call: Message | None = None

    def visits(self) -> list[Visit]:
        return [self._visit("GET", f"/api/v2/tickets/{self.colleague.ticket}/comments")]

    def wonders(self) -> Sequence[Asked]:
        return ()

    def look(self, answers: Sequence[Mapping[str, Any]], *, is_so: bool) -> int | None:  # noqa: ARG002 - they only read
        told = _json(answers[0])
        notes = [one for one in (told["comments"] if told else ()) if not one["public"]]
        calls = [one for one in messages_of(notes) if one.id > self._dealt_with and self._calls(one)]
        self._call = calls[-1] if calls and self.decided_ms is None else None
        return None if self._call is None else self._call.at_ms + round(self.colleague.after_hours * HOUR_MS)

    async def act(self, around: Surroundings) -> None:
        if self._call is None:
            return
        text = reading.own_words(self._call.text)
        decides = all(reading.says(text, need) for need in self.colleague.needs)
        self._dealt_with = self._call.id
        body = self.colleague.decides if decides else self.colleague.asks_back
        comment = {"ticket": {"comment": {"body": body, "public": False}}}
        (answer,) = await around.visit([self._visit("PUT", f"/api/v2/tickets/{self.colleague.ticket}", comment)])
        written = _json(answer)
        if decides and written is not None:
            self.decided_ms = moment_ms(written["ticket"]["updated_at"])

    def _calls(self, message: Message) -> bool:
        folded = reading.own_words(message.text).casefold()
        return message.author != self.colleague.user and any(word in folded for word in self.colleague.called_by)

    def _visit(self, method: str, path: str, body: dict[str, Any] | None = None) -> Visit:
        return {"user": self.colleague.user, "actor": "colleague", "method": method, "path": path, "body": body}


def _read(answers: Sequence[Mapping[str, Any]]) -> Thread:
    """A request and its comments, as their requester was shown them."""
    request, comments = map(_json, answers) if answers else (None, None)
    return read_thread(request["request"] if request else None, comments["comments"] if comments else ())


def _json(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    if answer["status"] >= _REFUSED:
        return None
    found: dict[str, Any] = orjson.loads(answer["body"])
    return found
