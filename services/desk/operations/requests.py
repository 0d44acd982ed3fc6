"""Requests: tickets as the people who ask for help see them."""

from services.desk.documents import ALIVE, Page, Paging, Sort
from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations import tickets as ticket_operations
from services.desk.operations.ticket_values import refuse_closed
from services.desk.operations.tickets import get_ticket
from services.desk.records.payload import Payload, pick
from services.desk.records.people import is_staff
from services.desk.records.ticket_changes import TicketChange
from services.desk.rows import TicketId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketRow, Via
from services.desk.tables import tickets
from services.kernel.documents import Where, equal
from services.kernel.world import World

WEB: Via = {"channel": "web", "source": {"from": {}, "to": {}, "rel": None}}
_FIELDS = ("subject", "comment", "priority", "type", "custom_fields", "via_followup_source_id", "email_ccs", "due_at")


def list_requests(world: World, user: UserRow, paging: Paging, sort: Sort, where: Where) -> Page[TicketRow]:
    return tickets.page(world, paging, equal(requester_id=user["id"]) & ALIVE & where, sort)


def get_request(world: World, key: TicketId, user: UserRow) -> TicketRow:
    """Returns a ticket that the user requested, is in copy of, or may read as staff; to others it does not exist."""
    row = get_ticket(world, key)
    body = row["body"]
    if user["id"] not in (body["requester_id"], *body["email_cc_ids"]) and not is_staff(user):
        raise RecordNotFound
    return row


def create_request(world: World, payload: Payload, user: UserRow) -> TicketChange:
    fields: Payload = pick(payload, _FIELDS)
    if user["body"]["suspended"]:
        raise RecordInvalid("requester", f"Requester: {user['body']['name']} is suspended.")
    if (source := fields.get("via_followup_source_id")) is not None:
        get_request(world, TicketId(source), user)
    if is_staff(user) and payload.get("requester"):
        fields["requester"] = payload["requester"]
    else:
        fields["requester_id"] = user["id"]
    return ticket_operations.create_ticket(world, fields, user, WEB)


def update_request(world: World, key: TicketId, payload: Payload, user: UserRow) -> TicketRow:
    """Adds a comment, or marks the request as solved."""
    row = get_request(world, key, user)
    refuse_closed(row["body"])
    fields: Payload = {name: payload[name] for name in ("comment", "email_ccs") if payload.get(name) is not None}
    if payload.get("solved"):
        if not can_be_solved(row, user):
            raise RecordInvalid("solved", "Request: cannot be marked as solved by you")
        fields["status"] = "solved"
    ticket_operations.update_ticket(world, key, fields, user, WEB)
    return get_ticket(world, key)


def can_be_solved(row: TicketRow, user: UserRow) -> bool:
    body = row["body"]
    unfinished = body["status"] in ("open", "pending", "hold") and body["assignee_id"] is not None
    return unfinished and body["requester_id"] == user["id"]
