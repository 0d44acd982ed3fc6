"""Tickets: make, read, change."""

from datetime import datetime

from services.desk.errors import RecordInvalid, RecordNotFound, UpdateConflict
from services.desk.operations import (
    assignment,
    attaching,
    callers,
    custom_fields,
    lifecycle,
    listing,
    parties,
    problems,
    records,
)
from services.desk.operations.aftermath import settled
from services.desk.operations.changing import API, Change, change_ticket, create_ticket
from services.desk.operations.listing import ALIVE, Page, Paging
from services.desk.operations.records import Body, Given
from services.desk.operations.texts import comment_of, tags_of
from services.desk.tables import audits, brands, custom_statuses, ticket_forms, tickets, users
from services.kernel.clock import milliseconds
from services.kernel.statements import Row
from services.kernel.world import World

_PLAIN = ("subject", "priority", "type", "status", "external_id", "recipient")
_LONGEST_SUBJECT = 150
_RECENT = (
    "SELECT ticket_id FROM (SELECT ticket_id, id, json_extract(body, '$.author_id') AS author FROM audits "
    "ORDER BY id DESC LIMIT 500) WHERE author = :author GROUP BY ticket_id ORDER BY max(id) DESC LIMIT 25"
)
SORTED = {
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


def blank() -> Body:
    """A ticket, every field there."""
    return {
        "external_id": None,
        "via": API,
        "type": None,
        "subject": None,
        "description": None,
        "priority": None,
        "status": "new",
        "recipient": None,
        "requester_id": None,
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
        "metrics": {},
    }


def read(world: World, key: int) -> Row:
    """A ticket that is there and not deleted."""
    row = records.need(world, tickets, key)
    if row["body"]["deleted_at"] is not None:
        raise RecordNotFound
    return row


def page(world: World, paging: Paging, order: listing.Order, where: listing.Where = listing.EVERYTHING) -> Page:
    return listing.page(world, tickets, paging, where & ALIVE, order)


def show_many(world: World, ids: list[int]) -> list[Row]:
    return [row for row in listing.by_ids(world, tickets, ids) if row["body"]["deleted_at"] is None]


def recent(world: World, user: Row, paging: Paging) -> Page:
    """Those that somebody changed last, the latest first."""
    found = world.rows(_RECENT, {"author": user["id"]})
    return listing.paged(show_many(world, [key for (key,) in found]), paging)


def create(world: World, given: Given, author: Row, via: Body = API) -> Change:
    """A new ticket, and whatever rules make of it; the change tells the ticket as it stands then."""
    source = _followed_up(world, given)
    author_id, said = _comment(world, given, author)
    requester = parties.requester_of(world, given) or author
    if source is not None and "requester_id" not in given and "requester" not in given:
        requester = records.known(world, users, source["body"]["requester_id"])
    body = blank() | _inherited(source) | {"via": _via(via, source)}
    body |= {
        "requester_id": requester["id"],
        "submitter_id": given.get("submitter_id") or author_id,
        "organization_id": parties.organization_of(world, requester, given.get("organization_id")),
        "description": said["body"],
        "is_public": said["public"],
    }
    body |= lifecycle.settled(None, _changes(world, body, given))
    body["tags"] = sorted({*body["tags"], *parties.tags_of(world, requester, body["organization_id"])})
    body["subject"] = body["subject"] or _first_line(said["body"])
    change = create_ticket(world, body, said, author_id, body["via"], given.get("metadata"))
    if source is not None:
        followed = {"followup_ids": [*source["body"]["followup_ids"], change.after["id"]]}
        world.save(tickets, {**source, "body": {**source["body"], **followed}}, "ticket.followed_up")
    return _afterwards(world, change)


def update(world: World, key: int, given: Given, author: Row, via: Body = API, safe: bool = False) -> Change | None:
    """Change a ticket as somebody asks; None where nothing was to change."""
    row = read(world, key)
    lifecycle.refuse_closed(row["body"])
    if safe or given.get("safe_update"):
        _refuse_outdated(row, given.get("updated_stamp"))
    changes = _changes(world, row["body"], given)
    if "requester_id" in given or "requester" in given:
        changes |= _requested(world, row, given)
    elif "organization_id" in given:
        requester = records.known(world, users, row["body"]["requester_id"])
        changes["organization_id"] = parties.organization_of(world, requester, given["organization_id"])
    author_id, said = _comment(world, given, author) if given.get("comment") is not None else (author["id"], None)
    if said is not None and not callers.is_staff(author):
        changes |= lifecycle.after_end_user(row["body"], solves=given.get("status") == "solved")
    changes = lifecycle.settled(row["body"], changes)
    if said is not None and said["public"]:
        changes["is_public"] = True
    change = change_ticket(world, row, changes, author_id, via, said, metadata=given.get("metadata"))
    return None if change is None else _afterwards(world, change)


def retag_closed(world: World, row: Row, given: Given, author: Row) -> None:
    """All that a closed ticket still takes, and only through a job: tags."""
    if set(given) - {"tags", "additional_tags", "remove_tags", "id", "safe_update", "updated_stamp"}:
        lifecycle.refuse_closed(row["body"])
    change_ticket(world, row, _tagged(world, row["body"], given), author["id"], API)


def _afterwards(world: World, change: Change) -> Change:
    stands = settled(world, change)
    problems.solve_incidents(world, change)
    return Change(change.before, stands, _reread(world, change), change.comment, change.author_id, change.via)


def _reread(world: World, change: Change) -> Row:
    return records.known(world, audits, change.audit["id"])


def _refuse_outdated(row: Row, stamp: str | None) -> None:
    """The stamp is the time of change that whoever asks has seen."""
    if stamp is None:
        raise RecordInvalid("safe_update", "Safe update: needs an updated_stamp", "BlankValue")
    if moment_of(stamp, "updated_stamp") // 1000 != row["updated_at"] // 1000:
        raise UpdateConflict


def moment_of(text: str, field: str) -> int:
    """A time as clients write it, in milliseconds."""
    try:
        when = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace(" ", "T", 1))
        return milliseconds(when if when.tzinfo else datetime.fromisoformat(f"{when.isoformat()}+00:00"))
    except (ValueError, OverflowError) as error:
        raise RecordInvalid(field, f"{field.replace('_', ' ').capitalize()}: is not a date") from error


