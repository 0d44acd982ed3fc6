"""What an agent has to know to reach the goals: the values in checks, in answers and in what people want to hear."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fixtures.tasks.family import AnswerEquals, CheckQuestion, Instance
from services.validate.sample_calls import sample_calls_of

OPAQUE_ID = re.compile(r"[a-z]{2,8}_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,}\Z")
# Arguments of checks that hold alternatives, any of which will do.
_ALTERNATIVES = frozenset({"accepted", "kinds", "status", "names", "any_of"})
# Arguments that list facts, each by its spellings.
_FACTS = frozenset({"says", "tells"})
# Arguments that an agent never needs: what the grader runs, what must not be said, how a check counts.
_NOT_NEEDED = frozenset(
    {"generator", "none_of", "reversed_score", "calling_codes", "comparison", "own_domain", "refers_to", "kind", "root"}
)
# Arguments that are regular expressions.
_PATTERNS = {"ReportSays": frozenset({"any_of"}), "ReviewGiven": frozenset({"names"})}
# Hidden cases judge behaviour, which is in the code and its docs; a review's state follows from what the agent sends.
_OF_PRODUCT = {"ReviewGiven": frozenset({"state"})}
_BEHAVIOUR = frozenset({"HiddenCasesPass", "ReleaseTestsPass", "ScenariosPass", "WrittenTestsTell"})


@dataclass(frozen=True, slots=True)
class NeededValue:
    """One value that must be known: any of these spellings, as the value of this field, for this purpose."""

    any_of: tuple[Any, ...]
    purpose: str
    field: str = ""
    is_pattern: bool = False

    @property
    def place(self) -> str:
        """As a family names it that computes the value."""
        return f"{self.purpose}.{self.field}"

    def __str__(self) -> str:
        return f"{self.any_of[0]!r} ({self.place})"


def collect_needed_values(instance: Instance) -> list[NeededValue]:
    """Lists each value once."""
    needed = [*_of_goals(instance), *_of_customers(instance)]
    return list({(value.any_of, value.field): value for value in needed}.values())


def _of_goals(instance: Instance) -> Iterator[NeededValue]:
    for goal in instance.goals:
        if isinstance(goal.question, AnswerEquals):
            yield from _walk("answer", "answer", goal.question.expected)
        else:
            yield from _of_question(goal.question)


def _of_question(question: CheckQuestion) -> Iterator[NeededValue]:
    if question.check in _BEHAVIOUR:
        return
    ids = sample_calls_of(question.product).hidden_ids
    excluded = _NOT_NEEDED | ids | _OF_PRODUCT.get(question.check, frozenset())
    patterns = _PATTERNS.get(question.check, frozenset())
    for name, value in question.arguments.items():
        if name in patterns:
            yield from (NeededValue((pattern,), question.check, is_pattern=True) for pattern in value)
        elif name not in excluded:
            yield from _walk(question.check, name, value)
    for reference in question.references.values():
        yield from _of_question(reference)


def _of_customers(instance: Instance) -> Iterator[NeededValue]:
    for customer in instance.customers:
        if not customer.counts:
            continue
        for question in customer.wants:
            yield from _of_question(question)
        for saying in customer.tells:
            # Whoever may say it in words of their own needs no particular one.
            if not saying.statements:
                yield NeededValue(tuple(saying.any_of), "customer", "told")


def _walk(purpose: str, name: str, value: Any) -> Iterator[NeededValue]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if OPAQUE_ID.match(str(key)):
                yield NeededValue((key,), purpose)
            yield from _of_field(purpose, name, str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _any_of(purpose, name, inner) if name in _FACTS else _walk(purpose, name, inner)
    elif value is not None and not isinstance(value, bool) and value != "":
        yield NeededValue((value,), purpose, name)


def _of_field(purpose: str, name: str, key: str, value: Any) -> Iterator[NeededValue]:
    is_choice = name in _ALTERNATIVES or key in _ALTERNATIVES
    if is_choice and isinstance(value, list | tuple):
        yield from _any_of(purpose, key, value)
    else:
        yield from _walk(purpose, key, value)


def _any_of(purpose: str, name: str, values: Any) -> Iterator[NeededValue]:
    if values and not any(value is None or value == "" for value in values):
        yield NeededValue(tuple(values), purpose, name)
