"""Requests: tickets as end users see them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from services.desk.schemas.base import Answered, Given, Id, Moment, Paged, PageOut, Short
from services.desk.schemas.tickets import CommentIn, CommentOut, CopyIn, CustomValueIn, PersonIn, Priority, TicketType


class RequestIn(Given):
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
    due_at: Moment | None = None


class RequestCreate(Given):
    """A new request."""

    request: RequestIn


class RequestChange(Given):
    """More to say, or that it is solved."""

    comment: CommentIn | None = None
    solved: Annotated[bool | None, Field(description="true marks your own request as solved")] = None
    email_ccs: Annotated[list[CopyIn] | None, Field(max_length=48)] = None


class RequestPut(Given):
    """A change of a request."""

    request: RequestChange


class RequestList(Paged):
    """Which of your requests."""

    status: Annotated[str | None, Field(max_length=80, description="One or more statuses, separated by commas")] = None


class RequestSearch(Paged):
    """Your requests by words."""

    query: Annotated[str, Field(min_length=1, max_length=500)]


class RequestOut(Answered):
    """A ticket as its requester sees it."""

    id: int
    url: str
    subject: str | None
    description: str | None
    status: Literal["new", "open", "pending", "hold", "solved", "closed"]
    requester_id: int
    can_be_solved_by_me: bool
    custom_fields: list[dict[str, Any]]
    created_at: str
    updated_at: str


class RequestShown(Answered):
    """One request."""

    request: RequestOut


class RequestsOut(PageOut):
    """Some requests."""

    requests: list[RequestOut]


class RequestCommentsOut(PageOut):
    """What was said on a request, in public."""

    comments: list[CommentOut]
    users: list[dict[str, Any]]
