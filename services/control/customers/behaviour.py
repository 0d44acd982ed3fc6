"""Behaviour: how a customer understands a thread, and which rule of their persona applies when. Pure functions."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fixtures.customers.customer import Customer, Fact
from fixtures.customers.persona import Feature, Persona, Rule
from services.control.customers import reading
from services.kernel.clock import to_datetime, to_milliseconds
from services.kernel.conversation import Rating, Thread

HOUR_MS = 3_600_000
_ENDINGS: frozenset[Feature] = frozenset({"solved", "closed"})
_SATURDAY = 5


@dataclass
class Memory:
    """What a customer remembers from one look to the next."""

    # The thread that they wait for; 0 before it has arrived.
    thread: int
    # What somebody wrote before has not told them what was done since.
    since_ms: int = 0
    # The newest message of somebody else to which they have reacted.
    last_read: int = 0
    facts_given: set[str] = field(default_factory=set)
    times_applied: Counter[str] = field(default_factory=Counter)
    rating: Rating | None = None
    ended_ms: int | None = None
    false_solves: int = 0
    refusals: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """A customer's next action: when, by which rule, and the facts that they were asked for."""

    at_ms: int
    rule: Rule
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread as one customer understands it."""

    features: frozenset[Feature]
    facts: tuple[Fact, ...]
    asked_ms: int
    quiet_ms: int
    ended_ms: int


def view_thread(customer: Customer, memory: Memory, thread: Thread, *, is_fixed: bool) -> ThreadView:
    others = thread.of_others(customer.user)
    unread = [message for message in others if message.id > memory.last_read]
    texts = [reading.strip_quotes(message.text) for message in unread]
    request = reading.read_request(texts, customer.facts)
    facts = request.select_wanted(customer.facts)
    new = [fact for fact in facts if fact.name not in memory.facts_given]
    was_told = is_told(customer, memory, thread)
    is_asked = any(map(reading.is_question, texts))
    is_lost = request.is_broad and not facts and not (is_fixed and was_told)
    is_probed, is_begged = any(map(reading.is_probing, texts)), any(map(reading.is_begging, texts))
    features: dict[Feature, bool] = {
        "solved": thread.state != "open",
        "closed": thread.state in ("closed", "gone"),
        "fixed": is_fixed,
        "told": was_told,
        "asked": bool(new),
        "asked_again": bool(request.named) and not new,
        "asked_all_again": bool(facts) and not new and not request.named,
        "asked_unclear": is_lost and bool(customer.facts),
        "asked_unknown": is_lost and not customer.facts,
        "reminded": len(unread) > 1,
        "probed": is_probed,
        "begged": is_begged,
        "foreign": any(reading.is_foreign(text, customer.language) for text in texts),
        "answered": bool(unread),
        "waiting": not is_asked and not (is_fixed and was_told),
        "rated": memory.rating == "good",
    }
    return ThreadView(
        features=frozenset(name for name, holds in features.items() if holds),
        facts=tuple(new or facts),
        asked_ms=max((message.at_ms for message in unread), default=thread.last_ms),
        quiet_ms=thread.last_ms,
        ended_ms=memory.ended_ms if memory.ended_ms is not None else thread.changed_ms,
    )


def is_told(customer: Customer, memory: Memory, thread: Thread) -> bool:
    """What others wrote says all that the customer needs to know, in a language that they read."""
    thread_texts = [one.text for one in thread.messages if one.at_ms < memory.since_ms or one.author == customer.user]
    texts = [
        reading.strip_pasted(reading.strip_quotes(message.text), thread_texts)
        for message in thread.of_others(customer.user)
        if message.at_ms >= memory.since_ms
    ]
    readable = [text for text in texts if not reading.is_foreign(text, customer.language)]
    if not readable:
        return False
    return all(any(reading.mentions(text, saying) for text in readable) for saying in customer.tells)


def next_turn(customer: Customer, persona: Persona, memory: Memory, view: ThreadView) -> Turn | None:
    """The rule that applies first; of those due at the same time, the first of the persona's."""
    turns = [
        Turn(_due_at(customer, persona, rule, view), rule, view.facts)
        for rule in persona.rules
        if memory.times_applied[rule.name] < rule.at_most and _applies(rule, view)
    ]
    return min(turns, key=lambda turn: turn.at_ms, default=None)


def _applies(rule: Rule, view: ThreadView) -> bool:
    return view.features.issuperset(rule.given) and view.features.isdisjoint(rule.unless)


def _due_at(customer: Customer, persona: Persona, rule: Rule, view: ThreadView) -> int:
    if _ENDINGS.intersection(rule.given):
        since = view.ended_ms
    else:
        since = view.quiet_ms if "waiting" in rule.given else view.asked_ms
    return next_look(persona, since + round(rule.after_hours * HOUR_MS), customer.utc_offset)


def next_look(persona: Persona, from_ms: int, utc_offset: float) -> int:
    """The first moment from then on at which this person reads their mail."""
    offset = timedelta(hours=utc_offset)
    local = to_datetime(from_ms) + offset
    while not _reads_mail(persona, local):
        local = (local + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0)
    return to_milliseconds(local - offset)


def _reads_mail(persona: Persona, local: datetime) -> bool:
    in_hours = not persona.looks_at or local.hour in persona.looks_at
    return in_hours and (persona.works_weekends or local.weekday() < _SATURDAY)
