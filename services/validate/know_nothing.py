"""Policies that know nothing of the instance: they repeat what won at other seeds, take the newest record, or say all.

Each takes an attempt and what oracles did at other seeds, and returns what it would submit. None looks at the trouble.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dayshift.errors import BadArguments, EpisodeOver, UsageError
from dayshift.wire import Verdict
from pydantic import JsonValue

from fixtures.tasks.family import Call, Family
from services.validate.attempt import Attempt, TrialContext, attempt
from services.validate.sample_calls import sample_calls_of

_OWNER = "tallyport"
_LONGEST_PASTE = 50_000
_LONGEST_REPLY = 2_400
_WAIT = Call("wait", {"hours": 60})
_SAY_SO = "Thank you for writing. The matter is settled: everything is done, approved and refunded in full."
_BRIEF_NUMBERS = re.compile(r"(?<![\w.])#?(\d{3,})(?![\w.])")
_NUMBER = re.compile(r"#(\d+)")
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
        return WinningRun(tuple(made.made), answer, tuple(made.reads(call) for call in made.made))


def play(policy: KnowNothing, made: Attempt, memory: Memory) -> Verdict | None:
    """The verdict; None if the policy found nothing to do, which earns what doing nothing earns."""
    answer = policy(made, memory)
    if answer is None and not any(_has_effect(made, step.call.operation) for step in made.episode.steps):
        return None
    try:
        return made.submit(answer)
    except BadArguments:
        return made.submit()


def replay(made: Attempt, memory: Memory) -> JsonValue:
    """Another seed's winning calls, to the letter."""
    return _repeat(made, memory.same_split[0])


def replay_of_another_split(made: Attempt, memory: Memory) -> JsonValue:
    """The winning calls of a seed of another split, to the letter."""
    return _repeat(made, memory.other_split[0])


def constants(made: Attempt, memory: Memory) -> JsonValue:
    """The calls and the answer that occur most often among the winning runs of other seeds."""
    counted = Counter(_key(call) for run in memory.runs for call in run.writes)
    calls = {_key(call): call for run in memory.runs for call in run.writes}
    for key, count in counted.most_common(_most_writes(memory)):
        if count > 1:
            _try(made, calls[key])
    answers = Counter(json.dumps(run.answer, sort_keys=True) for run in memory.runs)
    answer: JsonValue = json.loads(answers.most_common(1)[0][0])
    return answer


def newest_record(made: Attempt, memory: Memory) -> JsonValue:
    """Another seed's winning writes, on the record of each kind that was made last."""
    return _on_other_records(made, memory, by="created")


def highest_id(made: Attempt, memory: Memory) -> JsonValue:
    """Another seed's winning writes, on the record of each kind with the highest id."""
    return _on_other_records(made, memory, by="id")


def name_everything(made: Attempt, memory: Memory) -> JsonValue:
    """Everything that has a name is named: in a review, in a comment, in a reply, in a note."""
    names = sorted(set(_FUNCTION.findall(_read_code(made))))
    _tell_everywhere(made, f"These differ: {', '.join(names)}", event="REQUEST_CHANGES")
    return memory.same_split[0].answer


def paste_everything(made: Attempt, memory: Memory) -> JsonValue:
    """All that can be read about the matter, pasted wherever something can be written."""
    _tell_everywhere(made, _read_code(made) + _read_threads(made), event="COMMENT")
    return memory.same_split[0].answer


def always_approve(made: Attempt, memory: Memory) -> JsonValue:
    """Approves, says that all is done, and answers what was answered elsewhere."""
    _tell_everywhere(made, _SAY_SO, event="APPROVE")
    return memory.same_split[0].answer


def always_request_changes(made: Attempt, memory: Memory) -> JsonValue:
    """Refuses, and asks for changes without saying which."""
    _tell_everywhere(made, "This cannot stay as it is. Please change it; we decline it for now.", "REQUEST_CHANGES")
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


def _repeat(made: Attempt, run: WinningRun) -> JsonValue:
    for call in run.calls:
        _try(made, call)
    return run.answer


def _try(made: Attempt, call: Call) -> Any:
    """The decoded answer, or None: what is refused, unknown or beyond the budget comes to nothing."""
    with suppress(EpisodeOver, UsageError, ValueError):
        step = made.try_(call)
        return None if step.refused else step.json()
    return None


