"""Tickets."""

from typing import Annotated, Literal

from fastapi import Query, Response

from services.desk.documents import ALIVE
from services.desk.operations import deleted_tickets, tickets
from services.desk.operations.after_change import find_incidents
from services.desk.operations.jobs import start_job
from services.desk.operations.tickets import SORT_COLUMNS, change_tags, get_ticket, list_tickets
from services.desk.records.ticket_changes import TicketChange
from services.desk.routes.base import (
    Call,
    StaffCall,
    answer_count,
    answer_list,
    answer_page,
    answer_tickets,
    noun_router,
    read_ids,
    read_include,
    read_paging,
    read_sort,
)
from services.desk.rows import TicketId
from services.desk.schemas import tickets as schemas
from services.desk.schemas.base import Included, Paged, TicketKey
from services.desk.schemas.jobs import JobShown
from services.desk.schemas.people import UsersOut
from services.desk.shapes.base import Shape, make_url
from services.desk.shapes.rules import render_job
from services.desk.shapes.threads import render_audits
from services.desk.shapes.tickets import render_metrics, render_people, render_ticket, render_tickets
from services.desk.tables import tickets as ticket_table
from services.kernel.answers import Json
from services.kernel.documents import EVERYTHING, equal

PeopleField = Literal["collaborator_ids", "follower_ids", "email_cc_ids"]
router = noun_router("tickets")


@router.get("/tickets", operation_id="desk.tickets.list", response_model=schemas.TicketsOut)
async def page(params: Annotated[schemas.TicketList, Query()], call: StaffCall) -> Response:
    """List tickets, by id unless sorted by updated_at, created_at, status, priority or another field; 100 at most."""
    where = EVERYTHING if params.external_id is None else equal(external_id=params.external_id)
    result = list_tickets(call.world, read_paging(params), read_sort(params, SORT_COLUMNS), where)
    return answer_tickets(call, params, result)


@router.get("/tickets/show_many", operation_id="desk.tickets.show_many", response_model=schemas.TicketsOut)
async def show_many(params: Annotated[schemas.TicketMany, Query()], call: StaffCall) -> Response:
    """Read up to 100 tickets by their ids; ids that lead nowhere are left out."""
    rows = tickets.get_many(call.world, [TicketId(key) for key in read_ids(params.ids)])
    shapes, related = render_tickets(call.world, rows, read_include(params.include), call.base)
    return answer_list("tickets", shapes, **related)


@router.get("/tickets/{ticket_id}", operation_id="desk.tickets.show", response_model=schemas.TicketShown)
async def show(ticket_id: TicketKey, params: Annotated[Included, Query()], call: StaffCall) -> Response:
    """Read one ticket; `include` sends its users, groups, organizations or comment_count along."""
    rows = [get_ticket(call.world, ticket_id)]
    shapes, related = render_tickets(call.world, rows, read_include(params.include), call.base)
    return Json({"ticket": shapes[0], **related})


@router.post(
    "/tickets",
    operation_id="desk.tickets.create",
    response_model=schemas.TicketWritten,
    status_code=201,
    responses={202: {"model": JobShown, "description": "A job that will create it"}},
)
async def create(
    body: schemas.TicketCreate, params: Annotated[schemas.CreateQuery, Query()], call: StaffCall
) -> Response:
    """Create a ticket with its first comment; the requester is made if not known yet, and you if none is named."""
    if params.asynchronous:
        job = start_job(call.world, "create", [{"given": body.ticket.dump()}], call.user)
        return Json({"job_status": render_job(call.world, job, call.base)}, 202)
    change = tickets.create_ticket(call.world, body.ticket.dump(), call.user)
    answer = Json(_render_change(call, change), 201)
    answer.headers["Location"] = make_url("ticket", change.after, call.base)
    return answer


@router.put("/tickets/{ticket_id}", operation_id="desk.tickets.update", response_model=schemas.TicketWritten)
async def update(ticket_id: TicketKey, body: schemas.TicketPut, call: StaffCall) -> Response:
    """Change a ticket and, with `comment`, reply to the requester or leave a note; a closed ticket takes no changes."""
    change = tickets.update_ticket(call.world, ticket_id, body.ticket.dump(), call.user)
    if change is None:
        return Json({"ticket": render_ticket(get_ticket(call.world, ticket_id), call.base), "audit": None})
    return Json(_render_change(call, change))


@router.delete("/tickets/{ticket_id}", operation_id="desk.tickets.delete", status_code=204)
async def delete(ticket_id: TicketKey, call: StaffCall) -> Response:
    """Delete a ticket; it can be restored from desk.deleted_tickets."""
    deleted_tickets.delete_ticket(call.world, ticket_id, call.user)
    return Response(status_code=204)


@router.put("/tickets/{ticket_id}/mark_as_spam", operation_id="desk.tickets.mark_as_spam", response_model=schemas.Empty)
async def mark_as_spam(ticket_id: TicketKey, call: StaffCall) -> Response:
    """Mark a ticket as spam: the ticket is deleted and its requester suspended."""
    deleted_tickets.mark_as_spam(call.world, ticket_id, call.user)
    return Json({})


@router.get("/tickets/count", operation_id="desk.tickets.count", response_model=schemas.Counted)
async def count(call: StaffCall) -> Response:
    """Count all tickets."""
    return answer_count(call.world, ticket_table.count_rows(call.world, ALIVE))


