"""Macros, triggers, automations and service level policies."""

from fastapi import Response

from services.desk.operations import macros as macro_operations
from services.desk.operations.rule_crud import (
    AUTOMATIONS,
    BY_POSITION,
    MACROS,
    SLA_POLICIES,
    TRIGGERS,
    reorder_triggers,
)
from services.desk.routes import endpoints as serve
from services.desk.routes.base import StaffCall, noun_router
from services.desk.routes.endpoints import add_operations, resource
from services.desk.rows import TriggerId
from services.desk.rules.definitions import describe_policies, describe_rules
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import MacroKey, Paged, TicketKey
from services.desk.schemas.service_levels import PoliciesOut, PolicyBody, PolicyShown
from services.desk.shapes.rules import render_effect, render_effect_on_ticket
from services.desk.tables import automations as automation_rows
from services.desk.tables import macros as macro_rows
from services.desk.tables import sla_policies
from services.desk.tables import triggers as trigger_rows
from services.kernel.answers import Json
from services.kernel.operations import Operation

_MACROS, _TRIGGERS = resource(macro_rows), resource(trigger_rows)
_AUTOMATIONS, _POLICIES = resource(automation_rows), resource(sla_policies)

# --- macros ---------------------------------------------------------------------------------------------------------

macros = noun_router("macros")
# fmt: off
add_operations(macros, (
    Operation("desk.macros.list", "GET", "/api/v2/macros", "Page", schemas.MacrosOut, serve.list_rules(_MACROS, MACROS),
              "List macros: prepared replies together with the changes that go with them."),
    Operation("desk.macros.active", "GET", "/api/v2/macros/active", "Active", schemas.MacrosOut,
              serve.list_active_rules(_MACROS, MACROS), "List the macros that are in use."),
    Operation("desk.macros.search", "GET", "/api/v2/macros/search", "Search", schemas.MacrosOut,
              serve.search_rules(_MACROS, MACROS), "Find macros by part of their title."),
    Operation("desk.macros.show", "GET", "/api/v2/macros/{macro_id}", "Show", schemas.MacroShown, serve.show(_MACROS),
              "Read one macro and its actions."),
    Operation("desk.macros.create", "POST", "/api/v2/macros", "Create", schemas.MacroShown,
              serve.write(_MACROS, schemas.MacroBody, MACROS.create, 201),
              "Make a macro from actions such as comment_value, status or current_tags.", status=201),
    Operation("desk.macros.update", "PUT", "/api/v2/macros/{macro_id}", "Update", schemas.MacroShown,
              serve.write(_MACROS, schemas.MacroBody, MACROS.update),
              "Change a macro; its actions are replaced as a whole."),
    Operation("desk.macros.delete", "DELETE", "/api/v2/macros/{macro_id}", "Delete", None, serve.delete(MACROS.delete),
              "Delete a macro.", status=204),
))
# fmt: on


@macros.get(
    "/api/v2/macros/{macro_id}/apply",
    operation_id="desk.macros.apply",
    summary="Apply",
    response_model=schemas.MacroApplied,
)
async def apply_macro(macro_id: MacroKey, call: StaffCall) -> Response:
    """See which fields and which comment a macro would set on any ticket; nothing is written."""
    effect = macro_operations.preview(call.world, macro_id, call.user)
    return Json({"result": {"ticket": render_effect(effect)}})


