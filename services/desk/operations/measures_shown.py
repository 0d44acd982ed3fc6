"""A ticket's measures as the wire shows them."""

from services.desk.operations.measures import minutes
from services.desk.operations.showing import Shown, iso
from services.kernel.statements import Row


def ticket_metric(row: Row, base: str) -> Shown:
    held = row["body"]["metrics"]
    created = row["created_at"]
    return {
        "url": f"{base}/api/v2/ticket_metrics/{row['id']}.json",
        "id": row["id"],
        "ticket_id": row["id"],
        "created_at": iso(created),
        "updated_at": iso(row["updated_at"]),
        "group_stations": held["group_stations"],
        "assignee_stations": held["assignee_stations"],
        "reopens": held["reopens"],
        "replies": held["replies"],
        "assignee_updated_at": iso(held["assignee_updated_at"]),
        "requester_updated_at": iso(held["requester_updated_at"]),
        "status_updated_at": iso(held["status_updated_at"]),
        "initially_assigned_at": iso(held["initially_assigned_at"]),
        "assigned_at": iso(held["assigned_at"]),
        "solved_at": iso(held["solved_at"]),
        "latest_comment_added_at": iso(held["latest_comment_added_at"]),
        "reply_time_in_minutes": minutes(_since(created, held["first_reply_at"])),
        "first_resolution_time_in_minutes": minutes(_since(created, held["first_solved_at"])),
        "full_resolution_time_in_minutes": minutes(_since(created, held["solved_at"])),
        "agent_wait_time_in_minutes": minutes(held["agent_wait_ms"]),
        "requester_wait_time_in_minutes": minutes(held["requester_wait_ms"]),
        "on_hold_time_in_minutes": minutes(held["on_hold_ms"]),
    }


def _since(created: int, then: int | None) -> int | None:
    return None if then is None else then - created
