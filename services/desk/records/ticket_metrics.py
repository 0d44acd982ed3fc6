"""A ticket's metrics: how often it changed hands, and how long who waited."""

from services.desk.rows import UserId
from services.desk.rows.tickets import CommentDraft, Status, TicketBody, TicketMetrics

FINISHED: tuple[Status, ...] = ("solved", "closed")


def start_metrics(body: TicketBody, author_id: UserId, now: int) -> TicketMetrics:
    """Returns the metrics of a new ticket."""
    assigned = now if body["assignee_id"] is not None else None
    solved = now if body["status"] in FINISHED else None
    return {
        "reopens": 0,
        "replies": 0,
        "assignee_stations": 1 if assigned else 0,
        "group_stations": 1 if body["group_id"] is not None else 0,
        "assigned_at": assigned,
        "initially_assigned_at": assigned,
        "assignee_updated_at": now if author_id != body["requester_id"] else None,
        "requester_updated_at": now,
        "status_updated_at": now,
        "latest_comment_added_at": now,
        "first_reply_at": None,
        "first_solved_at": solved,
        "solved_at": solved,
        "requester_wait_ms": 0,
        "agent_wait_ms": 0,
        "on_hold_ms": 0,
    }


def update_metrics(
    before: TicketBody, after: TicketBody, author_id: UserId, now: int, comment: CommentDraft | None
) -> TicketMetrics:
    """Returns the metrics after a change."""
    metrics = before["metrics"].copy()
    if after["assignee_id"] != before["assignee_id"] and after["assignee_id"] is not None:
        metrics["assignee_stations"] += 1
        metrics["assigned_at"] = now
        metrics["initially_assigned_at"] = metrics["initially_assigned_at"] or now
    if after["group_id"] != before["group_id"] and after["group_id"] is not None:
        metrics["group_stations"] += 1
    if comment is not None:
        _count_comment(metrics, after, author_id, now, comment)
    if after["status"] != before["status"]:
        _count_status(metrics, before["status"], after["status"], now)
    return metrics


def _count_comment(
    metrics: TicketMetrics, after: TicketBody, author_id: UserId, now: int, comment: CommentDraft
) -> None:
    metrics["latest_comment_added_at"] = now
    if author_id == after["requester_id"]:
        metrics["requester_updated_at"] = now
        return
    metrics["assignee_updated_at"] = now
    if comment["public"] and author_id > 0:
        metrics["replies"] += 1
        metrics["first_reply_at"] = metrics["first_reply_at"] or now


def _count_status(metrics: TicketMetrics, before: Status, after: Status, now: int) -> None:
    waited = now - metrics["status_updated_at"]
    if before in ("new", "open", "hold"):
        metrics["requester_wait_ms"] += waited
    if before == "pending":
        metrics["agent_wait_ms"] += waited
    if before == "hold":
        metrics["on_hold_ms"] += waited
    metrics["status_updated_at"] = now
    if after in FINISHED:
        metrics["solved_at"] = metrics["solved_at"] if before in FINISHED else now
        metrics["first_solved_at"] = metrics["first_solved_at"] or now
    elif before in FINISHED:
        metrics["reopens"] += 1
        metrics["solved_at"] = None
