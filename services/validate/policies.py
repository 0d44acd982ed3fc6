"""Policies that need no model: the oracle and its variations, doing nothing, mistakes, harm, and chance."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from dayshift.argument_sampling import sample_arguments
from dayshift.errors import EpisodeOver
from dayshift.wire import Verdict
from pydantic import JsonValue

from fixtures.tasks.family import Call, Oracle
from services.validate.attempt import Attempt, Stuck
from services.validate.sample_calls import SampleCalls, sample_calls_of

# More than par leaves, and altogether, where the budget has room for as many.
EXTRA_READS, EXTRA_READS_IN_ALL = 20, 30
RANDOM_STEPS = 50
_ID = re.compile(r'"id": ?"?(\d+)\b')

Policy = Callable[[Attempt], Verdict]


def oracle(attempt: Attempt) -> Verdict:
    return attempt.submit(attempt.follow(attempt.oracle))


def oracle_backwards(attempt: Attempt) -> Verdict:
    return attempt.submit(attempt.follow(attempt.oracle, backwards=True))


def nothing(attempt: Attempt) -> Verdict:
    return attempt.submit()


def setup_only(attempt: Attempt) -> Verdict:
    """Everything that the oracle reads before it writes."""
    attempt.follow(attempt.oracle, writes=0)
    return attempt.submit()


def part_of_oracle(writes: int) -> Policy:
    def part(attempt: Attempt) -> Verdict:
        return attempt.submit(attempt.follow(attempt.oracle, writes=writes))

    return part


def extra_reads(steps: int) -> Policy:
    """The oracle, which takes so many steps, and thirty reads, or more where that is not twenty beyond par."""

    def read_on(attempt: Attempt) -> Verdict:
        answer = attempt.follow(attempt.oracle)
        look = _sample_calls(attempt).read_call()
        beyond_par = max(0, attempt.instance.par - steps) + EXTRA_READS
        in_budget = min(EXTRA_READS_IN_ALL, attempt.instance.budget.steps - len(attempt.episode.steps))
        for _ in range(max(beyond_par, in_budget)):
            attempt.do(look)
        return attempt.submit(answer)

    return read_on


def slip_repaired(attempt: Attempt) -> Verdict:
    wrong, right = _sample_calls(attempt).mistake_and_repair(attempt)
    attempt.do(wrong)
    attempt.do(right)
    return oracle(attempt)


def solve_with_collateral(attempt: Attempt) -> Verdict:
    wrong, _ = _sample_calls(attempt).mistake_and_repair(attempt)
    answer = attempt.follow(attempt.oracle)
    attempt.do(wrong)
    return attempt.submit(answer)


def harm(count: int) -> Policy:
    def harmful(attempt: Attempt) -> Verdict:
        for call in _sample_calls(attempt).harmful_calls(attempt, count):
            attempt.do(call)
        return attempt.submit()

    return harmful


def in_bulk(attempt: Attempt) -> Verdict:
    """Make calls without a set order as one call, where the product has one."""
    return attempt.submit(attempt.follow(_combine_calls(attempt.oracle, _sample_calls(attempt))))


def alternative(name: str) -> Policy:
    def other(attempt: Attempt) -> Verdict:
        return attempt.submit(attempt.follow(attempt.family.alternatives(attempt.trouble)[name]))

    return other


def mistake(name: str) -> Policy:
    """A tempting wrong way; where the product refuses a call of it, whoever goes that way stops there."""

    def wrong(attempt: Attempt) -> Verdict:
        try:
            answer = attempt.follow(attempt.family.mistakes(attempt.trouble)[name])
        except Stuck:
            answer = None
        return attempt.submit(answer)

    return wrong


def chance(attempt: Attempt) -> Verdict:
    """Draw uniformly from all operations, with arguments that their schemas allow and ids from earlier answers."""
    generator = np.random.default_rng([attempt.seed, *attempt.family.id.encode()])
    names = [name for name in attempt.episode.operations.names if attempt.episode.operations[name].product]
    ids = _ids_in(attempt.try_(_sample_calls(attempt).read_call()).text)
    for _ in range(RANDOM_STEPS):
        operation = attempt.episode.operations[names[int(generator.integers(len(names)))]]
        arguments = _with_ids(sample_arguments(operation.schema, generator), ids, generator)
        try:
            step = attempt.episode.act({"operation": operation.name, "arguments": arguments})
        except EpisodeOver:
            break
        ids += _ids_in(step.text)
    return attempt.submit(_random_answer(attempt, generator))


def _ids_in(text: str) -> list[str]:
    return _ID.findall(text)


def _with_ids(value: Any, ids: list[str], generator: np.random.Generator) -> Any:
    """Numbers drawn blindly name nothing: where a text of digits stands, a known id may stand."""
    if isinstance(value, dict):
        return {name: _fill_id(name, inner, ids, generator) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_ids(inner, ids, generator) for inner in value]
    if isinstance(value, str) and value.isdecimal() and ids:
        return ids[int(generator.integers(len(ids)))]
    return value


def _fill_id(name: str, value: Any, ids: list[str], generator: np.random.Generator) -> Any:
    """Where ids are numbers, their place tells: a number drawn blindly names nothing there either."""
    if name.endswith("_id") and isinstance(value, int) and not isinstance(value, bool) and ids:
        return int(ids[int(generator.integers(len(ids)))])
    return _with_ids(value, ids, generator)


def _random_answer(attempt: Attempt, generator: np.random.Generator) -> JsonValue:
    schema = attempt.instance.answer_schema
    if schema is None:
        return None
    wrapped = {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}
    answer: JsonValue = sample_arguments(wrapped, generator)["answer"]
    return answer


def _combine_calls(oracle: Oracle, sample_calls: SampleCalls) -> Oracle:
    reply: Any = None
    while True:
        try:
            request = oracle.send(reply)
        except StopIteration as done:
            answer: JsonValue = done.value
            return answer
        combined = sample_calls.combine(request) if isinstance(request, tuple) else None
        if combined is None or isinstance(request, Call):
            reply = yield request
        else:
            results = yield combined
            reply = tuple(results["results"]) if results else (None,) * len(request)


def _sample_calls(attempt: Attempt) -> SampleCalls:
    return sample_calls_of(attempt.family.products[0])
