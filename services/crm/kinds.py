"""The object types that every account has."""

from collections.abc import Iterable
from dataclasses import dataclass

_ENGAGEMENT_DEFAULTS = ("hs_createdate", "hs_lastmodifieddate", "hs_object_id")


@dataclass(frozen=True, slots=True)
class Kind:
    """One object type: its names, and what its records show and need."""

    name: str
    singular: str
    type_id: str
    label: str
    shown: tuple[str, ...]
    searched: tuple[str, ...]
    required: tuple[str, ...] = ()
    display: str = "hs_object_id"
    created: str = "hs_createdate"
    modified: str = "hs_lastmodifieddate"
    pipeline: tuple[str, str] | None = None
    mergeable: bool = False

    @property
    def path_id(self) -> str:
        """The vendor's name for the id in a path: contactId, lineItemId."""
        head, *tail = self.singular.split("_")
        return head + "".join(part.title() for part in tail) + "Id"


def _engagement(name: str, singular: str, type_id: str, label: str, searched: tuple[str, ...], *more: str) -> Kind:
    return Kind(
        name, singular, type_id, label, _ENGAGEMENT_DEFAULTS, searched, ("hs_timestamp", *more), display=searched[0]
    )


STANDARD: tuple[Kind, ...] = (
    Kind(
        name="contacts",
        singular="contact",
        type_id="0-1",
        label="Contact",
        shown=("createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"),
        searched=("firstname", "lastname", "email", "hs_additional_emails", "phone", "mobilephone", "company"),
        display="email",
        created="createdate",
        modified="lastmodifieddate",
        mergeable=True,
    ),
    Kind(
        name="companies",
        singular="company",
        type_id="0-2",
        label="Company",
        shown=("createdate", "domain", "hs_lastmodifieddate", "hs_object_id", "name"),
        searched=("name", "domain", "website", "phone"),
        display="name",
        created="createdate",
        mergeable=True,
    ),
    Kind(
        name="deals",
        singular="deal",
        type_id="0-3",
        label="Deal",
        shown=(
            "amount",
            "closedate",
            "createdate",
            "dealname",
            "dealstage",
            "hs_lastmodifieddate",
            "hs_object_id",
            "pipeline",
        ),
        searched=("dealname", "description", "dealtype"),
        required=("dealname", "dealstage", "pipeline"),
        display="dealname",
        created="createdate",
        pipeline=("pipeline", "dealstage"),
        mergeable=True,
    ),
    Kind(
        name="tickets",
        singular="ticket",
        type_id="0-5",
        label="Ticket",
        shown=(
            "content",
            "createdate",
            "hs_lastmodifieddate",
            "hs_object_id",
            "hs_pipeline",
            "hs_pipeline_stage",
            "hs_ticket_category",
            "hs_ticket_priority",
            "subject",
        ),
        searched=("subject", "content", "hs_ticket_category"),
        required=("subject", "hs_pipeline", "hs_pipeline_stage"),
        display="subject",
        created="createdate",
        pipeline=("hs_pipeline", "hs_pipeline_stage"),
        mergeable=True,
    ),
    Kind(
        name="leads",
        singular="lead",
        type_id="0-136",
        label="Lead",
        shown=("hs_createdate", "hs_lastmodifieddate", "hs_object_id"),
        searched=("hs_lead_name",),
        required=("hs_lead_name",),
        display="hs_lead_name",
        pipeline=("hs_pipeline", "hs_pipeline_stage"),
    ),
    _engagement("notes", "note", "0-46", "Note", ("hs_note_body",)),
    _engagement("tasks", "task", "0-27", "Task", ("hs_task_subject", "hs_task_body")),
    _engagement("calls", "call", "0-48", "Call", ("hs_call_title", "hs_call_body")),
    _engagement("meetings", "meeting", "0-47", "Meeting", ("hs_meeting_title", "hs_meeting_body")),
    _engagement("emails", "email", "0-49", "Email", ("hs_email_subject", "hs_email_text"), "hs_email_direction"),
    Kind(
        name="communications",
        singular="communication",
        type_id="0-18",
        label="Communication",
        shown=_ENGAGEMENT_DEFAULTS,
        searched=("hs_communication_body",),
        required=("hs_timestamp", "hs_communication_channel_type", "hs_communication_logged_from"),
        display="hs_communication_body",
    ),
    Kind(
        name="products",
        singular="product",
        type_id="0-7",
        label="Product",
        shown=("createdate", "description", "hs_lastmodifieddate", "hs_object_id", "name", "price"),
        searched=("name", "description", "hs_sku"),
        required=("name",),
        display="name",
        created="createdate",
    ),
    Kind(
        name="line_items",
        singular="line_item",
        type_id="0-8",
        label="Line item",
        shown=("amount", "createdate", "hs_lastmodifieddate", "hs_object_id", "hs_product_id", "quantity"),
        searched=("name", "description", "hs_sku"),
        display="name",
        created="createdate",
    ),
    Kind(
        name="quotes",
        singular="quote",
        type_id="0-14",
        label="Quote",
        shown=(
            "hs_createdate",
            "hs_expiration_date",
            "hs_lastmodifieddate",
            "hs_object_id",
            "hs_public_url_key",
            "hs_status",
            "hs_title",
        ),
        searched=("hs_title",),
        required=("hs_title", "hs_expiration_date"),
        display="hs_title",
    ),
)

BY_NAME: dict[str, Kind] = {
    alias: kind for kind in STANDARD for alias in (kind.name, kind.singular, kind.type_id, kind.name.replace("_", " "))
}
ENGAGEMENTS = ("notes", "tasks", "calls", "meetings", "emails", "communications")
_SEARCHED = {kind.name: kind.searched for kind in STANDARD}


def searchable_properties(kind: str, present: Iterable[str]) -> Iterable[str]:
    """Custom objects are searched in whatever they hold."""
    return _SEARCHED.get(kind) or sorted(present)
