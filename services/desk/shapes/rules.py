"""Views and what they show, previews of macros, jobs."""

from typing import Any

from services.desk.documents import Page
from services.desk.operations.views import COLUMNS
from services.desk.records.markup import draft_comment
from services.desk.records.times import format_time
from services.desk.rows import AnyRow, ViewId
from services.desk.rows.rules import ViewDefinition, ViewRow
from services.desk.rows.tickets import JobStatusRow, TicketRow
from services.desk.rules.actions import Effect
from services.desk.rules.conditions import get_field
from services.desk.shapes.base import Shape, make_url, render
from services.desk.shapes.tickets import render_custom_fields, render_ticket
from services.kernel.world import World


def render_view(row: ViewRow, base: str) -> Shape:
    """Renders a view with the vendor's `execution`, which has its columns and order."""
    body, output = row["body"], row["body"]["output"]
    without_output: AnyRow = {**row, "body": {name: value for name, value in body.items() if name != "output"}}
    sort, group = output["sort_by"], output["group_by"]
    columns = render_columns(body)
    execution = {
        "columns": columns,
        "fields": columns,
        "custom_fields": [],
        "sort_by": sort,
        "sort_order": output["sort_order"],
        "group_by": group,
        "group_order": output["group_order"],
        "sort": {"id": sort, "title": _title_of(sort), "order": output["sort_order"]},
        "group": None if group is None else {"id": group, "title": _title_of(group), "order": output["group_order"]},
    }
    return {**render("view", without_output, base), "execution": execution}


def render_view_rows(view: ViewDefinition, page: Page[TicketRow], base: str) -> Shape:
    rows = [_render_view_row(row, view, base) for row in page.rows]
    return {"columns": render_columns(view), "rows": rows, "view": {}}


def render_columns(view: ViewDefinition) -> list[Shape]:
    return [{"id": name, "title": _title_of(name)} for name in view["output"]["columns"]]


def render_view_count(view_id: ViewId, value: int, base: str) -> Shape:
    url = f"{base}/api/v2/views/{view_id}/count.json"
    return {"url": url, "view_id": view_id, "value": value, "pretty": round_count(value), "fresh": True, "active": True}


def round_count(value: int) -> str:
    """Writes a count as the vendor does, who marks large counts as approximate."""
    return str(value) if value < 1_000 else f"~{value // 1_000},{value % 1_000:03d}"


def _title_of(name: str) -> str:
    return COLUMNS[name].title if name in COLUMNS else str(name).replace("_", " ").capitalize()


def _render_view_row(row: TicketRow, view: ViewDefinition, base: str) -> Shape:
    """Renders the ticket in short, and beside it the columns of the view."""
    body = row["body"]
    shape: Shape = {
        "ticket": {
            "id": row["id"],
            "url": make_url("ticket", row, base),
            "subject": body["subject"],
            "description": body["description"],
            "status": body["status"],
            "priority": body["priority"],
            "type": body["type"],
            "last_comment": None,
        }
    }
    for name in view["output"]["columns"]:
        field = COLUMNS[name].field if name in COLUMNS else name
        shape[field if field.endswith("_id") else name] = _cell(row, field)
    return shape


def _cell(row: TicketRow, field: str) -> Any:
    match field:
        case "id":
            return row["id"]
        case "created_at" | "updated_at":
            return format_time(row[field])
        case "solved_at":
            return format_time(row["body"]["metrics"].get("solved_at"))
        case "due_at":
            return format_time(row["body"].get("due_at"))
        case "custom_fields" | "metrics":
            return None
    return get_field(row["body"], field)


def render_effect(effect: Effect) -> Shape:
    """Renders only the fields that a macro sets, and its comment."""
    fields: Shape = {**effect.changes}
    if "custom_fields" in fields:
        values = fields["custom_fields"]
        fields["custom_fields"] = render_custom_fields({key: value for key, value in values.items() if key.isdigit()})
    return {**fields, **_render_effect_comment(effect)}


def render_effect_on_ticket(row: TicketRow, effect: Effect, base: str) -> Shape:
    return {**render_ticket(row, base), **_render_effect_comment(effect)}


def _render_effect_comment(effect: Effect) -> Shape:
    payload = effect.comment(public=True)
    if payload is None:
        return {}
    comment = draft_comment(payload, author_is_staff=True)
    return {
        "comment": {
            "body": comment["body"],
            "html_body": comment["html_body"],
            "scoped_body": [["channel:all", comment["body"]]],
            "public": comment["public"],
        }
    }


def render_job(world: World, row: JobStatusRow, base: str) -> Shape:
    body = row["body"]
    shape = {name: value for name, value in body.items() if not name.startswith("_") and name != "due_at"}
    if body["status"] == "queued" and world.clock.now_ms() > row["created_at"]:
        shape["status"] = "working"
    return {"id": row["id"], "url": make_url("job_status", row, base), **shape}