@macros.get(
    "/api/v2/tickets/{ticket_id}/macros/{macro_id}/apply",
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
# fmt: off
add_operations(triggers, (
    Operation("desk.triggers.list", "GET", "/api/v2/triggers", "Page", schemas.TriggersOut,
              serve.list_rules(_TRIGGERS, TRIGGERS),
              "List triggers in the order in which they run after every change of a ticket."),
    Operation("desk.triggers.active", "GET", "/api/v2/triggers/active", "Active", schemas.TriggersOut,
              serve.list_active_rules(_TRIGGERS, TRIGGERS), "List the triggers that are in use."),
    Operation("desk.triggers.search", "GET", "/api/v2/triggers/search", "Search", schemas.TriggersOut,
              serve.search_rules(_TRIGGERS, TRIGGERS), "Find triggers by part of their title."),
    Operation("desk.triggers.definitions", "GET", "/api/v2/triggers/definitions", "Definitions",
              schemas.DefinitionsShown, serve.answer_with(lambda _: {"definitions": describe_rules()}),
              "Learn which conditions, operators and actions rules know."),
))
# fmt: on


@triggers.put("/api/v2/triggers/reorder", operation_id="desk.triggers.reorder", response_model=schemas.TriggersOut)
async def reorder(body: schemas.TriggerOrder, call: StaffCall) -> Response:
    """Put triggers into another order: those named run first, in the order given."""
    reorder_triggers(call.world, [TriggerId(key) for key in body.trigger_ids])
    return serve.answer_rules(call, _TRIGGERS, TRIGGERS, Paged(), None)


# fmt: off
add_operations(triggers, (
    Operation("desk.triggers.show", "GET", "/api/v2/triggers/{trigger_id}", "Show", schemas.TriggerShown,
              serve.show(_TRIGGERS), "Read one trigger: its conditions and actions."),
    Operation("desk.triggers.create", "POST", "/api/v2/triggers", "Create", schemas.TriggerShown,
              serve.write(_TRIGGERS, schemas.TriggerBody, TRIGGERS.create, 201),
              "Make a trigger: when its conditions hold after a change of a ticket, its actions are done.", status=201),
    Operation("desk.triggers.update", "PUT", "/api/v2/triggers/{trigger_id}", "Update", schemas.TriggerShown,
              serve.write(_TRIGGERS, schemas.TriggerBody, TRIGGERS.update),
              "Change a trigger, or switch it off with active false; conditions and actions are replaced as a whole."),
    Operation("desk.triggers.delete", "DELETE", "/api/v2/triggers/{trigger_id}", "Delete", None,
              serve.delete(TRIGGERS.delete), "Delete a trigger.", status=204),
))
# fmt: on

# --- automations ----------------------------------------------------------------------------------------------------

automations = noun_router("automations")
# fmt: off
add_operations(automations, (
    Operation("desk.automations.list", "GET", "/api/v2/automations", "Page", schemas.AutomationsOut,
              serve.list_rules(_AUTOMATIONS, AUTOMATIONS),
              "List automations in the order in which they run every full hour."),
    Operation("desk.automations.active", "GET", "/api/v2/automations/active", "Active", schemas.AutomationsOut,
              serve.list_active_rules(_AUTOMATIONS, AUTOMATIONS), "List the automations that are in use."),
    Operation("desk.automations.search", "GET", "/api/v2/automations/search", "Search", schemas.AutomationsOut,
              serve.search_rules(_AUTOMATIONS, AUTOMATIONS), "Find automations by part of their title."),
    Operation("desk.automations.show", "GET", "/api/v2/automations/{automation_id}", "Show", schemas.AutomationShown,
              serve.show(_AUTOMATIONS), "Read one automation: its conditions and actions."),
    Operation("desk.automations.create", "POST", "/api/v2/automations", "Create", schemas.AutomationShown,
              serve.write(_AUTOMATIONS, schemas.AutomationBody, AUTOMATIONS.create, 201),
              "Make an automation; it needs a condition on hours since something, and an action that makes a "
              "condition false.", status=201),
    Operation("desk.automations.update", "PUT", "/api/v2/automations/{automation_id}", "Update",
              schemas.AutomationShown, serve.write(_AUTOMATIONS, schemas.AutomationBody, AUTOMATIONS.update),
              "Change an automation, or switch it off with active false; conditions and actions are replaced as a "
              "whole."),
    Operation("desk.automations.delete", "DELETE", "/api/v2/automations/{automation_id}", "Delete", None,
              serve.delete(AUTOMATIONS.delete), "Delete an automation.", status=204),
))
# fmt: on

# --- service levels -------------------------------------------------------------------------------------------------

service_levels = noun_router("service levels")
# fmt: off
add_operations(service_levels, (
    Operation("desk.sla_policies.list", "GET", "/api/v2/slas/policies", "Page", PoliciesOut,
              serve.list_rows(_POLICIES, default=BY_POSITION),
              "List service level policies: how soon tickets are to be answered and solved, by priority."),
    Operation("desk.sla_policies.definitions", "GET", "/api/v2/slas/policies/definitions", "Definitions",
              schemas.DefinitionsShown, serve.answer_with(lambda _: {"definitions": describe_policies()}),
              "Learn which filters and metrics service level policies know."),
    Operation("desk.sla_policies.show", "GET", "/api/v2/slas/policies/{policy_id}", "Show", PolicyShown,
              serve.show(_POLICIES), "Read one service level policy: its filter and its targets in minutes."),
    Operation("desk.sla_policies.create", "POST", "/api/v2/slas/policies", "Create", PolicyShown,
              serve.write(_POLICIES, PolicyBody, SLA_POLICIES.create, 201),
              "Make a service level policy; a ticket falls under the first one whose filter it meets when it next "
              "changes.", status=201),
    Operation("desk.sla_policies.update", "PUT", "/api/v2/slas/policies/{policy_id}", "Update", PolicyShown,
              serve.write(_POLICIES, PolicyBody, SLA_POLICIES.update),
              "Change a service level policy; filter and metrics are replaced as a whole."),
    Operation("desk.sla_policies.delete", "DELETE", "/api/v2/slas/policies/{policy_id}", "Delete", None,
              serve.delete(SLA_POLICIES.delete),
              "Delete a service level policy; tickets fall under another one when they next change.", status=204),
))
# fmt: on
