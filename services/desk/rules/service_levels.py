"""Promises on the clock: each target of each ticket runs, pauses, is kept or is missed, and every step is an event."""

from services.desk.operations import callers, listing, records
from services.desk.operations.changing import Change
from services.desk.operations.listing import equal
from services.desk.operations.records import Body
from services.desk.rules import policies, ruling, stages, subjects
from services.desk.rules.office_hours import MINUTE_MS, Schedule
from services.desk.rules.policies import Policy, Target
from services.desk.rules.stages import Moment
from services.desk.tables import metric_events, sla_targets, tickets, users
from services.kernel.statements import Row
from services.kernel.world import World

_FIRST_DUE = "SELECT min(due_at) FROM sla_targets WHERE due_at <= :until"
_OVERDUE = "SELECT id FROM sla_targets WHERE due_at <= :now ORDER BY due_at, id"
_REPLY = {"first_reply_time": "reply_time", "next_reply_time": "reply_time"}


def after_change(world: World, change: Change, row: Row) -> None:
    """`row` is the ticket as the triggers left it."""
    schedule = ruling.schedule(world)
    subject = subjects.of_change(world, change, row, schedule)
    held = {one["body"]["metric"]: one for one in listing.every(world, sla_targets, equal(ticket_id=row["id"]))}
    policy = policies.matching(world, subject) if row["body"]["deleted_at"] is None else None
    promised = {} if policy is None else policy.at(row["body"]["priority"])
    for metric, target_row in held.items():
        if metric not in promised:
            _withdraw(world, target_row)
    moment = _moment(world, change, row)
    for metric, target in promised.items():
        if policy is not None:
            _Clock(world, row, schedule, policy, target).meet(held.get(metric), moment)


def next_due(world: World, until_ms: int) -> int | None:
    found: int | None = world.rows(_FIRST_DUE, {"until": until_ms})[0][0]
    return found


def miss_overdue(world: World) -> None:
    """Whatever is due by now was not done in time."""
    for (key,) in world.rows(_OVERDUE, {"now": world.clock.now_ms()}):
        row = records.known(world, sla_targets, key)
        ticket = world.get(tickets, row["body"]["ticket_id"])
        if ticket is None or ticket["body"]["deleted_at"] is not None:
            _withdraw(world, row)
            continue
        at = row["body"]["due_at"]
        _event(world, row["body"], "breach", at)
        _keep(world, row, {**row["body"], "due_at": None, "breached_at": at}, "missed")


def standing(world: World, ticket_id: int) -> list[Body]:
    """Promises that are open, for whoever looks at the ticket."""
    held = listing.every(world, sla_targets, equal(ticket_id=ticket_id))
    return [one["body"] for one in held if one["body"]["stage"] in ("active", "paused")]


def _moment(world: World, change: Change, row: Row) -> Moment:
    comment = None if change.comment is None else change.comment["body"]
    author = None if comment is None else world.get(users, comment["author_id"])
    by_staff = author is not None and callers.is_staff(author)
    is_public = comment is not None and bool(comment["public"])
    return Moment(
        status=row["body"]["status"],
        is_creation=change.created,
        replied=is_public and by_staff and not change.created,
        asked=is_public and not by_staff,
        has_first_reply=row["body"]["metrics"].get("first_reply_at") is not None,
    )


