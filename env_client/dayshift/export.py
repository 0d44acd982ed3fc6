"""Exports recordings in the formats of other trainers; quarantined and flagged episodes stay out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from dayshift.answer_text import fit_answer
from dayshift.calls import REPORT, SUBMIT
from dayshift.chat_messages import (
    ORCHESTRATOR_PROMPT,
    SOLO_PROMPT,
    SPECIALIST_PROMPT,
    ChatMessage,
    opening_messages,
    tool_call_messages,
)
from dayshift.delegation import orchestrator_operations
from dayshift.operations import Catalogue, OpenAiTool
from dayshift.tool_surface import DEFAULT_SURFACE, Surface
from dayshift.trajectory import RecordedStep, Trajectory, Turn
from dayshift.wire import OpenRequest

# What a model reads after its last call.
FINISHED = "Done."


class Grader(TypedDict):
    """The arguments that `dayshift.grade` needs to judge an answer."""

    type: Literal["dayshift.grade"]
    open: dict[str, Any]
    fingerprint: str


class ExportRow(TypedDict):
    """One line of an export: a conversation, and a grader where the conversation is a prompt."""

    messages: list[ChatMessage]
    tools: list[OpenAiTool]
    grader: NotRequired[Grader]


def filter_trainable(
    trajectories: Iterable[Trajectory], *, flagged: bool = False, passed: bool = False
) -> Iterator[Trajectory]:
    """Keeps scored trajectories: flagged ones only with `flagged`, and none but passed ones with `passed`."""
    for trajectory in trajectories:
        is_wanted = (flagged or not trajectory.flagged) and (not passed or trajectory.ending == "passed")
        if trajectory.scored and is_wanted:
            yield trajectory


def build_chat_rows(
    trajectories: Iterable[Trajectory], operations: Catalogue, surface: str | None = None
) -> Iterator[ExportRow]:
    """Builds conversations with tool calls for supervised fine-tuning, from passed episodes only.

    Each row carries the tools of its own episode: those of the surface that was recorded, or of `surface`.
    """
    surfaces = _Surfaces(operations, surface)
    for trajectory in filter_trainable(trajectories, passed=True):
        if trajectory.turns:
            yield from _build_team_rows(trajectory, operations, surface)
        else:
            own = surfaces.of(trajectory)
            messages = opening_messages(SOLO_PROMPT, trajectory.manifest.brief)
            yield {"messages": [*messages, *_step_messages(trajectory.steps, own)], "tools": own.openai_tools()}


def build_reinforcement_rows(
    trajectories: Iterable[Trajectory], operations: Catalogue, surface: str | None = None
) -> Iterator[ExportRow]:
    """Builds one prompt for each task and seed, with the arguments of `dayshift.grade` to judge an answer to it."""
    surfaces = _Surfaces(operations, surface)
    seen: set[OpenRequest] = set()
    for trajectory in filter_trainable(trajectories, flagged=True):
        manifest = trajectory.manifest
        if manifest.open in seen:
            continue
        seen.add(manifest.open)
        yield {
            "messages": opening_messages(SOLO_PROMPT, manifest.brief),
            "tools": surfaces.of(trajectory).openai_tools(),
            "grader": {
                "type": "dayshift.grade",
                "open": manifest.open.model_dump(),
                "fingerprint": manifest.fingerprint,
            },
        }


def write_rows(rows: Iterable[ExportRow], path: str | Path) -> int:
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
        self._by_key: dict[tuple[str, ...], Surface] = {}

    def of(self, trajectory: Trajectory) -> Surface:
        manifest = trajectory.manifest
        recorded = None if manifest.surface is None or manifest.surface.assisted else manifest.surface.name
        name = self._name or recorded or DEFAULT_SURFACE
        key = (name, *manifest.products)
        if key not in self._by_key:
            self._by_key[key] = self._operations.of_products(manifest.products).surface(name)
        return self._by_key[key]


def _build_team_rows(trajectory: Trajectory, operations: Catalogue, surface: str | None) -> Iterator[ExportRow]:
    """Builds the orchestrator's conversation, then one for each delegation that a specialist reported on."""
    own = orchestrator_operations(trajectory.manifest.products).surface("full")
    messages = opening_messages(ORCHESTRATOR_PROMPT, trajectory.manifest.brief)
    for turn in trajectory.turns:
        messages += _call_messages(turn.number, turn.operation, turn.arguments, turn.answer or FINISHED, own)
    yield {"messages": messages, "tools": own.openai_tools()}
    for turn in trajectory.turns:
        if turn.ended == "reported":
            specialist = operations.of_product(turn.asked).surface(surface or DEFAULT_SURFACE)
            yield _build_specialist_row(trajectory, turn, specialist)


def _build_specialist_row(trajectory: Trajectory, turn: Turn, surface: Surface) -> ExportRow:
    messages = opening_messages(SPECIALIST_PROMPT, str(turn.arguments["request"]))
    messages += _step_messages(trajectory.steps[turn.first - 1 : turn.last], surface)
    report = {"text": json.loads(turn.answer)["report"]}
    messages += _call_messages(turn.last + 1, REPORT, report, "reported", surface)
    return {"messages": messages, "tools": surface.openai_tools()}


def _step_messages(steps: Sequence[RecordedStep], surface: Surface) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    for step in steps:
        operation = surface.operations.find(step.operation)
        answer = f"{step.status}\n{fit_answer(step.answer, surface.max_answer_chars, operation)}"
        finished = FINISHED if step.call.operation == SUBMIT else answer
        messages += _call_messages(step.number, step.operation, step.arguments, finished, surface)
    return messages


def _call_messages(
    number: int, operation: str, arguments: Mapping[str, Any], answer: str, surface: Surface
) -> list[ChatMessage]:
    """Writes a call as a model with this surface makes it: an operation that is no tool is called by its name."""
    tool, wrapped = surface.wrap(operation, arguments)
    return tool_call_messages(number, tool, wrapped, answer, surface.operations)
