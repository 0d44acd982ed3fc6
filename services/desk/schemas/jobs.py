"""Many tickets at once."""

from typing import Annotated, Any, Literal

from pydantic import Field

from services.desk.schemas.base import Id, Long, RequestBody, ResponseBody, envelope, page_of
from services.desk.schemas.tickets import TicketIn, TicketUpdate


class JobStatusOut(ResponseBody):
    """A job: queued, working, completed or failed, with one result per entry when it is done."""

    id: str
    url: str
    job_type: str
    total: int | None
    progress: int | None
    status: Literal["queued", "working", "failed", "completed", "killed"]
    message: str | None
    results: list[dict[str, Any]] | None


JobShown = envelope("JobShown", "A job that was accepted, or how it stands.", job_status=JobStatusOut)
JobsOut = page_of("JobsOut", "Some jobs.", job_statuses=JobStatusOut)


class NumberedChange(TicketUpdate):
    """A change of the ticket with this id."""

    id: Id


class ChangeMany(RequestBody):
    """`ticket` with one change for all ids of the query, or `tickets` with a change for each."""

    ticket: Annotated[TicketUpdate | None, Field(description="One change for all tickets in ids")] = None
    tickets: Annotated[
        list[NumberedChange] | None, Field(min_length=1, max_length=100, description="A change for each, with its id")
    ] = None


class ManyIds(RequestBody):
    """Which tickets, by id."""

    ids: Annotated[str | None, Field(max_length=2000, description="Up to 100 ids, separated by commas")] = None


class CreateMany(RequestBody):
    """New tickets."""

    tickets: Annotated[list[TicketIn], Field(min_length=1, max_length=100)]


class MergeIn(RequestBody):
    """Which tickets go into this one, and what is said on both sides."""

    ids: Annotated[
        list[Id], Field(min_length=1, max_length=100, description="Tickets to close and merge into this one")
    ]
    target_comment: Annotated[Long | None, Field(description="Said on the ticket that stays")] = None
    source_comment: Annotated[Long | None, Field(description="Said on each ticket that is closed")] = None
    target_comment_is_public: bool | None = None
    source_comment_is_public: bool | None = None


DeletedOut = page_of("DeletedOut", "Deleted tickets.", deleted_tickets=dict[str, Any])
