"""Tickets: create, read, change."""

from services.desk.documents import ALIVE, BY_ID, Page, Paging, Sort, cut_page
from services.desk.errors import RecordInvalid, RecordNotFound, UpdateConflict
from services.desk.operations import ticket_people
from services.desk.operations.after_change import run_rules, solve_incidents
from services.desk.operations.attachments import use_uploads
from services.desk.operations.ticket_values import (
    check_status,
    merge_custom_fields,
    refuse_closed,
    status_after_end_user,
)
from services.desk.records import ticket_changes
from services.desk.records.assignment import assign
from services.desk.records.markup import draft_comment, normalize_tags
from services.desk.records.payload import Payload, pick
from services.desk.records.people import is_staff
from services.desk.records.ticket_changes import API, TicketChange, change_ticket
from services.desk.records.times import parse_time
from services.desk.rows import BrandId, CustomStatusId, TicketFormId, TicketId, UserId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import CommentDraft, TicketBody, TicketChanges, TicketMetrics, TicketRow, Via
from services.desk.tables import audits, brands, custom_statuses, ticket_forms, tickets, users
from services.kernel.documents import EVERYTHING, Where
from services.kernel.world import World

_PLAIN = ("subject", "priority", "type", "status", "external_id", "recipient")
_CLOSED_TAKES = {"tags", "additional_tags", "remove_tags", "id", "safe_update", "updated_stamp"}
_LONGEST_SUBJECT = 150
_RECENT = (
    "SELECT ticket_id FROM (SELECT ticket_id, id, json_extract(body, '$.author_id') AS author FROM audits "
    "ORDER BY id DESC LIMIT 500) WHERE author = :author GROUP BY ticket_id ORDER BY max(id) DESC LIMIT 25"
)
# Columns by the names that clients sort by.
SORT_COLUMNS = {
    "id": "id",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "status": "status_rank",
    "priority": "priority_rank",
    "subject": "subject_folded",
    "ticket_type": "type",
    "assignee": "assignee_id",
    "group": "group_id",
    "requester": "requester_id",
}
_NO_METRICS: TicketMetrics = {
    "reopens": 0,
    "replies": 0,
    "assignee_stations": 0,
    "group_stations": 0,
    "assigned_at": None,
    "initially_assigned_at": None,
    "assignee_updated_at": None,
    "requester_updated_at": None,
    "status_updated_at": 0,
    "latest_comment_added_at": None,
    "first_reply_at": None,
    "first_solved_at": None,
    "solved_at": None,
    "requester_wait_ms": 0,
    "agent_wait_ms": 0,
    "on_hold_ms": 0,
}


# Every ticket belongs to a brand, has a form, and has all custom fields, be they empty.
_DEFAULTS = """SELECT (SELECT min(id) FROM brands WHERE body ->> '$.default'),
    (SELECT min(id) FROM ticket_forms WHERE body ->> '$.default')"""
_CUSTOM_FIELDS = "SELECT id FROM ticket_fields WHERE body ->> '$.removable' AND body ->> '$.active' ORDER BY id"


def blank_ticket(requester_id: UserId) -> TicketBody:
    """Returns a ticket with every field; whoever writes it sets its metrics."""
    return {
        "external_id": None,
        "via": API,
        "type": None,
        "subject": None,
        "description": None,
        "priority": None,
        "status": "new",
        "recipient": None,
        "requester_id": requester_id,
        "submitter_id": None,
        "assignee_id": None,
        "organization_id": None,
        "group_id": None,
        "collaborator_ids": [],
        "follower_ids": [],
        "email_cc_ids": [],
        "forum_topic_id": None,
        "problem_id": None,
        "is_public": True,
        "due_at": None,
        "tags": [],
        "custom_fields": {},
        "satisfaction_rating": {"score": "unoffered"},
        "sharing_agreement_ids": [],
        "custom_status_id": None,
        "followup_ids": [],
        "followup_source_id": None,
        "ticket_form_id": None,
        "brand_id": None,
        "allow_channelback": False,
        "allow_attachments": True,
        "from_messaging_channel": False,
        "deleted_at": None,
        "deleted_by": None,
        "metrics": _NO_METRICS.copy(),
    }


def get_ticket(world: World, key: TicketId) -> TicketRow:
    """Returns a ticket that exists and is not deleted."""
    row = tickets.need(world, key)
    if row["body"]["deleted_at"] is not None:
        raise RecordNotFound
    return row


def list_tickets(world: World, paging: Paging, sort: Sort = BY_ID, where: Where = EVERYTHING) -> Page[TicketRow]:
    return tickets.page(world, paging, where & ALIVE, sort)


def get_many(world: World, ids: list[TicketId]) -> list[TicketRow]:
    return [row for row in tickets.by_ids(world, ids) if row["body"]["deleted_at"] is None]


def list_recent(world: World, user: UserRow, paging: Paging) -> Page[TicketRow]:
    """Lists the tickets that somebody changed last, the latest first."""
    recent = world.rows(_RECENT, {"author": user["id"]})
    return cut_page(get_many(world, [key for (key,) in recent]), paging)


