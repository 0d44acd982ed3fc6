"""Exports recordings in the formats of other trainers; unscored and flagged episodes stay out."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from dayshift.calls import REPORT
from dayshift.chat_messages import (
    ORCHESTRATOR_PROMPT,
    SPECIALIST_PROMPT,
    AssistantMessage,
    ChatMessage,
    ToolCall,
    opening_messages,
)
from dayshift.delegation import orchestrator_operations
from dayshift.operations import Catalogue, OpenAiTool
from dayshift.tool_surface import DEFAULT_SURFACE, Surface
from dayshift.trajectory import Trajectory, Turn
from dayshift.transcript import FINISHED, Transcript, call_messages, step_messages, transcribe, transcribe_messages
from dayshift.wire import OpenRequest


class Grader(TypedDict):
    """What `dayshift.grade_messages` needs to judge an answer, and to notice a stack with other worlds."""

    type: Literal["dayshift.grade_messages"]
    open: dict[str, Any]
    fingerprint: str
    salt: str | None


class ChatRow(TypedDict):
    """A whole conversation."""

    messages: list[ChatMessage]
    tools: list[OpenAiTool]


class CompletionRow(TypedDict):
    """One message of the model, and what it was sent before."""

    prompt: list[ChatMessage]
    completion: list[ChatMessage]
    tools: list[OpenAiTool]


class PreferenceRow(TypedDict):
    """Two attempts at one instance, of which one passed and one failed."""

    prompt: list[ChatMessage]
    chosen: list[ChatMessage]
    rejected: list[ChatMessage]
    tools: list[OpenAiTool]


class ReinforcementRow(TypedDict):
    """A prompt, and the grader of whatever answers it."""

    messages: list[ChatMessage]
    tools: list[OpenAiTool]
    grader: Grader


ExportRow = ChatRow | CompletionRow | PreferenceRow | ReinforcementRow
ExportForm = Literal["chat", "prompt-completion", "preference", "reinforcement"]


def filter_trainable(
    trajectories: Iterable[Trajectory],
    *,
    flagged: bool = False,
    passed: bool = False,
    intervened: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[Trajectory]:
    """Keeps scored trajectories: flagged ones only with `flagged`, those with interventions only with `intervened`.

    With `passed` it keeps none but passed ones.

    `left_out` counts the others by the reason.
    """
    for trajectory in trajectories:
        if not trajectory.scored:
            reason = "unscored"
        elif trajectory.intervened and not intervened:
            reason = "with an intervention"
        elif trajectory.flagged and not flagged:
            reason = "flagged"
        elif passed and trajectory.ending != "passed":
            reason = "not passed"
        else:
            yield trajectory
            continue
        if left_out is not None:
            left_out[reason] += 1


def build_chat_rows(
    trajectories: Iterable[Trajectory],
    operations: Catalogue,
    surface: str | None = None,
    *,
    flagged: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[ChatRow]:
    """Builds conversations with tool calls for supervised fine-tuning, from passed episodes only.

    Each row carries the tools of its own episode: those of the surface that was recorded, or of `surface`.
    """
    for transcript, own in _transcribe_passed(trajectories, operations, surface, flagged=flagged, left_out=left_out):
        yield {"messages": transcript.messages, "tools": own.openai_tools()}


def build_completion_rows(
    trajectories: Iterable[Trajectory],
    operations: Catalogue,
    surface: str | None = None,
    *,
    flagged: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[CompletionRow]:
    """Builds a row for each message of the model in passed episodes: exactly what it was sent, and what it wrote.

    Replies that called nothing or were malformed are no completions; later prompts hold them.
    """
    for transcript, own in _transcribe_passed(trajectories, operations, surface, flagged=flagged, left_out=left_out):
        tools = own.openai_tools()
        for completion in transcript.completions:
            yield {"prompt": completion.prompt, "completion": [completion.message], "tools": tools}


def build_preference_rows(
    trajectories: Iterable[Trajectory],
    operations: Catalogue,
    surface: str | None = None,
    *,
    flagged: bool = False,
    left_out: Counter[str] | None = None,
) -> Iterator[PreferenceRow]:
    """Builds pairs of a passed and a failed attempt at one instance that began with the same prompt and tools.

    The best of the passed stands beside the worst of the failed; no attempt is used twice.
    """
    surfaces = _Surfaces(operations, surface)
    groups: dict[tuple[object, ...], list[tuple[Trajectory, Transcript, Surface]]] = {}
    for trajectory in filter_trainable(trajectories, flagged=flagged, left_out=left_out):
        if not trajectory.turns:
            own = surfaces.of(trajectory)
            transcript = transcribe(trajectory, own)
            key = (trajectory.manifest.open, json.dumps(transcript.opening), id(own))
            groups.setdefault(key, []).append((trajectory, transcript, own))
    for members in groups.values():
        by_reward = sorted(members, key=lambda member: member[0].reward or 0.0)
        passed = [member for member in reversed(by_reward) if member[0].ending == "passed"]
        failed = [member for member in by_reward if member[0].ending == "failed"]
        for (_, better, own), (_, rejected, _) in zip(passed, failed, strict=False):
            yield {
                "prompt": better.opening,
                "chosen": better.rest,
                "rejected": rejected.rest,
                "tools": own.openai_tools(),
            }
        if left_out is not None and (alone := abs(len(passed) - len(failed))):
            left_out["without a counterpart"] += alone


def build_reinforcement_rows(
    trajectories: Iterable[Trajectory],
    operations: Catalogue,
    surface: str | None = None,
    *,
    flagged: bool = True,
    left_out: Counter[str] | None = None,
) -> Iterator[ReinforcementRow]:
    """Builds one prompt for each task and seed, with the grader that judges an answer to it.

    Flags and interventions concern an answer and not the prompt, so prompts of such episodes are kept.
    """
    surfaces = _Surfaces(operations, surface)
    requests: set[OpenRequest] = set()
    for trajectory in filter_trainable(trajectories, flagged=flagged, intervened=True, left_out=left_out):
        manifest = trajectory.manifest
        if manifest.open in requests or trajectory.turns:
            continue
        requests.add(manifest.open)
        own = surfaces.of(trajectory)
        yield {
            "messages": transcribe(trajectory, own).opening,
            "tools": own.openai_tools(),
            "grader": {
                "type": "dayshift.grade_messages",
                "open": manifest.open.model_dump(),
                "fingerprint": manifest.fingerprint,
                "salt": manifest.salt,
            },
        }


BUILDERS: dict[ExportForm, Callable[..., Iterator[ExportRow]]] = {
    "chat": build_chat_rows,
    "prompt-completion": build_completion_rows,
    "preference": build_preference_rows,
    "reinforcement": build_reinforcement_rows,
}


def describe_left_out(left_out: Counter[str]) -> str:
    """`3 flagged, 2 unscored`: the episodes that an export does not hold, by the reason."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))


