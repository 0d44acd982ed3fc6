"""Tickets."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.desk.operations import (
    audits,
    deleting,
    jobs,
    listing,
    measures_shown,
    problems,
    showing,
    sideloads,
    tags,
    tickets,
)
from services.desk.operations.changing import Change
from services.desk.operations.listing import ALIVE, EVERYTHING, equal
from services.desk.routes.base import Call, ids_of, included, listed, noun_router, order, paging, staff
from services.desk.schemas import tickets as schemas
from services.desk.schemas.base import Id, Included, Paged
from services.desk.schemas.jobs import JobShown
from services.desk.schemas.people import UsersOut
from services.desk.tables import tickets as ticket_rows
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


@router.post(
    "/tickets",
    operation_id="desk.tickets.create",
    response_model=schemas.TicketWritten,
    status_code=201,
    responses={202: {"model": JobShown, "description": "A job that will create it"}},
)
async def create(
    body: schemas.TicketCreate, asked: Annotated[schemas.CreateAsked, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Create a ticket with its first comment; the requester is made if not known yet, and you if none is named."""
    call = staff(request, world)
    if asked.asynchronous:
        job = jobs.start(world, "create", [{"given": body.ticket.given()}], call.user)
        return Json({"job_status": jobs.shown(world, job, call.base)}, 202)
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


@router.delete("/tickets/{ticket_id}", operation_id="desk.tickets.delete", status_code=204)
async def delete(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete a ticket; it can be restored from desk.deleted_tickets."""
    deleting.delete(world, ticket_id, staff(request, world).user)
    return Response(status_code=204)


@router.put("/tickets/{ticket_id}/mark_as_spam", operation_id="desk.tickets.mark_as_spam", response_model=schemas.Empty)
async def mark_as_spam(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Mark a ticket as spam: the ticket is deleted and its requester suspended."""
    deleting.mark_as_spam(world, ticket_id, staff(request, world).user)
    return Json({})


@router.get("/tickets/count", operation_id="desk.tickets.count", response_model=schemas.Counted)
async def count(request: Request, world: CurrentWorld) -> Response:
    """Count all tickets."""
    staff(request, world)
    return Json(counted(world, listing.count(world, ticket_rows, ALIVE)))


@router.get("/tickets/recent", operation_id="desk.tickets.recent", response_model=schemas.TicketsOut)
async def recent(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the tickets that you updated last, the latest first."""
    call = staff(request, world)
    found = tickets.recent(world, call.user, paging(asked))
    shown, beside = sideloads.tickets(world, found.rows, included(asked.include), call.base)
    return listed(call, "tickets", found, shown, **beside)


@router.get("/tickets/{ticket_id}/related", operation_id="desk.tickets.related", response_model=schemas.RelatedShown)
async def related(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
    """What hangs on a ticket: how many incidents it has, and the closed ticket that it follows up."""
    staff(request, world)
    row = tickets.read(world, ticket_id)
    source = row["body"]["followup_source_id"]
    told: dict[str, Any] = {
        "incidents": len(problems.incidents_of(world, ticket_id)),
        "topic_id": None,
        "jira_issue_ids": [],
    }
    followed = [] if source is None else [source]
    return Json({"ticket_related": {**told, "followup_source_ids": followed, "from_archive": False}})


@router.get("/tickets/{ticket_id}/incidents", operation_id="desk.tickets.incidents", response_model=schemas.TicketsOut)
async def incidents(ticket_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the incidents of a problem ticket."""
    call = staff(request, world)
    tickets.read(world, ticket_id)
    found = tickets.page(world, paging(asked), order(asked, tickets.SORTED), equal(problem_id=ticket_id))
    shown, beside = sideloads.tickets(world, found.rows, included(asked.include), call.base)
    return listed(call, "tickets", found, shown, **beside)


def _people(name: str, kept: str, told: str) -> None:
    """One of three lists of people on a ticket."""

    async def people(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
        call = staff(request, world)
        shown = sideloads.people(world, tickets.read(world, ticket_id)["body"][kept], call.base)
        return Json({"users": shown, "count": len(shown), "next_page": None, "previous_page": None})

    people.__doc__ = told
    router.get(f"/tickets/{{ticket_id}}/{name}", operation_id=f"desk.tickets.{name}", response_model=UsersOut)(people)


_people("collaborators", "collaborator_ids", "List everybody who is in copy of a ticket or follows it.")
_people("followers", "follower_ids", "List the agents who follow a ticket.")
_people("email_ccs", "email_cc_ids", "List the people in copy of a ticket's mails.")


@router.get("/tickets/{ticket_id}/metrics", operation_id="desk.tickets.metrics", response_model=schemas.MetricShown)
async def metrics(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
    """A ticket's measures: replies, reopens, first reply and resolution times, waiting times in minutes."""
    call = staff(request, world)
    return Json({"ticket_metric": measures_shown.ticket_metric(tickets.read(world, ticket_id), call.base)})


@router.get("/ticket_metrics", operation_id="desk.ticket_metrics.list", response_model=schemas.MetricsOut)
async def all_metrics(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the measures of all tickets."""
    call = staff(request, world)
    found = tickets.page(world, paging(asked), order(asked, {"id": "id", "updated_at": "updated_at"}))
    return listed(call, "ticket_metrics", found, [measures_shown.ticket_metric(row, call.base) for row in found.rows])


@router.get("/ticket_metrics/{metric_id}", operation_id="desk.ticket_metrics.show", response_model=schemas.MetricShown)
async def one_metric(metric_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read the measures of one ticket by their own id."""
    call = staff(request, world)
    return Json({"ticket_metric": measures_shown.ticket_metric(tickets.read(world, metric_id), call.base)})


@router.get("/tickets/{ticket_id}/tags", operation_id="desk.tickets.tags", response_model=schemas.TagsOut)
async def list_tags(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
    """List a ticket's tags."""
    staff(request, world)
    return Json({"tags": tickets.read(world, ticket_id)["body"]["tags"]})


@router.post(
    "/tickets/{ticket_id}/tags", operation_id="desk.tickets.set_tags", response_model=schemas.TagsOut, status_code=201
)
async def set_tags(ticket_id: Id, body: schemas.TagsIn, request: Request, world: CurrentWorld) -> Response:
    """Replace all tags of a ticket."""
    call = staff(request, world)
    return Json({"tags": tags.replace(world, ticket_id, body.tags, call.user)}, 201)


@router.put("/tickets/{ticket_id}/tags", operation_id="desk.tickets.add_tags", response_model=schemas.TagsOut)
async def add_tags(ticket_id: Id, body: schemas.TagsIn, request: Request, world: CurrentWorld) -> Response:
    """Add tags to a ticket; those that it has stay."""
    call = staff(request, world)
    return Json({"tags": tags.add(world, ticket_id, body.tags, call.user)})


@router.delete("/tickets/{ticket_id}/tags", operation_id="desk.tickets.remove_tags", response_model=schemas.TagsOut)
async def remove_tags(ticket_id: Id, body: schemas.TagsIn, request: Request, world: CurrentWorld) -> Response:
    """Take tags off a ticket."""
    call = staff(request, world)
    return Json({"tags": tags.remove(world, ticket_id, body.tags, call.user)})


def counted(world: World, value: int) -> dict[str, Any]:
    return {"count": {"value": value, "refreshed_at": showing.iso(world.clock.now_ms())}}


def written(world: World, call: Call, change: Change) -> dict[str, Any]:
    """A ticket and the audit of its last change."""
    (audit,) = audits.shown(world, [change.audit], call.base)
    return {"ticket": showing.ticket(change.after, call.base), "audit": audit}
