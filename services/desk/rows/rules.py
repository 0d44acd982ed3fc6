"""Views, macros, triggers, automations and service level policies."""

from typing import Any, NotRequired, TypedDict

from services.desk.rows import DeskRow, SlaPolicyId, ViewId
from services.desk.rows.tickets import Metric, Priority


class ConditionBody(TypedDict):
    """One condition, such as status less_than solved."""

    field: str
    operator: str
    value: Any


class ConditionsBody(TypedDict):
    """All of some, and at least one of others where there are any."""

    all: list[ConditionBody]
    any: list[ConditionBody]


class ActionBody(TypedDict):
    """One action, such as status solved."""

    field: str
    value: Any


class RuleFields(TypedDict):
    """What views, macros, triggers and automations have before their title is known."""

    description: str | None
    active: bool
    position: int
    default: bool
    restriction: NotRequired[None]
    category_id: NotRequired[str]


class RuleBody(RuleFields):
    """What views, macros, triggers and automations share."""

    title: str
    raw_title: str


class ViewOutput(TypedDict):
    """How a view is laid out."""

    columns: list[str]
    sort_by: str
    sort_order: str
    group_by: str | None
    group_order: str


class ViewDefinition(TypedDict):
    """The part of a view that decides what it shows; a preview has no more."""

    conditions: ConditionsBody
    output: ViewOutput


class ViewBody(RuleBody):
    """A saved list of tickets."""

    conditions: ConditionsBody
    output: ViewOutput


class MacroBody(RuleBody):
    """A prepared reply with prepared changes."""

    actions: list[ActionBody]


class TriggerBody(RuleBody):
    """A rule that runs after every change of a ticket, or every hour as an automation."""

    conditions: ConditionsBody
    actions: list[ActionBody]


AutomationBody = TriggerBody


class PolicyMetric(TypedDict):
    """So many minutes for one metric of tickets of one priority."""

    priority: Priority
    metric: Metric
    target: int
    business_hours: bool


class SlaPolicyFields(TypedDict):
    """What a policy has before its title is known."""

    description: str | None
    position: int


class SlaPolicyBody(SlaPolicyFields):
    """What is promised to the tickets that the filter lets in."""

    title: str
    filter: ConditionsBody
    policy_metrics: list[PolicyMetric]


ViewRow = DeskRow[ViewId, ViewBody]
SlaPolicyRow = DeskRow[SlaPolicyId, SlaPolicyBody]
