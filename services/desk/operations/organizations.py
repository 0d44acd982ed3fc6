"""Organizations: find, create, change, delete."""

from services.desk.errors import RecordInvalid
from services.desk.records.markup import normalize_tags
from services.desk.records.payload import Payload, pick
from services.desk.rows import GroupId, OrganizationId
from services.desk.rows.people import OrganizationBody, OrganizationChanges, OrganizationRow
from services.desk.tables import groups, organization_fields, organization_memberships, organizations, tickets, users
from services.kernel.documents import equal
from services.kernel.world import World

_PLAIN = ("name", "details", "notes", "external_id", "shared_tickets", "shared_comments")


def blank_organization(name: str) -> OrganizationBody:
    """Returns an organization with every field."""
    return {
        "name": name,
        "domain_names": [],
        "details": None,
        "notes": None,
        "group_id": None,
        "shared_tickets": False,
        "shared_comments": False,
        "external_id": None,
        "tags": [],
        "organization_fields": {},
    }


def create_organization(world: World, payload: Payload) -> OrganizationRow:
    name = " ".join((payload.get("name") or "").split())
    if not name:
        raise RecordInvalid("name", "Name: cannot be blank", "BlankValue")
    blank = blank_organization(name)
    body: OrganizationBody = {**blank, **_read_changes(world, None, blank, {**payload, "name": name})}
    return organizations.add(world, body)


def create_or_update(world: World, payload: Payload) -> tuple[OrganizationRow, bool]:
    """Finds one by id, external id or name; the second value tells whether one was created."""
    existing = world.get(organizations, OrganizationId(payload["id"])) if payload.get("id") is not None else None
    if existing is None and payload.get("external_id"):
        existing = next(iter(organizations.find(world, equal(external_id=payload["external_id"]))), None)
    if existing is None and payload.get("name"):
        existing = find_by_name(world, payload["name"])
    if existing is not None:
        return update_organization(world, existing["id"], payload), False
    return create_organization(world, payload), True


def find_by_name(world: World, name: str) -> OrganizationRow | None:
    return next(iter(organizations.find(world, equal(name_folded=name.casefold()))), None)


def update_organization(world: World, key: OrganizationId, payload: Payload) -> OrganizationRow:
    row = organizations.need(world, key)
    return organizations.change(world, row, {**row["body"], **_read_changes(world, row, row["body"], payload)})


def delete_organization(world: World, key: OrganizationId) -> None:
    """Deletes an organization; its people and tickets stay, without it."""
    organizations.need(world, key)
    for member in organization_memberships.find(world, equal(organization_id=key)):
        organization_memberships.discard(world, member["id"])
    for user in users.find(world, equal(organization_id=key)):
        users.change(world, user, {**user["body"], "organization_id": None}, "organization_removed")
    for ticket in tickets.find(world, equal(organization_id=key)):
        tickets.change(world, ticket, {**ticket["body"], "organization_id": None}, "organization_removed")
    organizations.discard(world, key)


def _read_changes(
    world: World, row: OrganizationRow | None, body: OrganizationBody, payload: Payload
) -> OrganizationChanges:
    changes: OrganizationChanges = pick(payload, _PLAIN)
    if "name" in changes:
        _refuse_taken_name(world, row, changes["name"])
    if external_id := changes.get("external_id"):
        _refuse_taken_id(world, row, external_id)
    if payload.get("group_id") is not None:
        changes["group_id"] = groups.refer(world, GroupId(payload["group_id"]), "group_id")["id"]
    elif "group_id" in payload:
        changes["group_id"] = None
    if "domain_names" in payload:
        domains = (domain.strip().casefold() for domain in payload["domain_names"] or [])
        changes["domain_names"] = sorted({domain for domain in domains if domain})
    if "tags" in payload:
        changes["tags"] = normalize_tags(payload["tags"] or [])
    if payload.get("organization_fields"):
        known = {field["body"]["key"] for field in organization_fields.find(world)}
        fields = {name: value for name, value in payload["organization_fields"].items() if name in known}
        changes["organization_fields"] = {**body["organization_fields"], **fields}
    return changes


def _refuse_taken_name(world: World, row: OrganizationRow | None, name: str | None) -> None:
    if not (name or "").strip():
        raise RecordInvalid("name", "Name: cannot be blank", "BlankValue")
    known = find_by_name(world, str(name))
    if known is not None and (row is None or known["id"] != row["id"]):
        raise RecordInvalid("name", "Name: has already been taken", "DuplicateValue")


def _refuse_taken_id(world: World, row: OrganizationRow | None, external_id: str) -> None:
    for known in organizations.find(world, equal(external_id=external_id)):
        if row is None or known["id"] != row["id"]:
            raise RecordInvalid("external_id", "External: has already been taken", "DuplicateValue")
