"""Policies that know nothing of the instance: they repeat what won at other seeds, take the newest record, or say all.

Each takes an attempt and what oracles did at other seeds, and returns what it would submit. None looks at the trouble.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from dayshift.errors import BadArguments, EpisodeOver, UsageError
from dayshift.wire import Verdict
from pydantic import JsonValue

from fixtures.tasks.family import Call, Family
from services.kernel import catalog
from services.validate.attempt import Attempt, TrialContext, attempt
from services.validate.sample_calls import Reviewed, SampleCalls, sample_calls_of

_WAIT = Call("wait", {"hours": 60})
_SAY_SO = "Thank you for writing. The matter is settled: everything is done, approved and refunded in full."
_FUNCTION = re.compile(r"^[ +-]*(?:async )?def (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WinningRun:
    """What the oracle did at one seed, and what it handed in."""

    calls: tuple[Call, ...]
    answer: JsonValue
    # By call: whether it only reads.
    reads: tuple[bool, ...]

    @property
    def writes(self) -> list[Call]:
        return [call for call, is_read in zip(self.calls, self.reads, strict=True) if not is_read]


@dataclass(frozen=True, slots=True)
class Memory:
    """Winning runs at other seeds of the family: of the same split, and of another one."""

    same_split: Sequence[WinningRun]
    other_split: Sequence[WinningRun]

    @property
    def runs(self) -> list[WinningRun]:
        return [*self.same_split, *self.other_split]


KnowNothing = Callable[[Attempt, Memory], JsonValue]


def record_win(context: TrialContext, family: Family[Any], seed: int) -> WinningRun:
    """Plays the oracle and notes what it did; nothing is submitted."""
    with attempt(context, family, seed) as made:
        answer = made.follow(made.oracle)
        return WinningRun(tuple(made.calls), answer, tuple(made.reads(call) for call in made.calls))


def play(policy: KnowNothing, attempt: Attempt, memory: Memory) -> Verdict | None:
    """The verdict; None if the policy found nothing to do, which earns what doing nothing earns."""
    answer = policy(attempt, memory)
    if answer is None and not any(_has_effect(attempt, step.call.operation) for step in attempt.episode.steps):
        return None
    try:
        return attempt.submit(answer)
    except BadArguments:
        return attempt.submit()


def replay(attempt: Attempt, memory: Memory) -> JsonValue:
    """Another seed's winning calls, to the letter."""
    return _repeat(attempt, memory.same_split[0])


def replay_of_another_split(attempt: Attempt, memory: Memory) -> JsonValue:
    """The winning calls of a seed of another split, to the letter."""
    return _repeat(attempt, memory.other_split[0])


def constants(attempt: Attempt, memory: Memory) -> JsonValue:
    """The calls and the answer that occur most often among the winning runs of other seeds."""
    counted = Counter(_key(call) for run in memory.runs for call in run.writes)
    calls = {_key(call): call for run in memory.runs for call in run.writes}
    for key, count in counted.most_common(_most_writes(memory)):
        if count > 1:
            _try(attempt, calls[key])
    answers = Counter(json.dumps(run.answer, sort_keys=True) for run in memory.runs)
    answer: JsonValue = json.loads(answers.most_common(1)[0][0])
    return answer


def newest_record(attempt: Attempt, memory: Memory) -> JsonValue:
    """Another seed's winning writes, on the record of each kind that was made last."""
    return _on_other_records(attempt, memory, by="created")


def highest_id(attempt: Attempt, memory: Memory) -> JsonValue:
    """Another seed's winning writes, on the record of each kind with the highest id."""
    return _on_other_records(attempt, memory, by="id")


def name_everything(attempt: Attempt, memory: Memory) -> JsonValue:
    """Everything that has a name is named: in a review, in a comment, in a reply, in a note."""
    names = sorted(set(_FUNCTION.findall(_read_code(attempt))))
    _tell_everywhere(attempt, f"These differ: {', '.join(names)}", "changes requested")
    return memory.same_split[0].answer