def with_object_arguments(row: ExportRow) -> dict[str, Any]:
    """Returns the row with the arguments of calls as objects, as most chat templates take them.

    OpenAI writes them as JSON text. Text that is no JSON object, which a model wrote, stays text.
    """
    return {
        key: [_with_objects(message) for message in value]
        if key in {"messages", "prompt", "completion", "chosen", "rejected"}
        else value
        for key, value in cast(dict[str, Any], row).items()
    }


def write_rows(rows: Iterable[Any], path: str | Path) -> int:
    """Writes JSON Lines and returns their number."""
    count = 0
    with Path(path).open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


class _Surfaces:
    """The surface of each trajectory, over the operations of its own products alone."""

    def __init__(self, operations: Catalogue, name: str | None) -> None:
        self._operations = operations
        self._name = name
        self._by_key: dict[str, Surface] = {}

    def of(self, trajectory: Trajectory) -> Surface:
        manifest, recorded = trajectory.manifest, trajectory.manifest.surface
        name = self._name or (recorded.name if recorded else DEFAULT_SURFACE)
        # The name of an assisted surface does not tell its tools, so they are recorded.
        tools = recorded.operations if recorded is not None and recorded.name == name else None
        limit = None if recorded is None else recorded.max_answer_chars
        key = json.dumps([name, limit, manifest.products, manifest.answer_schema, tools])
        if key not in self._by_key:
            own = self._operations.of_products(manifest.products).with_answer_schema(manifest.answer_schema)
            if tools is None:
                self._by_key[key] = own.surface(name, max_answer_chars=limit)
            else:
                assisted = own.surface("task", max_answer_chars=limit, solution=tools, distractors=0)
                self._by_key[key] = replace(assisted, name=name)
        return self._by_key[key]


def _transcribe_passed(
    trajectories: Iterable[Trajectory],
    operations: Catalogue,
    surface: str | None,
    *,
    flagged: bool,
    left_out: Counter[str] | None,
) -> Iterator[tuple[Transcript, Surface]]:
    surfaces = _Surfaces(operations, surface)
    for trajectory in filter_trainable(trajectories, flagged=flagged, passed=True, left_out=left_out):
        if trajectory.turns:
            yield from _transcribe_team(trajectory, operations, surface)
        else:
            own = surfaces.of(trajectory)
            yield transcribe(trajectory, own), own


def _transcribe_team(
    trajectory: Trajectory, operations: Catalogue, surface: str | None
) -> Iterator[tuple[Transcript, Surface]]:
    """Yields the orchestrator's conversation, then one for each delegation that a specialist reported on."""
    own = orchestrator_operations(trajectory.manifest.products, trajectory.manifest.answer_schema).surface("full")
    messages: list[ChatMessage] = []
    for turn in trajectory.turns:
        messages += call_messages(turn.number, turn.operation, turn.arguments, turn.answer or FINISHED, own)
    yield transcribe_messages(opening_messages(ORCHESTRATOR_PROMPT, trajectory.manifest.brief), messages), own
    for turn in trajectory.turns:
        if turn.ended == "reported":
            specialist = operations.of_product(turn.asked).surface(surface or DEFAULT_SURFACE)
            yield _transcribe_specialist(trajectory, turn, specialist), specialist


def _transcribe_specialist(trajectory: Trajectory, turn: Turn, surface: Surface) -> Transcript:
    messages = step_messages(trajectory.steps[turn.first - 1 : turn.last], surface)
    report = {"text": json.loads(turn.answer)["report"]}
    messages += call_messages(turn.last + 1, REPORT, report, "reported", surface)
    return transcribe_messages(opening_messages(SPECIALIST_PROMPT, str(turn.arguments["request"])), messages)


def _with_objects(message: ChatMessage) -> ChatMessage:
    if message["role"] != "assistant" or "tool_calls" not in message:
        return message
    replaced: AssistantMessage = {**message, "tool_calls": [_with_object(call) for call in message["tool_calls"]]}
    return replaced


def _with_object(call: ToolCall) -> ToolCall:
    text = call["function"]["arguments"]
    try:
        arguments = json.loads(text) if isinstance(text, str) and text else {}
    except ValueError:
        return call
    if not isinstance(arguments, dict):
        return call
    return {**call, "function": {**call["function"], "arguments": arguments}}
