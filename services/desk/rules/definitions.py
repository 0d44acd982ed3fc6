"""The conditions and actions that rules know, for clients that write rules."""

from typing import Any

from services.desk.rules.actions import CHOICES, FIELDS
from services.desk.rules.sla_policies import METRICS
from services.desk.rules.vocabulary import COUNTS, OPERATORS, ORDERED, SCORES, TIMES, TYPES

_TITLES = {
    "is": "Is",
    "is_not": "Is not",
    "less_than": "Less than",
    "greater_than": "Greater than",
    "value": "Changed to",
    "value_previous": "Changed from",
    "not_value": "Not changed to",
    "not_value_previous": "Not changed from",
    "changed": "Changed",
    "not_changed": "Not changed",
    "includes": "Contains at least one of the following",
    "not_includes": "Contains none of the following",
}
_VALUES: dict[str, tuple[str, ...]] = {
    **ORDERED,
    "type": TYPES,
    "satisfaction_score": SCORES,
    "update_type": ("Create", "Change"),
    "comment_is_public": ("true", "false", "not_relevant", "requester_can_see_comment"),
    "role": ("agent", "admin", "end_user"),
}
_WITHOUT_VALUE = ("changed", "not_changed", "present", "not_present")


def describe_rules() -> dict[str, Any]:
    conditions = [_describe_condition(name) for name in OPERATORS]
    return {
        "conditions_all": conditions,
        "conditions_any": conditions,
        "actions": [_describe_action(name) for name in FIELDS],
    }


def describe_policies() -> dict[str, Any]:
    """Describes the filters and the metrics of service level policies."""
    conditions = [_describe_condition(name) for name in OPERATORS if name not in (*TIMES, *COUNTS)]
    metrics = [{"value": name, "title": _title(name)} for name in METRICS]
    return {"all": conditions, "any": conditions, "metrics": metrics}


def _describe_condition(name: str) -> dict[str, Any]:
    description: dict[str, Any] = {
        "title": _title(name),
        "subject": name,
        "type": "list" if name in _VALUES else "text",
        "group": "ticket",
        "nullable": False,
        "repeatable": name == "current_tags",
        "operators": [_describe_operator(operator) for operator in OPERATORS[name]],
    }
    return {**description, "values": _options(_VALUES[name])} if name in _VALUES else description


def _describe_operator(name: str) -> dict[str, Any]:
    title = _TITLES.get(name) or _title(name)
    return {"value": name, "title": title, "terminal": name in _WITHOUT_VALUE}


def _describe_action(name: str) -> dict[str, Any]:
    description: dict[str, Any] = {
        "title": _title(name),
        "subject": name,
        "type": "list" if name in CHOICES else "text",
        "group": "ticket",
        "nullable": name in ("assignee_id", "group_id"),
        "repeatable": name.startswith("notification"),
    }
    return {**description, "values": _options(CHOICES[name])} if name in CHOICES else description


def _options(values: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{"value": value, "title": _title(value), "enabled": True} for value in values]


def _title(name: str) -> str:
    words = name.removesuffix("_id").replace("_", " ")
    return f"Hours since {words}" if name in TIMES and name.isupper() else words.capitalize()
