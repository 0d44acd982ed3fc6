"""The service level targets that the tickets of a new world start with."""

from collections.abc import Iterable, Sequence

import orjson

from services.desk.rows import SlaTargetId
from services.desk.rows.rules import SlaPolicyRow
from services.desk.rows.settings import ScheduleBody
from services.desk.rows.tickets import SlaTargetBody, SlaTargetRow, TicketRow
from services.desk.rules.conditions import Subject, meets
from services.desk.rules.office_hours import MINUTE_MS, Schedule
from services.desk.rules.sla_policies import Policy, Target, parse_policy
from services.desk.rules.sla_stages import Update, measure_elapsed_before, next_stage

_DONE = ("solved", "closed")
_SINCE_CREATION = ("first_reply_time", "total_resolution_time")


def build_targets(
    tickets: Iterable[TicketRow],
    policy_rows: Sequence[SlaPolicyRow],
    schedule: ScheduleBody,
    now_ms: int,
    first_id: int = 1,
) -> list[SlaTargetRow]:
    """Builds rows of `sla_targets` as if the policies had applied to every unsolved ticket since its creation.

    `schedule` is that of the account's row. A target that was due before `now_ms` was missed then.
    """
    ordered = sorted(policy_rows, key=lambda row: (row["body"]["position"], row["id"]))
    policies = [parse_policy(row["id"], orjson.dumps(row["body"]).decode()) for row in ordered]
    office = Schedule.from_body(schedule)
    bodies = [body for row in tickets for body in _targets_of(row, policies, office, now_ms)]
    return [
        {"id": SlaTargetId(first_id + index), "created_at": now_ms, "updated_at": now_ms, "body": body}
        for index, body in enumerate(bodies)
    ]


def _targets_of(row: TicketRow, policies: Sequence[Policy], office: Schedule, now_ms: int) -> list[SlaTargetBody]:
    body = row["body"]
    if body["status"] in _DONE or body["deleted_at"] is not None:
        return []
    subject = Subject(body, now_ms, office, before=body, is_update=False)
    policy = next((policy for policy in policies if meets(subject, policy.filter)), None)
    if policy is None:
        return []
    targets = [
        _build_target(row, policy, target, office, now_ms) for target in policy.targets_of(body["priority"]).values()
    ]
    return [target for target in targets if target is not None]


def _build_target(
    row: TicketRow, policy: Policy, target: Target, office: Schedule, now_ms: int
) -> SlaTargetBody | None:
    body, metrics = row["body"], row["body"]["metrics"]
    has_reply = metrics.get("first_reply_at") is not None
    update = Update(body["status"], is_creation=False, has_reply=False, has_question=False, has_first_reply=has_reply)
    stage = next_stage(target.metric, "idle", update)
    if stage not in ("active", "paused"):
        return None
    since = row["created_at"] if target.metric in _SINCE_CREATION else metrics["status_updated_at"]
    elapsed = _measure_elapsed(row, target, office)
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


def _measure_elapsed(row: TicketRow, target: Target, office: Schedule) -> int:
    """Metrics count by the calendar; within office hours no more can have passed than the desk was open."""
    passed = measure_elapsed_before(target.metric, row["body"])
    if not target.in_office:
        return passed
    return min(passed, office.open_ms(row["created_at"], row["body"]["metrics"]["status_updated_at"]))


def _due(since: int, remaining_ms: int, target: Target, office: Schedule) -> int:
    return office.after_ms(since, max(0, remaining_ms)) if target.in_office else since + max(0, remaining_ms)
