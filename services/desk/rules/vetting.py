"""Whether a rule can be meant: its conditions and actions are ones that the desk knows."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.operations.records import Body
from services.desk.rules import actions as doing
from services.desk.rules.policies import METRICS
from services.desk.rules.wording import (
    CUSTOM,
    CUSTOM_OPERATORS,
    OPERATORS,
    ORDERED,
    PRIORITIES,
    TIMES,
    TYPES,
    Condition,
    Conditions,
)

_CHANGES = ("changed", "not_changed", "value", "not_value", "value_previous", "not_value_previous")
_EMPTY = (None, "", "-", "none")
# Of these a view must name one, or it would gather the whole desk.
_NARROWING = ("status", "type", "group_id", "assignee_id", "requester_id")
_OF_UPDATES = ("update_type", "comment_is_public", "comment_includes_word", "role", "current_via_id")
MOST_CONDITIONS = 100


def titled(title: Any) -> str:
    text = str(title or "").strip()
    if not text:
        raise RecordInvalid("title", "Title: cannot be blank", "BlankValue")
    return text


def conditions_of(given: Mapping[str, Any]) -> Body:
    """From `conditions: {all, any}` or from `all` and `any` beside the title: the vendor takes both."""
    inner = given.get("conditions") or {}
    told = {name: list(inner.get(name) or given.get(name) or []) for name in ("all", "any")}
    if len(told["all"]) + len(told["any"]) > MOST_CONDITIONS:
        raise RecordInvalid("base", f"Conditions: at most {MOST_CONDITIONS} are allowed", "TooManyValues")
    for one in (*told["all"], *told["any"]):
        _known(Condition(one["field"], one["operator"], one.get("value")))
    return Conditions.of(told).spelt()


def _known(one: Condition) -> None:
    allowed = CUSTOM_OPERATORS if _is_custom(one.field) else OPERATORS.get(one.field)
    if allowed is None:
        raise RecordInvalid("base", f"Conditions: {one.field} is not a field that rules know")
    if one.operator not in allowed:
        raise RecordInvalid("base", f"Conditions: {one.field} takes {', '.join(allowed)}, not {one.operator}")
    choices = {**ORDERED, "type": TYPES}.get(one.field)
    if choices is not None and not one.operator.endswith("changed") and one.value not in (*choices, *_EMPTY):
        raise RecordInvalid("base", f"Conditions: {one.field} is one of {', '.join(choices)}, not {one.value}")
    if one.field in TIMES and not _is_number(one.value):
        raise RecordInvalid("base", f"Conditions: {one.field} takes a number of hours")


def _is_custom(name: str) -> bool:
    key = name.removeprefix(CUSTOM)
    return name.startswith(CUSTOM) and key.isascii() and key.isdigit()


def _is_number(value: Any) -> bool:
    try:
        return 0 <= float(value) < 1e6
    except (TypeError, ValueError):
        return False


def of_view(conditions: Body) -> None:
    _refuse_updates(conditions, "View")
    if not any(one["field"] in _NARROWING for one in conditions["all"]):
        raise RecordInvalid("base", f"View: must have an all condition on one of {', '.join(_NARROWING)}")


def of_trigger(conditions: Body) -> None:
    if not conditions["all"] and not conditions["any"]:
        raise RecordInvalid("conditions", "Conditions: at least one is needed", "BlankValue")


def of_automation(conditions: Body, actions: Sequence[Body]) -> None:
    """The vendor's two rules: it waits for a time, and it does not do the same every hour for ever."""
    _refuse_updates(conditions, "Automation")
    if not any(one["field"] in TIMES for one in conditions["all"]):
        raise RecordInvalid("base", "Automation: must have an all condition on time, such as hours since pending")
    if not any(_ends(one, actions) for one in conditions["all"]):
        raise RecordInvalid("base", "Automation: an action must make one of its conditions false")


def _ends(one: Body, actions: Sequence[Body]) -> bool:
    if one["field"] in TIMES:
        return str(one["operator"]).startswith("is")
    fields = {action["field"] for action in actions}
    if one["field"] == "current_tags":
        return bool(fields & {"current_tags", "set_tags", "remove_tags"})
    return one["field"] in fields


def _refuse_updates(conditions: Body, kind: str) -> None:
    for one in (*conditions["all"], *conditions["any"]):
        if one["operator"] in _CHANGES or one["field"] in _OF_UPDATES:
            raise RecordInvalid("base", f"{kind}: {one['field']} {one['operator']} is about an update, not a ticket")


def actions_of(given: Sequence[Mapping[str, Any]] | None) -> list[Body]:
    told = [{"field": one["field"], "value": one.get("value")} for one in given or ()]
    if not told:
        raise RecordInvalid("actions", "Actions: at least one is needed", "BlankValue")
    for one in told:
        _doable(one)
    return told


def _doable(one: Body) -> None:
    name, value = one["field"], one["value"]
    if name not in doing.FIELDS and not _is_custom(name):
        raise RecordInvalid("actions", f"Actions: {name} is not something that rules do")
    choices = (doing.OFFERED,) if name == "satisfaction_score" else doing.CHOICES.get(name)
    if choices is not None and value not in choices:
        raise RecordInvalid("actions", f"Actions: {name} is one of {', '.join(choices)}, not {value}")


def metrics_of(given: Sequence[Mapping[str, Any]] | None) -> list[Body]:
    told = [
        {
            "priority": one.get("priority"),
            "metric": one.get("metric"),
            "target": one.get("target"),
            "business_hours": bool(one.get("business_hours")),
        }
        for one in given or ()
    ]
    seen: set[tuple[str, str]] = set()
    for one in told:
        place = (str(one["priority"]), str(one["metric"]))
        if one["priority"] not in PRIORITIES or one["metric"] not in METRICS:
            raise RecordInvalid("policy_metrics", f"Policy metrics: {' '.join(place)} is invalid")
        if not isinstance(one["target"], int) or not 1 <= one["target"] <= 10_000_000:
            raise RecordInvalid("policy_metrics", "Policy metrics: the target is a number of minutes above 0")
        if place in seen:
            raise RecordInvalid("policy_metrics", f"Policy metrics: {' '.join(place)} is given twice")
        seen.add(place)
    return told
