"""Views, macros, triggers, automations: conditions, actions and what they look like."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from services.desk.schemas.base import Id, Paged, PageOut, RequestBody, ResponseBody, Short, envelope, page_of

Text = Annotated[str, StringConstraints(max_length=20_000)]
Value = Text | bool | int | float | list[Text | int] | None
Name = Annotated[str, StringConstraints(min_length=1, max_length=80)]


class ConditionIn(RequestBody):
    """One condition, such as {"field": "status", "operator": "less_than", "value": "solved"}."""

    field: Annotated[
        Name,
        Field(
            description="status, priority, type, group_id, assignee_id, requester_id, organization_id, current_tags, "
            "subject_includes_word, created_at, PENDING, SOLVED … see desk.triggers.definitions"
        ),
    ]
    operator: Annotated[
        Name, Field(description="is, is_not, less_than, greater_than, includes, not_includes, changed …")
    ]
    value: Annotated[
        Value, Field(description="What to compare with; hours for times, current_user for whoever looks or acts")
    ] = None


class ActionIn(RequestBody):
    """One action, such as {"field": "status", "value": "solved"}."""

    field: Annotated[
        Name,
        Field(
            description="status, priority, type, group_id, assignee_id, set_tags, current_tags (add), remove_tags, "
            "comment_value, comment_mode_is_public, notification_user, notification_group, custom_fields_<id>"
        ),
    ]
    value: Annotated[Value, Field(description="The new value; for notifications [recipient, subject, body]")] = None


Conditions = Annotated[list[ConditionIn], Field(max_length=100)]


class ConditionsIn(RequestBody):
    """All of some, and at least one of others."""

    all: Annotated[Conditions | None, Field(description="Every one of these must hold")] = None
    any: Annotated[Conditions | None, Field(description="At least one of these must hold, if there are any")] = None


class RuleIn(RequestBody):
    """What every rule has."""

    title: Short | None = None
    description: Text | None = None
    active: Annotated[bool | None, Field(description="Whether it is in use")] = None
    position: Annotated[int | None, Field(ge=0, le=1_000_000)] = None


class OutputIn(RequestBody):
    """How a view is laid out."""

    columns: Annotated[list[Short] | None, Field(max_length=50, description="Such as status, subject, requester")] = (
        None
    )
    group_by: Short | None = None
    group_order: Literal["asc", "desc"] | None = None
    sort_by: Short | None = None
    sort_order: Literal["asc", "desc"] | None = None


class ViewIn(RuleIn):
    """A view: a list of tickets that keeps itself up to date."""

    all: Annotated[Conditions | None, Field(description="Every one of these must hold")] = None
    any: Annotated[Conditions | None, Field(description="At least one of these must hold, if there are any")] = None
    conditions: ConditionsIn | None = None
    output: Annotated[OutputIn | None, Field(description="Columns, grouping and order")] = None


class ViewBody(RequestBody):
    """A view to be made, changed or looked at."""

    view: ViewIn


class MacroIn(RuleIn):
    """A macro: prepared changes and a prepared reply."""

    actions: Annotated[list[ActionIn] | None, Field(max_length=100)] = None


class MacroBody(RequestBody):
    """A macro to be made or changed."""

    macro: MacroIn


class TriggerIn(MacroIn):
    """A rule with conditions and actions."""

    all: Annotated[Conditions | None, Field(description="Every one of these must hold")] = None
    any: Annotated[Conditions | None, Field(description="At least one of these must hold, if there are any")] = None
    conditions: ConditionsIn | None = None
    category_id: Short | None = None


class TriggerBody(RequestBody):
    """A trigger to be made or changed."""

    trigger: TriggerIn


class AutomationBody(RequestBody):
    """An automation to be made or changed."""

    automation: TriggerIn


class TriggerOrder(RequestBody):
    """Triggers in the order in which they are to run."""

    trigger_ids: Annotated[list[Id], Field(min_length=1, max_length=500)]


class RuleList(Paged):
    """Which rules."""

    active: Annotated[bool | None, Field(description="Only those that are, or are not, in use")] = None


class RuleSearch(RuleList):
    """Rules by words of their title."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=200), Field(description="Part of the title")]


class ConditionOut(ResponseBody):
    """One condition."""

    field: str
    operator: str
    value: Any = None


class ConditionsOut(ResponseBody):
    """All of some, and at least one of others."""

    all: list[ConditionOut]
    any: list[ConditionOut]


class ActionOut(ResponseBody):
    """One action."""

    field: str
    value: Any = None


class RuleOut(ResponseBody):
    """What every rule shows."""

    id: int
    url: str
    title: str
    raw_title: str
    description: str | None
    active: bool
    position: int
    created_at: str
    updated_at: str


class ColumnOut(ResponseBody):
    """One column of a view."""

    id: str
    title: str


class ExecutionOut(ResponseBody):
    """How a view is laid out."""

    columns: list[ColumnOut]
    sort_by: str | None
    sort_order: str | None
    group_by: str | None
    group_order: str | None


class ViewOut(RuleOut):
    """A view."""

    conditions: ConditionsOut
    execution: ExecutionOut


ViewShown = envelope("ViewShown", "One view.", view=ViewOut)
ViewsOut = page_of("ViewsOut", "Views in their order.", views=ViewOut)


class ViewRowsOut(PageOut):
    """A view carried out: its columns, and its tickets row by row."""

    columns: list[ColumnOut]
    rows: list[dict[str, Any]]
    view: dict[str, Any]


class ViewCountOut(ResponseBody):
    """How many tickets a view holds."""

    url: str
    view_id: int | None
    value: int | None
    pretty: str
    fresh: bool


ViewCountShown = envelope("ViewCountShown", "The count of one view.", view_count=ViewCountOut)
ViewCountsOut = envelope("ViewCountsOut", "The counts of several views.", view_counts=list[ViewCountOut])


class MacroOut(RuleOut):
    """A macro."""

    actions: list[ActionOut]


MacroShown = envelope("MacroShown", "One macro.", macro=MacroOut)
MacrosOut = page_of("MacrosOut", "Macros in their order.", macros=MacroOut)


class MacroEffect(ResponseBody):
    """The fields that a macro would set, and the comment that it would add."""

    ticket: dict[str, Any]


MacroApplied = envelope("MacroApplied", "What a macro would do; nothing is written.", result=MacroEffect)


class TriggerOut(MacroOut):
    """A trigger or an automation."""

    conditions: ConditionsOut


TriggerShown = envelope("TriggerShown", "One trigger.", trigger=TriggerOut)
TriggersOut = page_of("TriggersOut", "Triggers in the order in which they run.", triggers=TriggerOut)
AutomationShown = envelope("AutomationShown", "One automation.", automation=TriggerOut)
AutomationsOut = page_of("AutomationsOut", "Automations in the order in which they run.", automations=TriggerOut)
DefinitionsShown = envelope("DefinitionsShown", "Which conditions and actions rules know.", definitions=dict[str, Any])
