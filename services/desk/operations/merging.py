"""Merging: one ticket takes over what another asks, and the other is closed."""

from services.desk.errors import RecordInvalid
from services.desk.operations.after_change import run_rules
from services.desk.operations.ticket_values import refuse_closed
from services.desk.operations.tickets import get_ticket
from services.desk.records.markup import draft_comment
from services.desk.records.payload import Payload
from services.desk.records.ticket_changes import change_ticket
from services.desk.rows import TicketId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketChanges, TicketRow, Via
from services.kernel.world import World

CLOSED_BY_MERGE = "closed_by_merge"


def refuse_bad_target(world: World, target: TicketId, sources: list[TicketId]) -> None:
    """Refuses what is known to fail before the job runs."""
    refuse_closed(get_ticket(world, target)["body"])
    if target in sources:
        raise RecordInvalid("ids", "Ids: a ticket cannot be merged into itself")


def merge(world: World, source_id: TicketId, payload: Payload, author: UserRow) -> None:
    """Closes the source with a comment on where it went; the target takes its requester in copy."""
    target_id = TicketId(payload["target"])
    target, source = get_ticket(world, target_id), get_ticket(world, source_id)
    refuse_closed(source["body"])
    refuse_closed(target["body"])
    _close_source(world, source, target, payload, author)
    _update_target(world, get_ticket(world, target_id), source, payload, author)


def _close_source(world: World, source: TicketRow, target: TicketRow, payload: Payload, author: UserRow) -> None:
    text = payload.get("source_comment") or (
        f'Request #{source["id"]} "{source["body"]["subject"]}" was closed and merged into request #{target["id"]} '
        f'"{target["body"]["subject"]}".'
    )
    is_public = bool(payload.get("source_comment_is_public"))
    comment = draft_comment({"body": text, "public": is_public}, author_is_staff=True)
    changes: TicketChanges = {
        "status": "closed",
        "tags": sorted({*source["body"]["tags"], CLOSED_BY_MERGE}),
        "assignee_id": source["body"]["assignee_id"] or author["id"],
        "_merged_into": target["id"],
    }
    change_ticket(world, source, changes, author["id"], _via_merge(target), comment, event="ticket.merged_away")


def _update_target(world: World, target: TicketRow, source: TicketRow, payload: Payload, author: UserRow) -> None:
    text = payload.get("target_comment") or (
        f'Request #{source["id"]} "{source["body"]["subject"]}" was closed and merged into this request. '
        f"Last comment in request #{source['id']}:\n\n{source['body']['description']}"
    )
    is_public = bool(payload.get("target_comment_is_public"))
    comment = draft_comment({"body": text, "public": is_public}, author_is_staff=True)
    people = [*target["body"]["email_cc_ids"], source["body"]["requester_id"], *source["body"]["email_cc_ids"]]
    copied = [user for user in dict.fromkeys(people) if user != target["body"]["requester_id"]]
    changes: TicketChanges = {
        "email_cc_ids": copied,
        "collaborator_ids": list(dict.fromkeys([*target["body"]["collaborator_ids"], *copied])),
    }
    change = change_ticket(world, target, changes, author["id"], _via_merge(source), comment)
    if change is not None:
        run_rules(world, change)


def _via_merge(other: TicketRow) -> Via:
    source = {"ticket_id": other["id"], "subject": other["body"]["subject"]}
    return {"channel": "web", "source": {"from": source, "to": {}, "rel": "merge"}}
