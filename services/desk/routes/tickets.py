"""Tickets."""

from typing import Annotated, Any, Literal

from fastapi import Query, Response

from services.desk.documents import ALIVE
from services.desk.operations import deleted_tickets, tickets
from services.desk.operations.after_change import find_incidents
from services.desk.operations.jobs import start_job
from services.desk.operations.tickets import change_tags, get_ticket, list_tickets
from services.desk.records.ticket_changes import TicketChange
from services.desk.routes import endpoints as serve
from services.desk.routes.base import (
    Call,
    StaffCall,
    answer_list,
    answer_page,
    answer_tickets,
    noun_router,
    read_ids,
    read_include,
    read_paging,
    read_sort,
)
from services.desk.routes.endpoints import add_operations, resource
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
from services.kernel.documents import EVERYTHING, Where, equal
from services.kernel.operations import Endpoint, Operation
from services.kernel.world import World

PeopleField = Literal["collaborator_ids", "follower_ids", "email_cc_ids"]
router = noun_router("tickets")


def _by_external_id(_: World, params: schemas.TicketList) -> Where:
    return EVERYTHING if params.external_id is None else equal(external_id=params.external_id)


def _incidents_of(world: World, ticket_id: TicketId, _: Any) -> Where:
    get_ticket(world, ticket_id)
    return equal(problem_id=ticket_id)


async def show_many(params: Annotated[schemas.TicketMany, Query()], call: StaffCall) -> Response:
    """Read up to 100 tickets by their ids; ids that lead nowhere are left out."""
    rows = tickets.get_many(call.world, [TicketId(key) for key in read_ids(params.ids)])
    shapes, related = render_tickets(call.world, rows, read_include(params.include), call.base)
    return answer_list("tickets", shapes, **related)


async def show(ticket_id: TicketKey, params: Annotated[Included, Query()], call: StaffCall) -> Response:
    """Read one ticket; `include` sends its users, groups, organizations or comment_count along."""
    rows = [get_ticket(call.world, ticket_id)]
    shapes, related = render_tickets(call.world, rows, read_include(params.include), call.base)
    return Json({"ticket": shapes[0], **related})


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


async def update(ticket_id: TicketKey, body: schemas.TicketPut, call: StaffCall) -> Response:
    """Change a ticket and, with `comment`, reply to the requester or leave a note; a closed ticket takes no changes."""
    change = tickets.update_ticket(call.world, ticket_id, body.ticket.dump(), call.user)
    if change is None:
        return Json({"ticket": render_ticket(get_ticket(call.world, ticket_id), call.base), "audit": None})
    return Json(_render_change(call, change))


async def delete(ticket_id: TicketKey, call: StaffCall) -> Response:
    """Delete a ticket; it can be restored from desk.deleted_tickets."""
    deleted_tickets.delete_ticket(call.world, ticket_id, call.user)
    return Response(status_code=204)


async def mark_as_spam(ticket_id: TicketKey, call: StaffCall) -> Response:
    """Mark a ticket as spam: the ticket is deleted and its requester suspended."""
    deleted_tickets.mark_as_spam(call.world, ticket_id, call.user)
    return Json({})


