"""Users: find, create, change, merge, delete."""

import re
from typing import Any

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.records.markup import normalize_tags
from services.desk.records.payload import Payload, pick
from services.desk.records.people import END_USER, find_by_email, is_staff
from services.desk.rows import GroupId, OrganizationId, UserId
from services.desk.rows.people import IdentityRow, OrganizationMembershipRow, UserBody, UserChanges, UserRow
from services.desk.rows.settings import PersonFieldBody
from services.desk.rows.tickets import TicketRow
from services.desk.tables import (
    groups,
    identities,
    organization_memberships,
    organizations,
    tickets,
    user_fields,
    users,
)
from services.kernel.documents import Where, equal
from services.kernel.world import World

_ADDRESS = re.compile(r"^[^@\s,;<>\"]+@[^@\s,;<>\".][^@\s,;<>\"]*\.[^@\s,;<>\".]{2,}$")
_PLAIN = (
    "name", "phone", "role", "external_id", "alias", "details", "notes", "signature", "locale", "time_zone",
    "verified", "suspended", "only_private_comments", "moderator", "ticket_restriction", "default_group_id",
    "custom_role_id", "shared_phone_number",
)  # fmt: skip
# A null leaves these fields as they were.
_NEVER_EMPTY = frozenset({"role", "verified", "suspended", "moderator", "locale", "time_zone"})
_UNCLOSED = Where("status_rank < 5 AND deleted_at IS NULL")


