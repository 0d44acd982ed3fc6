"""Macros looked at: what they would do to a ticket. Nothing is written; whoever likes it sends it as an update."""

from services.desk.operations import records, showing, tickets
from services.desk.operations.records import Body
from services.desk.operations.showing import Shown
from services.desk.operations.texts import comment_of
from services.desk.rules.actions import Effect, effect_of
from services.desk.rules.ruling import Action
from services.desk.tables import macros
from services.kernel.statements import Row
from services.kernel.world import World


def effect(world: World, macro_id: int, user: Row) -> Shown:
    """Only the fields that the macro would set, on any ticket."""
    done = _done(world, macro_id, None, user)
    fields = {**done.changes}
    if "custom_fields" in fields:
        fields["custom_fields"] = _listed(fields["custom_fields"])
    return {**fields, **_comment(done)}


def on_ticket(world: World, ticket_id: int, macro_id: int, user: Row, base: str) -> Shown:
    """The whole ticket as it would be afterwards, with the comment that would be added."""
    row = tickets.read(world, ticket_id)
    done = _done(world, macro_id, row, user)
    after = {**row, "body": {**row["body"], **done.changes}}
    return {**showing.ticket(after, base), **_comment(done)}


def _done(world: World, macro_id: int, ticket: Row | None, user: Row) -> Effect:
    body = records.need(world, macros, macro_id)["body"]
    actions = [Action(one["field"], one["value"]) for one in body["actions"]]
    return effect_of(world, ticket, actions, user["id"])


def _comment(done: Effect) -> Body:
    said = done.comment(public=True)
    if said is None:
        return {}
    kept = comment_of(said, author_is_staff=True)
    return {
        "comment": {
            "body": kept["body"],
            "html_body": kept["html_body"],
            "scoped_body": [["channel:all", kept["body"]]],
            "public": kept["public"],
        }
    }


def _listed(values: Body) -> list[Body]:
    return [{"id": int(key), "value": value} for key, value in values.items() if key.isdigit()]
