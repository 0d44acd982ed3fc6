"""Tickets and what belongs to them: comments, audits, files, jobs, targets, ratings."""

from typing import Any, Literal, NotRequired, TypedDict

from services.desk.rows import (
    AttachmentId,
    AuditId,
    BrandId,
    CustomStatusId,
    DeskRow,
    EventId,
    GroupId,
    JobId,
    MetricEventId,
    OrganizationId,
    RatingId,
    SlaPolicyId,
    SlaTargetId,
    TicketFormId,
    TicketId,
    UploadToken,
    UserId,
)

Status = Literal["new", "open", "pending", "hold", "solved", "closed"]
Priority = Literal["low", "normal", "high", "urgent"]
TicketType = Literal["problem", "incident", "question", "task"]
Stage = Literal["active", "paused", "achieved", "idle"]
Metric = Literal[
    "agent_work_time",
    "first_reply_time",
    "next_reply_time",
    "pausable_update_time",
    "periodic_update_time",
    "requester_wait_time",
    "total_resolution_time",
]
# Values of custom fields by the field's id; text, numbers as text, truth values or lists of options.
CustomFields = dict[str, Any]
# By the functional form, since `from` is a keyword.
ViaSource = TypedDict("ViaSource", {"from": dict[str, Any], "to": dict[str, Any], "rel": str | None})


class Via(TypedDict):
    """The channel through which something came."""

    channel: str
    source: ViaSource


class TicketRating(TypedDict):
    """The satisfaction rating as the ticket repeats it."""

    score: str
    id: NotRequired[RatingId]
    comment: NotRequired[str]


class TicketMetrics(TypedDict):
    """Counts and times of one ticket."""

    reopens: int
    replies: int
    assignee_stations: int
    group_stations: int
    assigned_at: int | None
    initially_assigned_at: int | None
    assignee_updated_at: int | None
    requester_updated_at: int | None
    status_updated_at: int
    latest_comment_added_at: int | None
    first_reply_at: int | None
    first_solved_at: int | None
    solved_at: int | None
    requester_wait_ms: int
    agent_wait_ms: int
    on_hold_ms: int


class TicketBody(TypedDict):
    """A ticket."""

    external_id: str | None
    via: Via
    type: TicketType | None
    subject: str | None
    description: str | None
    priority: Priority | None
    status: Status
    recipient: str | None
    requester_id: UserId
    submitter_id: UserId | None
    assignee_id: UserId | None
    organization_id: OrganizationId | None
    group_id: GroupId | None
    collaborator_ids: list[UserId]
    follower_ids: list[UserId]
    email_cc_ids: list[UserId]
    forum_topic_id: None
    problem_id: TicketId | None
    is_public: bool
    due_at: int | None
    tags: list[str]
    custom_fields: CustomFields
    satisfaction_rating: TicketRating
    sharing_agreement_ids: list[int]
    custom_status_id: CustomStatusId | None
    followup_ids: list[TicketId]
    followup_source_id: TicketId | None
    ticket_form_id: TicketFormId | None
    brand_id: BrandId | None
    allow_channelback: bool
    allow_attachments: bool
    from_messaging_channel: bool
    deleted_at: int | None
    deleted_by: UserId | None
    metrics: TicketMetrics
    _merged_into: NotRequired[TicketId]
    # The hour at which each automation last ran on it, by the automation's id.
    _automated: NotRequired[dict[str, int]]


class TicketChanges(TypedDict, total=False):
    """The fields of a ticket that a change sets; a test compares them with `TicketBody`."""

    external_id: str | None
    type: TicketType | None
    subject: str | None
    description: str | None
    priority: Priority | None
    status: Status
    recipient: str | None
    requester_id: UserId
    assignee_id: UserId | None
    organization_id: OrganizationId | None
    group_id: GroupId | None
    collaborator_ids: list[UserId]
    follower_ids: list[UserId]
    email_cc_ids: list[UserId]
    problem_id: TicketId | None
    is_public: bool
    due_at: int | None
    tags: list[str]
    custom_fields: CustomFields
    satisfaction_rating: TicketRating
    custom_status_id: CustomStatusId | None
    ticket_form_id: TicketFormId | None
    brand_id: BrandId | None
    deleted_at: int | None
    deleted_by: UserId | None
    _merged_into: TicketId


class CommentDraft(TypedDict):
    """A comment before it is written."""

    body: str
    html_body: str
    plain_body: str
    public: bool
    attachments: NotRequired[list[AttachmentId]]
    author_id: NotRequired[UserId]


class SystemMetadata(TypedDict, total=False):
    """Where a change was made from."""

    client: str
    ip_address: str
    location: str


class Metadata(TypedDict):
    """What a client or the desk notes about a change."""

    system: SystemMetadata
    custom: dict[str, Any]


class CommentBody(TypedDict):
    """A public reply or an internal note."""

    type: Literal["Comment"]
    ticket_id: TicketId
    author_id: UserId
    body: str
    html_body: str
    plain_body: str
    public: bool
    attachments: list[AttachmentId]
    audit_id: AuditId
    via: Via
    metadata: Metadata


