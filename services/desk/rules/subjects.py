"""Tickets as conditions see them, with the moments and counts that are kept beside them."""

from collections.abc import Callable
from dataclasses import dataclass

from services.desk.operations import listing
from services.desk.operations.changing import SYSTEM, Change
from services.desk.operations.listing import equal
from services.desk.rules.conditions import Subject
from services.desk.rules.office_hours import Schedule
from services.desk.tables import group_memberships, users
from services.desk.tables import tickets as ticket_rows
from services.kernel.statements import Row
from services.kernel.world import World

_STATUS_MOMENTS = ("new_at", "open_at", "pending_at", "hold_at", "solved_at", "closed_at")
_METRICS = ("assigned_at", "requester_updated_at", "assignee_updated_at")
_NEXT_BREACH = "SELECT min(due_at) FROM sla_targets WHERE ticket_id = :ticket AND due_at IS NOT NULL"
_LAST_BREACH = """SELECT max(body ->> '$.breached_at') FROM sla_targets
    WHERE ticket_id = :ticket AND body ->> '$.stage' <> 'achieved'"""


def beside(world: World, row: Row) -> Callable[[str], int | None]:
    """Looked up only where a condition asks."""

    def of(name: str) -> int | None:
        body = row["body"]
        metrics: dict[str, int | None] = body["metrics"]
        if name in _STATUS_MOMENTS:
            return metrics.get("status_updated_at") if name == f"{body['status']}_at" else None
        if name in _METRICS or name in ("reopens", "replies", "group_stations"):
            return metrics.get(name)
        match name:
            case "created_at" | "updated_at":
                return int(row[name])
            case "due_at":
                due: int | None = body.get("due_at")
                return due
            case "agent_stations":
                return metrics.get("assignee_stations")
            case "number_of_incidents":
                return listing.count(world, ticket_rows, equal(problem_id=row["id"]))
            case "sla_breach_at":
                return breach_of(world, row["id"])
        return None

    return of


def breach_of(world: World, ticket_id: int) -> int | None:
    """When the next target is missed; where none is ahead, when the last one was that is still open."""
    for sql in (_LAST_BREACH, _NEXT_BREACH):
        found: int | None = world.rows(sql, {"ticket": ticket_id})[0][0]
        if found is not None:
            return found
    return None


def of_change(world: World, change: Change, row: Row, schedule: Schedule) -> Subject:
    """A ticket in the middle of an update; `row` is how it stands by now."""
    author = None if change.author_id == SYSTEM else world.get(users, change.author_id)
    return Subject(
        ticket=row["body"],
        now_ms=world.clock.now_ms(),
        schedule=schedule,
        before=None if change.before is None else change.before["body"],
        comment=None if change.comment is None else change.comment["body"],
        author=None if author is None else {"id": author["id"], "role": author["body"]["role"]},
        requester_role=lambda: _role(world, row["body"]["requester_id"]),
        channel=str(change.via.get("channel")),
        also=beside(world, row),
    )


def _role(world: World, user: int) -> str:
    row = world.get(users, user)
    return "end-user" if row is None else str(row["body"]["role"])


@dataclass(frozen=True, slots=True)
class Viewer:
    """The member of staff who looks, and the groups they belong to."""

    id: int
    groups: tuple[int, ...]

    @classmethod
    def of(cls, world: World, user: Row) -> "Viewer":
        found = listing.every(world, group_memberships, equal(user_id=user["id"]))
        return cls(user["id"], tuple(sorted(row["body"]["group_id"] for row in found)))


def at_rest(world: World, row: Row, now_ms: int, schedule: Schedule, viewer: Viewer | None = None) -> Subject:
    """A ticket that nobody is changing, seen at some moment by some member of staff."""
    return Subject(
        ticket=row["body"],
        now_ms=now_ms,
        schedule=schedule,
        before=row["body"],
        is_update=False,
        viewer_id=None if viewer is None else viewer.id,
        viewer_groups=() if viewer is None else viewer.groups,
        also=beside(world, row),
    )
