"""Tickets as conditions see them, with the times and counts that are kept in other tables."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services.desk.records.ticket_changes import SYSTEM, TicketChange
from services.desk.rows import GroupId, TicketId, UserId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketRow
from services.desk.rules.conditions import Author, Subject
from services.desk.rules.office_hours import Schedule
from services.desk.tables import group_memberships, tickets, users
from services.kernel.documents import equal
from services.kernel.world import World

_STATUS_TIMES = ("new_at", "open_at", "pending_at", "hold_at", "solved_at", "closed_at")
_METRICS = ("assigned_at", "requester_updated_at", "assignee_updated_at", "reopens", "replies", "group_stations")
_NEXT_BREACH = "SELECT min(due_at) FROM sla_targets WHERE ticket_id = :ticket AND due_at IS NOT NULL"
_LAST_BREACH = """SELECT max(body ->> '$.breached_at') FROM sla_targets
    WHERE ticket_id = :ticket AND body ->> '$.stage' <> 'achieved'"""


def make_lookup(world: World, row: TicketRow) -> Callable[[str], int | None]:
    """Returns a function that looks up times and counts only where a condition needs them."""

    def lookup(name: str) -> int | None:
        body = row["body"]
        # By any name, and a planted ticket may lack some of them.
        metrics: Any = body["metrics"]
        if name in _STATUS_TIMES:
            at_ms: int | None = metrics.get("status_updated_at") if name == f"{body['status']}_at" else None
            return at_ms
        if name in _METRICS:
            value: int | None = metrics.get(name)
            return value
        match name:
            case "created_at":
                return row["created_at"]
            case "updated_at":
                return row["updated_at"]
            case "due_at":
                return body.get("due_at")
            case "agent_stations":
                return body["metrics"].get("assignee_stations")
            case "number_of_incidents":
                return tickets.count_rows(world, equal(problem_id=row["id"]))
            case "sla_breach_at":
                return find_breach(world, row["id"])
        return None

    return lookup


def find_breach(world: World, ticket_id: TicketId) -> int | None:
    """Returns when the last target that is still open was missed; where none was, when the next one will be."""
    for sql in (_LAST_BREACH, _NEXT_BREACH):
        at_ms: int | None = world.rows(sql, {"ticket": ticket_id})[0][0]
        if at_ms is not None:
            return at_ms
    return None


def subject_of_change(world: World, change: TicketChange, row: TicketRow, schedule: Schedule) -> Subject:
    """A ticket in the middle of an update; `row` is the ticket as earlier rules of this update left it."""
    author = None if change.author_id == SYSTEM else world.get(users, change.author_id)
    return Subject(
        ticket=row["body"],
        now_ms=world.clock.now_ms(),
        schedule=schedule,
        before=None if change.before is None else change.before["body"],
        comment=None if change.comment is None else change.comment["body"],
        author=None if author is None else Author(author["id"], author["body"]["role"]),
        requester_role=lambda: _get_role(world, row["body"]["requester_id"]),
        channel=str(change.via.get("channel")),
        lookup=make_lookup(world, row),
    )


def _get_role(world: World, user: UserId) -> str:
    row = world.get(users, user)
    return "end-user" if row is None else row["body"]["role"]


@dataclass(frozen=True, slots=True)
class Viewer:
    """The member of staff who looks, and the groups they belong to."""

    id: UserId
    groups: tuple[GroupId, ...]

    @classmethod
    def of_user(cls, world: World, user: UserRow) -> "Viewer":
        memberships = group_memberships.find(world, equal(user_id=user["id"]))
        return cls(user["id"], tuple(sorted(row["body"]["group_id"] for row in memberships)))


def subject_at_rest(
    world: World, row: TicketRow, now_ms: int, schedule: Schedule, viewer: Viewer | None = None
) -> Subject:
    """A ticket that nobody is changing, as a member of staff sees it at some time."""
    return Subject(
        ticket=row["body"],
        now_ms=now_ms,
        schedule=schedule,
        before=row["body"],
        is_update=False,
        viewer_id=None if viewer is None else viewer.id,
        viewer_groups=() if viewer is None else viewer.groups,
        lookup=make_lookup(world, row),
    )