class CommentEvent(TypedDict):
    """A comment was added; its text stays in the comment, so that a redaction reaches every place."""

    id: EventId
    type: Literal["Comment"]
    via: NotRequired[Via]


class CreateEvent(TypedDict):
    """A field of a new ticket was set."""

    id: EventId
    type: Literal["Create"]
    field_name: str
    value: Any


class ChangeEvent(TypedDict):
    """A field changed."""

    id: EventId
    type: Literal["Change"]
    field_name: str
    value: Any
    previous_value: Any
    via: NotRequired[Via]


class NotificationEvent(TypedDict):
    """A rule sent a message to people; the audit gives it its id."""

    id: NotRequired[EventId]
    type: Literal["Notification"]
    subject: str
    body: str
    recipients: list[UserId]
    via: NotRequired[Via]


class ExternalEvent(TypedDict):
    """A rule called a target or a webhook; the audit gives it its id."""

    id: NotRequired[EventId]
    type: Literal["External"]
    resource: str
    body: str
    via: NotRequired[Via]


SentEvent = NotificationEvent | ExternalEvent
AuditEvent = CommentEvent | CreateEvent | ChangeEvent | NotificationEvent | ExternalEvent


class AuditBody(TypedDict):
    """What was said and changed at one time."""

    ticket_id: TicketId
    author_id: UserId
    via: Via
    metadata: Metadata
    events: list[AuditEvent]


class AttachmentBody(TypedDict):
    """A file; its content is kept in base64."""

    file_name: str
    content_type: str
    size: int
    inline: bool
    deleted: bool
    _content: str


class UploadBody(TypedDict):
    """Files that wait under a token until a comment takes them along."""

    attachment_ids: list[AttachmentId]
    used: bool


JobKind = Literal["update", "create", "delete", "merge"]


class JobEntry(TypedDict):
    """One ticket of a job."""

    id: NotRequired[TicketId]
    # The fields of the request.
    given: NotRequired[dict[str, Any]]
    # `updated_at` of the ticket when the job was accepted.
    seen_at: NotRequired[int | None]


class JobResult(TypedDict):
    """What became of one ticket of a job."""

    index: NotRequired[int]
    success: bool
    id: NotRequired[TicketId]
    action: NotRequired[Literal["update", "create", "delete", "merge"]]
    status: NotRequired[Literal["Updated", "Created", "Deleted", "Merged", "Failed"]]
    account_id: NotRequired[int]
    error: NotRequired[str]
    details: NotRequired[str]


class JobStatusBody(TypedDict):
    """A job: one change of many tickets."""

    job_type: str
    total: int
    progress: int | None
    status: Literal["queued", "completed"]
    message: str | None
    results: list[JobResult] | None
    due_at: int | None
    _kind: JobKind
    _entries: list[JobEntry]
    _author_id: UserId
    _by_agent: bool


class Sender(TypedDict):
    """Who sent a suspended message."""

    id: NotRequired[UserId | None]
    name: NotRequired[str | None]
    email: NotRequired[str | None]


class SuspendedTicketBody(TypedDict):
    """A message that the spam filter stopped."""

    author: Sender
    subject: str | None
    content: str | None
    cause: str
    cause_id: int
    message_id: str
    recipient: str
    ticket_id: TicketId | None
    brand_id: BrandId
    via: Via
    error_messages: None
    attachments: list[AttachmentId]


class SlaTargetBody(TypedDict):
    """One metric of one ticket under a service level policy."""

    ticket_id: TicketId
    policy_id: SlaPolicyId | None
    metric: Metric
    instance_id: int
    stage: Stage
    target_minutes: int | None
    business_hours: bool | None
    started_at: int
    running_since_at: int | None
    elapsed_ms: int
    breached_at: int | None
    due_at: int | None


MetricEventType = Literal["activate", "pause", "fulfill", "apply_sla", "breach", "update_status"]


class PolicySummary(TypedDict):
    """A policy of service levels, in short."""

    id: int
    title: str
    description: str | None


class AppliedSla(TypedDict):
    """The target that a policy set, in minutes."""

    target: int
    business_hours: bool
    policy: PolicySummary


class MetricEventBody(TypedDict):
    """A step of a target's clock."""

    ticket_id: TicketId
    metric: str
    instance_id: int
    type: MetricEventType
    time_at: int
    sla: NotRequired[AppliedSla]


class RatingBody(TypedDict):
    """A satisfaction rating."""

    ticket_id: TicketId
    requester_id: UserId
    assignee_id: UserId | None
    group_id: GroupId | None
    score: str
    comment: str | None
    reason: None
    reason_id: None


TicketRow = DeskRow[TicketId, TicketBody]
CommentRow = DeskRow[EventId, CommentBody]
AuditRow = DeskRow[AuditId, AuditBody]
AttachmentRow = DeskRow[AttachmentId, AttachmentBody]
UploadRow = DeskRow[UploadToken, UploadBody]
JobStatusRow = DeskRow[JobId, JobStatusBody]
SlaTargetRow = DeskRow[SlaTargetId, SlaTargetBody]
MetricEventRow = DeskRow[MetricEventId, MetricEventBody]
RatingRow = DeskRow[RatingId, RatingBody]