def paste_everything(attempt: Attempt, memory: Memory) -> JsonValue:
    """All that can be read about the matter, pasted wherever something can be written."""
    _tell_everywhere(attempt, _read_code(attempt) + _read_threads(attempt), "commented")
    return memory.same_split[0].answer


def always_approve(attempt: Attempt, memory: Memory) -> JsonValue:
    """Approves, says that all is done, and answers what was answered elsewhere."""
    _tell_everywhere(attempt, _SAY_SO, "approved")
    return memory.same_split[0].answer


def always_request_changes(attempt: Attempt, memory: Memory) -> JsonValue:
    """Refuses, and asks for changes without saying which."""
    _tell_everywhere(
        attempt, "This cannot stay as it is. Please change it; we decline it for now.", "changes requested"
    )
    return memory.other_split[0].answer


POLICIES: Mapping[str, KnowNothing] = {
    policy.__name__: policy
    for policy in (
        replay,
        replay_of_another_split,
        constants,
        newest_record,
        highest_id,
        name_everything,
        paste_everything,
        always_approve,
        always_request_changes,
    )
}


def _repeat(attempt: Attempt, run: WinningRun) -> JsonValue:
    for call in run.calls:
        _try(attempt, call)
    return run.answer


def _try(attempt: Attempt, call: Call) -> Any:
    """The decoded answer, or None: what is refused, unknown or beyond the budget comes to nothing."""
    with suppress(EpisodeOver, UsageError, ValueError):
        step = attempt.try_(call)
        return None if step.refused else step.json()
    return None


def _has_effect(attempt: Attempt, operation: str) -> bool:
    known = attempt.episode.operations.get(operation)
    return known is not None and not known.is_read_only


def _key(call: Call) -> str:
    return json.dumps([call.operation, dict(call.arguments)], sort_keys=True)


def _most_writes(memory: Memory) -> int:
    return max(len(run.writes) for run in memory.runs)


def _on_other_records(attempt: Attempt, memory: Memory, by: str) -> JsonValue:
    run = memory.same_split[0]
    ids: dict[str, Any] = {}
    calls = [
        Call(
            call.operation,
            {name: _replace_guess(attempt, ids, name, value, by) for name, value in call.arguments.items()},
        )
        for call in run.writes
    ]
    if not ids:
        # Nothing in these calls names a record: they are another seed's, to the letter.
        return None
    for call in calls:
        _try(attempt, call)
    return run.answer


def _replace_guess(attempt: Attempt, ids: dict[str, Any], name: str, value: Any, by: str) -> Any:
    for product in attempt.family.products:
        finder = sample_calls_of(product).find_first(name, by)
        if finder is None or not isinstance(value, int | str):
            continue
        call, path = finder
        key = f"{product} {name}"
        if key not in ids:
            ids[key] = _value_at(_try(attempt, call), path)
        return value if ids[key] is None else type(value)(ids[key])
    return value


def _value_at(answer: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        try:
            answer = answer[part]
        except (LookupError, TypeError):
            return None
    return answer


def _tell_everywhere(attempt: Attempt, text: str, reviewed: Reviewed) -> None:
    for calls in _sample_calls(attempt):
        calls.write_everywhere(attempt.episode.brief, text, reviewed, partial(_try, attempt))
    if any(catalog.product(product).judging.conversation is not None for product in attempt.family.products):
        _try(attempt, _WAIT)


def _read_code(attempt: Attempt) -> str:
    return "".join(calls.read_code(attempt.episode.brief, partial(_try, attempt)) for calls in _sample_calls(attempt))


def _read_threads(attempt: Attempt) -> str:
    return "".join(
        calls.read_threads(attempt.episode.brief, partial(_try, attempt)) for calls in _sample_calls(attempt)
    )


def _sample_calls(attempt: Attempt) -> list[SampleCalls]:
    return [sample_calls_of(product) for product in attempt.family.products]
