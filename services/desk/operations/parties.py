"""The people around a ticket: requester, organization, copies, followers."""

from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.operations import callers, listing, records, users
from services.desk.operations.listing import equal
from services.desk.operations.records import Body, Given
from services.desk.tables import organization_memberships, organizations
from services.desk.tables import users as user_rows
from services.kernel.statements import Row
from services.kernel.world import World


def requester_of(world: World, given: Given) -> Row | None:
    """By id, or by address: somebody unknown becomes a user."""
    if given.get("requester_id") is not None:
        row = records.refer(world, user_rows, given["requester_id"], "requester_id")
    elif isinstance(asked := given.get("requester"), dict) and asked:
        row = users.found_or_made(world, asked)
    elif isinstance(asked, str) and asked:
        row = users.found_or_made(world, {"email": asked})
    else:
        return None
    if not row["body"]["active"]:
        raise RecordInvalid("requester", f"Requester: {row['body']['name']} is suspended.")
    return row


def organization_of(world: World, requester: Row, wanted: int | None) -> int | None:
    """The requester's own, or another that the requester belongs to."""
    if wanted is None:
        own: int | None = requester["body"]["organization_id"]
        return own
    if not listing.count(world, organization_memberships, equal(user_id=requester["id"], organization_id=wanted)):
        raise RecordInvalid("organization", "Organization: is invalid for the requester")
    return wanted


def tags_of(world: World, requester: Row, organization: int | None) -> list[str]:
    """What a new ticket is tagged with on account of who asks: the requester's own tags and the organization's."""
    row = None if organization is None else world.get(organizations, organization)
    return [*(requester["body"]["tags"] or ()), *((row or {"body": {"tags": ()}})["body"]["tags"] or ())]


def copied(world: World, before: Body, given: Given) -> Body:
    """Who is in copy and who follows, after this."""
    changes: Body = {}
    for name, kept in (("email_ccs", "email_cc_ids"), ("followers", "follower_ids")):
        if name in given:
            changes[kept] = _edited(world, before[kept], given[name])
    for name in ("email_cc_ids", "follower_ids"):
        if name in given:
            changes[name] = _ids(world, given[name])
    if given.get("collaborators"):
        changes["email_cc_ids"] = [_collaborator(world, one)["id"] for one in given["collaborators"]]
    if "collaborator_ids" in given:
        changes["email_cc_ids"] = _ids(world, given["collaborator_ids"])
    if given.get("additional_collaborators"):
        added = [_collaborator(world, one)["id"] for one in given["additional_collaborators"]]
        changes["email_cc_ids"] = list(dict.fromkeys([*before["email_cc_ids"], *added]))
    if changes:
        after = {**before, **changes}
        changes["collaborator_ids"] = list(dict.fromkeys([*after["email_cc_ids"], *after["follower_ids"]]))
    return changes


def _edited(world: World, before: list[int], given: list[Body] | None) -> list[int]:
    after = dict.fromkeys(before)
    for one in given or ():
        key = one.get("user_id") or one.get("user_email")
        if key is None:
            raise RecordInvalid("base", "Each entry needs a user_id or a user_email", "BlankValue")
        user = _collaborator(world, key)["id"]
        if one.get("action") == "delete":
            after.pop(user, None)
        else:
            after[user] = None
    return list(after)


def _ids(world: World, given: list[int] | None) -> list[int]:
    return [records.refer(world, user_rows, one, "collaborator_ids")["id"] for one in dict.fromkeys(given or [])]


def _collaborator(world: World, one: Any) -> Row:
    """An id, an address, or {name, email}."""
    if isinstance(one, dict):
        return users.found_or_made(world, one)
    text = str(one)
    if text.isascii() and text.isdigit():
        return records.refer(world, user_rows, int(text), "collaborators")
    return callers.by_email(world, text) or users.found_or_made(world, {"email": text})
