"""Audits: what was said and changed, by whom."""

from services.desk.operations import attaching, listing
from services.desk.operations.records import Body
from services.desk.operations.showing import Shown, iso, stamped
from services.desk.tables import attachments, comments
from services.kernel.statements import Row
from services.kernel.world import World


def shown(world: World, rows: list[Row], base: str) -> list[Shown]:
    said = {row["id"]: row for row in listing.every(world, comments, listing.among("id", _comment_ids(rows)))}
    return [
        {
            "id": row["id"],
            "ticket_id": row["body"]["ticket_id"],
            "created_at": iso(row["created_at"]),
            "author_id": row["body"]["author_id"],
            "via": row["body"]["via"],
            "metadata": row["body"]["metadata"],
            "events": [_event(world, event, said, base) for event in row["body"]["events"]],
        }
        for row in rows
    ]


def comment(world: World, row: Row, base: str) -> Shown:
    told = stamped(row["body"])
    files = listing.by_ids(world, attachments, told["attachments"])
    told["attachments"] = [attaching.shown(file, base) for file in files if not file["body"]["deleted"]]
    told.pop("ticket_id")
    return {"id": row["id"], **told, "created_at": iso(row["created_at"])}


def _comment_ids(rows: list[Row]) -> list[int]:
    return [event["id"] for row in rows for event in row["body"]["events"] if event["type"] == "Comment"]


def _event(world: World, event: Body, said: dict[int, Row], base: str) -> Shown:
    if event["type"] == "Comment" and event["id"] in said:
        return {**comment(world, said[event["id"]], base), **{k: v for k, v in event.items() if k == "via"}}
    return dict(event)
