"""Users: find, make, change, merge, let go."""

import re
from typing import Any

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations import callers, listing, records
from services.desk.operations.listing import Where, equal
from services.desk.operations.records import Body, Given
from services.desk.operations.texts import tags_of
from services.desk.tables import (
    groups,
    identities,
    organization_memberships,
    organizations,
    tickets,
    user_fields,
)
from services.desk.tables import users as rows
from services.kernel.statements import Row
from services.kernel.world import World

_ADDRESS = re.compile(r"^[^@\s,;<>\"]+@[^@\s,;<>\".][^@\s,;<>\"]*\.[^@\s,;<>\".]{2,}$")
_PLAIN = (
    "name", "phone", "role", "external_id", "alias", "details", "notes", "signature", "locale", "time_zone",
    "verified", "suspended", "only_private_comments", "moderator", "ticket_restriction", "default_group_id",
    "custom_role_id", "shared_phone_number",
)  # fmt: skip
# Nothing, where something always is, leaves it as it was.
_NEVER_EMPTY = frozenset({"role", "verified", "suspended", "moderator", "locale", "time_zone"})


def blank(name: str, email: str | None) -> Body:
    """A user as the desk makes one, every field there."""
    return {
        "name": name,
        "email": email,
        "phone": None,
        "shared_phone_number": None,
        "role": callers.END_USER,
        "organization_id": None,
        "default_group_id": None,
        "external_id": None,
        "alias": None,
        "active": True,
        "verified": False,
        "suspended": False,
        "shared": False,
        "shared_agent": False,
        "locale": "en-US",
        "locale_id": 1,
        "time_zone": "UTC",
        "iana_time_zone": "Etc/UTC",
        "tags": [],
        "notes": None,
        "details": None,
        "signature": None,
        "user_fields": {},
        "ticket_restriction": "requested",
        "only_private_comments": False,
        "restricted_agent": True,
        "moderator": False,
        "custom_role_id": None,
        "role_type": None,
        "last_login_at": None,
        "photo": None,
        "two_factor_auth_enabled": None,
        "deleted_at": None,
    }


def create(world: World, given: Given) -> Row:
    name = (given.get("name") or "").strip()
    if not name:
        raise RecordInvalid("name", "Name: is too short (minimum one character)", "BlankValue")
    email = _address(given.get("email"))
    if email is not None and callers.by_email(world, email) is not None:
        raise RecordInvalid("email", f"Email: {email} is already being used by another user", "DuplicateValue")
    body = blank(name, email)
    body |= _changes(world, None, body, given)
    row = records.add(world, rows, body)
    if email is not None:
        _identify(world, row["id"], "email", email, primary=True)
    for one in given.get("identities") or []:
        _identify(world, row["id"], one["type"], one["value"])
    _belong(world, row, body["organization_id"])
    return records.known(world, rows, row["id"])


def found_or_made(world: World, asked: Body) -> Row:
    """Whoever has that address; or somebody new, named after it if no name is given."""
    email = _address(asked.get("email"))
    if email is None:
        if asked.get("name"):
            return create(world, {"name": asked["name"]})
        raise RecordInvalid("requester", "Requester: email cannot be blank", "BlankValue")
    known = callers.by_email(world, email)
    return known or create(world, {"name": asked.get("name") or email.partition("@")[0], "email": email})


def create_or_update(world: World, given: Given) -> tuple[Row, bool]:
    """By external id, else by address; whether somebody was made."""
    known = None
    if given.get("external_id"):
        found = listing.every(world, rows, equal(external_id=given["external_id"]))
        known = next((row for row in found if row["body"]["active"]), None)
    if known is None and given.get("email"):
        known = callers.by_email(world, given["email"])
    if known is not None:
        return update(world, known["id"], given), False
    return create(world, given), True


def read(world: World, key: int) -> Row:
    return records.need(world, rows, key)


def update(world: World, key: int, given: Given) -> Row:
    row = read(world, key)
    if not row["body"]["active"]:
        raise RecordInvalid("base", "User: was deleted and takes no changes")
    changes = _changes(world, row, row["body"], given)
    if "email" in given and given["email"] is not None:
        changes["email"] = _readdressed(world, row, _address(given["email"]))
    if "organization_id" in changes and changes["organization_id"] != row["body"]["organization_id"]:
        _belong(world, row, changes["organization_id"])
    return records.change(world, rows, records.known(world, rows, key), changes)


def delete(world: World, key: int, by: int) -> Row:
    """The person leaves; what they wrote stays. Nobody with open tickets, and not oneself."""
    row = read(world, key)
    if not row["body"]["active"]:
        raise RecordNotFound
    if key == by:
        raise RecordInvalid("base", "User: you cannot delete yourself")
    unfinished = Where("status_rank < 5 AND deleted_at IS NULL")
    if listing.count(world, tickets, equal(requester_id=key) & unfinished):
        raise RecordInvalid("base", f"User: {row['body']['name']} is the requester of tickets that are not closed")
    for identity in listing.every(world, identities, equal(user_id=key)):
        records.remove(world, identities, identity["id"])
    return records.change(world, rows, row, {"active": False, "deleted_at": world.clock.now_ms()}, "deleted")


