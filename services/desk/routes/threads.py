"""What was said and changed on tickets: comments and audits."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.errors import RecordNotFound
from services.desk.operations import audits, comments, listing, records, sideloads, tickets
from services.desk.operations.listing import Order, equal
from services.desk.routes.base import included, listed, noun_router, order, paging, staff
from services.desk.schemas import tickets as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import audits as audit_rows
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("comments")
_TICKET = "/tickets/{ticket_id}"
_BY_TIME = {"created_at": "created_at", "id": "id"}


@router.get(_TICKET + "/comments", operation_id="desk.comments.list", response_model=schemas.CommentsOut)
async def page(ticket_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List what was said on a ticket, oldest first; public is false for internal notes. `sort=-created_at` turns it."""
    call = staff(request, world)
    tickets.read(world, ticket_id)
    found = comments.of_ticket(world, ticket_id, paging(asked), order(asked, _BY_TIME, Order("created_at")))
    beside = {}
    if "users" in included(asked.include):
        beside["users"] = sideloads.people(world, [row["body"]["author_id"] for row in found.rows], call.base)
    return listed(call, "comments", found, comments.shown(world, found.rows, call.base), **beside)


@router.put(
    _TICKET + "/comments/{comment_id}/redact", operation_id="desk.comments.redact", response_model=schemas.CommentShown
)
async def redact(
    ticket_id: Id, comment_id: Id, body: schemas.RedactIn, request: Request, world: CurrentWorld
) -> Response:
    """Black out words in a comment for good, such as a card number; this cannot be undone."""
    call = staff(request, world)
    row = comments.redact(world, ticket_id, comment_id, body.text)
    return Json({"comment": audits.comment(world, row, call.base)})


@router.put(
    _TICKET + "/comments/{comment_id}/make_private",
    operation_id="desk.comments.make_private",
    response_model=schemas.Empty,
)
async def make_private(ticket_id: Id, comment_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Turn a public comment into an internal note; the requester no longer sees it. It cannot be made public again."""
    staff(request, world)
    comments.make_private(world, ticket_id, comment_id)
    return Json({})


@router.get(_TICKET + "/audits", operation_id="desk.audits.list", response_model=schemas.AuditsOut)
async def audits_of(ticket_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List a ticket's audits, oldest first: every change with author, field, value and previous value."""
    call = staff(request, world)
    tickets.read(world, ticket_id)
    ordered = order(asked, _BY_TIME, Order("created_at"))
    found = listing.page(world, audit_rows, paging(asked), equal(ticket_id=ticket_id), ordered)
    return listed(call, "audits", found, audits.shown(world, found.rows, call.base))


@router.get(_TICKET + "/audits/{audit_id}", operation_id="desk.audits.show", response_model=schemas.AuditShown)
async def audit(ticket_id: Id, audit_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one audit of a ticket."""
    call = staff(request, world)
    tickets.read(world, ticket_id)
    row = records.need(world, audit_rows, audit_id)
    if row["body"]["ticket_id"] != ticket_id:
        raise RecordNotFound
    return Json({"audit": audits.shown(world, [row], call.base)[0]})


@router.get("/ticket_audits", operation_id="desk.ticket_audits.list", response_model=schemas.AuditsOut)
async def all_audits(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the audits of all tickets, oldest first; follow after_url for more."""
    call = staff(request, world)
    found = listing.page(world, audit_rows, paging(asked), order=order(asked, _BY_TIME))
    after, before = found.after_cursor, found.before_cursor
    beside = {
        "after_url": call.link(**{"page[after]": after, "page[before]": None}) if after and found.has_more else None,
        "before_url": call.link(**{"page[before]": before, "page[after]": None}) if before else None,
        "after_cursor": after,
        "before_cursor": before,
    }
    return listed(call, "audits", found, audits.shown(world, found.rows, call.base), **beside)
