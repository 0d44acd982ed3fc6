"""Recordings in the forms that others train from; what was quarantined or flagged stays out."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dayshift.calls import SUBMIT
from dayshift.operations import Catalogue
from dayshift.trajectory import Step, Trajectory
from dayshift.wire import OpenRequest

_ROLE = (
    "You work at a software company and use its systems through the tools you are given. "
    "Do what you are asked, change nothing else, and submit when it is done."
)


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
        yield {"messages": [*_prompt(one.manifest.brief), *_turns(one, operations)], "tools": tools}


def reinforcement_rows(trajectories: Iterable[Trajectory], operations: Catalogue) -> Iterator[dict[str, Any]]:
    """One prompt per task and seed, with all that `dayshift.grade` needs to judge an answer to it."""
    tools = operations.openai_tools()
    seen: set[OpenRequest] = set()
    for one in trainable(trajectories, flagged=True):
        opened = one.manifest.open
        if opened in seen:
            continue
        seen.add(opened)
        yield {
            "messages": _prompt(one.manifest.brief),
            "tools": tools,
            "grader": {"type": "dayshift.grade", "open": opened.model_dump(), "fingerprint": one.manifest.fingerprint},
        }


def write_rows(rows: Iterable[dict[str, Any]], path: str | Path) -> int:
    written = 0
    with Path(path).open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += 1
    return written


def _prompt(brief: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": _ROLE}, {"role": "user", "content": brief}]


def _turns(trajectory: Trajectory, operations: Catalogue) -> Iterator[dict[str, Any]]:
    for step in trajectory.steps:
        yield _asked(step, operations)
        if step.operation != SUBMIT:
            yield {"role": "tool", "tool_call_id": _call_id(step), "content": f"{step.status}\n{step.answer}"}
    yield {"role": "tool", "tool_call_id": _call_id(trajectory.steps[-1]), "content": "submitted"}


def _asked(step: Step, operations: Catalogue) -> dict[str, Any]:
    name = operations[step.operation].tool_name if step.operation in operations else step.operation
    function = {"name": name, "arguments": json.dumps(step.arguments, ensure_ascii=False)}
    call = {"id": _call_id(step), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _call_id(step: Step) -> str:
    return f"call_{step.number}"
