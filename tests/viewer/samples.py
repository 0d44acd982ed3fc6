"""Recordings for the viewer's tests: real episodes, and variations of them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dayshift.model_record import ModelRecord, ModelTurn
from dayshift.recorder import Recorder
from dayshift.trajectory import Quarantine, RecordedStep, Trajectory, Turn
from dayshift.trajectory_changes import RecordedChange

_FILE = Path(__file__).with_name("recordings.jsonl.gz")


def real_episodes() -> Iterator[Trajectory]:
    """Episodes that were played on a stack; make_recordings.py made them."""
    with gzip.open(_FILE, "rt", encoding="utf-8") as file:
        for line in file:
            yield Trajectory.model_validate_json(line)


def real_episode(family: str, policy: str) -> Trajectory:
    return next(
        episode for episode in real_episodes() if (episode.manifest.open.task, episode.policy) == (family, policy)
    )


def vary(episode: Trajectory, episode_id: str, **values: Any) -> Trajectory:
    manifest = episode.manifest.model_copy(update={"episode_id": episode_id})
    return episode.model_copy(update={"manifest": manifest, **values})


def unscored(episode: Trajectory) -> Trajectory:
    why = Quarantine(blame="harness", kind="StaleRead", because="crm answered from the past")
    return vary(episode, "unscored-1", verdict=None, quarantine=why)


def by_model(episode: Trajectory) -> Trajectory:
    """The same episode as a model would have played it, with words and tokens."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": episode.manifest.brief}]
    turns: list[ModelTurn] = []

    def reply(first: int, last: int, **written: Any) -> None:
        turns.append(
            ModelTurn(
                messages_sent=len(messages),
                finish_reason="tool_calls",
                reasoning="The ticket names two payments.",
                input_tokens=900 + 40 * first,
                output_tokens=60,
                seconds=1.25,
                first_step=first,
                last_step=last,
            )
        )
        messages.append({"role": "assistant", "content": None, **written})

    # A search for tools and the last words lead to no step.
    search = {
        "id": "c1",
        "type": "function",
        "function": {"name": "find_operations", "arguments": '{"query": "refund"}'},
    }
    reply(1, 0, tool_calls=[search])
    messages.append({"role": "tool", "tool_call_id": "c1", "content": "[]"})
    for step in episode.steps:
        reply(step.number, step.number, content=f"I call {step.operation} now.")
        messages.append({"role": "tool", "content": step.answer[:200]})
    last = len(episode.steps)
    reply(last + 1, last, content="The customer has the money back.")
    record = ModelRecord(
        provider="openai",
        model="model-of-this-test",
        sampling={"temperature": 1.0},
        system_prompt="You work at a software company.",
        system_prompt_version="1",
        surface="core",
        tool_tokens=9_000,
        max_context_tokens=100_000,
        messages=messages,
        turns=turns,
        cost=0.0421,
    )
    return vary(episode, "model-1", model=record, policy="model-of-this-test", attempt=9)


def by_team(episode: Trajectory) -> Trajectory:
    """The same episode as an orchestrator and its specialists would have played it."""
    last = len(episode.steps)
    steps = [step.model_copy(update={"actor": step.product or "orchestrator"}) for step in episode.steps]
    common = {"operation": "ask", "ended": "reported", "status": 200, "clock": episode.steps[-1].clock}
    turns = [
        # A specialist may report without a call of its own: the next turn begins at the same step.
        Turn(number=1, arguments={"request": "Is it urgent?"}, asked="desk", first=2, last=1, answer="No.", **common),
        Turn(
            number=2,
            arguments={"request": "Find the charge and refund it."},
            asked="billing",
            first=2,
            last=last - 1,
            answer="Done.",
            **common,
        ),
    ]
    return vary(episode, "team-1", steps=steps, turns=turns, rewards={"orchestrator": 0.6, "billing": 0.4}, attempt=8)


