"""Types of the desk's rows: the shape that every row has, and the ids of its tables.

Bodies are in the modules beside it, by noun; all of it costs nothing at run time.
"""

from collections.abc import Mapping
from typing import Any, Generic, NewType, TypedDict, TypeVar

from services.kernel.statements import Key

KeyT = TypeVar("KeyT", bound=Key)
BodyT = TypeVar("BodyT", bound=Mapping[str, Any])


class DeskRow(TypedDict, Generic[KeyT, BodyT]):
    """One row: `body` is the object in the vendor's own names, times are milliseconds."""

    id: KeyT
    created_at: int
    updated_at: int
    body: BodyT


# A row of any table, for code that only passes it on or renders it.
AnyRow = DeskRow[Any, Any]

TicketId = NewType("TicketId", int)
# Comments and the events of audits share one counter.
EventId = NewType("EventId", int)
AuditId = NewType("AuditId", int)
AttachmentId = NewType("AttachmentId", int)
UploadToken = NewType("UploadToken", str)
JobId = NewType("JobId", str)
SuspendedTicketId = NewType("SuspendedTicketId", int)
SlaTargetId = NewType("SlaTargetId", int)
MetricEventId = NewType("MetricEventId", int)
RatingId = NewType("RatingId", int)

UserId = NewType("UserId", int)
IdentityId = NewType("IdentityId", int)
OrganizationId = NewType("OrganizationId", int)
OrganizationMembershipId = NewType("OrganizationMembershipId", int)
GroupId = NewType("GroupId", int)
GroupMembershipId = NewType("GroupMembershipId", int)

ViewId = NewType("ViewId", int)
MacroId = NewType("MacroId", int)
TriggerId = NewType("TriggerId", int)
AutomationId = NewType("AutomationId", int)
SlaPolicyId = NewType("SlaPolicyId", int)

TicketFieldId = NewType("TicketFieldId", int)
TicketFormId = NewType("TicketFormId", int)
CustomStatusId = NewType("CustomStatusId", int)
UserFieldId = NewType("UserFieldId", int)
OrganizationFieldId = NewType("OrganizationFieldId", int)
BrandId = NewType("BrandId", int)
CategoryId = NewType("CategoryId", int)
SectionId = NewType("SectionId", int)
ArticleId = NewType("ArticleId", int)
AccountId = NewType("AccountId", str)