class _Clock:
    """One promise to one ticket, at one moment."""

    def __init__(self, world: World, ticket: Row, schedule: Schedule, policy: Policy, target: Target) -> None:
        self._world = world
        self._ticket = ticket
        self._schedule = schedule
        self._policy = policy
        self._target = target
        self._now = world.clock.now_ms()

    def meet(self, row: Row | None, moment: Moment) -> None:
        stage: stages.Stage = "idle" if row is None else row["body"]["stage"]
        wanted = stages.wanted(self._target.metric, stage, moment)
        if row is None:
            if wanted == "idle" or (wanted == "achieved" and not moment.is_creation):
                return
            row = self._made(moment)
            stage = "idle"
        body = self._promised(row["body"])
        if stage == "active" and stages.restarts(self._target.metric, moment):
            body, stage = self._moved(body, "active", "achieved"), "achieved"
        if wanted != stage:
            body = self._moved(body, stage, wanted)
        _keep(self._world, row, {**body, "due_at": self._due(body)}, "moved")

    def _made(self, moment: Moment) -> Row:
        since = self._ticket["created_at"] if self._counts_from_creation(moment) else self._now
        body: Body = {
            "ticket_id": self._ticket["id"],
            "policy_id": None,
            "metric": self._target.metric,
            "instance_id": 0,
            "stage": "idle",
            "target_minutes": None,
            "business_hours": None,
            "started_at": since,
            "running_since_at": None,
            "elapsed_ms": stages.begun(self._target.metric, self._ticket["body"]),
            "breached_at": None,
            "due_at": None,
        }
        return {
            "id": self._world.ids.next("sla_targets"),
            "created_at": self._now,
            "updated_at": self._now,
            "body": body,
        }

    def _counts_from_creation(self, moment: Moment) -> bool:
        return moment.is_creation or self._target.metric in ("first_reply_time", "total_resolution_time")

    def _promised(self, body: Body) -> Body:
        """The target as the policy has it now; the vendor tells of a new one."""
        terms = (self._policy.id, self._target.minutes, self._target.in_office)
        if (body["policy_id"], body["target_minutes"], body["business_hours"]) == terms:
            return body
        told = {"policy_id": terms[0], "target_minutes": terms[1], "business_hours": terms[2]}
        changed = {**self._stopped(body), **told}
        if body["stage"] == "active":
            changed["running_since_at"] = self._now
        if body["stage"] != "achieved":
            sla = {"target": terms[1], "business_hours": terms[2], "policy": self._policy.told()}
            _event(
                self._world, {**changed, "instance_id": max(1, changed["instance_id"])}, "apply_sla", self._now, sla=sla
            )
        return changed

    def _moved(self, body: Body, held: stages.Stage, wanted: stages.Stage) -> Body:
        match wanted:
            case "active":
                return self._started(body, held)
            case "paused":
                begun = self._started(body, held) if held in ("idle", "achieved") else body
                _event(self._world, begun, "pause", self._now)
                return {**self._stopped(begun), "stage": "paused"}
        if held == "idle":
            return {**body, "stage": wanted}
        _event(self._world, body, "fulfill", self._now)
        return {**self._stopped(body), "stage": "achieved"}

    def _started(self, body: Body, held: stages.Stage) -> Body:
        is_fresh = held in ("idle", "achieved")
        since = body["started_at"] if held == "idle" and body["instance_id"] == 0 else self._now
        changed = {**body, "stage": "active", "running_since_at": since}
        if is_fresh:
            changed["instance_id"] = body["instance_id"] + 1
            changed["started_at"] = since
        if held == "achieved" and self._target.metric not in stages.LASTING:
            changed |= {"elapsed_ms": 0, "breached_at": None}
        _event(self._world, changed, "activate", since)
        return changed

    def _stopped(self, body: Body) -> Body:
        """What has run so far, counted."""
        if body["running_since_at"] is None:
            return body
        in_office = self._target.in_office if body["business_hours"] is None else body["business_hours"]
        since = body["running_since_at"]
        ran = self._schedule.open_ms(since, self._now) if in_office else self._now - since
        return {**body, "elapsed_ms": body["elapsed_ms"] + ran, "running_since_at": None}

    def _due(self, body: Body) -> int | None:
        if body["stage"] != "active" or body["breached_at"] is not None:
            return None
        left = max(0, body["target_minutes"] * MINUTE_MS - body["elapsed_ms"])
        since: int = body["running_since_at"]
        return self._schedule.after_ms(since, left) if body["business_hours"] else since + left


def _withdraw(world: World, row: Row) -> None:
    """No policy promises this any longer."""
    if row["body"]["stage"] not in ("active", "paused"):
        return
    gone = {"stage": "achieved", "due_at": None, "running_since_at": None, "policy_id": None}
    _keep(world, row, {**row["body"], **gone}, "withdrawn")


def _keep(world: World, row: Row, body: Body, event: str) -> None:
    if body != row["body"]:
        world.save(sla_targets, {**row, "updated_at": world.clock.now_ms(), "body": body}, f"sla_target.{event}")


def _event(world: World, body: Body, kind: str, at_ms: int, **more: Body) -> None:
    told = {
        "ticket_id": body["ticket_id"],
        "metric": _REPLY.get(body["metric"], body["metric"]),
        "instance_id": body["instance_id"],
        "type": kind,
        "time_at": at_ms,
        **more,
    }
    key, now = world.ids.next("metric_events"), world.clock.now_ms()
    row = {"id": key, "created_at": now, "updated_at": now, "body": told}
    world.save(metric_events, row, f"ticket_metric_event.{kind}")
