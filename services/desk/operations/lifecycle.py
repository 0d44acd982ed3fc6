"""Which way a ticket may go: new, open, pending, hold, solved, closed."""

from services.desk.errors import RecordInvalid
from services.desk.operations.records import Body

WAITING_OR_DONE = ("pending", "hold", "solved")


def refuse_closed(body: Body) -> None:
    if body["status"] == "closed":
        raise RecordInvalid("status", "Status: closed prevents ticket update")


def settled(before: Body | None, changes: Body) -> Body:
    """The changes with the status that follows from them, or a refusal."""
    if before is None:
        return _checked({}, {"status": "new", **changes})
    return _checked(before, changes)


def _checked(before: Body, changes: Body) -> Body:
    after = {**before, **changes}
    was = before.get("status")
    if was not in (None, "new") and changes.get("status") == "new":
        raise RecordInvalid("status", "Status: cannot be set back to New")
    if changes.get("status") == "closed":
        raise RecordInvalid("status", "Status: closed is set by the system some days after solved")
    if after["status"] == "new" and after.get("assignee_id") is not None:
        changes = {**changes, "status": "open"}
    if after["status"] == "solved" and after.get("assignee_id") is None:
        raise RecordInvalid("base", "Assignee: is required when solving a ticket", "BlankValue")
    if before.get("priority") is not None and after.get("priority") is None:
        raise RecordInvalid("priority", "Priority: cannot be blank", "BlankValue")
    return changes


def after_end_user(before: Body, solves: bool = False) -> Body:
    """What an end user's comment does to the status."""
    if solves:
        return {"status": "solved"}
    return {"status": "open"} if before["status"] in WAITING_OR_DONE else {}
