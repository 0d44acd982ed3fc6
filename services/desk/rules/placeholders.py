"""Fills in `{{ticket.requester.first_name}}` and its like; unknown placeholders become empty."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from services.desk.documents import Sort
from services.desk.rows import UserId
from services.desk.rows.tickets import TicketRow
from services.desk.tables import comments, groups, organizations, users
from services.kernel.documents import equal
from services.kernel.world import World

_PLACEHOLDER = re.compile(r"\{\{\s*([a-z_.]+)\s*\}\}", re.IGNORECASE)
_ALIASES = {"title": "subject", "ticket_type": "type"}


def fill_placeholders(world: World, text: str, ticket: TicketRow | None, current_user: UserId | None) -> str:
    if "{{" not in text:
        return text
    return _PLACEHOLDER.sub(lambda match: _evaluate(world, match[1].lower(), ticket, current_user), text)


def _evaluate(world: World, name: str, ticket: TicketRow | None, current_user: UserId | None) -> str:
    root, _, rest = name.partition(".")
    if root == "current_user":
        return _user_value(world, current_user, rest)
    if root == "ticket" and ticket is not None:
        return _ticket_value(world, ticket, rest)
    if root == "satisfaction" and ticket is not None:
        return _ticket_value(world, ticket, name)
    return ""


def _ticket_value(world: World, ticket: TicketRow, name: str) -> str:
    # Fields by the names that the text gives.
    body: Mapping[str, Any] = ticket["body"]
    root, _, rest = name.partition(".")
    if root in ("requester", "assignee", "submitter"):
        return _user_value(world, body[f"{root}_id"], rest or "name")
    if root in _COMPUTED:
        return _COMPUTED[root](world, ticket)
    value = ticket["id"] if name == "id" else body.get(_ALIASES.get(name, name))
    return " ".join(value) if isinstance(value, list) else "" if isinstance(value, dict) else str(value or "")


def _user_value(world: World, key: UserId | None, name: str) -> str:
    row = None if key is None else world.get(users, key)
    if row is None:
        return ""
    body: Mapping[str, Any] = row["body"]
    full = str(body.get("name") or "")
    match name:
        case "first_name":
            return full.split(" ", 1)[0]
        case "last_name":
            return full.split(" ", 1)[-1]
        case "id":
            return str(row["id"])
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _latest_comment(world: World, ticket: TicketRow, *, public_only: bool) -> str:
    where = equal(ticket_id=ticket["id"], public=1) if public_only else equal(ticket_id=ticket["id"])
    rows = comments.find(world, where, Sort("id", descending=True), limit=1)
    return str(rows[0]["body"]["body"]) if rows else ""


def _group_name(world: World, ticket: TicketRow) -> str:
    key = ticket["body"]["group_id"]
    row = None if key is None else world.get(groups, key)
    return "" if row is None else row["body"]["name"]


def _organization_name(world: World, ticket: TicketRow) -> str:
    key = ticket["body"]["organization_id"]
    row = None if key is None else world.get(organizations, key)
    return "" if row is None else row["body"]["name"]


def _rating_comment(ticket: TicketRow) -> str:
    rating = ticket["body"].get("satisfaction_rating")
    return str((rating.get("comment") if rating else None) or "")


_COMPUTED: Mapping[str, Callable[[World, TicketRow], str]] = {
    "latest_comment": lambda world, ticket: _latest_comment(world, ticket, public_only=False),
    "latest_public_comment": lambda world, ticket: _latest_comment(world, ticket, public_only=True),
    "group": _group_name,
    "organization": _organization_name,
    "satisfaction": lambda _, ticket: _rating_comment(ticket),
}
