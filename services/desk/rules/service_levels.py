"""Service level targets on the clock: each target of a ticket runs, pauses, is achieved or is missed.

Every step is written as a metric event.
"""

from services.desk.records.people import is_staff
from services.desk.records.ticket_changes import TicketChange
from services.desk.rows import MetricEventId, SlaTargetId, TicketId
from services.desk.rows.tickets import (
    AppliedSla,
    MetricEventBody,
    MetricEventRow,
    MetricEventType,
    SlaTargetBody,
    SlaTargetRow,
    Stage,
    TicketRow,
)
from services.desk.rules.office_hours import MINUTE_MS, Schedule
from services.desk.rules.rule_store import get_schedule
from services.desk.rules.sla_policies import Policy, Target, find_policy
from services.desk.rules.sla_stages import LASTING, Update, measure_elapsed_before, next_stage, restarts
from services.desk.rules.subjects import subject_of_change
from services.desk.tables import metric_events, sla_targets, tickets, users
from services.kernel.documents import equal
from services.kernel.world import World

_FIRST_DUE = "SELECT min(due_at) FROM sla_targets WHERE due_at <= :until"
_OVERDUE = "SELECT id FROM sla_targets WHERE due_at <= :now ORDER BY due_at, id"
_REPLY = {"first_reply_time": "reply_time", "next_reply_time": "reply_time"}


def update_targets(world: World, change: TicketChange, row: TicketRow) -> None:
    """Moves the ticket's targets; `row` is the ticket as the triggers left it."""
    schedule = get_schedule(world)
    subject = subject_of_change(world, change, row, schedule)
    current = {target["body"]["metric"]: target for target in _targets_of(world, row["id"])}
    policy = find_policy(world, subject) if row["body"]["deleted_at"] is None else None
    targets = {} if policy is None else policy.targets_of(row["body"]["priority"])
    for metric, target_row in current.items():
        if metric not in targets:
            _withdraw(world, target_row)
    update = _describe_update(world, change, row)
    for metric, target in targets.items():
        if policy is not None:
            _TargetClock(world, row, schedule, policy, target).apply(current.get(metric), update)


def next_target_due(world: World, until_ms: int) -> int | None:
    due: int | None = world.rows(_FIRST_DUE, {"until": until_ms})[0][0]
    return due


def miss_overdue(world: World) -> None:
    """Marks the targets that are due by now as missed."""
    for (key,) in world.rows(_OVERDUE, {"now": world.clock.now_ms()}):
        row = sla_targets.must_exist(world, key)
        ticket = world.get(tickets, row["body"]["ticket_id"])
        if ticket is None or ticket["body"]["deleted_at"] is not None:
            _withdraw(world, row)
            continue
        due = row["body"]["due_at"]
        if due is not None:
            _write_event(world, row["body"], "breach", due)
            _save(world, row, {**row["body"], "due_at": None, "breached_at": due}, "missed")


def _targets_of(world: World, ticket_id: TicketId) -> list[SlaTargetRow]:
    return sla_targets.find(world, equal(ticket_id=ticket_id))


def _describe_update(world: World, change: TicketChange, row: TicketRow) -> Update:
    comment = None if change.comment is None else change.comment["body"]
    author = None if comment is None else world.get(users, comment["author_id"])
    by_staff = author is not None and is_staff(author)
    is_public = comment is not None and bool(comment["public"])
    return Update(
        status=row["body"]["status"],
        is_creation=change.created,
        has_reply=is_public and by_staff and not change.created,
        has_question=is_public and not by_staff,
        has_first_reply=row["body"]["metrics"].get("first_reply_at") is not None,
    )


