"""What the desk tells its users about what others did: new tickets, replies, notes, ratings and statuses."""

from collections.abc import Iterator, Sequence
from typing import Any

from services.desk.rows import TicketId, UserId
from services.desk.tables import comments, satisfaction_ratings, suspended_tickets, tickets, users
from services.kernel.changes import Change
from services.kernel.world import World

# More tickets than this, changed alike, are told as one number.
_MOST_NAMED = 3


def tell_news(world: World, changes: Sequence[Change]) -> list[str]:
    new_tickets = [change for change in changes if change.table == tickets.name and change.before is None]
    return [
        *(_tell_ticket(world, change) for change in new_tickets),
        *_tell_comments(world, changes, {change.row_id for change in new_tickets}),
        *_tell_ratings(changes),
        *_tell_statuses(changes),
        *_tell_suspended(changes),
    ]


def _tell_ticket(world: World, change: Change) -> str:
    body = _new_body(change)
    return f"New ticket {change.row_id} from {_name(world, body['requester_id'])}: {body['subject'] or 'no subject'}"


def _tell_comments(world: World, changes: Sequence[Change], new_tickets: set[int | str]) -> Iterator[str]:
    """Counts the comments of each author on each ticket; the first one of a new ticket is the ticket itself."""
    counts: dict[tuple[TicketId, UserId, bool], int] = {}
    for change in changes:
        if change.table == comments.name and change.before is None:
            body = _new_body(change)
            if body["ticket_id"] not in new_tickets:
                key = body["ticket_id"], body["author_id"], bool(body["public"])
                counts[key] = counts.get(key, 0) + 1
    for (ticket, author, is_public), count in counts.items():
        noun = ("reply" if count == 1 else "replies") if is_public else ("note" if count == 1 else "notes")
        kind = noun if is_public else f"internal {noun}"
        yield f"{count} new {kind} on ticket {ticket} from {_name(world, author)}"


def _tell_ratings(changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        if change.table == satisfaction_ratings.name and change.after is not None:
            body = change.after["body"]
            if body["score"] in {"good", "bad"}:
                yield f"Ticket {body['ticket_id']} was rated {body['score']}"


def _tell_statuses(changes: Sequence[Change]) -> Iterator[str]:
    """Tickets that a rule or a person set to another status; a reply that opens a ticket again tells that itself."""
    statuses: dict[str, list[int | str]] = {}
    for change in changes:
        if change.table == tickets.name and change.before is not None and change.after is not None:
            before, after = change.before["body"]["status"], change.after["body"]["status"]
            if after not in (before, "open"):
                statuses.setdefault(after, []).append(change.row_id)
    for status, ids in statuses.items():
        if len(ids) <= _MOST_NAMED:
            yield from (f"Ticket {ticket} is now {status}" for ticket in ids)
        else:
            yield f"{len(ids)} tickets are now {status}"


def _tell_suspended(changes: Sequence[Change]) -> Iterator[str]:
    count = sum(change.table == suspended_tickets.name and change.before is None for change in changes)
    if count:
        yield f"{count} new suspended {'ticket' if count == 1 else 'tickets'}"


def _name(world: World, user: UserId) -> str:
    row = world.get(users, user)
    return "somebody" if row is None else row["body"]["name"]


def _new_body(change: Change) -> dict[str, Any]:
    assert change.after is not None, "a row that was not there before is there now"
    body: dict[str, Any] = change.after["body"]
    return body
