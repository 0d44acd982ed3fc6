"""Macros, triggers, automations and service level policies."""

from functools import partial

from fastapi import Response

from services.desk.operations import macros as macro_operations
from services.desk.operations.rule_crud import AUTOMATIONS, MACROS, SLA_POLICIES, TRIGGERS, reorder_triggers
from services.desk.routes.base import StaffCall, noun_router
from services.desk.routes.crud import Resource, add_operations, answer_rules
from services.desk.rows import TriggerId
from services.desk.rules.definitions import describe_policies, describe_rules
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import MacroKey, Paged, TicketKey
from services.desk.schemas.service_levels import PoliciesOut, PolicyBody, PolicyShown
from services.desk.shapes.base import render
from services.desk.shapes.rules import render_effect, render_effect_on_ticket
from services.kernel.answers import Json

# --- macros ---------------------------------------------------------------------------------------------------------

macros = noun_router("macros")
add_operations(
    macros,
    Resource(
        "macro", "macros", MACROS, schemas.MacroBody, schemas.MacroShown, schemas.MacrosOut, partial(render, "macro")
    ),
    {
        "list": ("GET /macros", "List macros: prepared replies together with the changes that go with them."),
        "active": ("GET /macros/active", "List the macros that are in use."),
        "search": ("GET /macros/search", "Find macros by part of their title."),
        "show": ("GET /macros/{macro_id}", "Read one macro and its actions."),
        "create": ("POST /macros", "Make a macro from actions such as comment_value, status or current_tags."),
        "update": ("PUT /macros/{macro_id}", "Change a macro; its actions are replaced as a whole."),
        "delete": ("DELETE /macros/{macro_id}", "Delete a macro."),
    },
)


@macros.get(
    "/macros/{macro_id}/apply", operation_id="desk.macros.apply", summary="Apply", response_model=schemas.MacroApplied
)
async def apply_macro(macro_id: MacroKey, call: StaffCall) -> Response:
    """See which fields and which comment a macro would set on any ticket; nothing is written."""
    effect = macro_operations.preview(call.world, macro_id, call.user)
    return Json({"result": {"ticket": render_effect(effect)}})


@macros.get(
    "/tickets/{ticket_id}/macros/{macro_id}/apply",
    operation_id="desk.tickets.apply_macro",
    summary="Apply To",
    response_model=schemas.MacroApplied,
)
async def apply_macro_to_ticket(ticket_id: TicketKey, macro_id: MacroKey, call: StaffCall) -> Response:
    """See one ticket as a macro would leave it, its reply filled in; nothing is written."""
    row, effect = macro_operations.preview_on_ticket(call.world, ticket_id, macro_id, call.user)
    return Json({"result": {"ticket": render_effect_on_ticket(row, effect, call.base)}})


# --- triggers -------------------------------------------------------------------------------------------------------

triggers = noun_router("triggers")
_TRIGGER = Resource(
    "trigger",
    "triggers",
    TRIGGERS,
    schemas.TriggerBody,
    schemas.TriggerShown,
    schemas.TriggersOut,
    partial(render, "trigger"),
)
add_operations(
    triggers,
    _TRIGGER,
    {
        "list": ("GET /triggers", "List triggers in the order in which they run after every change of a ticket."),
        "active": ("GET /triggers/active", "List the triggers that are in use."),
        "search": ("GET /triggers/search", "Find triggers by part of their title."),
    },
)


@triggers.get(
    "/triggers/definitions",
    operation_id="desk.triggers.definitions",
    summary="Definitions",
    response_model=schemas.DefinitionsShown,
)
async def trigger_definitions(_: StaffCall) -> Response:
    """Learn which conditions, operators and actions rules know."""
    return Json({"definitions": describe_rules()})


@triggers.put("/triggers/reorder", operation_id="desk.triggers.reorder", response_model=schemas.TriggersOut)
async def reorder(body: schemas.TriggerOrder, call: StaffCall) -> Response:
    """Put triggers into another order: those named run first, in the order given."""
    reorder_triggers(call.world, [TriggerId(key) for key in body.trigger_ids])
    return answer_rules(call, _TRIGGER, Paged(), None)


add_operations(
    triggers,
    _TRIGGER,
    {
        "show": ("GET /triggers/{trigger_id}", "Read one trigger: its conditions and actions."),
        "create": (
            "POST /triggers",
            "Make a trigger: when its conditions hold after a change of a ticket, its actions are done.",
        ),
        "update": (
            "PUT /triggers/{trigger_id}",
            "Change a trigger, or switch it off with active false; conditions and actions are replaced as a whole.",
        ),
        "delete": ("DELETE /triggers/{trigger_id}", "Delete a trigger."),
    },
)

# --- automations ----------------------------------------------------------------------------------------------------

automations = noun_router("automations")
add_operations(
    automations,
    Resource(
        "automation",
        "automations",
        AUTOMATIONS,
        schemas.AutomationBody,
        schemas.AutomationShown,
        schemas.AutomationsOut,
        partial(render, "automation"),
    ),
    {
        "list": ("GET /automations", "List automations in the order in which they run every full hour."),
        "active": ("GET /automations/active", "List the automations that are in use."),
        "search": ("GET /automations/search", "Find automations by part of their title."),
        "show": ("GET /automations/{automation_id}", "Read one automation: its conditions and actions."),
        "create": (
            "POST /automations",
            "Make an automation; it needs a condition on hours since something, and an action that makes a condition false.",  # noqa: E501
        ),
        "update": (
            "PUT /automations/{automation_id}",
            "Change an automation, or switch it off with active false; conditions and actions are replaced as a whole.",
        ),
        "delete": ("DELETE /automations/{automation_id}", "Delete an automation."),
    },
)

# --- service levels -------------------------------------------------------------------------------------------------

service_levels = noun_router("service levels")
_POLICY = Resource(
    "sla_policy",
    "sla_policies",
    SLA_POLICIES,
    PolicyBody,
    PolicyShown,
    PoliciesOut,
    partial(render, "sla_policy"),
    can_be_inactive=False,
)
add_operations(
    service_levels,
    _POLICY,
    {
        "list": (
            "GET /slas/policies",
            "List service level policies: how soon tickets are to be answered and solved, by priority.",
        )
    },
)


@service_levels.get(
    "/slas/policies/definitions",
    operation_id="desk.sla_policies.definitions",
    summary="Definitions",
    response_model=schemas.DefinitionsShown,
)
async def policy_definitions(_: StaffCall) -> Response:
    """Learn which filters and metrics service level policies know."""
    return Json({"definitions": describe_policies()})


add_operations(
    service_levels,
    _POLICY,
    {
        "show": (
            "GET /slas/policies/{policy_id}",
            "Read one service level policy: its filter and its targets in minutes.",
        ),
        "create": (
            "POST /slas/policies",
            "Make a service level policy; a ticket falls under the first one whose filter it meets when it next changes.",  # noqa: E501
        ),
        "update": (
            "PUT /slas/policies/{policy_id}",
            "Change a service level policy; filter and metrics are replaced as a whole.",
        ),
        "delete": (
            "DELETE /slas/policies/{policy_id}",
            "Delete a service level policy; tickets fall under another one when they next change.",
        ),
    },
)
