"""Conditions as rules write them, {field, operator, value}: which fields there are, and what can be asked of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STATUSES = ("new", "open", "pending", "hold", "solved", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
TYPES = ("problem", "incident", "question", "task")
SCORES = ("unoffered", "offered", "bad", "badwithcomment", "good", "goodwithcomment")
ORDERED: Mapping[str, tuple[str, ...]] = {"status": STATUSES, "priority": PRIORITIES}

# Hours since a ticket's status became this, or since something was done to it.
SINCE = {
    "NEW": "new_at",
    "OPEN": "open_at",
    "PENDING": "pending_at",
    "HOLD": "hold_at",
    "SOLVED": "solved_at",
    "CLOSED": "closed_at",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "assigned_at": "assigned_at",
    "requester_updated_at": "requester_updated_at",
    "assignee_updated_at": "assignee_updated_at",
    "due_date": "due_at",
    "sla_next_breach_at": "sla_breach_at",
}
UNTIL = {"until_due_date": "due_at", "until_sla_next_breach_at": "sla_breach_at"}
TIMES = (*SINCE, *UNTIL)
_TIMES = frozenset(TIMES)
COUNTS = ("reopens", "replies", "agent_stations", "group_stations", "number_of_incidents")

EQUAL = ("is", "is_not")
_COMPARED = (*EQUAL, "less_than", "greater_than")
MOVED = ("changed", "not_changed", "value", "not_value", "value_previous", "not_value_previous")
_WORDS = ("includes", "not_includes", "is", "is_not")
_HOURS = (*("is", "less_than", "greater_than"), *("is_business_hours", "less_than_business_hours"))
OPERATORS: Mapping[str, tuple[str, ...]] = {
    "status": (*_COMPARED, *MOVED),
    "priority": (*_COMPARED, *MOVED),
    **dict.fromkeys(("type", "group_id", "assignee_id", "brand_id", "ticket_form_id"), (*EQUAL, *MOVED)),
    **dict.fromkeys(("requester_id", "organization_id", "via_id", "current_via_id"), EQUAL),
    **dict.fromkeys(("role", "requester_role", "update_type", "comment_is_public", "in_business_hours"), EQUAL),
    "satisfaction_score": (*_COMPARED, *MOVED),
    "current_tags": ("includes", "not_includes"),
    **dict.fromkeys(("subject_includes_word", "description_includes_word", "comment_includes_word"), _WORDS),
    **dict.fromkeys(COUNTS, _COMPARED),
    **dict.fromkeys(TIMES, (*_HOURS, "greater_than_business_hours")),
}
CUSTOM = "custom_fields_"
CUSTOM_OPERATORS = (*EQUAL, "present", "not_present", "includes", "not_includes")


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must be so."""

    field: str
    operator: str
    value: Any = None

    @property
    def is_about_time(self) -> bool:
        return self.field in _TIMES

    def spelt(self) -> dict[str, Any]:
        return {"field": self.field, "operator": self.operator, "value": self.value}


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of some, and at least one of others where there are any."""

    every: tuple[Condition, ...] = ()
    some: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> "Conditions":
        return cls(_read(written.get("all")), _read(written.get("any")))

    def spelt(self) -> dict[str, Any]:
        return {"all": [one.spelt() for one in self.every], "any": [one.spelt() for one in self.some]}


def _read(written: Sequence[Mapping[str, Any]] | None) -> tuple[Condition, ...]:
    return tuple(Condition(one["field"], one["operator"], one.get("value")) for one in written or ())
