"""Requests: tickets as the people who ask for help see them."""

from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations import callers, lifecycle, listing, tickets
from services.desk.operations.changing import Change
from services.desk.operations.listing import ALIVE, Order, Page, Paging, Where, equal
from services.desk.operations.records import Body, Given
from services.desk.operations.showing import Shown, iso
from services.desk.tables import tickets as rows
from services.kernel.statements import Row
from services.kernel.world import World

WEB: Body = {"channel": "web", "source": {"from": {}, "to": {}, "rel": None}}
_SHOWN = (
    "subject", "description", "status", "priority", "type", "organization_id", "requester_id", "assignee_id",
    "group_id", "collaborator_ids", "email_cc_ids", "is_public", "recipient", "followup_source_id", "ticket_form_id",
    "custom_status_id", "via",
)  # fmt: skip
_ASKED = ("subject", "comment", "priority", "type", "custom_fields", "via_followup_source_id", "email_ccs", "due_at")


def page(world: World, user: Row, paging: Paging, order: Order, where: Where) -> Page:
    return listing.page(world, rows, paging, equal(requester_id=user["id"]) & ALIVE & where, order)


def read(world: World, key: int, user: Row) -> Row:
    """Whoever asked, or is in copy, or works here may read it; to others it is not there."""
    row = tickets.read(world, key)
    body = row["body"]
    if user["id"] not in (body["requester_id"], *body["email_cc_ids"]) and not callers.is_staff(user):
        raise RecordNotFound
    return row


def create(world: World, given: Given, user: Row) -> Change:
    asked = {name: given[name] for name in _ASKED if name in given}
    if user["body"]["suspended"]:
        raise RecordInvalid("requester", f"Requester: {user['body']['name']} is suspended.")
    if (source := asked.get("via_followup_source_id")) is not None:
        read(world, source, user)
    if callers.is_staff(user) and given.get("requester"):
        asked["requester"] = given["requester"]
    return tickets.create(
        world, {**asked, "requester_id": user["id"]} if "requester" not in asked else asked, user, WEB
    )


def update(world: World, key: int, given: Given, user: Row) -> Row:
    """Say more, or call it solved."""
    row = read(world, key, user)
    lifecycle.refuse_closed(row["body"])
    asked: Given = {}
    if given.get("comment") is not None:
        asked["comment"] = given["comment"]
    if given.get("email_ccs") is not None:
        asked["email_ccs"] = given["email_ccs"]
    if given.get("solved"):
        if not can_be_solved(row, user):
            raise RecordInvalid("solved", "Request: cannot be marked as solved by you")
        asked["status"] = "solved"
    tickets.update(world, key, asked, user, WEB)
    return tickets.read(world, key)


def can_be_solved(row: Row, user: Row) -> bool:
    body = row["body"]
    unfinished = body["status"] in ("open", "pending", "hold") and body["assignee_id"] is not None
    return bool(unfinished and body["requester_id"] == user["id"])


def shown(row: Row, user: Row, base: str) -> Shown:
    body = row["body"]
    fields = [{"id": int(key), "value": value} for key, value in body["custom_fields"].items()]
    return {
        "url": f"{base}/api/v2/requests/{row['id']}.json",
        "id": row["id"],
        **{name: body[name] for name in _SHOWN},
        "custom_fields": fields,
        "fields": fields,
        "due_at": iso(body["due_at"]),
        "can_be_solved_by_me": can_be_solved(row, user),
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
    }
