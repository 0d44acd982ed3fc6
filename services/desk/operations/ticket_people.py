"""The people around a ticket: requester, organization, copies, followers."""

from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.operations.users import find_or_create
from services.desk.records.payload import Payload
from services.desk.records.people import find_by_email
from services.desk.rows import OrganizationId, UserId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketBody, TicketChanges
from services.desk.tables import organization_memberships, organizations, users
from services.kernel.documents import equal
from services.kernel.world import World


def read_requester(world: World, payload: Payload) -> UserRow | None:
    """Finds the requester by id or by address; somebody unknown becomes a user."""
    requester = payload.get("requester")
    if payload.get("requester_id") is not None:
        row = users.refer(world, UserId(payload["requester_id"]), "requester_id")
    elif isinstance(requester, dict) and requester:
        row = find_or_create(world, requester)
    elif isinstance(requester, str) and requester:
        row = find_or_create(world, {"email": requester})
    else:
        return None
    if not row["body"]["active"]:
        raise RecordInvalid("requester", f"Requester: {row['body']['name']} is suspended.")
    return row


def choose_organization(world: World, requester: UserRow, requested: int | None) -> OrganizationId | None:
    """Returns the requester's own organization, or another one that the requester belongs to."""
    if requested is None:
        return requester["body"]["organization_id"]
    if not organization_memberships.count_rows(world, equal(user_id=requester["id"], organization_id=requested)):
        raise RecordInvalid("organization", "Organization: is invalid for the requester")
    return OrganizationId(requested)


def list_inherited_tags(world: World, requester: UserRow, organization: OrganizationId | None) -> list[str]:
    """Returns the tags that a new ticket takes over from its requester and from their organization."""
    row = None if organization is None else world.get(organizations, organization)
    return [*(requester["body"]["tags"] or ()), *((row["body"]["tags"] or ()) if row is not None else ())]


def read_copies(world: World, before: TicketBody, payload: Payload) -> TicketChanges:
    """Returns who is in copy and who follows after this request."""
    changes: TicketChanges = {}
    if "email_ccs" in payload:
        changes["email_cc_ids"] = _edit_people(world, before["email_cc_ids"], payload["email_ccs"])
    if "followers" in payload:
        changes["follower_ids"] = _edit_people(world, before["follower_ids"], payload["followers"])
    if "email_cc_ids" in payload:
        changes["email_cc_ids"] = _refer_to_all(world, payload["email_cc_ids"])
    if "follower_ids" in payload:
        changes["follower_ids"] = _refer_to_all(world, payload["follower_ids"])
    if payload.get("collaborators"):
        changes["email_cc_ids"] = [_read_person(world, person)["id"] for person in payload["collaborators"]]
    if "collaborator_ids" in payload:
        changes["email_cc_ids"] = _refer_to_all(world, payload["collaborator_ids"])
    if payload.get("additional_collaborators"):
        added = [_read_person(world, person)["id"] for person in payload["additional_collaborators"]]
        changes["email_cc_ids"] = list(dict.fromkeys([*before["email_cc_ids"], *added]))
    if changes:
        after: TicketBody = {**before, **changes}
        changes["collaborator_ids"] = list(dict.fromkeys([*after["email_cc_ids"], *after["follower_ids"]]))
    return changes


def _edit_people(world: World, before: list[UserId], edits: list[Payload] | None) -> list[UserId]:
    after = dict.fromkeys(before)
    for edit in edits or ():
        key = edit.get("user_id") or edit.get("user_email")
        if key is None:
            raise RecordInvalid("base", "Each entry needs a user_id or a user_email", "BlankValue")
        user = _read_person(world, key)["id"]
        if edit.get("action") == "delete":
            after.pop(user, None)
        else:
            after[user] = None
    return list(after)


def _refer_to_all(world: World, ids: list[int] | None) -> list[UserId]:
    return [users.refer(world, UserId(key), "collaborator_ids")["id"] for key in dict.fromkeys(ids or [])]


def _read_person(world: World, person: Any) -> UserRow:
    """Finds somebody by an id, an address, or {name, email}."""
    if isinstance(person, dict):
        return find_or_create(world, person)
    text = str(person)
    if text.isascii() and text.isdigit():
        return users.refer(world, UserId(int(text)), "collaborators")
    return find_by_email(world, text) or find_or_create(world, {"email": text})
