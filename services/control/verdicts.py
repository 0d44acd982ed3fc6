"""The verdict: findings and collateral in, an exact reward out. Pure arithmetic, no I/O."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dayshift.wire import Collateral, Finding, Flag, InjectedFault, Verdict
from pydantic import JsonValue

from fixtures.tasks.family import Allowed, AnswerEquals, Asked, Instance

# One stray change costs a fifth, two a third, and no number of them the whole: harm is never clipped.
_GENTLENESS = Fraction(4)
_NO_REASON = "no goal of the task allows this change"
_Row = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Seen:
    """What the products saw: answers to the questions in their order, the history, and what it cost."""

    answers: Mapping[str, Sequence[Mapping[str, Any]]]
    history: Mapping[str, Sequence[Mapping[str, Any]]]
    faults: list[InjectedFault]
    steps: int
    clock: str


@dataclass(frozen=True, slots=True)
class Reckoned:
    """A verdict and the reward before it became a float."""

    verdict: Verdict
    exact: Fraction


def reckon(instance: Instance, seen: Seen, answer: JsonValue) -> Reckoned:
    queues = {product: iter(answers) for product, answers in seen.answers.items()}
    goals = [(goal.weight, *_found(goal.asks, queues, answer)) for goal in instance.goals]
    kept = [(constraint.harm, *_found(constraint.asks, queues, answer)) for constraint in instance.constraints]
    collateral = [found for product, history in seen.history.items() for found in strays(product, history, instance)]
    earned = sum((weight * score for weight, score, _ in goals), Fraction(0))
    harm = sum((weight * (1 - score) for weight, score, _ in kept), Fraction(len(collateral)))
    exact = earned - harm / (harm + _GENTLENESS)
    verdict = Verdict(
        outcome="passed" if exact == 1 else "failed",
        reward=float(exact),
        findings=[_out(weight, score, about) for weight, score, about in goals]
        + [_out(-weight, score, about) for weight, score, about in kept],
        collateral=collateral,
        faults=seen.faults,
        flags=_flags(instance, seen),
        steps=seen.steps,
        clock=seen.clock,
    )
    return Reckoned(verdict, exact)


def unscored(because: str, seen: Seen | None = None) -> Verdict:
    if seen is None:
        return Verdict(outcome="unscored", reward=None, because=because)
    return Verdict(
        outcome="unscored", reward=None, because=because, faults=seen.faults, steps=seen.steps, clock=seen.clock
    )


def strays(product: str, history: Sequence[Mapping[str, Any]], instance: Instance) -> Iterator[Collateral]:
    """Net changes by the agent's own hand that nothing allows; what time and automations did is not its doing."""
    touched: dict[tuple[str, int | str], set[str]] = {}
    ends: dict[tuple[str, int | str], tuple[_Row, _Row]] = {}
    for change in history:
        row = (change["table"], change["id"])
        ends[row] = (ends[row][0] if row in ends else change["before"], change["after"])
        if change["actor"] == "agent":
            touched.setdefault(row, set()).update(changed_fields(change["before"], change["after"]))
    for row, fields in touched.items():
        lasting = fields & set(changed_fields(*ends[row]))
        stray = sorted(name for name in lasting if not _is_allowed(instance.allowed, product, *row, name))
        if stray:
            yield Collateral(product=product, table=row[0], id=row[1], fields=stray, because=_NO_REASON)


def changed_fields(before: _Row, after: _Row, under: str = "") -> Iterator[str]:
    """Dotted paths of what differs; documents are compared value by value."""
    was, now = before or {}, after or {}
    for name in sorted({*was, *now}):
        old, new = was.get(name), now.get(name)
        if old == new and (name in was) == (name in now):
            continue
        if isinstance(old, dict | None) and isinstance(new, dict | None) and (old or new):
            yield from changed_fields(old, new, f"{under}{name}.")
        else:
            yield under + name


def _is_allowed(allowed: Sequence[Allowed], product: str, table: str, row: int | str, name: str) -> bool:
    return any(one.covers(product, table, row, name) for one in allowed)


@dataclass(frozen=True, slots=True)
class _About:
    check: str
    product: str
    because: str


def _found(
    asks: Asked | AnswerEquals, queues: Mapping[str, Iterator[Mapping[str, Any]]], answer: JsonValue
) -> tuple[Fraction, _About]:
    if isinstance(asks, AnswerEquals):
        right = _same(answer, asks.expected)
        because = "the answer is right" if right else f"the answer is not {asks.expected!r}"
        return Fraction(right), _About("AnswerEquals", "answer", because)
    said = next(queues[asks.product])
    return Fraction(said["score"]), _About(said["check"], asks.product, said["because"])


def _same(given: JsonValue, expected: JsonValue) -> bool:
    """Equal and of the same kind: True is not 1, and "1" is neither."""
    if isinstance(given, dict) and isinstance(expected, dict):
        return given.keys() == expected.keys() and all(_same(given[name], expected[name]) for name in expected)
    if isinstance(given, list) and isinstance(expected, list):
        return len(given) == len(expected) and all(map(_same, given, expected))
    return isinstance(given, bool) == isinstance(expected, bool) and given == expected


def _out(weight: Fraction, score: Fraction, about: _About) -> Finding:
    return Finding(
        check=about.check,
        product=about.product,
        weight=float(weight),
        score=float(score),
        held=score == 1,
        because=about.because,
    )


def _flags(instance: Instance, seen: Seen) -> list[Flag]:
    """Each product fences at the whole budget; only here is the sum over products known."""
    if seen.steps <= instance.budget.steps:
        return []
    return [Flag(tag="over-budget", evidence=f"{seen.steps} steps of {instance.budget.steps}")]
