"""Conditions as rules write them, {field, operator, value}: the fields there are, and the operators of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.desk.indexing import PRIORITIES, STATUSES
from services.desk.rows.rules import ConditionBody, ConditionsBody
from services.desk.rows.tickets import TicketType

TYPES: tuple[TicketType, ...] = ("problem", "incident", "question", "task")
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
CHANGED = ("changed", "not_changed", "value", "not_value", "value_previous", "not_value_previous")
_WORDS = ("includes", "not_includes", "is", "is_not")
_HOURS = (*("is", "less_than", "greater_than"), *("is_business_hours", "less_than_business_hours"))
OPERATORS: Mapping[str, tuple[str, ...]] = {
    "status": (*_COMPARED, *CHANGED),
    "priority": (*_COMPARED, *CHANGED),
    **dict.fromkeys(("type", "group_id", "assignee_id", "brand_id", "ticket_form_id"), (*EQUAL, *CHANGED)),
    **dict.fromkeys(("requester_id", "organization_id", "via_id", "current_via_id"), EQUAL),
    **dict.fromkeys(("role", "requester_role", "update_type", "comment_is_public", "in_business_hours"), EQUAL),
    "satisfaction_score": (*_COMPARED, *CHANGED),
    "current_tags": ("includes", "not_includes"),
    **dict.fromkeys(("subject_includes_word", "description_includes_word", "comment_includes_word"), _WORDS),
    **dict.fromkeys(COUNTS, _COMPARED),
    **dict.fromkeys(TIMES, (*_HOURS, "greater_than_business_hours")),
}
CUSTOM = "custom_fields_"
CUSTOM_OPERATORS = (*EQUAL, "present", "not_present", "includes", "not_includes")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a ticket."""

    field: str
    operator: str
    value: Any = None

    @property
    def is_about_time(self) -> bool:
        return self.field in _TIMES

    def to_body(self) -> ConditionBody:
        return {"field": self.field, "operator": self.operator, "value": self.value}


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of some, and at least one of others where there are any."""

    required: tuple[Condition, ...] = ()
    alternatives: tuple[Condition, ...] = ()

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Conditions":
        """Reads {all, any}, each of which may be missing."""
        return cls(_read_list(body.get("all")), _read_list(body.get("any")))

    def to_body(self) -> ConditionsBody:
        return {
            "all": [condition.to_body() for condition in self.required],
            "any": [condition.to_body() for condition in self.alternatives],
        }

    def __iter__(self) -> Iterator[Condition]:
        yield from self.required
        yield from self.alternatives

    def __bool__(self) -> bool:
        return bool(self.required or self.alternatives)


def _read_list(conditions: Sequence[Mapping[str, Any]] | None) -> tuple[Condition, ...]:
    return tuple(
        Condition(condition["field"], condition["operator"], condition.get("value")) for condition in conditions or ()
    )
