"""Recordings in the forms that others train from; what was quarantined or flagged stays out."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dayshift.asking import orchestrator_operations
from dayshift.calls import REPORT, SUBMIT
from dayshift.conversation import ALONE, LEAD, SPECIALIST, Chat, exchanged, opened
from dayshift.operations import Catalogue
from dayshift.trajectory import Step, Trajectory, Turn
from dayshift.wire import OpenRequest


def trainable(
    trajectories: Iterable[Trajectory], *, flagged: bool = False, passed: bool = False
) -> Iterator[Trajectory]:
    for one in trajectories:
        if one.scored and (flagged or not one.flagged) and (not passed or one.ending == "passed"):
            yield one


def chat_rows(trajectories: Iterable[Trajectory], operations: Catalogue) -> Iterator[dict[str, Any]]:
    """Conversations with tool calls, for supervised fine-tuning: only what passed is worth imitating."""
    tools = operations.openai_tools()
    for one in trainable(trajectories, passed=True):
        if one.turns:
            yield from _levels(one, operations)
        else:
            yield {"messages": [*opened(ALONE, one.manifest.brief), *_steps(one.steps, operations)], "tools": tools}


def reinforcement_rows(trajectories: Iterable[Trajectory], operations: Catalogue) -> Iterator[dict[str, Any]]:
    """One prompt per task and seed, with all that `dayshift.grade` needs to judge an answer to it."""
    tools = operations.openai_tools()
    seen: set[OpenRequest] = set()
    for one in trainable(trajectories, flagged=True):
        asked = one.manifest.open
        if asked in seen:
            continue
        seen.add(asked)
        yield {
            "messages": opened(ALONE, one.manifest.brief),
            "tools": tools,
            "grader": {"type": "dayshift.grade", "open": asked.model_dump(), "fingerprint": one.manifest.fingerprint},
        }


def write_rows(rows: Iterable[dict[str, Any]], path: str | Path) -> int:
    written = 0
    with Path(path).open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += 1
    return written


def _levels(trajectory: Trajectory, operations: Catalogue) -> Iterator[dict[str, Any]]:
    """Of a team: what the orchestrator saw and did, then each order as the specialist saw it."""
    own = orchestrator_operations(trajectory.manifest.products)
    messages = opened(LEAD, trajectory.manifest.brief)
    for turn in trajectory.turns:
        messages += exchanged(turn.number, turn.operation, turn.arguments, turn.answer or "submitted", own)
    yield {"messages": messages, "tools": own.openai_tools()}
    for turn in trajectory.turns:
        if turn.ended == "reported":
            yield _order(trajectory, turn, operations.of_product(turn.asked))


def _order(trajectory: Trajectory, turn: Turn, operations: Catalogue) -> dict[str, Any]:
    messages = opened(SPECIALIST, str(turn.arguments["request"]))
    messages += _steps(trajectory.steps[turn.first - 1 : turn.last], operations)
    report = {"text": json.loads(turn.answer)["report"]}
    messages += exchanged(turn.last + 1, REPORT, report, "reported", operations)
    return {"messages": messages, "tools": operations.openai_tools()}


def _steps(steps: Sequence[Step], operations: Catalogue) -> Chat:
    said: Chat = []
    for step in steps:
        answer = "submitted" if step.operation == SUBMIT else f"{step.status}\n{step.answer}"
        said += exchanged(step.number, step.operation, step.arguments, answer, operations)
    return said
