"""Requests: tickets as end users see them."""

from typing import Annotated, Any

from pydantic import Field

from services.desk.rows.tickets import Priority, TicketBody, TicketType
from services.desk.schemas.base import (
    Id,
    Paged,
    PageOut,
    RequestBody,
    Short,
    Timestamp,
    envelope,
    page_of,
    record,
)
from services.desk.schemas.tickets import CommentIn, CommentOut, CopyIn, CustomValueIn, PersonIn


class RequestIn(RequestBody):
    """A new request for help."""

    subject: Annotated[Short | None, Field(description="What it is about, in one line")] = None
    comment: Annotated[CommentIn, Field(description="What is asked")]
    priority: Priority | None = None
    type: TicketType | None = None
    custom_fields: Annotated[list[CustomValueIn] | None, Field(max_length=200)] = None
    requester: PersonIn | None = None
    via_followup_source_id: Annotated[Id | None, Field(description="The closed request that this one follows up")] = (
        None
    )
    email_ccs: Annotated[list[CopyIn] | None, Field(max_length=48)] = None
    due_at: Timestamp | None = None


class RequestCreate(RequestBody):
    """A new request."""

    request: RequestIn


class RequestChange(RequestBody):
    """More to say, or that it is solved."""

    comment: CommentIn | None = None
    solved: Annotated[bool | None, Field(description="true marks your own request as solved")] = None
    email_ccs: Annotated[list[CopyIn] | None, Field(max_length=48)] = None


class RequestPut(RequestBody):
    """A change of a request."""

    request: RequestChange


class RequestList(Paged):
    """Which of your requests."""

    status: Annotated[str | None, Field(max_length=80, description="One or more statuses, separated by commas")] = None


class RequestSearch(Paged):
    """Your requests by words."""

    query: Annotated[str, Field(min_length=1, max_length=500)]


RequestOut = record(
    "RequestOut",
    "A ticket as its requester sees it.",
    TicketBody,
    "subject description status requester_id can_be_solved_by_me custom_fields",
    can_be_solved_by_me=bool,
    custom_fields=list[dict[str, Any]],
)


RequestShown = envelope("RequestShown", "One request.", request=RequestOut)
RequestsOut = page_of("RequestsOut", "Some requests.", requests=RequestOut)


class RequestCommentsOut(PageOut):
    """What was said on a request, in public."""

    comments: list[CommentOut]
    users: list[dict[str, Any]]
