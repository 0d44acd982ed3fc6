"""Events, portal sessions and files."""

from typing import Any, Literal, TypedDict

from services.billing.rows import (
    CustomerId,
    EventId,
    FileId,
    PortalSessionId,
)


class EventData(TypedDict, total=False):
    """The object after an event, and what it was before."""

    object: dict[str, Any]
    previous_attributes: dict[str, Any]


class EventRequest(TypedDict):
    """The request that caused an event."""

    id: str | None
    idempotency_key: None


class EventBody(TypedDict, total=False):
    """Something that happened."""

    object: Literal["event"]
    api_version: str
    created: int
    data: EventData
    livemode: bool
    pending_webhooks: int
    request: EventRequest
    type: str
    id: EventId


class PortalSessionBody(TypedDict, total=False):
    """A link under which a customer manages billing."""

    object: Literal["billing_portal.session"]
    configuration: str
    created: int
    customer: CustomerId
    customer_account: None
    flow: dict[str, Any] | None
    livemode: bool
    locale: str | None
    on_behalf_of: None
    return_url: str | None
    url: str
    id: PortalSessionId


class FileBody(TypedDict, total=False):
    """An uploaded file; its content is not kept."""

    object: Literal["file"]
    created: int
    expires_at: None
    filename: str | None
    links: dict[str, Any]
    purpose: str
    size: int
    title: None
    type: str | None
    url: None
    id: FileId