def create_ticket(world: World, payload: Payload, author: UserRow, via: Via = API) -> TicketChange:
    """Creates a ticket and runs the rules; the returned change has the ticket as they leave it."""
    source = _read_followup_source(world, payload)
    author_id, comment = _read_comment(world, payload, author)
    requester = ticket_people.read_requester(world, payload) or author
    if source is not None and "requester_id" not in payload and "requester" not in payload:
        requester = users.must_exist(world, source["body"]["requester_id"])
    body = blank_ticket(requester["id"])
    body["brand_id"], body["ticket_form_id"] = world.rows(_DEFAULTS)[0]
    body["custom_fields"] = {str(key): None for (key,) in world.rows(_CUSTOM_FIELDS)}
    if source is not None:
        _follow_up(body, source)
    body["via"] = _via_followup(via, source)
    body["submitter_id"] = payload.get("submitter_id") or author_id
    body["organization_id"] = ticket_people.choose_organization(world, requester, payload.get("organization_id"))
    body["description"] = comment["body"]
    body["is_public"] = comment["public"]
    changes = check_status(body, _read_changes(world, body, payload), is_new=True)
    body = {**body, **changes}
    body["tags"] = sorted(
        {*body["tags"], *ticket_people.list_inherited_tags(world, requester, body["organization_id"])}
    )
    body["subject"] = body["subject"] or _first_line(comment["body"])
    change = ticket_changes.create_ticket(world, body, comment, author_id, body["via"], payload.get("metadata"))
    if source is not None:
        followups = [*source["body"]["followup_ids"], change.after["id"]]
        followed: TicketRow = {**source, "body": {**source["body"], "followup_ids": followups}}
        world.save(tickets, followed, "ticket.followed_up")
    return _finish(world, change)


def update_ticket(
    world: World, key: TicketId, payload: Payload, author: UserRow, via: Via = API
) -> TicketChange | None:
    """Changes a ticket and runs the rules; returns None where nothing changes."""
    row = get_ticket(world, key)
    refuse_closed(row["body"])
    if payload.get("safe_update"):
        _refuse_outdated(row, payload.get("updated_stamp"))
    changes = _read_changes(world, row["body"], payload)
    if "requester_id" in payload or "requester" in payload:
        changes.update(_read_requester_change(world, row, payload))
    elif "organization_id" in payload:
        requester = users.must_exist(world, row["body"]["requester_id"])
        wanted = payload["organization_id"]
        changes["organization_id"] = ticket_people.choose_organization(world, requester, wanted)
    author_id, comment = author["id"], None
    if payload.get("comment") is not None:
        author_id, comment = _read_comment(world, payload, author)
    if comment is not None and not is_staff(author):
        changes.update(status_after_end_user(row["body"], solves=payload.get("status") == "solved"))
    changes = check_status(row["body"], changes)
    if comment is not None and comment["public"]:
        changes["is_public"] = True
    change = change_ticket(world, row, changes, author_id, via, comment, metadata=payload.get("metadata"))
    return None if change is None else _finish(world, change)


def retag_closed(world: World, row: TicketRow, payload: Payload, author: UserRow) -> None:
    """Changes the tags of a closed ticket, which takes nothing else, and that only through a job."""
    if set(payload) - _CLOSED_TAKES:
        refuse_closed(row["body"])
    change_ticket(world, row, _read_tags(world, row["body"], payload), author["id"], API)


def change_tags(world: World, key: TicketId, payload: Payload, author: UserRow) -> list[str]:
    """Changes a ticket by `tags`, `additional_tags` or `remove_tags`, and returns its tags."""
    update_ticket(world, key, payload, author)
    return get_ticket(world, key)["body"]["tags"]


def _finish(world: World, change: TicketChange) -> TicketChange:
    after = run_rules(world, change)
    solve_incidents(world, change)
    audit = audits.must_exist(world, change.audit["id"])
    return TicketChange(change.before, after, audit, change.comment, change.author_id, change.via)


def _refuse_outdated(row: TicketRow, stamp: str | None) -> None:
    """The stamp is the ticket's time of change as the client has seen it."""
    if stamp is None:
        raise RecordInvalid("safe_update", "Safe update: needs an updated_stamp", "BlankValue")
    if parse_time(stamp, "updated_stamp") // 1000 != row["updated_at"] // 1000:
        raise UpdateConflict


def _read_changes(world: World, body: TicketBody, payload: Payload) -> TicketChanges:
    """Reads what the request changes, checked against everything but the lifecycle."""
    changes: TicketChanges = pick(payload, _PLAIN)
    if changes.get("status", "") is None:
        del changes["status"]
    if "subject" in changes:
        changes["subject"] = " ".join((changes["subject"] or "").split())[:_LONGEST_SUBJECT] or body["subject"]
    if any(name in payload for name in ("group_id", "assignee_id", "assignee_email")):
        changes.update(assign(world, body, payload))
    changes.update(ticket_people.read_copies(world, body, payload))
    changes.update(_read_classification(world, body, payload))
    changes.update(_read_tags(world, body, payload))
    return changes


