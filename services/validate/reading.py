"""Reading: what an agent can find out, from the brief on, by calls whose every id and search word it has met before.

The reader knows which rows the task is about, and so where to look; it may name a row only after it has met its id.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dayshift.errors import DayshiftError

from fixtures.tasks.family import Call, find_conversation
from services.validate.attempt import Attempt, vars_of
from services.validate.known_values import KnownValues
from services.validate.needed_values import OPAQUE_ID, NeededValue
from services.validate.sample_calls import sample_calls_of

_SMALLEST_ID = 1000
_DIGITS = re.compile(r"\d{4,}\Z")
_MOST_ROUNDS = 6
_MOST_TERMS = 40
_CALLS_PER_LOOK = 20
_SHORTEST_TERM = 4
_LONGEST_TERM = 90
# Longer than the slowest customer takes to answer.
_HOURS_TO_ANSWER = 60
# A broad one first; then the one that the article on identity demands, which nobody answers unasked.
_QUESTIONS = (
    "Hello, to help you I need to know more about this. Could you please tell me everything you know?",
    "To make sure that it is you: what is the exact amount of your last invoice?",
)


@dataclass
class Reader:
    """One attempt that only reads, and at the end asks those who wait; `known` is what it has met."""

    attempt: Attempt
    candidates: Sequence[Call] = ()
    known: KnownValues = field(default_factory=KnownValues)
    _made: set[str] = field(default_factory=set)

    def read_until_known(self, needed: Sequence[NeededValue]) -> list[NeededValue]:
        """Returns the values that were not found."""
        self.attempt.context.stack.lift_budget(self.attempt.episode)
        self.known.read_text(self.attempt.episode.brief)
        self.known.read_value(self.attempt.instance.answer_schema)
        for operation in self.attempt.episode.operations.values():
            self._read_choices(operation.schema, "")
        missing = self._missing(needed)
        for _ in range(_MOST_ROUNDS):
            before = len(self._made)
            missing = self._read_once(missing)
            if not missing or len(self._made) == before:
                break
        for question in _QUESTIONS if self.attempt.instance.customers or self.attempt.instance.colleagues else ():
            if missing:
                self._ask_everybody(question)
                missing = self._read_once(missing)
        return missing

    def _missing(self, needed: Sequence[NeededValue]) -> list[NeededValue]:
        return [value for value in needed if not is_known(self.known, value)]

    def _read_once(self, missing: list[NeededValue]) -> list[NeededValue]:
        """Makes the calls that have become possible, until nothing is missing."""
        for number, call in enumerate(list(self._possible_calls())):
            if number % _CALLS_PER_LOOK == 0:
                missing = self._missing(missing)
            if not missing:
                break
            if repr(call) not in self._made:
                self._read(call)
        return self._missing(missing)

    def _read(self, call: Call) -> Any:
        self._made.add(repr(call))
        try:
            step = self.attempt.try_(call)
        except DayshiftError:
            return None
        if step.refused:
            return None
        self.known.read_answer(step.text)
        return step

    def _possible_calls(self) -> Iterator[Call]:
        for call in self.candidates:
            if all(self.known.knows_id(key) for key in _ids(call.arguments)):
                yield call
        ids = [key for key in self._ids_of_task if self.known.knows_id(key)]
        terms = [term for term in self._terms_of_task if self.known.knows(term)][:_MOST_TERMS]
        for product in self.attempt.family.products:
            yield from sample_calls_of(product).look_around(ids, terms)

    @property
    def _ids_of_task(self) -> list[int | str]:
        return list(dict.fromkeys(_ids([*self._details, self._arguments])))

    @property
    def _terms_of_task(self) -> list[str]:
        """Names, addresses and titles: what somebody would type into a search box."""
        strings = (text for text in vars_of([*self._details, self._arguments]) if isinstance(text, str))
        fitting = (text for text in strings if _SHORTEST_TERM <= len(text) <= _LONGEST_TERM and "\n" not in text)
        return list(dict.fromkeys(text for text in fitting if not OPAQUE_ID.match(text)))

    @property
    def _details(self) -> list[Any]:
        return list(vars_of(self.attempt.trouble))

    @property
    def _arguments(self) -> list[Any]:
        questions = [dict(question.arguments) for question in self.attempt.instance.questions()]
        return [*questions, *(dict(call.arguments) for call in self.candidates)]

    def _ask_everybody(self, question: str) -> None:
        """A broad question gets what a customer knows; a colleague decides when told what it is about."""
        product, _ = find_conversation(self.attempt.family.products)
        calls = sample_calls_of(product)
        for customer in self.attempt.instance.customers:
            if customer.thread and customer.facts:
                self._read(calls.ask_customer(customer.thread, question))
        for colleague in self.attempt.instance.colleagues:
            told = [self._find_known_spelling(saying.any_of) for saying in colleague.needs]
            if all(told):
                text = f"Could you decide on this, please? It is about: {', '.join([*colleague.called_by, *told])}."
                self._read(calls.ask_colleague(colleague.thread, text))
        self._read(Call("wait", {"hours": min(_HOURS_TO_ANSWER, self.attempt.instance.budget.hours)}))
        self._made.clear()

    def _find_known_spelling(self, spellings: Sequence[str]) -> str:
        return next((spelling for spelling in spellings if self.known.knows(spelling, "amount")), "")

    def _read_choices(self, schema: Any, name: str) -> None:
        """The values that an operation's schema lists for a field."""
        if isinstance(schema, dict):
            for word in ("enum", "const"):
                if word in schema:
                    self.known.read_value({name: schema[word]})
            for key, inner in schema.items():
                if key == "properties" and isinstance(inner, dict):
                    for inner_name, inner_schema in inner.items():
                        self._read_choices(inner_schema, inner_name)
                elif key not in ("enum", "const"):
                    self._read_choices(inner, name)
        elif isinstance(schema, list):
            for inner in schema:
                self._read_choices(inner, name)


def is_known(known_values: KnownValues, value: NeededValue) -> bool:
    if value.is_pattern:
        return known_values.matches(value.any_of[0])
    return any(known_values.knows(spelling, value.field) for spelling in value.any_of)


def _ids(value: Any) -> Iterator[int | str]:
    for leaf in vars_of(value):
        if isinstance(leaf, int) and not isinstance(leaf, bool):
            is_id = leaf >= _SMALLEST_ID
        else:
            is_id = isinstance(leaf, str) and bool(_DIGITS.match(leaf) or OPAQUE_ID.match(leaf))
        if is_id:
            yield leaf
