"""Promises that were made before anybody watched: the targets of tickets that a world starts with."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from services.desk.rules import policies, stages
from services.desk.rules.conditions import Subject, meets
from services.desk.rules.office_hours import MINUTE_MS, Schedule
from services.desk.rules.policies import Policy, Target
from services.desk.rules.stages import Moment
from services.kernel.statements import Row

_DONE = ("solved", "closed")
_SINCE_CREATION = ("first_reply_time", "total_resolution_time")


def targets(
    tickets: Iterable[Row], policy_rows: Sequence[Row], schedule: dict[str, Any], now_ms: int, first_id: int = 1
) -> list[Row]:
    """Rows of `sla_targets`, as if every unsolved ticket had been watched since it was made.

    `schedule` is that of the account's row. What was due before `now_ms` has been missed by then.
    """
    ordered = sorted(policy_rows, key=lambda row: (row["body"]["position"], row["id"]))
    known = [policies.policy_of(row["id"], orjson.dumps(row["body"]).decode()) for row in ordered]
    office = Schedule.of(schedule)
    found = [body for row in tickets for body in _promised(row, known, office, now_ms)]
    return [
        {"id": first_id + at, "created_at": now_ms, "updated_at": now_ms, "body": body} for at, body in enumerate(found)
    ]


def _promised(row: Row, known: Sequence[Policy], office: Schedule, now_ms: int) -> list[dict[str, Any]]:
    body = row["body"]
    if body["status"] in _DONE or body["deleted_at"] is not None:
        return []
    subject = Subject(body, now_ms, office, before=body, is_update=False)
    policy = next((one for one in known if meets(subject, one.filter)), None)
    promised = {} if policy is None else policy.at(body["priority"])
    made = [_target(row, policy, target, office, now_ms) for target in promised.values() if policy is not None]
    return [one for one in made if one is not None]


def _target(row: Row, policy: Policy, target: Target, office: Schedule, now_ms: int) -> dict[str, Any] | None:
    body, metrics = row["body"], row["body"]["metrics"]
    has_reply = metrics.get("first_reply_at") is not None
    moment = Moment(body["status"], is_creation=False, replied=False, asked=False, has_first_reply=has_reply)
    stage = stages.wanted(target.metric, "idle", moment)
    if stage not in ("active", "paused"):
        return None
    since = row["created_at"] if target.metric in _SINCE_CREATION else metrics["status_updated_at"]
    elapsed = _elapsed(row, target, office)
    due = _due(since, target.minutes * MINUTE_MS - elapsed, target, office) if stage == "active" else None
    missed = due is not None and due <= now_ms
    return {
        "ticket_id": row["id"],
        "policy_id": policy.id,
        "metric": target.metric,
        "instance_id": 1,
        "stage": stage,
        "target_minutes": target.minutes,
        "business_hours": target.in_office,
        "started_at": row["created_at"],
        "running_since_at": since if stage == "active" else None,
        "elapsed_ms": elapsed,
        "breached_at": due if missed else None,
        "due_at": None if missed else due,
    }


def _elapsed(row: Row, target: Target, office: Schedule) -> int:
    """Measures count by the calendar; within office hours no more can have passed than the desk was open."""
    passed = stages.begun(target.metric, row["body"])
    if not target.in_office:
        return passed
    return min(passed, office.open_ms(row["created_at"], row["body"]["metrics"]["status_updated_at"]))


def _due(since: int, left: int, target: Target, office: Schedule) -> int:
    return office.after_ms(since, max(0, left)) if target.in_office else since + max(0, left)