async def recent(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tickets that you updated last, the latest first."""
    result = tickets.list_recent(call.world, call.user, read_paging(params))
    return answer_tickets(call, params, result)


async def show_related(ticket_id: TicketKey, call: StaffCall) -> Response:
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


def _list_people(field: PeopleField) -> Endpoint:
    """Serves one of three lists of people on a ticket."""

    async def serve_people(ticket_id: TicketId, call: Call) -> Response:
        people = get_ticket(call.world, ticket_id)["body"][field]
        return answer_list("users", render_people(call.world, people, call.base))

    return Endpoint(serve_people, (serve.STAFF,))


async def metrics(ticket_id: TicketKey, call: StaffCall) -> Response:
    """A ticket's measures: replies, reopens, first reply and resolution times, waiting times in minutes."""
    return Json({"ticket_metric": render_metrics(get_ticket(call.world, ticket_id), call.base)})


async def all_metrics(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the measures of all tickets."""
    result = list_tickets(call.world, read_paging(params), read_sort(params, {"id": "id", "updated_at": "updated_at"}))
    return answer_page(call, "ticket_metrics", result, [render_metrics(row, call.base) for row in result.rows])


async def one_metric(metric_id: TicketKey, call: StaffCall) -> Response:
    """Read the measures of one ticket by their own id."""
    return Json({"ticket_metric": render_metrics(get_ticket(call.world, metric_id), call.base)})


async def list_tags(ticket_id: TicketKey, call: StaffCall) -> Response:
    """List a ticket's tags."""
    return Json({"tags": get_ticket(call.world, ticket_id)["body"]["tags"]})


async def set_tags(ticket_id: TicketKey, body: schemas.TagsIn, call: StaffCall) -> Response:
    """Replace all tags of a ticket."""
    return Json({"tags": change_tags(call.world, ticket_id, {"tags": body.tags}, call.user)}, 201)


async def add_tags(ticket_id: TicketKey, body: schemas.TagsIn, call: StaffCall) -> Response:
    """Add tags to a ticket; those that it has stay."""
    return Json({"tags": change_tags(call.world, ticket_id, {"additional_tags": body.tags}, call.user)})


async def remove_tags(ticket_id: TicketKey, body: schemas.TagsIn, call: StaffCall) -> Response:
    """Take tags off a ticket."""
    return Json({"tags": change_tags(call.world, ticket_id, {"remove_tags": body.tags}, call.user)})


def _render_change(call: Call, change: TicketChange) -> Shape:
    """Renders the ticket as it is now, and the audit of this change."""
    (audit,) = render_audits(call.world, [change.audit], call.base)
    return {"ticket": render_ticket(change.after, call.base), "audit": audit}


# fmt: off
add_operations(router, (
    Operation("desk.tickets.list", "GET", "/api/v2/tickets", "Page", schemas.TicketsOut,
              serve.list_tickets(_by_external_id, schemas.TicketList),
              "List tickets, by id unless sorted by updated_at, created_at, status, priority or another field; 100 "
              "at most."),
    Operation("desk.tickets.show_many", "GET", "/api/v2/tickets/show_many", "Show Many", schemas.TicketsOut, show_many),
    Operation("desk.tickets.show", "GET", "/api/v2/tickets/{ticket_id}", "Show", schemas.TicketShown, show),
    Operation("desk.tickets.create", "POST", "/api/v2/tickets", "Create", schemas.TicketWritten, create, status=201,
              responses={202: {"model": JobShown, "description": "A job that will create it"}}),
    Operation("desk.tickets.update", "PUT", "/api/v2/tickets/{ticket_id}", "Update", schemas.TicketWritten, update),
    Operation("desk.tickets.delete", "DELETE", "/api/v2/tickets/{ticket_id}", "Delete", None, delete, status=204),
    Operation("desk.tickets.mark_as_spam", "PUT", "/api/v2/tickets/{ticket_id}/mark_as_spam", "Mark As Spam",
              schemas.Empty, mark_as_spam),
    Operation("desk.tickets.count", "GET", "/api/v2/tickets/count", "Count", schemas.Counted,
              serve.count(resource(ticket_table), ALIVE), "Count all tickets."),
    Operation("desk.tickets.recent", "GET", "/api/v2/tickets/recent", "Recent", schemas.TicketsOut, recent),
    Operation("desk.tickets.related", "GET", "/api/v2/tickets/{ticket_id}/related", "Related", schemas.RelatedShown,
              show_related),
    Operation("desk.tickets.incidents", "GET", "/api/v2/tickets/{ticket_id}/incidents", "Incidents", schemas.TicketsOut,
              serve.list_tickets(_incidents_of), "List the incidents of a problem ticket."),
    Operation("desk.tickets.collaborators", "GET", "/api/v2/tickets/{ticket_id}/collaborators", "People", UsersOut,
              _list_people("collaborator_ids"), "List everybody who is in copy of a ticket or follows it."),
    Operation("desk.tickets.followers", "GET", "/api/v2/tickets/{ticket_id}/followers", "People", UsersOut,
              _list_people("follower_ids"), "List the agents who follow a ticket."),
    Operation("desk.tickets.email_ccs", "GET", "/api/v2/tickets/{ticket_id}/email_ccs", "People", UsersOut,
              _list_people("email_cc_ids"), "List the people in copy of a ticket's mails."),
    Operation("desk.tickets.metrics", "GET", "/api/v2/tickets/{ticket_id}/metrics", "Metrics", schemas.MetricShown,
              metrics),
    Operation("desk.ticket_metrics.list", "GET", "/api/v2/ticket_metrics", "All Metrics", schemas.MetricsOut,
              all_metrics),
    Operation("desk.ticket_metrics.show", "GET", "/api/v2/ticket_metrics/{metric_id}", "One Metric",
              schemas.MetricShown, one_metric),
    Operation("desk.tickets.tags", "GET", "/api/v2/tickets/{ticket_id}/tags", "List Tags", schemas.TagsOut, list_tags),
    Operation("desk.tickets.set_tags", "POST", "/api/v2/tickets/{ticket_id}/tags", "Set Tags", schemas.TagsOut,
              set_tags, status=201),
    Operation("desk.tickets.add_tags", "PUT", "/api/v2/tickets/{ticket_id}/tags", "Add Tags", schemas.TagsOut,
              add_tags),
    Operation("desk.tickets.remove_tags", "DELETE", "/api/v2/tickets/{ticket_id}/tags", "Remove Tags", schemas.TagsOut,
              remove_tags),
))
# fmt: on
