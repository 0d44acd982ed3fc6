"""A ticket's measures: how often it changed hands, how long whom kept waiting."""

from typing import Any

from services.desk.operations.records import Body

_FINISHED = ("solved", "closed")


def begun(body: Body, author_id: int, now: int) -> Body:
    """At creation."""
    assigned = now if body["assignee_id"] is not None else None
    by_agent = author_id != body["requester_id"]
    return {
        "reopens": 0,
        "replies": 0,
        "assignee_stations": 1 if assigned else 0,
        "group_stations": 1 if body["group_id"] is not None else 0,
        "assigned_at": assigned,
        "initially_assigned_at": assigned,
        "assignee_updated_at": now if by_agent else None,
        "requester_updated_at": now,
        "status_updated_at": now,
        "latest_comment_added_at": now,
        "first_reply_at": None,
        "first_solved_at": now if body["status"] in _FINISHED else None,
        "solved_at": now if body["status"] in _FINISHED else None,
        "requester_wait_ms": 0,
        "agent_wait_ms": 0,
        "on_hold_ms": 0,
    }


def moved(before: Body, after: Body, author_id: int, now: int, comment: Body | None) -> Body:
    """At every change."""
    held = dict(before["metrics"])
    if after["assignee_id"] != before["assignee_id"] and after["assignee_id"] is not None:
        held["assignee_stations"] += 1
        held["assigned_at"] = now
        held["initially_assigned_at"] = held["initially_assigned_at"] or now
    if after["group_id"] != before["group_id"] and after["group_id"] is not None:
        held["group_stations"] += 1
    if comment is not None:
        _spoken(held, after, author_id, now, comment)
    if after["status"] != before["status"]:
        _turned(held, before["status"], after["status"], now)
    return held


def _spoken(held: Body, after: Body, author_id: int, now: int, comment: Body) -> None:
    held["latest_comment_added_at"] = now
    if author_id == after["requester_id"]:
        held["requester_updated_at"] = now
        return
    held["assignee_updated_at"] = now
    if comment["public"] and author_id > 0:
        held["replies"] += 1
        held["first_reply_at"] = held["first_reply_at"] or now


def _turned(held: Body, before: str, after: str, now: int) -> None:
    waited = now - held["status_updated_at"]
    if before in ("new", "open", "hold"):
        held["requester_wait_ms"] += waited
    if before == "pending":
        held["agent_wait_ms"] += waited
    if before == "hold":
        held["on_hold_ms"] += waited
    held["status_updated_at"] = now
    if after in _FINISHED:
        held["solved_at"] = held["solved_at"] if before in _FINISHED else now
        held["first_solved_at"] = held["first_solved_at"] or now
    elif before in _FINISHED:
        held["reopens"] += 1
        held["solved_at"] = None


def minutes(ms: int | None) -> dict[str, Any]:
    """The same by the calendar and by the office's hours: this desk is open around the clock."""
    whole = None if ms is None else ms // 60_000
    return {"calendar": whole, "business": whole}
