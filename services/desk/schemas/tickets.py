"""Tickets, comments and audits."""

from typing import Annotated, Any, Literal

from pydantic import Field

from services.desk.rows.tickets import Priority, Status, TicketBody, TicketType
from services.desk.schemas.base import (
    Id,
    Included,
    Long,
    Paged,
    RequestBody,
    ResponseBody,
    Short,
    Tags,
    Timestamp,
    envelope,
    page_of,
    record,
)


class CommentIn(RequestBody):
    """Something said on a ticket; public unless `public` is false."""

    body: Annotated[Long | None, Field(description="Plain text; HTML in it is stripped")] = None
    html_body: Annotated[Long | None, Field(description="HTML, instead of body")] = None
    public: Annotated[bool | None, Field(description="false makes an internal note that the requester never sees")] = (
        None
    )
    author_id: Annotated[Id | None, Field(description="A colleague in whose name it is said; yourself if left out")] = (
        None
    )
    uploads: Annotated[
        list[Short] | Short | None, Field(description="Tokens of uploads to attach; see desk.uploads.create")
    ] = None


class PersonIn(RequestBody):
    """Somebody by name and address."""

    name: Short | None = None
    email: Short | None = None


class CustomValueIn(RequestBody):
    """A value of a custom field."""

    id: Id
    value: Any = None


class CopyIn(RequestBody):
    """Somebody to put in copy, or to take out of it."""

    user_id: Id | None = None
    user_email: Short | None = None
    action: Literal["put", "delete"] | None = None


class TicketChange(RequestBody):
    """What of a ticket can change; what is left out stays."""

    subject: Annotated[Short | None, Field(description="What it is about, in one line")] = None
    comment: Annotated[CommentIn | None, Field(description="A reply, or a note if public is false")] = None
    status: Annotated[
        Status | None,
        Field(description="solved needs an assignee; closed is set by the system some days after solved"),
    ] = None
    priority: Annotated[Priority | None, Field(description="Cannot be unset once it is set")] = None
    type: Annotated[TicketType | None, Field(description="incident for a ticket with a problem_id")] = None
    assignee_id: Annotated[Id | None, Field(description="The agent who works on it; opens a new ticket")] = None
    assignee_email: Annotated[Short | None, Field(description="The agent by address instead of by id")] = None
    group_id: Annotated[Id | None, Field(description="The group that works on it")] = None
    requester_id: Annotated[Id | None, Field(description="Who asked for help")] = None
    requester: Annotated[
        PersonIn | Short | None, Field(description="The requester by name and email; made if not known yet")
    ] = None
    organization_id: Annotated[Id | None, Field(description="One of the requester's organizations")] = None
    tags: Annotated[Tags | None, Field(description="Replaces all tags")] = None
    custom_fields: Annotated[
        list[CustomValueIn] | None, Field(max_length=200, description="Values by field id; see desk.ticket_fields.list")
    ] = None
    external_id: Short | None = None
    problem_id: Annotated[Id | None, Field(description="The problem ticket that this incident belongs to")] = None
    due_at: Annotated[Timestamp | None, Field(description="When a task is due, such as 2026-11-20T12:00:00Z")] = None
    email_ccs: Annotated[list[CopyIn] | None, Field(max_length=48)] = None
    followers: Annotated[list[CopyIn] | None, Field(max_length=48)] = None
    collaborator_ids: Annotated[list[Id] | None, Field(max_length=48)] = None
    additional_collaborators: Annotated[list[PersonIn | Id | Short] | None, Field(max_length=48)] = None
    brand_id: Id | None = None
    ticket_form_id: Id | None = None
    custom_status_id: Id | None = None
    metadata: dict[str, Any] | None = None


class TicketIn(TicketChange):
    """A new ticket; it needs a comment, which becomes its description."""

    description: Annotated[Long | None, Field(description="The first comment, where none is given")] = None
    submitter_id: Id | None = None
    via_followup_source_id: Annotated[Id | None, Field(description="The closed ticket that this one follows up")] = None


