"""What a view shows: its tickets, row by row, and how many there are."""

from typing import Any

from services.desk.operations import listing, showing
from services.desk.operations.listing import Numbered, Order, Page, Paging
from services.desk.operations.records import Body
from services.desk.operations.showing import Shown
from services.desk.rules.conditions import held_by
from services.desk.rules.selecting import Selection
from services.desk.rules.subjects import Viewer
from services.desk.rules.wording import Conditions
from services.desk.tables import tickets
from services.kernel.statements import Row
from services.kernel.world import World

# Columns by the names that views give them: title, column to sort by, field of the ticket.
COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "nice_id": ("ID", "id", "id"),
    "id": ("ID", "id", "id"),
    "status": ("Status", "status_rank", "status"),
    "priority": ("Priority", "ifnull(priority_rank, -1)", "priority"),
    "type": ("Type", "type", "type"),
    "subject": ("Subject", "subject_folded", "subject"),
    "description": ("Subject", "subject_folded", "subject"),
    "requester": ("Requester", "requester_id", "requester_id"),
    "assignee": ("Assignee", "assignee_id", "assignee_id"),
    "submitter": ("Submitter", "submitter_id", "submitter_id"),
    "group": ("Group", "group_id", "group_id"),
    "organization": ("Organization", "organization_id", "organization_id"),
    "brand": ("Brand", "brand_id", "brand_id"),
    "created": ("Requested", "created_at", "created_at"),
    "created_at": ("Requested", "created_at", "created_at"),
    "updated": ("Updated", "updated_at", "updated_at"),
    "updated_at": ("Updated", "updated_at", "updated_at"),
    "solved": ("Solved", "solved_at", "solved_at"),
    "due_date": ("Due date", "due_at", "due_at"),
    "satisfaction_score": ("Satisfaction", None, "satisfaction_score"),
    "tags": ("Tags", None, "tags"),
}
_TIMES = ("created_at", "updated_at")
# So few are sorted faster than an index of all tickets is walked; a plus keeps SQLite from walking it.
_FEW = 500


def selection(world: World, body: Body, viewer: Row) -> Selection:
    return Selection(world, Conditions.of(body["conditions"]), Viewer.of(world, viewer))


def order_of(body: Body) -> Order:
    output = body["output"]
    column = COLUMNS.get(str(output["sort_by"]), ("", "created_at", ""))[1] or "created_at"
    return Order(column, output["sort_order"] == "desc")


def page(world: World, body: Body, viewer: Row, paging: Paging, order: Order | None = None) -> Page:
    where, sorting = selection(world, body, viewer).where, order or order_of(body)
    if listing.count(world, tickets, where) <= _FEW:
        sorting = Order(f"+{sorting.column}", sorting.descending)
    return listing.page(world, tickets, paging, where, sorting)


def executed(world: World, body: Body, viewer: Row, paging: Numbered, order: Order | None = None) -> Page:
    """Grouped first, sorted inside each group."""
    where, sorting = selection(world, body, viewer).where, order or order_of(body)
    group = COLUMNS.get(str(body["output"]["group_by"]), ("", None, ""))[1]
    way = "DESC" if sorting.descending else "ASC"
    total = listing.count(world, tickets, where)
    column = f"+{sorting.column}" if total <= _FEW else sorting.column
    first = "" if group is None else f"{group} {'ASC' if body['output']['group_order'] == 'asc' else 'DESC'}, "
    sql = (
        f"SELECT id, created_at, updated_at, body FROM tickets WHERE {where.sql} "  # noqa: S608 - bound
        f"ORDER BY {first}{column} {way}, id {way} LIMIT :size OFFSET :start"
    )
    start = (paging.page - 1) * paging.size
    rows = listing.read(world, sql, {**where.parameters, "size": paging.size, "start": start})
    return Page(rows, start + len(rows) < total, total)


def columns(body: Body) -> list[Shown]:
    return [{"id": name, "title": title_of(name)} for name in body["output"]["columns"]]


def title_of(name: str) -> str:
    return COLUMNS[name][0] if name in COLUMNS else str(name).replace("_", " ").capitalize()


def row_of(row: Row, body: Body, base: str) -> Shown:
    """The ticket, and beside it the columns of the view."""
    told: Shown = {"ticket": _ticket(row, base)}
    for name in body["output"]["columns"]:
        field = COLUMNS.get(name, ("", None, name))[2]
        key = field if field.endswith("_id") else name
        told[key] = _cell(row, field)
    return told


def _cell(row: Row, field: str) -> Any:
    if field == "id":
        return row["id"]
    if field in _TIMES:
        return showing.iso(row[field])
    if field == "solved_at":
        return showing.iso(row["body"]["metrics"].get("solved_at"))
    value = held_by(row["body"], field)
    if field == "due_at":
        return showing.iso(value)
    return value if field not in ("custom_fields", "metrics") else None


def _ticket(row: Row, base: str) -> Shown:
    body = row["body"]
    return {
        "id": row["id"],
        "url": showing.url("ticket", row, base),
        "subject": body["subject"],
        "description": body["description"],
        "status": body["status"],
        "priority": body["priority"],
        "type": body["type"],
        "last_comment": None,
    }


def shown(row: Row, base: str) -> Shown:
    """A view with the vendor's `execution`, which tells its columns and order."""
    body = row["body"]
    output = body["output"]
    told = showing.shown("view", {**row, "body": {name: body[name] for name in body if name != "output"}}, base)
    sort, group = output["sort_by"], output["group_by"]
    execution = {
        "columns": columns(body),
        "fields": columns(body),
        "custom_fields": [],
        "sort_by": sort,
        "sort_order": output["sort_order"],
        "group_by": group,
        "group_order": output["group_order"],
        "sort": {"id": sort, "title": title_of(sort), "order": output["sort_order"]},
        "group": None if group is None else {"id": group, "title": title_of(group), "order": output["group_order"]},
    }
    return {**told, "execution": execution}


def counted(row: Row, value: int, base: str) -> Shown:
    address = f"{base}/api/v2/views/{row['id']}/count.json"
    return {
        "url": address,
        "view_id": row["id"],
        "value": value,
        "pretty": pretty(value),
        "fresh": True,
        "active": True,
    }


def pretty(value: int) -> str:
    """Large counts are rounded, as the vendor shows them."""
    return str(value) if value < 1_000 else f"~{value // 1_000},{value % 1_000:03d}"
