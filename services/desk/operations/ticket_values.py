"""Which values a ticket may take: its status, and its custom fields with the tags that go with them."""

from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.rows import TicketFieldId
from services.desk.rows.settings import TicketFieldBody
from services.desk.rows.tickets import CustomFields, TicketBody, TicketChanges
from services.desk.tables import ticket_fields
from services.kernel.world import World

_WAITING_OR_DONE = ("pending", "hold", "solved")


def refuse_closed(body: TicketBody) -> None:
    if body["status"] == "closed":
        raise RecordInvalid("status", "Status: closed prevents ticket update")


def check_status(before: TicketBody, changes: TicketChanges, *, is_new: bool = False) -> TicketChanges:
    """Returns the changes with the status that follows from them, or refuses them.

    The body of a new ticket has no history: nothing was set before.
    """
    after: TicketBody = {**before, **changes}
    if not is_new and before["status"] != "new" and changes.get("status") == "new":
        raise RecordInvalid("status", "Status: cannot be set back to New")
    if changes.get("status") == "closed":
        raise RecordInvalid("status", "Status: closed is set by the system some days after solved")
    if after["status"] == "new" and after["assignee_id"] is not None:
        changes = {**changes, "status": "open"}
    if after["status"] == "solved" and after["assignee_id"] is None:
        raise RecordInvalid("base", "Assignee: is required when solving a ticket", "BlankValue")
    if not is_new and before["priority"] is not None and after["priority"] is None:
        raise RecordInvalid("priority", "Priority: cannot be blank", "BlankValue")
    return changes


def status_after_end_user(before: TicketBody, solves: bool = False) -> TicketChanges:
    """Returns what an end user's comment does to the status."""
    if solves:
        return {"status": "solved"}
    return {"status": "open"} if before["status"] in _WAITING_OR_DONE else {}


def merge_custom_fields(
    world: World, before: CustomFields, payload: list[dict[str, Any]] | dict[str, Any]
) -> tuple[CustomFields, set[str], set[str]]:
    """Returns the values after a change, and the tags to add and to remove; ids that no field has are ignored."""
    pairs = payload.items() if isinstance(payload, dict) else [(item["id"], item.get("value")) for item in payload]
    after, added, removed = dict(before), set[str](), set[str]()
    for key, value in pairs:
        is_id = str(key).isascii() and str(key).isdigit()
        field = world.get(ticket_fields, TicketFieldId(int(key))) if is_id else None
        if field is None or not field["body"].get("removable", True):
            continue
        name = str(field["id"])
        accepted = _check_value(field["body"], value)
        removed |= _tags_of(field["body"], after.get(name))
        added |= _tags_of(field["body"], accepted)
        after[name] = accepted
    return after, added, removed - added


def _check_value(field: TicketFieldBody, value: Any) -> Any:
    if value in (None, ""):
        return None
    match field["type"]:
        case "tagger":
            return _check_option(field, value)
        case "multiselect":
            return [_check_option(field, item) for item in (value if isinstance(value, list) else [value])]
        case "checkbox":
            return value in (True, "true", "1", 1)
        case "integer" | "decimal":
            return _check_number(field, value)
    return value if isinstance(value, str) else str(value)


def _check_option(field: TicketFieldBody, value: Any) -> str:
    if value not in [option["value"] for option in field.get("custom_field_options") or []]:
        raise RecordInvalid("base", f"{field['title']}: {value} is invalid")
    return str(value)


def _check_number(field: TicketFieldBody, value: Any) -> str:
    try:
        float(value)
    except (TypeError, ValueError) as error:
        raise RecordInvalid("base", f"{field['title']}: {value} is not a number") from error
    return str(value)


def _tags_of(field: TicketFieldBody, value: Any) -> set[str]:
    """Options are tags of their own name; a ticked box has the tag that its field names."""
    if field["type"] == "tagger" and value:
        return {value}
    if field["type"] == "multiselect" and value:
        return set(value)
    tag = field.get("tag")
    return {tag} if field["type"] == "checkbox" and value and tag else set()
