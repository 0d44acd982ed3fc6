"""What follows from a change: the rules run, and a solved problem solves its incidents."""

from services.desk.documents import ALIVE
from services.desk.records.ticket_changes import RULE, TicketChange, change_ticket
from services.desk.rows import TicketId
from services.desk.rows.tickets import CommentDraft, TicketChanges, TicketRow, Via
from services.desk.rules.engine import run_after_change
from services.desk.tables import tickets
from services.kernel.documents import Where, equal
from services.kernel.world import World

_UNSOLVED = Where("status_rank < 4")


def run_rules(world: World, change: TicketChange) -> TicketRow:
    """Runs the rules on a change and returns the ticket as they leave it; they are the actor of what they write."""
    actor, world.actor = world.actor, RULE
    try:
        run_after_change(world, change)
    finally:
        world.actor = actor
    return tickets.must_exist(world, change.after["id"])


def find_incidents(world: World, problem: TicketId) -> list[TicketRow]:
    return tickets.find(world, equal(problem_id=problem) & ALIVE)


def solve_incidents(world: World, change: TicketChange) -> None:
    """Solves the incidents of a problem that this change solved, with the same public comment and author."""
    body = change.after["body"]
    if body["type"] != "problem" or body["status"] != "solved" or change.created or not change.changed_status:
        return
    via: Via = {
        "channel": "system",
        "source": {"from": {"ticket_id": change.after["id"]}, "to": {}, "rel": "problem"},
    }
    comment = _repeat_comment(change)
    for incident in tickets.find(world, equal(problem_id=change.after["id"]) & ALIVE & _UNSOLVED):
        changes: TicketChanges = {"status": "solved"}
        if incident["body"]["assignee_id"] is None:
            changes["assignee_id"], changes["group_id"] = body["assignee_id"], body["group_id"]
        solved = change_ticket(world, incident, changes, change.author_id, via, comment)
        if solved is not None:
            run_rules(world, solved)


def _repeat_comment(change: TicketChange) -> CommentDraft | None:
    if change.comment is None or not change.comment["body"]["public"]:
        return None
    body = change.comment["body"]
    return {
        "body": body["body"],
        "html_body": body["html_body"],
        "plain_body": body["plain_body"],
        "public": body["public"],
    }
