"""Macros: what they would do to a ticket. Nothing is written; a client that accepts it sends it as an update."""

from services.desk.operations.tickets import get_ticket
from services.desk.rows import MacroId, TicketId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import TicketRow
from services.desk.rules.actions import Effect, apply_actions
from services.desk.rules.rule_store import Action
from services.desk.tables import macros
from services.kernel.world import World


def preview(world: World, macro_id: MacroId, user: UserRow) -> Effect:
    """Returns the fields that the macro sets on any ticket."""
    return _apply(world, macro_id, None, user)


def preview_on_ticket(world: World, ticket_id: TicketId, macro_id: MacroId, user: UserRow) -> tuple[TicketRow, Effect]:
    """Returns the ticket as it would be, and the comment that would be added."""
    row = get_ticket(world, ticket_id)
    effect = _apply(world, macro_id, row, user)
    return {**row, "body": {**row["body"], **effect.changes}}, effect


def _apply(world: World, macro_id: MacroId, ticket: TicketRow | None, user: UserRow) -> Effect:
    body = macros.need(world, macro_id)["body"]
    return apply_actions(world, ticket, [Action.from_body(action) for action in body["actions"]], user["id"])
