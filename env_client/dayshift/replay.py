"""Replay: `verify` compares a recorded episode with a replay, `grade` judges calls in a fresh episode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dayshift.calls import SUBMIT, Call, salvage_call
from dayshift.connection import Connection
from dayshift.episode import Episode
from dayshift.errors import SaltDiffers, Unscored, WorldDiffers
from dayshift.intervention import Ruling, Veto
from dayshift.step import Step
from dayshift.trajectory import RecordedStep, Trajectory, encode_text
from dayshift.wire import OpenRequest, Verdict

_EXCERPT_CHARS = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """The first value that differs; step 0 is the opening."""

    step: int
    what: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.what} differs\n  recorded: {self.recorded}\n  replayed: {self.replayed}"


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay; `difference` is None if every byte is the same."""

    episode_id: str
    steps: int
    answer_bytes: int
    difference: Difference | None

    @property
    def identical(self) -> bool:
        return self.difference is None


def verify(trajectory: Trajectory, connection: Connection | None = None) -> ReplayResult:
    """Opens the recorded episode again, makes the recorded calls, and stops at the first difference.

    Raises `SaltDiffers` where the stack has another salt than the recording: its episodes are other ones.
    """
    compared = 0
    size = 0
    with Episode.open(trajectory.manifest.open, connection=connection) as episode:
        if trajectory.manifest.salt != episode.protocol.opened.salt:
            raise SaltDiffers(trajectory.manifest.salt, episode.protocol.opened.salt)
        difference = _compare_opening(trajectory, episode)
        for recorded_step in trajectory.steps:
            if difference is not None:
                break
            difference = _compare_step(recorded_step, episode, trajectory)
            compared += 1
            size += len(recorded_step.answer_bytes)
    return ReplayResult(trajectory.manifest.episode_id, compared, size, difference)


def grade(
    request: OpenRequest | Mapping[str, Any], calls: Sequence[object], connection: Connection | None = None
) -> Verdict:
    """Returns the verdict on these calls in a fresh episode."""
    open_request = request if isinstance(request, OpenRequest) else OpenRequest.model_validate(request)
    with Episode.open(open_request, connection=connection) as episode:
        return _judge(episode, calls)


def grade_messages(
    grader: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], connection: Connection | None = None
) -> Verdict:
    """Returns the verdict on the tool calls of these chat messages; `grader` is that of an exported row.

    Raises `SaltDiffers` or `WorldDiffers` where the stack is not the one of the row, and a `HarnessFault` where the
    environment fails: such an answer has no reward, which is not a reward of zero.
    """
    calls = [
        call for message in messages if message.get("role") == "assistant" for call in message.get("tool_calls") or ()
    ]
    with Episode.open(OpenRequest.model_validate(grader["open"]), connection=connection) as episode:
        opened = episode.protocol.opened
        if opened.salt != grader["salt"]:
            raise SaltDiffers(grader["salt"], opened.salt)
        if opened.fingerprint != grader["fingerprint"]:
            raise WorldDiffers(grader["fingerprint"], opened.fingerprint)
        return _judge(episode, calls)


def _judge(episode: Episode, calls: Sequence[object]) -> Verdict:
    for action in calls:
        if episode.over or (episode.steps_left == 0 and salvage_call(action).operation != SUBMIT):
            break
        episode.act(action)
    return episode.submit() if episode.verdict is None else episode.verdict


def _compare_opening(trajectory: Trajectory, episode: Episode) -> Difference | None:
    manifest, opened = trajectory.manifest, episode.protocol.opened
    pairs = {
        "the fingerprint of the worlds": (manifest.fingerprint, opened.fingerprint),
        "the brief": (manifest.brief, opened.brief),
        "the clock": (manifest.clock, opened.clock),
        "the action space": (manifest.action_space, episode.operations.fingerprint),
    }
    return _find_difference(0, pairs)


def _compare_step(recorded_step: RecordedStep, episode: Episode, trajectory: Trajectory) -> Difference | None:
    if recorded_step.call.operation == SUBMIT and recorded_step.sent:
        return _compare_verdict(recorded_step, episode, trajectory)
    step = _repeat(recorded_step, episode, trajectory)
    pairs = {
        "the request": (
            _describe_request(recorded_step.method, recorded_step.target, recorded_step.request),
            _describe_request(step.method, step.target, encode_text(step.request)),
        ),
        "the status": (str(recorded_step.status), str(step.status)),
        "the answer": (recorded_step.answer, encode_text(step.body)),
        "the revision": (str(recorded_step.revision), str(step.revision)),
        "the clock": (recorded_step.clock, step.clock),
        "the planned fault": (str(recorded_step.fault), str(step.fault)),
    }
    return _find_difference(recorded_step.number, pairs)


def _repeat(recorded_step: RecordedStep, episode: Episode, trajectory: Trajectory) -> Step:
    action = (
        Call(recorded_step.operation, recorded_step.arguments) if recorded_step.sent else _rebuild_action(recorded_step)
    )
    own = [each for each in trajectory.interventions if each.step == recorded_step.number and each.kind == "vetoed"]
    if own:
        return episode.act_under(Ruling(Veto(own[0].because)), action, recorded_step.actor)
    return episode.act(action, recorded_step.actor)


def _compare_verdict(recorded_step: RecordedStep, episode: Episode, trajectory: Trajectory) -> Difference | None:
    recorded = trajectory.verdict
    try:
        replayed = episode.submit(recorded_step.arguments.get("answer"))
    except Unscored as unscored:
        replayed = unscored.verdict
    if recorded is not None and recorded.because is None:
        # Recordings from before version 0.2.0 hold no reason of a judged verdict.
        replayed = replayed.model_copy(update={"because": None})
    recorded_json = "" if recorded is None else recorded.model_dump_json()
    return _find_difference(recorded_step.number, {"the verdict": (recorded_json, replayed.model_dump_json())})


class _UnreadableAction:
    """An action that was not a call; the recording holds only its repr."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _rebuild_action(recorded_step: RecordedStep) -> object:
    """Rebuilds a malformed action; arguments that were not an object become the recorded text again."""
    malformed = recorded_step.arguments.get("given")
    if not recorded_step.operation and malformed is not None:
        return _UnreadableAction(str(malformed))
    return {
        "operation": recorded_step.operation,
        "arguments": malformed if set(recorded_step.arguments) == {"given"} else recorded_step.arguments,
    }


def _describe_request(method: str, target: str, content: str) -> str:
    return f"{method} {target} {content}"


def _find_difference(step: int, pairs: Mapping[str, tuple[str, str]]) -> Difference | None:
    for what, (recorded, replayed) in pairs.items():
        if recorded != replayed:
            return Difference(step, what, *_excerpt(recorded, replayed))
    return None


def _excerpt(recorded: str, replayed: str) -> tuple[str, str]:
    """Returns the part of both texts around the first character that differs."""
    pairs = enumerate(zip(recorded, replayed, strict=False))
    index = next((index for index, (a, b) in pairs if a != b), min(len(recorded), len(replayed)))
    start, end = max(0, index - _EXCERPT_CHARS), index + _EXCERPT_CHARS
    ellipsis = "…" if start else ""
    return ellipsis + recorded[start:end], ellipsis + replayed[start:end]
