"""Jobs: accepted at once, done on the desk's own clock, entry by entry."""

from collections.abc import Callable, Mapping

from services.desk.documents import Sort
from services.desk.errors import UpdateConflict
from services.desk.operations import deleted_tickets, merging, tickets
from services.desk.records.payload import Payload
from services.desk.records.times import format_time
from services.desk.rows import JobId, TicketId
from services.desk.rows.people import UserRow
from services.desk.rows.tickets import JobEntry, JobKind, JobResult, JobStatusBody, JobStatusRow
from services.desk.tables import job_statuses, users
from services.desk.tables import tickets as ticket_table
from services.kernel.changes import AGENT, AGENTS_JOB
from services.kernel.documents import Where
from services.kernel.errors import Refusal
from services.kernel.world import World

_STARTS_AFTER_MS, _MS_PER_ENTRY = 1_500, 20
_NEXT = "SELECT min(due_at) FROM job_statuses WHERE due_at IS NOT NULL AND due_at <= :until"


def start_job(world: World, kind: JobKind, entries: list[JobEntry], author: UserRow) -> JobStatusRow:
    """Queues a job; each entry succeeds or fails by itself."""
    number = world.ids.next("job_statuses")
    key = JobId(world.ids.digest("job", number).hex()[:32])
    body: JobStatusBody = {
        "job_type": _KINDS[kind][0],
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
    return job_statuses.add(world, body, key)


def update_many(world: World, changes: list[tuple[TicketId, Payload]], author: UserRow) -> JobStatusRow:
    """Queues safe updates: an entry whose ticket changes before its turn fails with a conflict."""
    entries: list[JobEntry] = []
    for key, payload in changes:
        row = world.get(ticket_table, key)
        entries.append({"id": key, "given": payload, "seen_at": None if row is None else row["updated_at"]})
    return start_job(world, "update", entries, author)


def next_job_due(world: World, until_ms: int) -> int | None:
    due: int | None = world.rows(_NEXT, {"until": until_ms})[0][0]
    return due


def run_due_jobs(world: World) -> None:
    now = world.clock.now_ms()
    if next_job_due(world, now) is None:
        return
    due = Where("due_at IS NOT NULL AND due_at <= :now", {"now": now})
    for job in job_statuses.find(world, due, Sort("due_at")):
        _run_job(world, job)


def _run_job(world: World, job: JobStatusRow) -> None:
    body = job["body"]
    actor = world.actor
    world.actor = AGENTS_JOB if body["_by_agent"] else actor
    try:
        author = users.must_exist(world, body["_author_id"])
        results = [
            _run_entry(world, body["_kind"], index, entry, author) for index, entry in enumerate(body["_entries"])
        ]
        completed: JobStatusBody = {
            **body,
            "status": "completed",
            "progress": body["total"],
            "results": results,
            "due_at": None,
            "message": f"Completed at {format_time(world.clock.now_ms())}",
        }
        job_statuses.change(world, job, completed, "worked_off")
    finally:
        world.actor = actor


def _run_entry(world: World, kind: JobKind, index: int, entry: JobEntry, author: UserRow) -> JobResult:
    try:
        with world.attempt():
            return {"index": index, **_KINDS[kind][1](world, entry, author)}
    except Refusal as refusal:
        error = type(refusal).__name__
        result: JobResult = {"index": index, "success": False, "error": error, "details": refusal.message}
        return {**result, "id": entry["id"], "status": "Failed"} if entry.get("id") is not None else result


def _update(world: World, entry: JobEntry, author: UserRow) -> JobResult:
    key, payload = entry["id"], entry["given"]
    row = tickets.get_ticket(world, key)
    if row["updated_at"] != entry["seen_at"]:
        raise UpdateConflict
    if row["body"]["status"] == "closed":
        tickets.retag_closed(world, row, payload, author)
    else:
        tickets.update_ticket(world, key, payload, author)
    return {"id": key, "action": "update", "status": "Updated", "success": True}


def _create(world: World, entry: JobEntry, author: UserRow) -> JobResult:
    change = tickets.create_ticket(world, entry["given"], author)
    return {"id": change.after["id"], "action": "create", "status": "Created", "success": True, "account_id": 1}


def _delete(world: World, entry: JobEntry, author: UserRow) -> JobResult:
    deleted_tickets.delete_ticket(world, entry["id"], author)
    return {"id": entry["id"], "action": "delete", "status": "Deleted", "success": True}


def _merge(world: World, entry: JobEntry, author: UserRow) -> JobResult:
    merging.merge(world, entry["id"], entry["given"], author)
    return {"id": entry["id"], "action": "merge", "status": "Merged", "success": True}


_KINDS: Mapping[JobKind, tuple[str, Callable[[World, JobEntry, UserRow], JobResult]]] = {
    "update": ("Bulk Update Ticket", _update),
    "create": ("Bulk Create Ticket", _create),
    "delete": ("Bulk Delete Ticket", _delete),
    "merge": ("Ticket Merge", _merge),
}
