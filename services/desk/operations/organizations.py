"""Organizations: find, make, change, let go."""

from services.desk.errors import RecordInvalid
from services.desk.operations import listing, records
from services.desk.operations.listing import equal
from services.desk.operations.records import Body, Given
from services.desk.operations.texts import tags_of
from services.desk.tables import groups, organization_memberships, tickets, users
from services.desk.tables import organization_fields as field_rows
from services.desk.tables import organizations as rows
from services.kernel.statements import Row
from services.kernel.world import World

_PLAIN = ("name", "details", "notes", "external_id", "shared_tickets", "shared_comments")


def blank(name: str) -> Body:
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


def create(world: World, given: Given) -> Row:
    name = " ".join((given.get("name") or "").split())
    if not name:
        raise RecordInvalid("name", "Name: cannot be blank", "BlankValue")
    body = blank(name)
    return records.add(world, rows, body | _changes(world, None, body, {**given, "name": name}))


def create_or_update(world: World, given: Given) -> tuple[Row, bool]:
    """By id, external id or name; whether one was made."""
    known = world.get(rows, given["id"]) if given.get("id") is not None else None
    if known is None and given.get("external_id"):
        known = next(iter(listing.every(world, rows, equal(external_id=given["external_id"]))), None)
    if known is None and given.get("name"):
        known = named(world, given["name"])
    return (update(world, known["id"], given), False) if known is not None else (create(world, given), True)


def named(world: World, name: str) -> Row | None:
    return next(iter(listing.every(world, rows, equal(name_folded=name.casefold()))), None)


def update(world: World, key: int, given: Given) -> Row:
    row = records.need(world, rows, key)
    return records.change(world, rows, row, _changes(world, row, row["body"], given))


def delete(world: World, key: int) -> None:
    """It goes; its people and tickets stay, without it."""
    records.need(world, rows, key)
    for member in listing.every(world, organization_memberships, equal(organization_id=key)):
        records.remove(world, organization_memberships, member["id"])
    for table in (users, tickets):
        for row in listing.every(world, table, equal(organization_id=key)):
            records.change(world, table, row, {"organization_id": None}, "organization_removed")
    records.remove(world, rows, key)


def _changes(world: World, row: Row | None, body: Body, given: Given) -> Body:
    changes: Body = {name: given[name] for name in _PLAIN if name in given}
    if "name" in changes:
        _refuse_taken_name(world, row, changes["name"])
    if changes.get("external_id"):
        _refuse_taken_id(world, row, changes["external_id"])
    if given.get("group_id") is not None:
        changes["group_id"] = records.refer(world, groups, given["group_id"], "group_id")["id"]
    elif "group_id" in given:
        changes["group_id"] = None
    if "domain_names" in given:
        changes["domain_names"] = sorted({one.strip().casefold() for one in given["domain_names"] or [] if one.strip()})
    if "tags" in given:
        changes["tags"] = tags_of(given["tags"] or [])
    if given.get("organization_fields"):
        known = {one["body"]["key"] for one in listing.every(world, field_rows)}
        fields = {name: value for name, value in given["organization_fields"].items() if name in known}
        changes["organization_fields"] = {**body["organization_fields"], **fields}
    return changes


def _refuse_taken_name(world: World, row: Row | None, name: str | None) -> None:
    if not (name or "").strip():
        raise RecordInvalid("name", "Name: cannot be blank", "BlankValue")
    known = named(world, str(name))
    if known is not None and (row is None or known["id"] != row["id"]):
        raise RecordInvalid("name", "Name: has already been taken", "DuplicateValue")


def _refuse_taken_id(world: World, row: Row | None, external_id: str) -> None:
    for known in listing.every(world, rows, equal(external_id=external_id)):
        if row is None or known["id"] != row["id"]:
            raise RecordInvalid("external_id", "External: has already been taken", "DuplicateValue")