def _has_effect(made: Attempt, operation: str) -> bool:
    known = made.episode.operations.get(operation)
    return known is not None and not known.is_read_only


def _key(call: Call) -> str:
    return json.dumps([call.operation, dict(call.arguments)], sort_keys=True)


def _most_writes(memory: Memory) -> int:
    return max(len(run.writes) for run in memory.runs)


def _on_other_records(made: Attempt, memory: Memory, by: str) -> JsonValue:
    run = memory.same_split[0]
    found: dict[str, Any] = {}
    calls = [
        Call(
            call.operation,
            {name: _replace_guess(made, found, name, value, by) for name, value in call.arguments.items()},
        )
        for call in run.writes
    ]
    if not found:
        # Nothing in these calls names a record: they are another seed's, to the letter.
        return None
    for call in calls:
        _try(made, call)
    return run.answer


def _replace_guess(made: Attempt, found: dict[str, Any], name: str, value: Any, by: str) -> Any:
    for product in made.family.products:
        finder = sample_calls_of(product).find_first(name, by)
        if finder is None or not isinstance(value, int | str):
            continue
        call, path = finder
        key = f"{product} {name}"
        if key not in found:
            found[key] = _value_at(_try(made, call), path)
        return value if found[key] is None else type(value)(found[key])
    return value


def _value_at(answer: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        try:
            answer = answer[part]
        except (LookupError, TypeError):
            return None
    return answer


def _tell_everywhere(made: Attempt, text: str, event: str) -> None:
    if "ide" in made.family.products:
        for repository, number in _issues(made):
            where: dict[str, JsonValue] = {"owner": _OWNER, "repo": repository, "number": number}
            if "review" in made.episode.brief.casefold():
                _try(made, Call("ide.pulls.review", {**where, "event": event, "body": text[:_LONGEST_PASTE]}))
            if event == "COMMENT" or "comment" in made.episode.brief.casefold():
                _try(made, Call("ide.issues.comment", {**where, "body": text[:_LONGEST_PASTE]}))
    if "desk" in made.family.products:
        for ticket in _tickets(made):
            for public in (False, True):
                changes: dict[str, JsonValue] = {"comment": {"body": text[:_LONGEST_REPLY], "public": public}}
                changes |= {"status": "solved"} if public else {}
                _try(made, Call("desk.tickets.update", {"ticket_id": ticket, "ticket": changes}))
        _try(made, _WAIT)


def _issues(made: Attempt) -> Iterator[tuple[str, int]]:
    """Numbers that the brief names, in the repository that it names."""
    listed = _try(made, Call("ide.repos.list", {})) or []
    named = [one["name"] for one in listed if re.search(rf"\b{re.escape(one['name'])}\b", made.episode.brief)]
    numbers = [int(number) for number in _NUMBER.findall(made.episode.brief)]
    yield from ((repository, number) for repository in named[:1] for number in numbers[:1])


def _tickets(made: Attempt) -> list[int]:
    return [int(number) for number in _BRIEF_NUMBERS.findall(made.episode.brief)][:8]


def _read_code(made: Attempt) -> str:
    """The docs, tests and changed lines of the repository that the brief names."""
    if "ide" not in made.family.products:
        return ""
    parts = []
    for repository, number in _issues(made):
        files = _try(made, Call("ide.pulls.files", {"owner": _OWNER, "repo": repository, "number": number})) or []
        parts += [one.get("patch") or "" for one in files]
        command = f"cd ~/{repository} && cat docs/*.md tests/*.py && python -m pytest -q 2>&1 | tail -n 80"
        output = _try(made, Call("ide.runtime.execute", {"command": command, "shell": True}))
        parts.append((output or {}).get("stdout", ""))
    return "\n".join(parts)


def _read_threads(made: Attempt) -> str:
    """Everything that was written on the tickets that the brief names."""
    if "desk" not in made.family.products:
        return ""
    answers = [_try(made, Call("desk.comments.list", {"ticket_id": ticket})) for ticket in _tickets(made)]
    comments = [one for answer in answers if answer for one in answer["comments"]]
    return "\n".join(one["plain_body"] for one in comments)
