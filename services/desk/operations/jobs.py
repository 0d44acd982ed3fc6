"""Jobs: accepted at once, worked off on the desk's own clock, entry by entry."""

import hashlib
from collections.abc import Callable

from services.desk.errors import UpdateConflict
from services.desk.operations import deleting, listing, merging, records, tickets
from services.desk.operations.listing import Where
from services.desk.operations.records import Body, Given
from services.desk.operations.showing import Shown, iso, url
from services.desk.tables import job_statuses, users
from services.desk.tables import tickets as ticket_rows
from services.kernel.changes import AGENT, AGENTS_JOB
from services.kernel.errors import Refusal
from services.kernel.statements import Row
from services.kernel.world import World

_STARTS_AFTER_MS, _MS_PER_ENTRY = 1_500, 20
_NEXT = "SELECT min(due_at) FROM job_statuses WHERE due_at IS NOT NULL AND due_at <= :until"
_DUE = Where("due_at IS NOT NULL AND due_at <= :now")

Entry = Callable[[World, Body, Row], Body]


def start(world: World, kind: str, entries: list[Body], author: Row) -> Row:
    """Queue a job of one kind; each entry is {id?, given} and succeeds or fails by itself."""
    number = world.ids.next("job_statuses")
    key = hashlib.sha256(f"job\x1f{number}".encode()).hexdigest()[:32]
    body: Body = {
        "job_type": KINDS[kind][0],
        "total": len(entries),
        "progress": None,
        "status": "queued",
        "message": None,
        "results": None,
        "due_at": world.clock.now_ms() + _STARTS_AFTER_MS + _MS_PER_ENTRY * len(entries),
        "_kind": kind,
        "_entries": entries,
        "_author_id": author["id"],
        "_by_agent": world.actor == AGENT,
    }
    return records.add(world, job_statuses, body, key)


def update_many(world: World, changes: list[tuple[int, Given]], author: Row) -> Row:
    """Always safe: an entry that somebody else changes before its turn fails with a conflict."""
    entries: list[Body] = []
    for key, given in changes:
        row = world.get(ticket_rows, key)
        entries.append({"id": key, "given": given, "seen_at": None if row is None else row["updated_at"]})
    return start(world, "update", entries, author)


def next_due(world: World, until_ms: int) -> int | None:
    found: int | None = world.rows(_NEXT, {"until": until_ms})[0][0]
    return found


def work_off(world: World) -> None:
    """Everything that is due by now, in order."""
    now = world.clock.now_ms()
    if next_due(world, now) is None:
        return
    for job in listing.every(world, job_statuses, Where(_DUE.sql, {"now": now}), listing.Order("due_at")):
        _work(world, job)


def _work(world: World, job: Row) -> None:
    body = job["body"]
    actor = world.actor
    world.actor = AGENTS_JOB if body["_by_agent"] else actor
    try:
        author = records.known(world, users, body["_author_id"])
        results = [_entry(world, body["_kind"], at, one, author) for at, one in enumerate(body["_entries"])]
        done = {"status": "completed", "progress": body["total"], "results": results, "due_at": None}
        message = f"Completed at {iso(world.clock.now_ms())}"
        records.change(world, job_statuses, job, {**done, "message": message}, "worked_off")
    finally:
        world.actor = actor


def _entry(world: World, kind: str, at: int, entry: Body, author: Row) -> Body:
    try:
        with world.attempted():
            return {"index": at, **KINDS[kind][1](world, entry, author)}
    except Refusal as refusal:
        told = {"index": at, "success": False, "error": type(refusal).__name__, "details": refusal.message}
        return {**told, "id": entry["id"], "status": "Failed"} if entry.get("id") is not None else told


def _update(world: World, entry: Body, author: Row) -> Body:
    row = tickets.read(world, entry["id"])
    if row["updated_at"] != entry["seen_at"]:
        raise UpdateConflict
    if row["body"]["status"] == "closed":
        tickets.retag_closed(world, row, entry["given"], author)
    else:
        tickets.update(world, entry["id"], entry["given"], author)
    return {"id": entry["id"], "action": "update", "status": "Updated", "success": True}


def _create(world: World, entry: Body, author: Row) -> Body:
    change = tickets.create(world, entry["given"], author)
    return {"id": change.after["id"], "action": "create", "status": "Created", "success": True, "account_id": 1}


def _delete(world: World, entry: Body, author: Row) -> Body:
    deleting.delete(world, entry["id"], author)
    return {"id": entry["id"], "action": "delete", "status": "Deleted", "success": True}


def _merge(world: World, entry: Body, author: Row) -> Body:
    merging.merge(world, entry["id"], entry["given"], author)
    return {"id": entry["id"], "action": "merge", "status": "Merged", "success": True}


KINDS: dict[str, tuple[str, Entry]] = {
    "update": ("Bulk Update Ticket", _update),
    "create": ("Bulk Create Ticket", _create),
    "delete": ("Bulk Delete Ticket", _delete),
    "merge": ("Ticket Merge", _merge),
}


def shown(world: World, row: Row, base: str) -> Shown:
    body = row["body"]
    running = body["status"] == "queued" and world.clock.now_ms() > row["created_at"]
    told = {name: value for name, value in body.items() if not name.startswith("_") and name != "due_at"}
    return {"id": row["id"], "url": url("job_status", row, base), **told} | ({"status": "working"} if running else {})
