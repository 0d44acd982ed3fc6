"""`{{ticket.requester.first_name}}` and its like, filled in; what nobody knows becomes nothing."""

import re
from collections.abc import Callable
from typing import Any

from services.desk.operations import listing
from services.desk.operations.listing import Order, equal
from services.desk.tables import comments, groups, organizations, users
from services.kernel.statements import Row
from services.kernel.world import World

_PLACE = re.compile(r"\{\{\s*([a-z_.]+)\s*\}\}", re.IGNORECASE)


def filled(world: World, text: str, ticket: Row | None, current_user: int | None) -> str:
    if "{{" not in text:
        return text
    return _PLACE.sub(lambda found: _value(world, found[1].lower(), ticket, current_user), text)


def _value(world: World, name: str, ticket: Row | None, current_user: int | None) -> str:
    root, _, rest = name.partition(".")
    if root == "current_user":
        return _of_user(world, current_user, rest)
    if root == "ticket" and ticket is not None:
        return _of_ticket(world, ticket, rest)
    if root == "satisfaction" and ticket is not None:
        return _of_ticket(world, ticket, name)
    return ""


def _of_ticket(world: World, ticket: Row, name: str) -> str:
    body = ticket["body"]
    root, _, rest = name.partition(".")
    if root in ("requester", "assignee", "submitter"):
        return _of_user(world, body[f"{root}_id"], rest or "name")
    if root in _WORKED_OUT:
        return _WORKED_OUT[root](world, ticket)
    named = {"title": "subject", "ticket_type": "type"}.get(name, name)
    value: Any = ticket["id"] if name == "id" else body.get(named)
    return " ".join(value) if isinstance(value, list) else "" if isinstance(value, dict) else str(value or "")


def _of_user(world: World, key: int | None, name: str) -> str:
    row = None if key is None else world.get(users, key)
    if row is None:
        return ""
    full = str(row["body"].get("name") or "")
    match name:
        case "first_name":
            return full.split(" ", 1)[0]
        case "last_name":
            return full.split(" ", 1)[-1]
        case "id":
            return str(row["id"])
    value = row["body"].get(name)
    return value if isinstance(value, str) else ""


def _comment(world: World, ticket: Row, *, public_only: bool) -> str:
    where = equal(ticket_id=ticket["id"], public=1) if public_only else equal(ticket_id=ticket["id"])
    found = listing.every(world, comments, where, Order("id", descending=True))
    return str(found[0]["body"]["body"]) if found else ""


def _named(world: World, table: Any, key: int | None) -> str:
    row = None if key is None else world.get(table, key)
    return "" if row is None else str(row["body"]["name"])


def _rated(ticket: Row) -> str:
    return str((ticket["body"].get("satisfaction_rating") or {}).get("comment") or "")


_WORKED_OUT: dict[str, Callable[[World, Row], str]] = {
    "latest_comment": lambda world, ticket: _comment(world, ticket, public_only=False),
    "latest_public_comment": lambda world, ticket: _comment(world, ticket, public_only=True),
    "group": lambda world, ticket: _named(world, groups, ticket["body"]["group_id"]),
    "organization": lambda world, ticket: _named(world, organizations, ticket["body"]["organization_id"]),
    "satisfaction": lambda _, ticket: _rated(ticket),
}
