"""The object types that every account has. Custom types, which accounts define, are rows of `object_types`."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.crm.rows import ObjectTypeName

_ACTIVITY_DEFAULTS = ("hs_createdate", "hs_lastmodifieddate", "hs_object_id")


@dataclass(frozen=True, slots=True)
class ObjectType:
    """The names of an object type, and what its records show and need."""

    name: ObjectTypeName
    singular: str
    type_id: str
    label: str
    # Where the operations of routes/records.py are served for this type; custom types share one path.
    path: str
    # The properties that an answer carries if the request names none.
    default_properties: tuple[str, ...]
    # The properties in which a free-text query looks.
    searched_properties: tuple[str, ...]
    required_properties: tuple[str, ...] = ()
    display_property: str = "hs_object_id"
    created_property: str = "hs_createdate"
    modified_property: str = "hs_lastmodifieddate"
    # The properties that name the pipeline and the stage, for types that have pipelines.
    pipeline_properties: tuple[str, str] | None = None
    is_mergeable: bool = False

    @property
    def id_parameter(self) -> str:
        """The vendor's name for the id in a path: contactId, lineItemId."""
        head, *tail = self.singular.split("_")
        return head + "".join(part.title() for part in tail) + "Id"


def _activity(
    name: str, singular: str, type_id: str, label: str, path: str, searched: tuple[str, ...], *required: str
) -> ObjectType:
    return ObjectType(
        name=ObjectTypeName(name),
        singular=singular,
        type_id=type_id,
        label=label,
        path=path,
        default_properties=_ACTIVITY_DEFAULTS,
        searched_properties=searched,
        required_properties=("hs_timestamp", *required),
        display_property=searched[0],
    )


STANDARD: tuple[ObjectType, ...] = (
    ObjectType(
        name=ObjectTypeName("contacts"),
        singular="contact",
        type_id="0-1",
        label="Contact",
        path="/crm/v3/objects/contacts",
        default_properties=("createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"),
        searched_properties=(
            "firstname",
            "lastname",
            "email",
            "hs_additional_emails",
            "phone",
            "mobilephone",
            "company",
        ),
        display_property="email",
        created_property="createdate",
        modified_property="lastmodifieddate",
        is_mergeable=True,
    ),
    ObjectType(
        name=ObjectTypeName("companies"),
        singular="company",
        type_id="0-2",
        label="Company",
        path="/crm/v3/objects/companies",
        default_properties=("createdate", "domain", "hs_lastmodifieddate", "hs_object_id", "name"),
        searched_properties=("name", "domain", "website", "phone"),
        display_property="name",
        created_property="createdate",
        is_mergeable=True,
    ),
    ObjectType(
        name=ObjectTypeName("deals"),
        singular="deal",
        type_id="0-3",
        label="Deal",
        path="/crm/v3/objects/deals",
        default_properties=(
            "amount",
            "closedate",
            "createdate",
            "dealname",
            "dealstage",
            "hs_lastmodifieddate",
            "hs_object_id",
            "pipeline",
        ),
        searched_properties=("dealname", "description", "dealtype"),
        required_properties=("dealname", "dealstage", "pipeline"),
        display_property="dealname",
        created_property="createdate",
        pipeline_properties=("pipeline", "dealstage"),
        is_mergeable=True,
    ),
    ObjectType(
        name=ObjectTypeName("tickets"),
        singular="ticket",
        type_id="0-5",
        label="Ticket",
        path="/crm/v3/objects/tickets",
        default_properties=(
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
        searched_properties=("subject", "content", "hs_ticket_category"),
        required_properties=("subject", "hs_pipeline", "hs_pipeline_stage"),
        display_property="subject",
        created_property="createdate",
        pipeline_properties=("hs_pipeline", "hs_pipeline_stage"),
        is_mergeable=True,
    ),
    ObjectType(
        name=ObjectTypeName("leads"),
        singular="lead",
        type_id="0-136",
        label="Lead",
        path="/crm/v3/objects/leads",
        default_properties=("hs_createdate", "hs_lastmodifieddate", "hs_object_id"),
        searched_properties=("hs_lead_name",),
        required_properties=("hs_lead_name",),
        display_property="hs_lead_name",
        pipeline_properties=("hs_pipeline", "hs_pipeline_stage"),
    ),
    _activity("notes", "note", "0-46", "Note", "/crm/v3/objects/notes", ("hs_note_body",)),
    _activity("tasks", "task", "0-27", "Task", "/crm/v3/objects/tasks", ("hs_task_subject", "hs_task_body")),
    _activity("calls", "call", "0-48", "Call", "/crm/v3/objects/calls", ("hs_call_title", "hs_call_body")),
    _activity(
        "meetings", "meeting", "0-47", "Meeting", "/crm/v3/objects/meetings", ("hs_meeting_title", "hs_meeting_body")
    ),
    _activity(
        "emails",
        "email",
        "0-49",
        "Email",
        "/crm/v3/objects/emails",
        ("hs_email_subject", "hs_email_text"),
        "hs_email_direction",
    ),
    _activity(
        "communications",
        "communication",
        "0-18",
        "Communication",
        "/crm/v3/objects/communications",
        ("hs_communication_body",),
        "hs_communication_channel_type",
        "hs_communication_logged_from",
    ),
    ObjectType(
        name=ObjectTypeName("products"),
        singular="product",
        type_id="0-7",
        label="Product",
        path="/crm/v3/objects/products",
        default_properties=("createdate", "description", "hs_lastmodifieddate", "hs_object_id", "name", "price"),
        searched_properties=("name", "description", "hs_sku"),
        required_properties=("name",),
        display_property="name",
        created_property="createdate",
    ),
    ObjectType(
        name=ObjectTypeName("line_items"),
        singular="line_item",
        type_id="0-8",
        label="Line item",
        path="/crm/v3/objects/line_items",
        default_properties=("amount", "createdate", "hs_lastmodifieddate", "hs_object_id", "hs_product_id", "quantity"),
        searched_properties=("name", "description", "hs_sku"),
        display_property="name",
        created_property="createdate",
    ),
    ObjectType(
        name=ObjectTypeName("quotes"),
        singular="quote",
        type_id="0-14",
        label="Quote",
        path="/crm/v3/objects/quotes",
        default_properties=(
            "hs_createdate",
            "hs_expiration_date",
            "hs_lastmodifieddate",
            "hs_object_id",
            "hs_public_url_key",
            "hs_status",
            "hs_title",
        ),
        searched_properties=("hs_title",),
        required_properties=("hs_title", "hs_expiration_date"),
        display_property="hs_title",
    ),
)

BY_NAME: dict[str, ObjectType] = {
    alias: object_type
    for object_type in STANDARD
    for alias in (
        object_type.name,
        object_type.singular,
        object_type.type_id,
        object_type.name.replace("_", " "),
    )
}
ACTIVITIES = ("notes", "tasks", "calls", "meetings", "emails", "communications")
# Types whose records are numbered by themselves; all activities share one numbering, all other types another.
_NUMBERED = ("companies", "contacts", "deals", "leads")
_SEARCHED: dict[str, tuple[str, ...]] = {object_type.name: object_type.searched_properties for object_type in STANDARD}


def id_counter(object_type: str) -> str:
    """Returns the counter from which new records of this type take their ids."""
    if object_type in ACTIVITIES:
        return "activities"
    return object_type if object_type in _NUMBERED else "object"


def searchable_properties(object_type: ObjectTypeName, present: Iterable[str]) -> Iterable[str]:
    """Records of custom types are searched in all the properties that they have."""
    return _SEARCHED.get(object_type) or sorted(present)