@router.get("/tickets/recent", operation_id="desk.tickets.recent", response_model=schemas.TicketsOut)
async def recent(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tickets that you updated last, the latest first."""
    result = tickets.list_recent(call.world, call.user, read_paging(params))
    return answer_tickets(call, params, result)


@router.get("/tickets/{ticket_id}/related", operation_id="desk.tickets.related", response_model=schemas.RelatedShown)
async def related(ticket_id: TicketKey, call: StaffCall) -> Response:
    """What hangs on a ticket: how many incidents it has, and the closed ticket that it follows up."""
    row = get_ticket(call.world, ticket_id)
    source = row["body"]["followup_source_id"]
    shape = {
        "incidents": len(find_incidents(call.world, ticket_id)),
        "topic_id": None,
        "jira_issue_ids": [],
        "followup_source_ids": [] if source is None else [source],
        "from_archive": False,
    }
    return Json({"ticket_related": shape})


@router.get("/tickets/{ticket_id}/incidents", operation_id="desk.tickets.incidents", response_model=schemas.TicketsOut)
async def incidents(ticket_id: TicketKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the incidents of a problem ticket."""
    get_ticket(call.world, ticket_id)
    result = list_tickets(call.world, read_paging(params), read_sort(params, SORT_COLUMNS), equal(problem_id=ticket_id))
    return answer_tickets(call, params, result)


def _add_people(name: str, field: PeopleField, description: str) -> None:
    """Adds one of three lists of people on a ticket: `/tickets/{ticket_id}/followers` and its like."""

    async def people(ticket_id: TicketKey, call: StaffCall) -> Response:
        return answer_list(
            "users", render_people(call.world, get_ticket(call.world, ticket_id)["body"][field], call.base)
        )

    people.__doc__ = description
    router.get(f"/tickets/{{ticket_id}}/{name}", operation_id=f"desk.tickets.{name}", response_model=UsersOut)(people)


_add_people("collaborators", "collaborator_ids", "List everybody who is in copy of a ticket or follows it.")
_add_people("followers", "follower_ids", "List the agents who follow a ticket.")
_add_people("email_ccs", "email_cc_ids", "List the people in copy of a ticket's mails.")


@router.get("/tickets/{ticket_id}/metrics", operation_id="desk.tickets.metrics", response_model=schemas.MetricShown)
async def metrics(ticket_id: TicketKey, call: StaffCall) -> Response:
    """A ticket's measures: replies, reopens, first reply and resolution times, waiting times in minutes."""
    return Json({"ticket_metric": render_metrics(get_ticket(call.world, ticket_id), call.base)})


@router.get("/ticket_metrics", operation_id="desk.ticket_metrics.list", response_model=schemas.MetricsOut)
async def all_metrics(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the measures of all tickets."""
    result = list_tickets(call.world, read_paging(params), read_sort(params, {"id": "id", "updated_at": "updated_at"}))
    return answer_page(call, "ticket_metrics", result, [render_metrics(row, call.base) for row in result.rows])


@router.get("/ticket_metrics/{metric_id}", operation_id="desk.ticket_metrics.show", response_model=schemas.MetricShown)
async def one_metric(metric_id: TicketKey, call: StaffCall) -> Response:
    """Read the measures of one ticket by their own id."""
    return Json({"ticket_metric": render_metrics(get_ticket(call.world, metric_id), call.base)})


@router.get("/tickets/{ticket_id}/tags", operation_id="desk.tickets.tags", response_model=schemas.TagsOut)
async def list_tags(ticket_id: TicketKey, call: StaffCall) -> Response:
    """List a ticket's tags."""
    return Json({"tags": get_ticket(call.world, ticket_id)["body"]["tags"]})


@router.post(
    "/tickets/{ticket_id}/tags", operation_id="desk.tickets.set_tags", response_model=schemas.TagsOut, status_code=201
)
async def set_tags(ticket_id: TicketKey, body: schemas.TagsIn, call: StaffCall) -> Response:
    """Replace all tags of a ticket."""
    return Json({"tags": change_tags(call.world, ticket_id, {"tags": body.tags}, call.user)}, 201)


@router.put("/tickets/{ticket_id}/tags", operation_id="desk.tickets.add_tags", response_model=schemas.TagsOut)
async def add_tags(ticket_id: TicketKey, body: schemas.TagsIn, call: StaffCall) -> Response:
    """Add tags to a ticket; those that it has stay."""
    return Json({"tags": change_tags(call.world, ticket_id, {"additional_tags": body.tags}, call.user)})


@router.delete("/tickets/{ticket_id}/tags", operation_id="desk.tickets.remove_tags", response_model=schemas.TagsOut)
async def remove_tags(ticket_id: TicketKey, body: schemas.TagsIn, call: StaffCall) -> Response:
    """Take tags off a ticket."""
    return Json({"tags": change_tags(call.world, ticket_id, {"remove_tags": body.tags}, call.user)})


def _render_change(call: Call, change: TicketChange) -> Shape:
    """The ticket as it is now, and the audit of this change."""
    (audit,) = render_audits(call.world, [change.audit], call.base)
    return {"ticket": render_ticket(change.after, call.base), "audit": audit}
