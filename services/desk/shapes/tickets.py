"""Tickets, their metrics, and what `include` sends along with them."""

from collections.abc import Iterable, Sequence

from services.desk.operations.requests import can_be_solved
from services.desk.records.times import format_time
from services.desk.rows import UserId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import CustomFields, TicketRow
from services.desk.shapes.base import Shape, make_url, render_all, render_body
from services.desk.tables import groups, organizations, users
from services.kernel.world import World

_COMMENT_COUNTS = (
    "SELECT ticket_id, count(*) FROM comments WHERE ticket_id IN (SELECT value FROM json_each(:ids)) GROUP BY ticket_id"
)
_INCIDENT_COUNTS = (
    "SELECT problem_id, count(*) FROM tickets WHERE problem_id IN (SELECT value FROM json_each(:ids)) "
    "AND deleted_at IS NULL GROUP BY problem_id"
)
_COUNTS = {
    "comment_count": ("comment_count", _COMMENT_COUNTS),
    "incident_counts": ("incident_count", _INCIDENT_COUNTS),
}


def render_ticket(row: TicketRow, base: str) -> Shape:
    body = row["body"]
    fields = render_custom_fields(body["custom_fields"])
    shape = render_body(body)
    for ours in ("metrics", "deleted_at", "deleted_by", "followup_source_id"):
        shape.pop(ours, None)
    return {
        "url": make_url("ticket", row, base),
        "id": row["id"],
        **shape,
        "raw_subject": body["subject"],
        "custom_fields": fields,
        "fields": fields,
        "created_at": format_time(row["created_at"]),
        "updated_at": format_time(row["updated_at"]),
        "has_incidents": body["type"] == "problem",
    }


def render_custom_fields(values: CustomFields) -> list[Shape]:
    return [{"id": int(key), "value": value} for key, value in values.items()]


def render_deleted_ticket(world: World, row: TicketRow) -> Shape:
    body = row["body"]
    user = world.get(users, body["deleted_by"]) if body["deleted_by"] is not None else None
    return {
        "id": row["id"],
        "subject": body["subject"],
        "description": body["description"],
        "actor": {"id": body["deleted_by"] or -1, "name": user["body"]["name"] if user is not None else "System"},
        "deleted_at": format_time(body["deleted_at"]),
        "previous_state": body["status"],
    }


def render_request(row: TicketRow, user: UserRow, base: str) -> Shape:
    """Renders a ticket as its requester sees it."""
    body = row["body"]
    fields = render_custom_fields(body["custom_fields"])
    return {
        "url": make_url("request", row, base),
        "id": row["id"],
        "subject": body["subject"],
        "description": body["description"],
        "status": body["status"],
        "priority": body["priority"],
        "type": body["type"],
        "organization_id": body["organization_id"],
        "requester_id": body["requester_id"],
        "assignee_id": body["assignee_id"],
        "group_id": body["group_id"],
        "collaborator_ids": body["collaborator_ids"],
        "email_cc_ids": body["email_cc_ids"],
        "is_public": body["is_public"],
        "recipient": body["recipient"],
        "followup_source_id": body["followup_source_id"],
        "ticket_form_id": body["ticket_form_id"],
        "custom_status_id": body["custom_status_id"],
        "via": body["via"],
        "custom_fields": fields,
        "fields": fields,
        "due_at": format_time(body["due_at"]),
        "can_be_solved_by_me": can_be_solved(row, user),
        "created_at": format_time(row["created_at"]),
        "updated_at": format_time(row["updated_at"]),
    }


def render_metrics(row: TicketRow, base: str) -> Shape:
    metrics, created = row["body"]["metrics"], row["created_at"]
    return {
        "url": make_url("ticket_metric", row, base),
        "id": row["id"],
        "ticket_id": row["id"],
        "created_at": format_time(created),
        "updated_at": format_time(row["updated_at"]),
        "group_stations": metrics["group_stations"],
        "assignee_stations": metrics["assignee_stations"],
        "reopens": metrics["reopens"],
        "replies": metrics["replies"],
        "assignee_updated_at": format_time(metrics["assignee_updated_at"]),
        "requester_updated_at": format_time(metrics["requester_updated_at"]),
        "status_updated_at": format_time(metrics["status_updated_at"]),
        "initially_assigned_at": format_time(metrics["initially_assigned_at"]),
        "assigned_at": format_time(metrics["assigned_at"]),
        "solved_at": format_time(metrics["solved_at"]),
        "latest_comment_added_at": format_time(metrics["latest_comment_added_at"]),
        "reply_time_in_minutes": _minutes_since(created, metrics["first_reply_at"]),
        "first_resolution_time_in_minutes": _minutes_since(created, metrics["first_solved_at"]),
        "full_resolution_time_in_minutes": _minutes_since(created, metrics["solved_at"]),
        "agent_wait_time_in_minutes": _minutes(metrics["agent_wait_ms"]),
        "requester_wait_time_in_minutes": _minutes(metrics["requester_wait_ms"]),
        "on_hold_time_in_minutes": _minutes(metrics["on_hold_ms"]),
    }


def _minutes_since(created: int, then: int | None) -> Shape:
    return _minutes(None if then is None else then - created)


def _minutes(ms: int | None) -> Shape:
    """Renders a duration; both values are the same, because metrics are counted around the clock."""
    whole = None if ms is None else ms // 60_000
    return {"calendar": whole, "business": whole}


def render_tickets(
    world: World, rows: Sequence[TicketRow], include: frozenset[str], base: str
) -> tuple[list[Shape], Shape]:
    """Returns the tickets, and the records to be sent along with them."""
    shapes = [render_ticket(row, base) for row in rows]
    if not include:
        return shapes, {}
    _add_counts(world, shapes, include)
    return shapes, render_related(world, rows, include, base)


def render_related(world: World, rows: Sequence[TicketRow], include: frozenset[str], base: str) -> Shape:
    """Returns the records around tickets that `include` names."""
    bodies = [row["body"] for row in rows]
    related: Shape = {}
    if "users" in include:
        people = (id_ for body in bodies for id_ in (body["requester_id"], body["submitter_id"], body["assignee_id"]))
        related["users"] = render_people(world, people, base)
    if "groups" in include:
        group_ids = [body["group_id"] for body in bodies if body["group_id"] is not None]
        related["groups"] = render_all("group", groups.by_ids(world, group_ids), base)
    if "organizations" in include:
        organization_ids = [body["organization_id"] for body in bodies if body["organization_id"] is not None]
        related["organizations"] = render_all("organization", organizations.by_ids(world, organization_ids), base)
    if "metric_sets" in include:
        related["metric_sets"] = [render_metrics(row, base) for row in rows]
    return related


def render_people(world: World, ids: Iterable[UserId | None], base: str) -> list[Shape]:
    wanted = [id_ for id_ in ids if id_ is not None and id_ > 0]
    return render_all("user", users.by_ids(world, wanted), base)


def _add_counts(world: World, shapes: list[Shape], include: frozenset[str]) -> None:
    for included, (name, statement) in _COUNTS.items():
        if included in include:
            counts = dict(world.rows(statement, {"ids": str([shape["id"] for shape in shapes])}))
            for shape in shapes:
                shape[name] = counts.get(shape["id"], 0)
