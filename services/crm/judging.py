"""What the judge knows of the CRM."""

from services.kernel.judging import Judging, RowImage

_ACTIVITIES = frozenset({"calls", "communications", "emails", "meetings", "notes", "postal_mail", "tasks"})
_CREATION_DATES = ("createdate", "hs_createdate")


def _is_timeline_entry(_table: str, row: RowImage) -> bool:
    return row.get("kind") in _ACTIVITIES


judging = Judging(
    maintained_fields=("version", "*updated_at"),
    # An archived record keeps its associations, and nobody sees them any more.
    ties={"associations": ("objects", ("from_id", "to_id"))},
    definition_tables=frozenset({"object_types", "property_definitions", "property_groups"}),
    is_timeline_entry=_is_timeline_entry,
    protected_dates=frozenset({"closed_date", "closedate", *_CREATION_DATES}),
    values_column="properties",
    read_paths=("/search", "/batch/read"),
    reserved_names=("created_at", "createdat", *_CREATION_DATES, "lastmodifieddate", "hs_lastmodifieddate"),
    hidden_fields=(r"\bhs_hidden\w*\b", r"properties=\*"),
)
