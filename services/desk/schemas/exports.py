"""Exports, settings and uploads."""

from typing import Annotated, Any

from pydantic import Field

from services.desk.schemas.base import Cursor, Epoch, Included, PageOut, ResponseBody, Short, envelope, extend
from services.desk.schemas.people import OrganizationOut, UserOut
from services.desk.schemas.tickets import TicketOut


class CursorQuery(Included):
    """From a time, or on from a cursor."""

    start_time: Annotated[Epoch | None, Field(description="Seconds since 1970, more than a minute ago")] = None
    cursor: Annotated[Cursor | None, Field(description="after_cursor of the last page, instead of start_time")] = None
    per_page: Annotated[int | None, Field(ge=1, le=1000)] = None


class TimeQuery(Included):
    """From a time."""

    start_time: Annotated[Epoch, Field(description="Seconds since 1970, more than a minute ago")]
    per_page: Annotated[int | None, Field(ge=1, le=1000)] = None


class CursorOut(ResponseBody):
    """Where a stream by cursor stands."""

    after_url: str | None
    after_cursor: str | None
    before_url: str | None
    before_cursor: str | None
    end_of_stream: bool


class ExportedTicket(TicketOut):  # type: ignore[valid-type, misc]  # made at import
    """A ticket with the time that start_time is compared with."""

    generated_timestamp: int


TicketStream = extend(
    CursorOut,
    "TicketStream",
    "Tickets in the order in which they last changed; deleted ones are among them.",
    tickets=ExportedTicket,
)
UserStream = extend(CursorOut, "UserStream", "Users in the order in which they last changed.", users=UserOut)


class TimeOut(ResponseBody):
    """Where a stream by time stands."""

    count: int
    end_time: int | None
    next_page: str | None
    end_of_stream: bool


TicketsSince = extend(TimeOut, "TicketsSince", "Tickets that changed since a time.", tickets=ExportedTicket)
UsersSince = extend(TimeOut, "UsersSince", "Users who changed since a time.", users=UserOut)
OrganizationsSince = extend(
    TimeOut, "OrganizationsSince", "Organizations that changed since a time.", organizations=OrganizationOut
)
EventsSince = extend(TimeOut, "EventsSince", "What happened to tickets since a time.", ticket_events=dict[str, Any])
MetricEventsSince = extend(
    TimeOut,
    "MetricEventsSince",
    "What the clocks of tickets did since a time: started, paused, met, missed.",
    ticket_metric_events=dict[str, Any],
)


class Settings(PageOut):
    """A list of settings, under the name of what was asked for."""


TicketFieldShown = envelope("TicketFieldShown", "One field of tickets.", ticket_field=dict[str, Any])


class UploadQuery(ResponseBody):
    """How the file is called."""

    filename: Annotated[Short, Field(min_length=1, description="Name of the file")]
    token: Annotated[Short | None, Field(description="Token of an upload that takes one more file")] = None


class UploadOut(ResponseBody):
    """An upload: its token goes into a comment's uploads."""

    token: str
    attachment: dict[str, Any]
    attachments: list[dict[str, Any]]


UploadShown = envelope("UploadShown", "An upload.", upload=UploadOut)
AttachmentShown = envelope("AttachmentShown", "One attachment.", attachment=dict[str, Any])
