"""Comments: list, redact, make private."""

import html

from services.desk.documents import Page, Paging, Sort
from services.desk.errors import RecordInvalid, RecordNotFound
from services.desk.operations.tickets import get_ticket
from services.desk.rows import EventId, TicketId
from services.desk.rows.tickets import CommentBody, CommentRow
from services.desk.tables import comments, tickets
from services.kernel.documents import equal
from services.kernel.world import World

_BLACK = "▇"


def list_comments(
    world: World, ticket: TicketId, paging: Paging, sort: Sort, public_only: bool = False
) -> Page[CommentRow]:
    where = equal(ticket_id=ticket)
    return comments.page(world, paging, where & equal(public=1) if public_only else where, sort)


def redact(world: World, ticket: TicketId, key: EventId, text: str) -> CommentRow:
    """Blacks out every occurrence of a text in a comment, for good."""
    row = _get_comment(world, ticket, key)
    body = row["body"]
    if not text or text not in body["body"]:
        raise RecordInvalid("text", "Text: is not in the comment")
    black = _BLACK * len(text)
    html_body = body["html_body"].replace(html.escape(text, quote=False), black).replace(text, black)
    if text in html_body:
        raise RecordInvalid("text", "Text: cannot be redacted in the comment's markup")
    redacted: CommentBody = {
        **body,
        "body": body["body"].replace(text, black),
        "plain_body": body["plain_body"].replace(text, black),
        "html_body": html_body,
    }
    after = comments.change(world, row, redacted, "redacted")
    ticket_row = get_ticket(world, ticket)
    if ticket_row["body"]["description"] == body["body"]:
        described = after["body"]["body"]
        tickets.change(world, ticket_row, {**ticket_row["body"], "description": described}, "redacted")
    return after


def make_private(world: World, ticket: TicketId, key: EventId) -> CommentRow:
    """Makes a public comment an internal note; the reverse is not possible."""
    row = _get_comment(world, ticket, key)
    if not row["body"]["public"]:
        raise RecordInvalid("public", "Comment: is private already")
    return comments.change(world, row, {**row["body"], "public": False}, "made_private")


def _get_comment(world: World, ticket: TicketId, key: EventId) -> CommentRow:
    get_ticket(world, ticket)
    row = comments.need(world, key)
    if row["body"]["ticket_id"] != ticket:
        raise RecordNotFound
    return row
