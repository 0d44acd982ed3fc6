"""verify: a recorded episode, played again, must answer with the same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dayshift.calls import SUBMIT, Call, parse_call
from dayshift.connection import Connection
from dayshift.episode import Episode
from dayshift.errors import Unscored
from dayshift.exchange import Exchange
from dayshift.trajectory import Step, Trajectory, text_of
from dayshift.wire import OpenRequest, Verdict

_AROUND = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that was not the same; step 0 is the opening."""

    step: int
    what: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what} differs\n  recorded: {self.recorded}\n  replayed: {self.replayed}"


@dataclass(frozen=True, slots=True)
class Proof:
    """How a replay went: `difference` is None if every byte was the same."""

    episode_id: str
    steps: int
    answer_bytes: int
    difference: Difference | None

    @property
    def holds(self) -> bool:
        return self.difference is None


def verify(trajectory: Trajectory, connection: Connection | None = None) -> Proof:
    compared = 0
    size = 0
    with Episode.open(trajectory.manifest.open, connection=connection) as episode:
        difference = _opening_difference(trajectory, episode)
        for step in trajectory.steps:
            if difference is not None:
                break
            difference = _step_difference(step, episode, trajectory)
            compared += 1
            size += len(step.answer_bytes)
    return Proof(trajectory.manifest.episode_id, compared, size, difference)


def grade(
    request: OpenRequest | Mapping[str, Any], calls: Sequence[object], connection: Connection | None = None
) -> Verdict:
    """The verdict on these calls, made in a fresh episode: the grader of exported reinforcement rows."""
    opened = request if isinstance(request, OpenRequest) else OpenRequest.model_validate(request)
    with Episode.open(opened, connection=connection) as episode:
        for made in calls:
            if episode.over or (episode.steps_left == 0 and parse_call(made).operation != SUBMIT):
                break
            episode.act(made)
        return episode.submit()


def _opening_difference(trajectory: Trajectory, episode: Episode) -> Difference | None:
    manifest, opened = trajectory.manifest, episode.dialogue.opened
    pairs = {
        "the fingerprint of the worlds": (manifest.fingerprint, opened.fingerprint),
        "the brief": (manifest.brief, opened.brief),
        "the clock": (manifest.clock, opened.clock),
        "the action space": (manifest.action_space, episode.operations.fingerprint),
    }
    return _first_difference(0, pairs)


def _step_difference(step: Step, episode: Episode, trajectory: Trajectory) -> Difference | None:
    if step.operation == SUBMIT and step.sent:
        return _verdict_difference(step, episode, trajectory)
    exchange = episode.act(Call(step.operation, step.arguments) if step.sent else _as_given(step), step.actor)
    pairs = {
        "the request": (_request(step.method, step.target, step.request), _said(exchange)),
        "the status": (str(step.status), str(exchange.status)),
        "the answer": (step.answer, text_of(exchange.body)),
        "the revision": (str(step.revision), str(exchange.revision)),
        "the clock": (step.clock, exchange.clock),
        "the planned fault": (str(step.fault), str(exchange.fault)),
    }
    return _first_difference(step.number, pairs)


def _verdict_difference(step: Step, episode: Episode, trajectory: Trajectory) -> Difference | None:
    recorded = trajectory.verdict
    try:
        replayed = episode.submit(step.arguments.get("answer"))
    except Unscored as unscored:
        replayed = unscored.verdict
    said = "" if recorded is None else recorded.model_dump_json()
    return _first_difference(step.number, {"the verdict": (said, replayed.model_dump_json())})


class _Unreadable:
    """An action that was no call at all, of which only its looks were kept."""

    def __init__(self, looks: str) -> None:
        self._looks = looks

    def __repr__(self) -> str:
        return self._looks


def _as_given(step: Step) -> object:
    """A misstep as the policy gave it: arguments that were no object come back as the text they were."""
    given = step.arguments.get("given")
    if not step.operation and given is not None:
        return _Unreadable(str(given))
    return {"operation": step.operation, "arguments": given if set(step.arguments) == {"given"} else step.arguments}


def _request(method: str, target: str, content: str) -> str:
    return f"{method} {target} {content}"


def _said(exchange: Exchange) -> str:
    return _request(exchange.method, exchange.target, text_of(exchange.request))


def _first_difference(step: int, pairs: Mapping[str, tuple[str, str]]) -> Difference | None:
    return next((Difference(step, what, *_around(old, new)) for what, (old, new) in pairs.items() if old != new), None)


def _around(old: str, new: str) -> tuple[str, str]:
    """The stretch around the first character that differs."""
    at = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = max(0, at - _AROUND)
    before = "…" if start else ""
    return before + old[start : at + _AROUND], before + new[start : at + _AROUND]
