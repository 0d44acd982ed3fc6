"""Comments and audits of tickets."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import Sort
from services.desk.errors import RecordNotFound
from services.desk.operations import comments
from services.desk.operations.tickets import get_ticket
from services.desk.routes.base import StaffCall, answer_page, noun_router, read_include, read_paging, read_sort
from services.desk.routes.endpoints import add_operations
from services.desk.schemas import tickets as schemas
from services.desk.schemas.base import AuditKey, EventKey, Paged, TicketKey
from services.desk.shapes.threads import render_audits, render_comment, render_comments
from services.desk.shapes.tickets import render_people
from services.desk.tables import audits
from services.kernel.answers import Json
from services.kernel.documents import equal
from services.kernel.operations import Operation

router = noun_router("comments")
_BY_TIME = {"created_at": "created_at", "id": "id"}


async def page(ticket_id: TicketKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List what was said on a ticket, oldest first; public is false for internal notes. `sort=-created_at` turns it."""
    get_ticket(call.world, ticket_id)
    result = comments.list_comments(
        call.world, ticket_id, read_paging(params), read_sort(params, _BY_TIME, Sort("created_at"))
    )
    related = {}
    if "users" in read_include(params.include):
        related["users"] = render_people(call.world, [row["body"]["author_id"] for row in result.rows], call.base)
    return answer_page(call, "comments", result, render_comments(call.world, result.rows, call.base), **related)


async def redact(ticket_id: TicketKey, comment_id: EventKey, body: schemas.RedactIn, call: StaffCall) -> Response:
    """Black out words in a comment for good, such as a card number; this cannot be undone."""
    row = comments.redact(call.world, ticket_id, comment_id, body.text)
    return Json({"comment": render_comment(call.world, row, call.base)})


async def make_private(ticket_id: TicketKey, comment_id: EventKey, call: StaffCall) -> Response:
    """Turn a public comment into an internal note; the requester no longer sees it. It cannot be made public again."""
    comments.make_private(call.world, ticket_id, comment_id)
    return Json({})


async def audits_of(ticket_id: TicketKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List a ticket's audits, oldest first: every change with author, field, value and previous value."""
    get_ticket(call.world, ticket_id)
    sort = read_sort(params, _BY_TIME, Sort("created_at"))
    result = audits.page(call.world, read_paging(params), equal(ticket_id=ticket_id), sort)
    return answer_page(call, "audits", result, render_audits(call.world, result.rows, call.base))


async def audit(ticket_id: TicketKey, audit_id: AuditKey, call: StaffCall) -> Response:
    """Read one audit of a ticket."""
    get_ticket(call.world, ticket_id)
    row = audits.need(call.world, audit_id)
    if row["body"]["ticket_id"] != ticket_id:
        raise RecordNotFound
    return Json({"audit": render_audits(call.world, [row], call.base)[0]})


async def all_audits(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the audits of all tickets, oldest first; follow after_url for more."""
    result = audits.page(call.world, read_paging(params), sort=read_sort(params, _BY_TIME))
    after, before = result.after_cursor, result.before_cursor
    related = {
        "after_url": call.link(**{"page[after]": after, "page[before]": None}) if after and result.has_more else None,
        "before_url": call.link(**{"page[before]": before, "page[after]": None}) if before else None,
        "after_cursor": after,
        "before_cursor": before,
    }
    return answer_page(call, "audits", result, render_audits(call.world, result.rows, call.base), **related)


# fmt: off
add_operations(router, (
    Operation("desk.comments.list", "GET", "/api/v2/tickets/{ticket_id}/comments", "Page", schemas.CommentsOut, page),
    Operation("desk.comments.redact", "PUT", "/api/v2/tickets/{ticket_id}/comments/{comment_id}/redact", "Redact",
              schemas.CommentShown, redact),
    Operation("desk.comments.make_private", "PUT", "/api/v2/tickets/{ticket_id}/comments/{comment_id}/make_private",
              "Make Private", schemas.Empty, make_private),
    Operation("desk.audits.list", "GET", "/api/v2/tickets/{ticket_id}/audits", "Audits Of", schemas.AuditsOut,
              audits_of),
    Operation("desk.audits.show", "GET", "/api/v2/tickets/{ticket_id}/audits/{audit_id}", "Audit", schemas.AuditShown,
              audit),
    Operation("desk.ticket_audits.list", "GET", "/api/v2/ticket_audits", "All Audits", schemas.AuditsOut, all_audits),
))
# fmt: on
