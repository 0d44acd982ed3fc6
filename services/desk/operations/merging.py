"""Merging: one ticket takes over what another asks, and the other is closed."""

from services.desk.errors import RecordInvalid
from services.desk.operations.aftermath import settled
from services.desk.operations.changing import change_ticket
from services.desk.operations.lifecycle import refuse_closed
from services.desk.operations.records import Body, Given
from services.desk.operations.texts import comment_of
from services.desk.operations.tickets import read
from services.kernel.statements import Row
from services.kernel.world import World

CLOSED_BY_MERGE = "closed_by_merge"


def refuse_bad_target(world: World, target: int, sources: list[int]) -> None:
    """What can be told before the job runs."""
    refuse_closed(read(world, target)["body"])
    if target in sources:
        raise RecordInvalid("ids", "Ids: a ticket cannot be merged into itself")


def merge(world: World, source: int, given: Given, author: Row) -> None:
    """Close `source` with a word on where it went; the target takes its requester in copy."""
    target = read(world, given["target"])
    gone = read(world, source)
    refuse_closed(gone["body"])
    refuse_closed(target["body"])
    _tell_source(world, gone, target, given, author)
    _tell_target(world, read(world, given["target"]), gone, given, author)


def _tell_source(world: World, gone: Row, target: Row, given: Given, author: Row) -> None:
    text = given.get("source_comment") or (
        f'Request #{gone["id"]} "{gone["body"]["subject"]}" was closed and merged into request #{target["id"]} '
        f'"{target["body"]["subject"]}".'
    )
    said = comment_of({"body": text, "public": bool(given.get("source_comment_is_public"))}, author_is_staff=True)
    changes: Body = {
        "status": "closed",
        "tags": sorted({*gone["body"]["tags"], CLOSED_BY_MERGE}),
        "assignee_id": gone["body"]["assignee_id"] or author["id"],
        "_merged_into": target["id"],
    }
    change_ticket(world, gone, changes, author["id"], _via(target), said, event="ticket.merged_away")


def _tell_target(world: World, target: Row, gone: Row, given: Given, author: Row) -> None:
    text = given.get("target_comment") or (
        f'Request #{gone["id"]} "{gone["body"]["subject"]}" was closed and merged into this request. '
        f"Last comment in request #{gone['id']}:\n\n{gone['body']['description']}"
    )
    said = comment_of({"body": text, "public": bool(given.get("target_comment_is_public"))}, author_is_staff=True)
    people = [*target["body"]["email_cc_ids"], gone["body"]["requester_id"], *gone["body"]["email_cc_ids"]]
    copied = [one for one in dict.fromkeys(people) if one != target["body"]["requester_id"]]
    changes: Body = {
        "email_cc_ids": copied,
        "collaborator_ids": list(dict.fromkeys([*target["body"]["collaborator_ids"], *copied])),
    }
    change = change_ticket(world, target, changes, author["id"], _via(gone), said)
    if change is not None:
        settled(world, change)


def _via(other: Row) -> Body:
    told = {"ticket_id": other["id"], "subject": other["body"]["subject"]}
    return {"channel": "web", "source": {"from": told, "to": {}, "rel": "merge"}}
