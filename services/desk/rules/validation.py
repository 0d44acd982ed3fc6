"""Refuses rules whose conditions or actions the desk does not know."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.indexing import PRIORITIES
from services.desk.rows.rules import ActionBody, ConditionBody, ConditionsBody, PolicyMetric
from services.desk.rules import actions as rule_actions
from services.desk.rules.sla_policies import METRICS
from services.desk.rules.vocabulary import (
    CHANGED,
    CUSTOM,
    CUSTOM_OPERATORS,
    OPERATORS,
    ORDERED,
    TIMES,
    TYPES,
    Condition,
    Conditions,
)

_EMPTY = (None, "", "-", "none")
# Of these a view must name one, or it would gather the whole desk.
_NARROWING = ("status", "type", "group_id", "assignee_id", "requester_id")
_OF_UPDATES = ("update_type", "comment_is_public", "comment_includes_word", "role", "current_via_id")
MOST_CONDITIONS = 100


def read_title(title: Any) -> str:
    text = str(title or "").strip()
    if not text:
        raise RecordInvalid("title", "Title: cannot be blank", "BlankValue")
    return text


def read_conditions(payload: Mapping[str, Any]) -> ConditionsBody:
    """Reads `conditions: {all, any}`, or `all` and `any` beside the title: the vendor takes both."""
    inner = payload.get("conditions") or {}
    lists = {name: list(inner.get(name) or payload.get(name) or []) for name in ("all", "any")}
    if len(lists["all"]) + len(lists["any"]) > MOST_CONDITIONS:
        raise RecordInvalid("base", f"Conditions: at most {MOST_CONDITIONS} are allowed", "TooManyValues")
    conditions = Conditions.from_body(lists)
    for condition in conditions:
        _require_known(condition)
    return conditions.to_body()


def _require_known(condition: Condition) -> None:
    name, value = condition.field, condition.value
    allowed = CUSTOM_OPERATORS if _is_custom(name) else OPERATORS.get(name)
    if allowed is None:
        raise RecordInvalid("base", f"Conditions: {name} is not a field that rules know")
    if condition.operator not in allowed:
        raise RecordInvalid("base", f"Conditions: {name} takes {', '.join(allowed)}, not {condition.operator}")
    choices = {**ORDERED, "type": TYPES}.get(name)
    if choices is not None and not condition.operator.endswith("changed") and value not in (*choices, *_EMPTY):
        raise RecordInvalid("base", f"Conditions: {name} is one of {', '.join(choices)}, not {value}")
    if name in TIMES and not _is_number(value):
        raise RecordInvalid("base", f"Conditions: {name} takes a number of hours")


def _is_custom(name: str) -> bool:
    key = name.removeprefix(CUSTOM)
    return name.startswith(CUSTOM) and key.isascii() and key.isdigit()


def _is_number(value: Any) -> bool:
    try:
        return 0 <= float(value) < 1e6
    except (TypeError, ValueError):
        return False


def require_view(conditions: ConditionsBody) -> None:
    _refuse_update_conditions(conditions, "View")
    if not any(condition["field"] in _NARROWING for condition in conditions["all"]):
        raise RecordInvalid("base", f"View: must have an all condition on one of {', '.join(_NARROWING)}")


def require_trigger(conditions: ConditionsBody) -> None:
    if not conditions["all"] and not conditions["any"]:
        raise RecordInvalid("conditions", "Conditions: at least one is needed", "BlankValue")


def require_automation(conditions: ConditionsBody, actions: Sequence[ActionBody]) -> None:
    """Refuses an automation without a condition on a time, or whose actions leave all its conditions true."""
    _refuse_update_conditions(conditions, "Automation")
    if not any(condition["field"] in TIMES for condition in conditions["all"]):
        raise RecordInvalid("base", "Automation: must have an all condition on time, such as hours since pending")
    if not any(_is_ended_by(condition, actions) for condition in conditions["all"]):
        raise RecordInvalid("base", "Automation: an action must make one of its conditions false")


def _is_ended_by(condition: ConditionBody, actions: Sequence[ActionBody]) -> bool:
    if condition["field"] in TIMES:
        return str(condition["operator"]).startswith("is")
    fields = {action["field"] for action in actions}
    if condition["field"] == "current_tags":
        return bool(fields & {"current_tags", "set_tags", "remove_tags"})
    return condition["field"] in fields


def _refuse_update_conditions(conditions: ConditionsBody, kind: str) -> None:
    for condition in (*conditions["all"], *conditions["any"]):
        name, operator = condition["field"], condition["operator"]
        if operator in CHANGED or name in _OF_UPDATES:
            raise RecordInvalid("base", f"{kind}: {name} {operator} is about an update, not a ticket")


def read_actions(payload: Sequence[Mapping[str, Any]] | None) -> list[ActionBody]:
    actions: list[ActionBody] = [{"field": action["field"], "value": action.get("value")} for action in payload or ()]
    if not actions:
        raise RecordInvalid("actions", "Actions: at least one is needed", "BlankValue")
    for action in actions:
        _require_known_action(action)
    return actions


def _require_known_action(action: ActionBody) -> None:
    name, value = action["field"], action["value"]
    if name not in rule_actions.FIELDS and not _is_custom(name):
        raise RecordInvalid("actions", f"Actions: {name} is not something that rules do")
    choices = (rule_actions.OFFERED,) if name == "satisfaction_score" else rule_actions.CHOICES.get(name)
    if choices is not None and value not in choices:
        raise RecordInvalid("actions", f"Actions: {name} is one of {', '.join(choices)}, not {value}")


def read_policy_metrics(payload: Sequence[Mapping[str, Any]] | None) -> list[PolicyMetric]:
    metrics: list[PolicyMetric] = []
    pairs: set[tuple[str, str]] = set()
    for item in payload or ():
        priority, metric, target = item.get("priority"), item.get("metric"), item.get("target")
        place = (str(priority), str(metric))
        if priority not in PRIORITIES or metric not in METRICS:
            raise RecordInvalid("policy_metrics", f"Policy metrics: {' '.join(place)} is invalid")
        if not isinstance(target, int) or not 1 <= target <= 10_000_000:
            raise RecordInvalid("policy_metrics", "Policy metrics: the target is a number of minutes above 0")
        if place in pairs:
            raise RecordInvalid("policy_metrics", f"Policy metrics: {' '.join(place)} is given twice")
        pairs.add(place)
        in_office = bool(item.get("business_hours"))
        metrics.append({"priority": priority, "metric": metric, "target": target, "business_hours": in_office})
    return metrics
