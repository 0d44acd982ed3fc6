"""Tickets."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.desk.operations import audits, showing, sideloads, tickets
from services.desk.operations.changing import Change
from services.desk.operations.listing import EVERYTHING, equal
from services.desk.routes.base import Call, ids_of, included, listed, noun_router, order, paging, staff
from services.desk.schemas import tickets as schemas
from services.desk.schemas.base import Id, Included
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.world import World

router = noun_router("tickets")


@router.get("/tickets", operation_id="desk.tickets.list", response_model=schemas.TicketsOut)
async def page(asked: Annotated[schemas.TicketList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List tickets, by id unless sorted by updated_at, created_at, status, priority or another field; 100 at most."""
    call = staff(request, world)
    where = EVERYTHING if asked.external_id is None else equal(external_id=asked.external_id)
    found = tickets.page(world, paging(asked), order(asked, tickets.SORTED), where)
    shown, beside = sideloads.tickets(world, found.rows, included(asked.include), call.base)
    return listed(call, "tickets", found, shown, **beside)


@router.get("/tickets/show_many", operation_id="desk.tickets.show_many", response_model=schemas.TicketsOut)
async def show_many(asked: Annotated[schemas.TicketMany, Query()], request: Request, world: CurrentWorld) -> Response:
    """Read up to 100 tickets by their ids; ids that lead nowhere are left out."""
    call = staff(request, world)
    rows = tickets.show_many(world, ids_of(asked.ids))
    shown, beside = sideloads.tickets(world, rows, included(asked.include), call.base)
    return Json({"tickets": shown, **beside, "count": len(rows), "next_page": None, "previous_page": None})


@router.get("/tickets/{ticket_id}", operation_id="desk.tickets.show", response_model=schemas.TicketShown)
async def show(ticket_id: Id, asked: Annotated[Included, Query()], request: Request, world: CurrentWorld) -> Response:
    """Read one ticket; `include` sends its users, groups, organizations or comment_count along."""
    call = staff(request, world)
    rows = [tickets.read(world, ticket_id)]
    shown, beside = sideloads.tickets(world, rows, included(asked.include), call.base)
    return Json({"ticket": shown[0], **beside})


@router.post("/tickets", operation_id="desk.tickets.create", response_model=schemas.TicketWritten, status_code=201)
async def create(body: schemas.TicketCreate, request: Request, world: CurrentWorld) -> Response:
    """Create a ticket with its first comment; the requester is made if not known yet, and you if none is named."""
    call = staff(request, world)
    change = tickets.create(world, body.ticket.given(), call.user)
    answer = Json(written(world, call, change), 201)
    answer.headers["Location"] = showing.url("ticket", change.after, call.base)
    return answer


@router.put("/tickets/{ticket_id}", operation_id="desk.tickets.update", response_model=schemas.TicketWritten)
async def update(ticket_id: Id, body: schemas.TicketPut, request: Request, world: CurrentWorld) -> Response:
    """Change a ticket and, with `comment`, reply to the requester or leave a note; a closed ticket takes no changes."""
    call = staff(request, world)
    change = tickets.update(world, ticket_id, body.ticket.given(), call.user)
    if change is None:
        return Json({"ticket": showing.ticket(tickets.read(world, ticket_id), call.base), "audit": None})
    return Json(written(world, call, change))


def written(world: World, call: Call, change: Change) -> dict[str, Any]:
    """A ticket and the audit of its last change."""
    (audit,) = audits.shown(world, [change.audit], call.base)
    return {"ticket": showing.ticket(change.after, call.base), "audit": audit}