def _read_classification(world: World, body: TicketBody, payload: Payload) -> TicketChanges:
    changes: TicketChanges = {}
    if payload.get("brand_id") is not None:
        changes["brand_id"] = brands.refer(world, BrandId(payload["brand_id"]), "brand_id")["id"]
    if payload.get("ticket_form_id") is not None:
        form = ticket_forms.refer(world, TicketFormId(payload["ticket_form_id"]), "ticket_form_id")
        changes["ticket_form_id"] = form["id"]
    if payload.get("custom_status_id") is not None:
        status = custom_statuses.refer(world, CustomStatusId(payload["custom_status_id"]), "custom_status_id")
        changes["custom_status_id"], changes["status"] = status["id"], status["body"]["status_category"]
    if "due_at" in payload:
        changes["due_at"] = None if payload["due_at"] is None else parse_time(payload["due_at"], "due_at")
    if payload.get("problem_id") is not None:
        problem = tickets.refer(world, TicketId(payload["problem_id"]), "problem_id")
        if problem["body"]["type"] != "problem" or problem["body"]["deleted_at"] is not None:
            raise RecordInvalid("problem_id", "Problem: is not a ticket of the type problem")
        changes["problem_id"], changes["type"] = problem["id"], "incident"
    elif "problem_id" in payload or (
        payload.get("type", body["type"]) != "incident" and body["problem_id"] is not None
    ):
        changes["problem_id"] = None
    return changes


def _read_tags(world: World, body: TicketBody, payload: Payload) -> TicketChanges:
    """`tags` replaces, `additional_tags` and `remove_tags` edit; custom fields bring and take their own."""
    tags = set(body["tags"])
    if payload.get("tags") is not None:
        tags = set(normalize_tags(payload["tags"]))
    tags |= set(normalize_tags(payload.get("additional_tags") or []))
    tags -= set(normalize_tags(payload.get("remove_tags") or []))
    changes: TicketChanges = {}
    values = payload.get("custom_fields") or payload.get("fields")
    if values:
        changes["custom_fields"], added, removed = merge_custom_fields(world, body["custom_fields"], values)
        tags = (tags - removed) | added
    if tags != set(body["tags"]):
        changes["tags"] = sorted(tags)
    return changes


def _read_comment(world: World, payload: Payload, author: UserRow) -> tuple[UserId, CommentDraft]:
    """Returns the author and the comment; an agent may write for a colleague, never for a customer."""
    fields = payload.get("comment") or {}
    if not fields and payload.get("description"):
        fields = {"body": payload["description"]}
    writer = author
    if fields.get("author_id") is not None and fields["author_id"] != author["id"]:
        writer = users.refer(world, UserId(fields["author_id"]), "author_id")
        if not is_staff(writer) or not is_staff(author):
            raise RecordInvalid("author", "Author: must be an agent")
    comment = draft_comment(fields, is_staff(writer))
    if fields.get("uploads"):
        tokens = fields["uploads"] if isinstance(fields["uploads"], list) else [fields["uploads"]]
        comment["attachments"] = use_uploads(world, tokens)
    return writer["id"], comment


def _read_requester_change(world: World, row: TicketRow, payload: Payload) -> TicketChanges:
    requester = ticket_people.read_requester(world, payload)
    if requester is None or requester["id"] == row["body"]["requester_id"]:
        return {}
    organization = ticket_people.choose_organization(world, requester, payload.get("organization_id"))
    return {"requester_id": requester["id"], "organization_id": organization}


def _read_followup_source(world: World, payload: Payload) -> TicketRow | None:
    key = payload.get("via_followup_source_id")
    if key is None:
        return None
    source = tickets.refer(world, TicketId(key), "via_followup_source_id")
    if source["body"]["status"] != "closed":
        raise RecordInvalid("via_followup_source_id", "Follow-up: the source ticket is not closed")
    return source


def _follow_up(body: TicketBody, source: TicketRow) -> None:
    """A follow-up takes over what describes the closed ticket."""
    closed = source["body"]
    body["subject"] = closed["subject"]
    body["type"] = None if closed["type"] == "incident" else closed["type"]
    body["priority"] = closed["priority"]
    body["tags"] = closed["tags"]
    body["custom_fields"] = closed["custom_fields"]
    body["group_id"] = closed["group_id"]
    body["brand_id"] = closed["brand_id"]
    body["ticket_form_id"] = closed["ticket_form_id"]
    body["followup_source_id"] = source["id"]


def _via_followup(via: Via, source: TicketRow | None) -> Via:
    if source is None:
        return via
    origin = {"ticket_id": source["id"], "subject": source["body"]["subject"]}
    return {**via, "source": {"from": origin, "to": {}, "rel": "follow_up"}}


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line[:80]
