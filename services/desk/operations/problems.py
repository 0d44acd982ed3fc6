"""Problems and their incidents: what solves the one solves the others."""

from services.desk.operations import listing
from services.desk.operations.aftermath import settled
from services.desk.operations.changing import Change, change_ticket
from services.desk.operations.listing import ALIVE, Where, equal
from services.desk.operations.records import Body
from services.desk.tables import tickets
from services.kernel.statements import Row
from services.kernel.world import World

SYSTEM_CHANNEL = "system"
_UNSOLVED = Where("status_rank < 4")


def incidents_of(world: World, problem: int) -> list[Row]:
    return listing.every(world, tickets, equal(problem_id=problem) & ALIVE)


def solve_incidents(world: World, change: Change) -> None:
    """With the problem's public words, by whoever solved it."""
    body = change.after["body"]
    if body["type"] != "problem" or body["status"] != "solved" or change.before is None or not change.changed("status"):
        return
    via: Body = {
        "channel": SYSTEM_CHANNEL,
        "source": {"from": {"ticket_id": change.after["id"]}, "to": {}, "rel": "problem"},
    }
    said = change.comment["body"] if change.comment is not None and change.comment["body"]["public"] else None
    for incident in listing.every(world, tickets, equal(problem_id=change.after["id"]) & ALIVE & _UNSOLVED):
        changes: Body = {"status": "solved"}
        if incident["body"]["assignee_id"] is None:
            changes |= {"assignee_id": body["assignee_id"], "group_id": body["group_id"]}
        solved = change_ticket(world, incident, changes, change.author_id, via, _again(said))
        if solved is not None:
            settled(world, solved)


def _again(said: Body | None) -> Body | None:
    if said is None:
        return None
    return {name: said[name] for name in ("body", "html_body", "plain_body", "public")}