def identities_of(world: World, key: int) -> list[Row]:
    read(world, key)
    return listing.every(world, identities, equal(user_id=key))


def merge(world: World, loser: int, winner: int) -> Row:
    """Tickets, addresses and memberships of one end user go to another, and the first is gone."""
    gone, stays = read(world, loser), records.refer(world, rows, winner, "id")
    if loser == winner:
        raise RecordInvalid("base", "User: cannot be merged into itself")
    if callers.is_staff(gone) or callers.is_staff(stays):
        raise RecordInvalid("base", "User: only end users can be merged")
    if not gone["body"]["active"] or not stays["body"]["active"]:
        raise RecordInvalid("base", "User: was deleted")
    for identity in listing.every(world, identities, equal(user_id=loser)):
        records.change(world, identities, identity, {"user_id": winner, "primary": False}, "moved")
    for member in listing.every(world, organization_memberships, equal(user_id=loser)):
        _move_membership(world, member, winner)
    for ticket in listing.every(world, tickets, equal(requester_id=loser)):
        world.save(tickets, {**ticket, "body": {**ticket["body"], "requester_id": winner}}, "ticket.requester_merged")
    changes = {"organization_id": stays["body"]["organization_id"] or gone["body"]["organization_id"]}
    kept = records.change(world, rows, stays, changes)
    records.change(
        world, rows, gone, {"active": False, "_merged_into": winner, "deleted_at": world.clock.now_ms()}, "merged_away"
    )
    return kept


def _move_membership(world: World, member: Row, winner: int) -> None:
    there = equal(user_id=winner, organization_id=member["body"]["organization_id"])
    if listing.count(world, organization_memberships, there):
        records.remove(world, organization_memberships, member["id"])
    else:
        records.change(world, organization_memberships, member, {"user_id": winner, "default": False}, "moved")


def _changes(world: World, row: Row | None, body: Body, given: Given) -> Body:
    changes: Body = {
        name: given[name] for name in _PLAIN if name in given and (given[name] is not None or name not in _NEVER_EMPTY)
    }
    if "name" in changes and not (changes["name"] or "").strip():
        raise RecordInvalid("name", "Name: is too short (minimum one character)", "BlankValue")
    if "tags" in given:
        changes["tags"] = tags_of(given["tags"] or [])
    if given.get("user_fields"):
        changes["user_fields"] = {**body["user_fields"], **_known_fields(world, given["user_fields"])}
    if isinstance(asked := given.get("organization"), dict) and asked.get("name"):
        found = listing.every(world, organizations, equal(name_folded=asked["name"].casefold()))
        changes["organization_id"] = found[0]["id"] if found else None
    if "organization_id" in given:
        key = given["organization_id"]
        changes["organization_id"] = (
            None if key is None else records.refer(world, organizations, key, "organization_id")["id"]
        )
    if changes.get("default_group_id") is not None:
        records.refer(world, groups, changes["default_group_id"], "default_group_id")
    if taken := changes.get("external_id"):
        _refuse_taken(world, rows, taken, None if row is None else row["id"])
    return changes


def _refuse_taken(world: World, table: Any, external_id: str, own: int | None) -> None:
    for row in listing.every(world, table, equal(external_id=external_id)):
        if row["id"] != own and row["body"].get("active", True):
            raise RecordInvalid("external_id", "External: has already been taken", "DuplicateValue")


def _known_fields(world: World, given: Body) -> Body:
    known = {row["body"]["key"] for row in listing.every(world, user_fields)}
    return {name: value for name, value in given.items() if name in known}


def _address(given: Any) -> str | None:
    if given in (None, ""):
        return None
    text = str(given).strip()
    if not _ADDRESS.match(text):
        raise RecordInvalid("email", f"Email: {text[:80]} is not properly formatted")
    return text.lower()


def _readdressed(world: World, row: Row, email: str | None) -> str | None:
    """A new primary address; the old one stays as a second."""
    if email is None or email == row["body"]["email"]:
        own: str | None = row["body"]["email"]
        return own
    known = callers.by_email(world, email)
    if known is not None and known["id"] != row["id"]:
        raise RecordInvalid("email", f"Email: {email} is already being used by another user", "DuplicateValue")
    for identity in listing.every(world, identities, equal(user_id=row["id"], type="email")):
        records.change(world, identities, identity, {"primary": identity["body"]["value"].lower() == email})
    if known is None:
        _identify(world, row["id"], "email", email, primary=True)
    return email


def _identify(world: World, user: int, kind: str, value: str, primary: bool = False) -> Row:
    body = {
        "user_id": user, "type": kind, "value": value, "primary": primary, "verified": False,
        "undeliverable_count": 0, "deliverable_state": "deliverable",
    }  # fmt: skip
    return records.add(world, identities, body)


def _belong(world: World, row: Row, organization: int | None) -> None:
    """The default organization is one of the memberships."""
    for member in listing.every(world, organization_memberships, equal(user_id=row["id"])):
        if member["body"]["organization_id"] == organization:
            records.change(world, organization_memberships, member, {"default": True})
            return
        if member["body"]["default"]:
            records.remove(world, organization_memberships, member["id"])
    if organization is not None:
        body = {"user_id": row["id"], "organization_id": organization, "default": True, "view_tickets": False}
        records.add(world, organization_memberships, body)
