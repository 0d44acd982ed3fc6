"""Comments, audits, attachments and the events of exports."""

from collections.abc import Sequence

from services.desk.records.times import format_time
from services.desk.rows import EventId
from services.desk.rows.tickets import AttachmentRow, AuditEvent, AuditRow, CommentRow, MetricEventRow
from services.desk.shapes.base import Shape, render_body
from services.desk.tables import attachments, comments
from services.kernel.world import World


def render_comment(world: World, row: CommentRow, base: str) -> Shape:
    shape = render_body(row["body"])
    files = attachments.by_ids(world, row["body"]["attachments"])
    shape["attachments"] = [render_attachment(file, base) for file in files if not file["body"]["deleted"]]
    shape.pop("ticket_id")
    return {"id": row["id"], **shape, "created_at": format_time(row["created_at"])}


def render_comments(world: World, rows: Sequence[CommentRow], base: str) -> list[Shape]:
    return [render_comment(world, row, base) for row in rows]


def render_audits(world: World, rows: Sequence[AuditRow], base: str) -> list[Shape]:
    ids = [event["id"] for row in rows for event in row["body"]["events"] if event["type"] == "Comment"]
    by_id = {row["id"]: row for row in comments.by_ids(world, ids)}
    return [
        {
            "id": row["id"],
            "ticket_id": row["body"]["ticket_id"],
            "created_at": format_time(row["created_at"]),
            "author_id": row["body"]["author_id"],
            "via": row["body"]["via"],
            "metadata": row["body"]["metadata"],
            "events": [_render_event(world, event, by_id, base) for event in row["body"]["events"]],
        }
        for row in rows
    ]


def _render_event(world: World, event: AuditEvent, by_id: dict[EventId, CommentRow], base: str) -> Shape:
    if event["type"] != "Comment" or event["id"] not in by_id:
        return dict(event)
    shape = render_comment(world, by_id[event["id"]], base)
    return {**shape, "via": event["via"]} if "via" in event else shape


def render_attachment(row: AttachmentRow, base: str) -> Shape:
    body = {name: value for name, value in row["body"].items() if not name.startswith("_")}
    address = f"{base}/api/v2/attachments/{row['id']}"
    return {
        "url": f"{address}.json",
        "id": row["id"],
        **body,
        "content_url": f"{address}/content",
        "mapped_content_url": f"{address}/content",
        "malware_scan_result": "malware_not_found",
        "thumbnails": [],
    }


def render_ticket_event(row: AuditRow) -> Shape:
    """Renders an audit as the export of ticket events shows it."""
    body = row["body"]
    created = format_time(row["created_at"])
    return {
        "id": row["id"],
        "ticket_id": body["ticket_id"],
        "timestamp": row["created_at"] // 1000,
        "created_at": created,
        "updater_id": body["author_id"],
        "via": body["via"]["channel"] if body["via"] else None,
        "system": body["metadata"]["system"],
        "metadata": body["metadata"],
        "event_type": "Audit",
        "child_events": [_render_child_event(event, created) for event in body["events"]],
    }


def _render_child_event(event: AuditEvent, created: str) -> Shape:
    child: Shape = {"id": event["id"], "event_type": event["type"], "created_at": created}
    if event["type"] == "Create":
        return {**child, event["field_name"]: event["value"]}
    if event["type"] == "Change":
        return {**child, event["field_name"]: event["value"], "previous_value": event["previous_value"]}
    return child


def render_metric_event(row: MetricEventRow) -> Shape:
    body = {name: value for name, value in row["body"].items() if name[0] != "_" and not name.endswith("_at")}
    return {"id": row["id"], **body, "time": format_time(row["body"].get("time_at") or row["created_at"])}