def blank_user(name: str, email: str | None) -> UserBody:
    """Returns a user with every field."""
    return {
        "name": name,
        "email": email,
        "phone": None,
        "shared_phone_number": None,
        "role": END_USER,
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


def create_user(world: World, payload: Payload) -> UserRow:
    name = (payload.get("name") or "").strip()
    if not name:
        raise RecordInvalid("name", "Name: is too short (minimum one character)", "BlankValue")
    email = _read_address(payload.get("email"))
    if email is not None and find_by_email(world, email) is not None:
        raise RecordInvalid("email", f"Email: {email} is already being used by another user", "DuplicateValue")
    blank = blank_user(name, email)
    body: UserBody = {**blank, **_read_changes(world, None, blank, payload)}
    row = users.add(world, body)
    if email is not None:
        _add_identity(world, row["id"], "email", email, primary=True)
    for identity in payload.get("identities") or []:
        _add_identity(world, row["id"], identity["type"], identity["value"])
    _set_default_organization(world, row, body["organization_id"])
    return users.must_exist(world, row["id"])


def find_or_create(world: World, person: Payload) -> UserRow:
    """Finds the owner of an address, or creates a user, who is named after the address if there is no name."""
    email = _read_address(person.get("email"))
    if email is None:
        if person.get("name"):
            return create_user(world, {"name": person["name"]})
        raise RecordInvalid("requester", "Requester: email cannot be blank", "BlankValue")
    known = find_by_email(world, email)
    return known or create_user(world, {"name": person.get("name") or email.partition("@")[0], "email": email})


def create_or_update(world: World, payload: Payload) -> tuple[UserRow, bool]:
    """Finds a user by external id, else by address; the second value tells whether one was created."""
    existing = None
    if payload.get("external_id"):
        owners = users.find(world, equal(external_id=payload["external_id"]))
        existing = next((row for row in owners if row["body"]["active"]), None)
    if existing is None and payload.get("email"):
        existing = find_by_email(world, payload["email"])
    if existing is not None:
        return update_user(world, existing["id"], payload), False
    return create_user(world, payload), True


def update_user(world: World, key: UserId, payload: Payload) -> UserRow:
    row = users.need(world, key)
    if not row["body"]["active"]:
        raise RecordInvalid("base", "User: was deleted and takes no changes")
    changes = _read_changes(world, row, row["body"], payload)
    if "email" in payload and payload["email"] is not None:
        changes["email"] = _change_address(world, row, _read_address(payload["email"]))
    if "organization_id" in changes and changes["organization_id"] != row["body"]["organization_id"]:
        _set_default_organization(world, row, changes["organization_id"])
    current = users.must_exist(world, key)
    return users.change(world, current, {**current["body"], **changes})


def delete_user(world: World, key: UserId, by: UserId) -> UserRow:
    """Deletes a user who has no unclosed tickets and is not the caller; what they wrote stays."""
    row = users.need(world, key)
    if not row["body"]["active"]:
        raise RecordNotFound
    if key == by:
        raise RecordInvalid("base", "User: you cannot delete yourself")
    if tickets.count_rows(world, equal(requester_id=key) & _UNCLOSED):
        raise RecordInvalid("base", f"User: {row['body']['name']} is the requester of tickets that are not closed")
    for identity in identities.find(world, equal(user_id=key)):
        identities.discard(world, identity["id"])
    return users.change(world, row, {**row["body"], "active": False, "deleted_at": world.clock.now_ms()}, "deleted")


def list_identities(world: World, key: UserId) -> list[IdentityRow]:
    users.need(world, key)
    return identities.find(world, equal(user_id=key))


def merge_users(world: World, loser: UserId, winner: UserId) -> UserRow:
    """Moves tickets, addresses and memberships of one end user to another, and deletes the first."""
    loser_row, stays = users.need(world, loser), users.refer(world, winner, "id")
    if loser == winner:
        raise RecordInvalid("base", "User: cannot be merged into itself")
    if is_staff(loser_row) or is_staff(stays):
        raise RecordInvalid("base", "User: only end users can be merged")
    if not loser_row["body"]["active"] or not stays["body"]["active"]:
        raise RecordInvalid("base", "User: was deleted")
    for identity in identities.find(world, equal(user_id=loser)):
        identities.change(world, identity, {**identity["body"], "user_id": winner, "primary": False}, "moved")
    for member in organization_memberships.find(world, equal(user_id=loser)):
        _move_membership(world, member, winner)
    for ticket in tickets.find(world, equal(requester_id=loser)):
        moved: TicketRow = {**ticket, "body": {**ticket["body"], "requester_id": winner}}
        world.save(tickets, moved, "ticket.requester_merged")
    organization = stays["body"]["organization_id"] or loser_row["body"]["organization_id"]
    merged = users.change(world, stays, {**stays["body"], "organization_id": organization})
    deleted: UserBody = {
        **loser_row["body"],
        "active": False,
        "_merged_into": winner,
        "deleted_at": world.clock.now_ms(),
    }
    users.change(world, loser_row, deleted, "merged_away")
    return merged


def _move_membership(world: World, member: OrganizationMembershipRow, winner: UserId) -> None:
    same = equal(user_id=winner, organization_id=member["body"]["organization_id"])
    if organization_memberships.count_rows(world, same):
        organization_memberships.discard(world, member["id"])
    else:
        moved = member["body"] | {"user_id": winner, "default": False}
        organization_memberships.change(world, member, moved, "moved")


def _check_option(field: PersonFieldBody, value: Any) -> None:
    """A field with options takes one of them, or nothing."""
    options = [option["value"] for option in field.get("custom_field_options", ())]
    if options and value is not None and value not in options:
        raise RecordInvalid("base", f"{field['title']}: {value} is not a valid option: {', '.join(options)}")


def _read_changes(world: World, row: UserRow | None, body: UserBody, payload: Payload) -> UserChanges:
    wanted = [name for name in _PLAIN if payload.get(name) is not None or name not in _NEVER_EMPTY]
    changes: UserChanges = pick(payload, wanted)
    if "name" in changes and not (changes["name"] or "").strip():
        raise RecordInvalid("name", "Name: is too short (minimum one character)", "BlankValue")
    if "tags" in payload:
        changes["tags"] = normalize_tags(payload["tags"] or [])
    if payload.get("user_fields"):
        fields_by_key = {field["body"]["key"]: field["body"] for field in user_fields.find(world)}
        values = {name: value for name, value in payload["user_fields"].items() if name in fields_by_key}
        for name, value in values.items():
            _check_option(fields_by_key[name], value)
        changes["user_fields"] = {**body["user_fields"], **values}
    if isinstance(named := payload.get("organization"), dict) and named.get("name"):
        same_name = organizations.find(world, equal(name_folded=named["name"].casefold()))
        changes["organization_id"] = same_name[0]["id"] if same_name else None
    if "organization_id" in payload:
        changes["organization_id"] = _refer_to_organization(world, payload["organization_id"])
    if (group := changes.get("default_group_id")) is not None:
        groups.refer(world, GroupId(group), "default_group_id")
    if external_id := changes.get("external_id"):
        _refuse_taken(world, external_id, None if row is None else row["id"])
    return changes


def _refer_to_organization(world: World, key: int | None) -> OrganizationId | None:
    return None if key is None else organizations.refer(world, OrganizationId(key), "organization_id")["id"]


def _refuse_taken(world: World, external_id: str, own: UserId | None) -> None:
    for row in users.find(world, equal(external_id=external_id)):
        if row["id"] != own and row["body"].get("active", True):
            raise RecordInvalid("external_id", "External: has already been taken", "DuplicateValue")


def _read_address(value: Any) -> str | None:
    if value in (None, ""):
        return None
    text = str(value).strip()
    if not _ADDRESS.match(text):
        raise RecordInvalid("email", f"Email: {text[:80]} is not properly formatted")
    return text.lower()


def _change_address(world: World, row: UserRow, email: str | None) -> str | None:
    """Sets a new primary address; the old one stays as a second."""
    if email is None or email == row["body"]["email"]:
        return row["body"]["email"]
    owner = find_by_email(world, email)
    if owner is not None and owner["id"] != row["id"]:
        raise RecordInvalid("email", f"Email: {email} is already being used by another user", "DuplicateValue")
    for identity in identities.find(world, equal(user_id=row["id"], type="email")):
        is_primary = identity["body"]["value"].lower() == email
        identities.change(world, identity, {**identity["body"], "primary": is_primary})
    if owner is None:
        _add_identity(world, row["id"], "email", email, primary=True)
    return email


def _add_identity(world: World, user: UserId, kind: str, value: str, primary: bool = False) -> IdentityRow:
    return identities.add(
        world,
        {
            "user_id": user,
            "type": kind,
            "value": value,
            "primary": primary,
            "verified": False,
            "undeliverable_count": 0,
            "deliverable_state": "deliverable",
        },
    )


def _set_default_organization(world: World, row: UserRow, organization: OrganizationId | None) -> None:
    """The default organization is one of the memberships."""
    for member in organization_memberships.find(world, equal(user_id=row["id"])):
        if member["body"]["organization_id"] == organization:
            organization_memberships.change(world, member, {**member["body"], "default": True})
            return
        if member["body"]["default"]:
            organization_memberships.discard(world, member["id"])
    if organization is not None:
        organization_memberships.add(
            world,
            {"user_id": row["id"], "organization_id": organization, "default": True, "view_tickets": False},
        )