class _TargetClock:
    """One target of one ticket at the time of one update."""

    def __init__(self, world: World, ticket: TicketRow, schedule: Schedule, policy: Policy, target: Target) -> None:
        self._world = world
        self._ticket = ticket
        self._schedule = schedule
        self._policy = policy
        self._target = target
        self._now = world.clock.now_ms()

    def apply(self, row: SlaTargetRow | None, update: Update) -> None:
        stage: Stage = "idle" if row is None else row["body"]["stage"]
        following = next_stage(self._target.metric, stage, update)
        if row is None:
            if following == "idle" or (following == "achieved" and not update.is_creation):
                return
            row = self._make_row(update)
            stage = "idle"
        body = self._apply_terms(row["body"])
        if stage == "active" and restarts(self._target.metric, update):
            body, stage = self._move(body, "active", "achieved"), "achieved"
        if following != stage:
            body = self._move(body, stage, following)
        _save(self._world, row, {**body, "due_at": self._due(body)}, "moved")

    def _make_row(self, update: Update) -> SlaTargetRow:
        since = self._ticket["created_at"] if self._counts_from_creation(update) else self._now
        body: SlaTargetBody = {
            "ticket_id": self._ticket["id"],
            "policy_id": None,
            "metric": self._target.metric,
            "instance_id": 0,
            "stage": "idle",
            "target_minutes": None,
            "business_hours": None,
            "started_at": since,
            "running_since_at": None,
            "elapsed_ms": measure_elapsed_before(self._target.metric, self._ticket["body"]),
            "breached_at": None,
            "due_at": None,
        }
        key = SlaTargetId(self._world.ids.next("sla_targets"))
        return {"id": key, "created_at": self._now, "updated_at": self._now, "body": body}

    def _counts_from_creation(self, update: Update) -> bool:
        return update.is_creation or self._target.metric in ("first_reply_time", "total_resolution_time")

    def _apply_terms(self, body: SlaTargetBody) -> SlaTargetBody:
        """Takes over the target as the policy has it now; new terms are an event of their own."""
        policy_id, minutes, in_office = self._policy.id, self._target.minutes, self._target.in_office
        if (body["policy_id"], body["target_minutes"], body["business_hours"]) == (policy_id, minutes, in_office):
            return body
        changed: SlaTargetBody = {
            **self._stop(body),
            "policy_id": policy_id,
            "target_minutes": minutes,
            "business_hours": in_office,
        }
        if body["stage"] == "active":
            changed["running_since_at"] = self._now
        if body["stage"] != "achieved":
            sla: AppliedSla = {"target": minutes, "business_hours": in_office, "policy": self._policy.summary()}
            numbered: SlaTargetBody = {**changed, "instance_id": max(1, changed["instance_id"])}
            _write_event(self._world, numbered, "apply_sla", self._now, sla)
        return changed

    def _move(self, body: SlaTargetBody, stage: Stage, following: Stage) -> SlaTargetBody:
        match following:
            case "active":
                return self._start(body, stage)
            case "paused":
                running = self._start(body, stage) if stage in ("idle", "achieved") else body
                _write_event(self._world, running, "pause", self._now)
                return {**self._stop(running), "stage": "paused"}
            case "idle" | "achieved":
                if stage == "idle":
                    return {**body, "stage": following}
                _write_event(self._world, body, "fulfill", self._now)
                return {**self._stop(body), "stage": "achieved"}

    def _start(self, body: SlaTargetBody, stage: Stage) -> SlaTargetBody:
        since = body["started_at"] if stage == "idle" and body["instance_id"] == 0 else self._now
        changed: SlaTargetBody = {**body, "stage": "active", "running_since_at": since}
        if stage in ("idle", "achieved"):
            changed["instance_id"] = body["instance_id"] + 1
            changed["started_at"] = since
        if stage == "achieved" and self._target.metric not in LASTING:
            changed["elapsed_ms"], changed["breached_at"] = 0, None
        _write_event(self._world, changed, "activate", since)
        return changed

    def _stop(self, body: SlaTargetBody) -> SlaTargetBody:
        """Adds up the time that has run so far."""
        since = body["running_since_at"]
        if since is None:
            return body
        in_office = self._target.in_office if body["business_hours"] is None else body["business_hours"]
        ran = self._schedule.open_ms(since, self._now) if in_office else self._now - since
        return {**body, "elapsed_ms": body["elapsed_ms"] + ran, "running_since_at": None}

    def _due(self, body: SlaTargetBody) -> int | None:
        since, minutes = body["running_since_at"], body["target_minutes"]
        if body["stage"] != "active" or body["breached_at"] is not None or since is None or minutes is None:
            return None
        left = max(0, minutes * MINUTE_MS - body["elapsed_ms"])
        return self._schedule.after_ms(since, left) if body["business_hours"] else since + left


def _withdraw(world: World, row: SlaTargetRow) -> None:
    """Ends a target that no policy sets any longer."""
    if row["body"]["stage"] in ("active", "paused"):
        ended: SlaTargetBody = {
            **row["body"],
            "stage": "achieved",
            "due_at": None,
            "running_since_at": None,
            "policy_id": None,
        }
        _save(world, row, ended, "withdrawn")


def _save(world: World, row: SlaTargetRow, body: SlaTargetBody, event: str) -> None:
    if body != row["body"]:
        after: SlaTargetRow = {**row, "updated_at": world.clock.now_ms(), "body": body}
        world.save(sla_targets, after, f"sla_target.{event}")


def _write_event(
    world: World, target: SlaTargetBody, kind: MetricEventType, at_ms: int, sla: AppliedSla | None = None
) -> None:
    body: MetricEventBody = {
        "ticket_id": target["ticket_id"],
        "metric": _REPLY.get(target["metric"], target["metric"]),
        "instance_id": target["instance_id"],
        "type": kind,
        "time_at": at_ms,
    }
    if sla is not None:
        body["sla"] = sla
    key, now = MetricEventId(world.ids.next("metric_events")), world.clock.now_ms()
    row: MetricEventRow = {"id": key, "created_at": now, "updated_at": now, "body": body}
    world.save(metric_events, row, f"ticket_metric_event.{kind}")
