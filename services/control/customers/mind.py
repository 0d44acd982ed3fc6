"""Mind: what a customer makes of a thread, and which rule of their persona falls due when. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fixtures.customers.customer import Customer, Fact
from fixtures.customers.persona import Feature, Persona, Rule
from services.control.customers import reading
from services.control.customers.thread import GONE, Message, Thread
from services.kernel.clock import milliseconds, moment

HOUR_MS = 3_600_000
_ENDED = frozenset({"closed", GONE})
_OF_THE_ENDING = frozenset({"solved", "closed"})
_SATURDAY = 5


@dataclass
class Memory:
    """What a customer remembers from one look to the next."""

    ticket: int
    # The newest message of somebody else that they have dealt with.
    dealt_with: int = 0
    told: set[str] = field(default_factory=set)
    fired: Counter[str] = field(default_factory=Counter)
    rating: str | None = None
    ended_ms: int | None = None
    false_solves: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """What falls due next: when, by which rule, and the facts that are asked for."""

    at_ms: int
    rule: Rule
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Impression:
    """A thread through this customer's eyes."""

    features: frozenset[Feature]
    facts: tuple[Fact, ...]
    asked_ms: int
    quiet_ms: int
    ended_ms: int


def impression(customer: Customer, memory: Memory, thread: Thread, *, fixed: bool) -> Impression:
    others = thread.of_others(customer.user)
    unread = [one for one in others if one.id > memory.dealt_with]
    texts = [reading.own_words(one.text) for one in unread]
    asked = _asked(customer, texts)
    new = [fact for fact in asked if fact.name not in memory.told]
    told = is_told(customer, others)
    asking = [text for text in texts if reading.is_asking(text)]
    is_probed, is_begged = any(map(reading.is_probing, texts)), any(map(reading.is_begging, texts))
    marks: dict[Feature, bool] = {
        "solved": thread.status == "solved" or thread.status in _ENDED,
        "closed": thread.status in _ENDED,
        "fixed": fixed,
        "told": told,
        "asked": bool(new),
        "asked_again": bool(asked) and not new,
        "asked_unknown": bool(asking) and not asked and not is_probed and not is_begged,
        "reminded": len(unread) > 1,
        "probed": is_probed,
        "begged": is_begged,
        "foreign": any(reading.is_foreign(text, customer.language) for text in texts),
        "answered": bool(unread),
        "waiting": not asking and not (fixed and told),
        "rated": memory.rating == "good",
    }
    return Impression(
        features=frozenset(name for name, is_so in marks.items() if is_so),
        facts=tuple(new or asked),
        asked_ms=max((one.at_ms for one in unread), default=thread.last_ms),
        quiet_ms=thread.last_ms,
        ended_ms=memory.ended_ms if memory.ended_ms is not None else thread.changed_ms,
    )


def is_told(customer: Customer, messages: Sequence[Message]) -> bool:
    """All that they need to know was said, in words that they read, in a language that they read."""
    texts = [reading.own_words(one.text) for one in messages]
    readable = [text for text in texts if not reading.is_foreign(text, customer.language)]
    if not readable:
        return False
    return all(any(reading.says(text, saying) for text in readable) for saying in customer.tells)


def next_turn(customer: Customer, persona: Persona, memory: Memory, seen: Impression) -> Turn | None:
    """The rule that falls due first; of those due at the same time, the first of the persona's."""
    turns = [
        Turn(_due(customer, persona, rule, seen), rule, seen.facts)
        for rule in persona.rules
        if memory.fired[rule.name] < rule.at_most and _applies(rule, seen)
    ]
    return min(turns, key=lambda turn: turn.at_ms, default=None)


def _applies(rule: Rule, seen: Impression) -> bool:
    return seen.features.issuperset(rule.given) and seen.features.isdisjoint(rule.unless)


def _due(customer: Customer, persona: Persona, rule: Rule, seen: Impression) -> int:
    if _OF_THE_ENDING.intersection(rule.given):
        since = seen.ended_ms
    else:
        since = seen.quiet_ms if "waiting" in rule.given else seen.asked_ms
    return next_look(persona, since + round(rule.after_hours * HOUR_MS), customer.utc_offset)


def next_look(persona: Persona, from_ms: int, utc_offset: float) -> int:
    """The first moment from then on at which this person looks at their mail."""
    offset = timedelta(hours=utc_offset)
    at = moment(from_ms) + offset
    while not _looks(persona, at):
        at = (at + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0)
    return milliseconds(at - offset)


def _looks(persona: Persona, at: datetime) -> bool:
    in_hours = not persona.looks_at or at.hour in persona.looks_at
    return in_hours and (persona.works_weekends or at.weekday() < _SATURDAY)


def _asked(customer: Customer, texts: Sequence[str]) -> list[Fact]:
    found = {fact.name: fact for text in texts for fact in reading.asked_facts(text, customer.facts)}
    return list(found.values())