def _changes(world: World, body: Body, given: Given) -> Body:
    """What is asked for, checked against everything but the lifecycle."""
    changes: Body = {name: given[name] for name in _PLAIN if name in given}
    if changes.get("status", "") is None:
        del changes["status"]
    if "subject" in changes:
        changes["subject"] = _subject(changes["subject"], body)
    if any(name in given for name in ("group_id", "assignee_id", "assignee_email")):
        changes |= assignment.assigned(world, body, given)
    changes |= parties.copied(world, body, given)
    changes |= _classified(world, body, given)
    return changes | _tagged(world, body, given)


def _subject(given: str | None, body: Body) -> str | None:
    text = " ".join((given or "").split())
    return text[:_LONGEST_SUBJECT] or body["subject"]


def _classified(world: World, body: Body, given: Given) -> Body:
    changes: Body = {}
    for name, table in (("brand_id", brands), ("ticket_form_id", ticket_forms)):
        if given.get(name) is not None:
            changes[name] = records.refer(world, table, given[name], name)["id"]
    if given.get("custom_status_id") is not None:
        status = records.refer(world, custom_statuses, given["custom_status_id"], "custom_status_id")
        changes |= {"custom_status_id": status["id"], "status": status["body"]["status_category"]}
    if "due_at" in given:
        changes["due_at"] = None if given["due_at"] is None else moment_of(given["due_at"], "due_at")
    kind = given.get("type", body["type"])
    if given.get("problem_id") is not None:
        problem = records.refer(world, tickets, given["problem_id"], "problem_id")
        if problem["body"]["type"] != "problem" or problem["body"]["deleted_at"] is not None:
            raise RecordInvalid("problem_id", "Problem: is not a ticket of the type problem")
        changes |= {"problem_id": problem["id"], "type": "incident"}
    elif "problem_id" in given or (kind != "incident" and body["problem_id"] is not None):
        changes["problem_id"] = None
    return changes


def _tagged(world: World, body: Body, given: Given) -> Body:
    """`tags` replaces, `additional_tags` and `remove_tags` edit; custom fields bring and take their own."""
    tags = set(body["tags"])
    if given.get("tags") is not None:
        tags = set(tags_of(given["tags"]))
    tags |= set(tags_of(given.get("additional_tags") or []))
    tags -= set(tags_of(given.get("remove_tags") or []))
    changes: Body = {}
    values = given.get("custom_fields") or given.get("fields")
    if values:
        changes["custom_fields"], come, go = custom_fields.merged(world, body["custom_fields"], values)
        tags = (tags - go) | come
    return {**changes, "tags": sorted(tags)} if tags != set(body["tags"]) else changes


def _comment(world: World, given: Given, author: Row) -> tuple[int, Body]:
    """Who speaks, and what; an agent may speak for a colleague, never for a customer."""
    asked = given.get("comment") or {}
    if not asked and given.get("description"):
        asked = {"body": given["description"]}
    speaker = author
    if asked.get("author_id") is not None and asked["author_id"] != author["id"]:
        speaker = records.refer(world, users, asked["author_id"], "author_id")
        if not callers.is_staff(speaker) or not callers.is_staff(author):
            raise RecordInvalid("author", "Author: must be an agent")
    said = comment_of(asked, callers.is_staff(speaker))
    if asked.get("uploads"):
        tokens = asked["uploads"] if isinstance(asked["uploads"], list) else [asked["uploads"]]
        said["attachments"] = attaching.taken(world, tokens)
    return speaker["id"], said


def _requested(world: World, row: Row, given: Given) -> Body:
    requester = parties.requester_of(world, given)
    if requester is None or requester["id"] == row["body"]["requester_id"]:
        return {}
    organization = parties.organization_of(world, requester, given.get("organization_id"))
    return {"requester_id": requester["id"], "organization_id": organization}


def _followed_up(world: World, given: Given) -> Row | None:
    key = given.get("via_followup_source_id")
    if key is None:
        return None
    source = records.refer(world, tickets, key, "via_followup_source_id")
    if source["body"]["status"] != "closed":
        raise RecordInvalid("via_followup_source_id", "Follow-up: the source ticket is not closed")
    return source


def _inherited(source: Row | None) -> Body:
    """A follow-up goes on where the closed ticket ended."""
    if source is None:
        return {}
    kept = ("subject", "type", "priority", "tags", "custom_fields", "group_id", "brand_id", "ticket_form_id")
    body = {name: source["body"][name] for name in kept}
    return body | {"type": None if body["type"] == "incident" else body["type"], "followup_source_id": source["id"]}


def _via(via: Body, source: Row | None) -> Body:
    if source is None:
        return via
    told = {"ticket_id": source["id"], "subject": source["body"]["subject"]}
    return {**via, "source": {"from": told, "to": {}, "rel": "follow_up"}}


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line[:80]
