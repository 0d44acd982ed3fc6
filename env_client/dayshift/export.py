"""Exports recordings in the formats of other trainers; quarantined and flagged episodes stay out."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

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


def build_chat_rows(trajectories: Iterable[Trajectory], operations: Catalogue) -> Iterator[ExportRow]:
    """Builds conversations with tool calls for supervised fine-tuning, from passed episodes only."""
    tools = operations.openai_tools()
    for trajectory in filter_trainable(trajectories, passed=True):
        if trajectory.turns:
            yield from _build_team_rows(trajectory, operations)
        else:
            messages = opening_messages(SOLO_PROMPT, trajectory.manifest.brief)
            yield {"messages": [*messages, *_step_messages(trajectory.steps, operations)], "tools": tools}


def build_reinforcement_rows(trajectories: Iterable[Trajectory], operations: Catalogue) -> Iterator[ExportRow]:
    """Builds one prompt for each task and seed, with the arguments of `dayshift.grade` to judge an answer to it."""
    tools = operations.openai_tools()
    seen: set[OpenRequest] = set()
    for trajectory in filter_trainable(trajectories, flagged=True):
        manifest = trajectory.manifest
        if manifest.open in seen:
            continue
        seen.add(manifest.open)
        yield {
            "messages": opening_messages(SOLO_PROMPT, manifest.brief),
            "tools": tools,
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


def _build_team_rows(trajectory: Trajectory, operations: Catalogue) -> Iterator[ExportRow]:
    """Builds the orchestrator's conversation, then one for each delegation that a specialist reported on."""
    own = orchestrator_operations(trajectory.manifest.products)
    messages = opening_messages(ORCHESTRATOR_PROMPT, trajectory.manifest.brief)
    for turn in trajectory.turns:
        messages += tool_call_messages(turn.number, turn.operation, turn.arguments, turn.answer or FINISHED, own)
    yield {"messages": messages, "tools": own.openai_tools()}
    for turn in trajectory.turns:
        if turn.ended == "reported":
            yield _build_specialist_row(trajectory, turn, operations.of_product(turn.asked))


def _build_specialist_row(trajectory: Trajectory, turn: Turn, operations: Catalogue) -> ExportRow:
    messages = opening_messages(SPECIALIST_PROMPT, str(turn.arguments["request"]))
    messages += _step_messages(trajectory.steps[turn.first - 1 : turn.last], operations)
    report = {"text": json.loads(turn.answer)["report"]}
    messages += tool_call_messages(turn.last + 1, REPORT, report, "reported", operations)
    return {"messages": messages, "tools": operations.openai_tools()}


def _step_messages(steps: Sequence[RecordedStep], operations: Catalogue) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    for step in steps:
        answer = FINISHED if step.call.operation == SUBMIT else f"{step.status}\n{step.answer}"
        messages += tool_call_messages(step.number, step.operation, step.arguments, answer, operations)
    return messages