def record_all(folder: Path) -> None:
    with Recorder(folder / "first") as recorder:
        for episode in real_episodes():
            recorder.record(episode)
    desk = real_episode("desk/double-charge", "stumbling")
    with Recorder(folder / "second") as recorder:
        for episode in (by_model(desk), by_team(desk), unscored(desk)):
            recorder.record(episode)


def long_episode(steps: int, answer_chars: int) -> Trajectory:
    """An episode of many steps with long answers, and a change every tenth step."""
    base = real_episode("crm/correct-contact", "oracle")
    first = base.steps[0]
    filler = "the quick brown fox, "
    made = [
        RecordedStep(
            **{
                **first.model_dump(),
                "number": number,
                "answer": f'{{"n": {number}, "text": "{filler * (answer_chars // len(filler))}"}}',
                "status": 404 if number % 50 == 0 else 200,
            }
        )
        for number in range(1, steps + 1)
    ]
    changes = [
        RecordedChange(
            product="crm",
            step=number,
            revision=number,
            at=first.clock,
            actor="agent",
            event="record.updated",
            table="objects",
            id=number,
            before={"phone": "1"},
            after={"phone": str(number)},
        )
        for number in range(10, steps + 1, 10)
    ]
    return vary(base, "long-1", steps=made, changes=changes)


PATCH = "@@ -1,3 +1,3 @@ def rank\n line\n-return hits[0]\n+return hits[-1]"
KINDS = (
    (
        "desk.comments.list",
        200,
        {
            "comments": [
                {"author_id": 7, "public": True, "body": "Two payments, one invoice.", "created_at": "2026-09-21"},
                {"author_id": 8, "public": False, "body": "Finance says yes.", "created_at": "2026-09-22"},
            ]
        },
    ),
    (
        "desk.tickets.show",
        200,
        {"ticket": {"id": 41, "subject": "Charged twice", "status": "open", "tags": ["vip"], "description": "Help!"}},
    ),
    (
        "crm.deals.get",
        200,
        {"id": "9", "properties": {"dealname": "Autumn project", "dealstage": "closedwon", "amount": "2350.00"}},
    ),
    (
        "ide.pulls.files",
        200,
        [
            {"filename": "src/rank.py", "status": "modified", "additions": 1, "deletions": 1, "patch": PATCH},
            {"filename": "logo.png", "status": "added", "additions": 0, "deletions": 0},
        ],
    ),
    ("ide.git.diff", 200, {"diff": f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{PATCH}"}),
    (
        "ide.runtime.execute",
        200,
        {"stdout": f"diff --git a/x b/x\n--- a/x\n+++ b/x\n{PATCH}\n", "stderr": "", "exit_code": 0},
    ),
    ("crm.contacts.get", 500, {"message": "internal error"}),
    (
        "ide.issues.get",
        200,
        {"number": 7, "title": "Wrong rank", "state": "open", "labels": [{"name": "bug"}], "body": "It ranks wrongly."},
    ),
    (
        "desk.users.me",
        200,
        {"user": {"id": 3, "name": "Leigh Holloway", "role": "admin", "email": "l@x.io", "tags": []}},
    ),
    ("ide.runtime.execute", 200, {"stdout": "@@ not a diff\n+ a list\n", "stderr": "", "exit_code": 1}),
)


def every_kind() -> Trajectory:
    """One step for each kind of answer, and a row that a colleague changed."""
    base = real_episode("crm/correct-contact", "oracle")
    assert base.changes is not None
    steps = [
        base.steps[0].model_copy(
            update={
                "number": number,
                "operation": operation,
                "product": operation.partition(".")[0],
                "status": status,
                "answer": json.dumps(answer),
                "arguments": {"command": "git diff"} if operation.endswith("execute") else {},
            }
        )
        for number, (operation, status, answer) in enumerate(KINDS, 1)
    ]
    by_colleague = base.changes[0].model_copy(update={"step": 1, "actor": "colleague", "id": 77})
    return vary(base, "kinds-1", steps=steps, changes=[*base.changes, by_colleague])
