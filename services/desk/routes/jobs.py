"""Many tickets at once: jobs and their status; deleted tickets."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import Sort
from services.desk.errors import RecordInvalid
from services.desk.operations import deleted_tickets, jobs, merging
from services.desk.records.payload import Payload
from services.desk.routes.base import Call, StaffCall, answer_page, noun_router, read_ids, read_paging, read_sort
from services.desk.routes.endpoints import add_operations
from services.desk.rows import JobId, TicketId
from services.desk.rows.tickets import JobEntry, JobStatusRow
from services.desk.schemas import jobs as schemas
from services.desk.schemas.base import Paged, TicketKey
from services.desk.schemas.tickets import Empty, TicketMany
from services.desk.shapes.rules import render_job
from services.desk.shapes.tickets import render_deleted_ticket
from services.desk.tables import job_statuses, tickets
from services.kernel.answers import Json
from services.kernel.operations import Operation

router = noun_router("jobs")


async def update_many(
    params: Annotated[schemas.ManyIds, Query()], body: schemas.ChangeMany, call: StaffCall
) -> Response:
    """Change up to 100 tickets in a job: one change for all `ids` (`ticket`), or one for each (`tickets`).

    With additional_tags and remove_tags tags are edited, even on closed tickets.
    Look at desk.job_statuses.show for the outcome: an entry that somebody else changed meanwhile fails.
    """
    if body.tickets is not None:
        changes = [(TicketId(change.id), change.dump()) for change in body.tickets]
    elif body.ticket is not None and params.ids is not None:
        changes = [(TicketId(key), body.ticket.dump()) for key in read_ids(params.ids)]
    else:
        raise RecordInvalid("base", "Give tickets, or ids and a ticket", "BlankValue")
    return _answer(call, jobs.update_many(call.world, changes, call.user))


async def create_many(body: schemas.CreateMany, call: StaffCall) -> Response:
    """Create up to 100 tickets in a job."""
    entries: list[JobEntry] = [{"given": ticket.dump()} for ticket in body.tickets]
    return _answer(call, jobs.start_job(call.world, "create", entries, call.user))


async def destroy_many(params: Annotated[TicketMany, Query()], call: StaffCall) -> Response:
    """Delete up to 100 tickets in a job."""
    entries: list[JobEntry] = [{"id": TicketId(key)} for key in read_ids(params.ids)]
    return _answer(call, jobs.start_job(call.world, "delete", entries, call.user))


async def merge(ticket_id: TicketKey, body: schemas.MergeIn, call: StaffCall) -> Response:
    """Merge other tickets into this one, in a job: they are closed, their requesters put in copy here."""
    sources = [TicketId(key) for key in dict.fromkeys(body.ids)]
    merging.refuse_bad_target(call.world, ticket_id, sources)
    payload: Payload = {**body.dump(), "target": ticket_id}
    entries: list[JobEntry] = [{"id": source, "given": payload} for source in sources]
    return _answer(call, jobs.start_job(call.world, "merge", entries, call.user))


def _answer(call: Call, job: JobStatusRow) -> Response:
    return Json({"job_status": render_job(call.world, job, call.base)})


async def page(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List jobs, the latest first."""
    sort = read_sort(params, {"created_at": "created_at"}, Sort("created_at", descending=True))
    result = job_statuses.page(call.world, read_paging(params), sort=sort)
    return answer_page(call, "job_statuses", result, [render_job(call.world, row, call.base) for row in result.rows])


async def show_many(params: Annotated[TicketMany, Query()], call: StaffCall) -> Response:
    """Read up to 100 jobs by their ids."""
    rows = job_statuses.by_ids(call.world, [JobId(part.strip()) for part in params.ids.split(",")][:100])
    return Json({"job_statuses": [render_job(call.world, row, call.base) for row in rows]})


async def show(job_id: JobId, call: StaffCall) -> Response:
    """How a job stands; `results` tells of each entry when it is completed."""
    return _answer(call, job_statuses.need(call.world, job_id))


async def list_deleted(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List deleted tickets, with who deleted them and when."""
    columns = {"id": "id", "deleted_at": "deleted_at", "subject": "subject_folded"}
    result = tickets.page(call.world, read_paging(params), deleted_tickets.DELETED, read_sort(params, columns))
    return answer_page(call, "deleted_tickets", result, [render_deleted_ticket(call.world, row) for row in result.rows])


async def restore(ticket_id: TicketKey, call: StaffCall) -> Response:
    """Bring a deleted ticket back."""
    deleted_tickets.restore_ticket(call.world, ticket_id, call.user)
    return Json({})


# fmt: off
add_operations(router, (
    Operation("desk.tickets.update_many", "PUT", "/api/v2/tickets/update_many", "Update Many", schemas.JobShown,
              update_many),
    Operation("desk.tickets.create_many", "POST", "/api/v2/tickets/create_many", "Create Many", schemas.JobShown,
              create_many),
    Operation("desk.tickets.destroy_many", "DELETE", "/api/v2/tickets/destroy_many", "Destroy Many", schemas.JobShown,
              destroy_many),
    Operation("desk.tickets.merge", "POST", "/api/v2/tickets/{ticket_id}/merge", "Merge", schemas.JobShown, merge),
    Operation("desk.job_statuses.list", "GET", "/api/v2/job_statuses", "Page", schemas.JobsOut, page),
    Operation("desk.job_statuses.show_many", "GET", "/api/v2/job_statuses/show_many", "Show Many", schemas.JobsOut,
              show_many),
    Operation("desk.job_statuses.show", "GET", "/api/v2/job_statuses/{job_id}", "Show", schemas.JobShown, show),
    Operation("desk.deleted_tickets.list", "GET", "/api/v2/deleted_tickets", "Deleted", schemas.DeletedOut,
              list_deleted),
    Operation("desk.deleted_tickets.restore", "PUT", "/api/v2/deleted_tickets/{ticket_id}/restore", "Restore", Empty,
              restore),
))
# fmt: on
