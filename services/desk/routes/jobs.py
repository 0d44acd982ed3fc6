"""Many tickets at once: jobs and how they stand; deleted tickets."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.desk.errors import RecordInvalid
from services.desk.operations import deleting, jobs, listing, merging, records
from services.desk.operations.listing import Order
from services.desk.routes.base import Call, ids_of, listed, noun_router, order, paging, staff
from services.desk.schemas import jobs as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.schemas.tickets import Empty, TicketMany
from services.desk.tables import job_statuses
from services.desk.tables import tickets as ticket_rows
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.statements import Row
from services.kernel.world import World

router = noun_router("jobs")


@router.put("/tickets/update_many", operation_id="desk.tickets.update_many", response_model=schemas.JobShown)
async def update_many(
    asked: Annotated[schemas.ManyIds, Query()], body: schemas.ChangeMany, request: Request, world: CurrentWorld
) -> Response:
    """Change up to 100 tickets in a job: one change for all `ids` (`ticket`), or one for each (`tickets`).

    With additional_tags and remove_tags tags are edited, even on closed tickets.
    Look at desk.job_statuses.show for the outcome: an entry that somebody else changed meanwhile fails.
    """
    call = staff(request, world)
    if body.tickets is not None:
        changes = [(one.id, one.given()) for one in body.tickets]
    elif body.ticket is not None and asked.ids is not None:
        changes = [(key, body.ticket.given()) for key in ids_of(asked.ids)]
    else:
        raise RecordInvalid("base", "Give tickets, or ids and a ticket", "BlankValue")
    return accepted(world, call, jobs.update_many(world, changes, call.user))


@router.post("/tickets/create_many", operation_id="desk.tickets.create_many", response_model=schemas.JobShown)
async def create_many(body: schemas.CreateMany, request: Request, world: CurrentWorld) -> Response:
    """Create up to 100 tickets in a job."""
    call = staff(request, world)
    entries = [{"given": one.given()} for one in body.tickets]
    return accepted(world, call, jobs.start(world, "create", entries, call.user))


@router.delete("/tickets/destroy_many", operation_id="desk.tickets.destroy_many", response_model=schemas.JobShown)
async def destroy_many(asked: Annotated[TicketMany, Query()], request: Request, world: CurrentWorld) -> Response:
    """Delete up to 100 tickets in a job."""
    call = staff(request, world)
    entries = [{"id": key} for key in ids_of(asked.ids)]
    return accepted(world, call, jobs.start(world, "delete", entries, call.user))


@router.post("/tickets/{ticket_id}/merge", operation_id="desk.tickets.merge", response_model=schemas.JobShown)
async def merge(ticket_id: Id, body: schemas.MergeIn, request: Request, world: CurrentWorld) -> Response:
    """Merge other tickets into this one, in a job: they are closed, their requesters put in copy here."""
    call = staff(request, world)
    sources = list(dict.fromkeys(body.ids))
    merging.refuse_bad_target(world, ticket_id, sources)
    given = {**body.given(), "target": ticket_id}
    entries: list[dict[str, Any]] = [{"id": one, "given": given} for one in sources]
    return accepted(world, call, jobs.start(world, "merge", entries, call.user))


def accepted(world: World, call: Call, job: Row) -> Response:
    return Json({"job_status": jobs.shown(world, job, call.base)})


@router.get("/job_statuses", operation_id="desk.job_statuses.list", response_model=schemas.JobsOut)
async def page(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List jobs, the latest first."""
    call = staff(request, world)
    ordered = order(asked, {"created_at": "created_at"}, Order("created_at", descending=True))
    found = listing.page(world, job_statuses, paging(asked), order=ordered)
    return listed(call, "job_statuses", found, [jobs.shown(world, row, call.base) for row in found.rows])


@router.get("/job_statuses/show_many", operation_id="desk.job_statuses.show_many", response_model=schemas.JobsOut)
async def show_many(asked: Annotated[TicketMany, Query()], request: Request, world: CurrentWorld) -> Response:
    """Read up to 100 jobs by their ids."""
    call = staff(request, world)
    rows = listing.by_ids(world, job_statuses, [one.strip() for one in asked.ids.split(",")][:100])
    return Json({"job_statuses": [jobs.shown(world, row, call.base) for row in rows]})


@router.get("/job_statuses/{job_id}", operation_id="desk.job_statuses.show", response_model=schemas.JobShown)
async def show(job_id: str, request: Request, world: CurrentWorld) -> Response:
    """How a job stands; `results` tells of each entry when it is completed."""
    call = staff(request, world)
    return accepted(world, call, records.need(world, job_statuses, job_id))


@router.get("/deleted_tickets", operation_id="desk.deleted_tickets.list", response_model=schemas.DeletedOut)
async def deleted(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List deleted tickets, with who deleted them and when."""
    call = staff(request, world)
    sorts = {"id": "id", "deleted_at": "deleted_at", "subject": "subject_folded"}
    found = listing.page(world, ticket_rows, paging(asked), deleting.DELETED, order(asked, sorts))
    return listed(call, "deleted_tickets", found, [deleting.shown(world, row) for row in found.rows])


@router.put("/deleted_tickets/{ticket_id}/restore", operation_id="desk.deleted_tickets.restore", response_model=Empty)
async def restore(ticket_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Bring a deleted ticket back."""
    deleting.restore(world, ticket_id, staff(request, world).user)
    return Json({})