class TicketUpdate(TicketChange):
    """A change of one ticket."""

    safe_update: Annotated[
        bool | None, Field(description="Refuse with 409 if the ticket was changed since updated_stamp")
    ] = None
    updated_stamp: Annotated[Timestamp | None, Field(description="updated_at of the ticket as you read it")] = None
    additional_tags: Annotated[Tags | None, Field(description="Tags to add")] = None
    remove_tags: Annotated[Tags | None, Field(description="Tags to take off")] = None


class TicketCreate(RequestBody):
    """A new ticket."""

    ticket: TicketIn


class TicketPut(RequestBody):
    """A change of a ticket."""

    ticket: TicketUpdate


class TicketList(Paged):
    """Which tickets."""

    external_id: Annotated[Short | None, Field(description="Only tickets with this external id")] = None


class TicketMany(Included):
    """Tickets by their ids."""

    ids: Annotated[str, Field(max_length=2000, description="Up to 100 ids, separated by commas")]


TicketOut = record(
    "TicketOut",
    "A ticket.",
    TicketBody,
    "subject description status priority type requester_id submitter_id assignee_id group_id organization_id "
    "problem_id tags custom_fields via satisfaction_rating followup_ids",
    status=Status | Literal["deleted"],
    custom_fields=list[dict[str, Any]],
)


class CommentOut(ResponseBody):
    """Something said on a ticket."""

    id: int
    author_id: int
    body: str
    html_body: str
    plain_body: str
    public: bool
    attachments: list[dict[str, Any]]
    audit_id: int
    created_at: str


class AuditOut(ResponseBody):
    """What was said and changed at one time."""

    id: int
    ticket_id: int
    author_id: int
    created_at: str
    via: dict[str, Any]
    metadata: dict[str, Any]
    events: list[dict[str, Any]]


TicketShown = envelope("TicketShown", "One ticket, with what was asked to be sent along.", ticket=TicketOut)


TicketWritten = envelope(
    "TicketWritten",
    "A ticket as it stands now, and the audit of this change.",
    ticket=TicketOut,
    audit=AuditOut | None,
)


TicketsOut = page_of("TicketsOut", "Some tickets.", tickets=TicketOut)
CommentsOut = page_of("CommentsOut", "Some comments.", comments=CommentOut)
AuditsOut = page_of("AuditsOut", "Some audits.", audits=AuditOut)


class CreateQuery(RequestBody):
    """How to create."""

    asynchronous: Annotated[
        bool | None, Field(alias="async", description="true answers 202 with a job instead of the ticket")
    ] = None


class RedactIn(RequestBody):
    """What to black out."""

    text: Annotated[str, Field(min_length=1, max_length=10_000, description="The exact words to black out for good")]


CommentShown = envelope("CommentShown", "One comment.", comment=CommentOut)
AuditShown = envelope("AuditShown", "One audit.", audit=AuditOut)


class TagsIn(RequestBody):
    """Tags."""

    tags: Tags


TagsOut = envelope("TagsOut", "The tags that a ticket has now.", tags=list[str])


class CountOut(ResponseBody):
    """How many, and when it was counted."""

    value: int
    refreshed_at: str | None


Counted = envelope("Counted", "How many there are.", count=CountOut)


class MetricOut(ResponseBody):
    """A ticket's measures: replies, reopens, waiting times."""

    ticket_id: int
    reopens: int
    replies: int
    assignee_stations: int
    group_stations: int
    solved_at: str | None


MetricShown = envelope("MetricShown", "One ticket's measures.", ticket_metric=MetricOut)
MetricsOut = page_of("MetricsOut", "Measures of some tickets.", ticket_metrics=MetricOut)


class RelatedOut(ResponseBody):
    """What hangs on a ticket."""

    incidents: int
    followup_source_ids: list[int]
    topic_id: int | None
    jira_issue_ids: list[str]
    from_archive: bool


RelatedShown = envelope("RelatedShown", "What hangs on a ticket.", ticket_related=RelatedOut)


class Empty(ResponseBody):
    """Nothing to say."""
