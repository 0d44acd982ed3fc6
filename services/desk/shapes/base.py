"""The shape that most records have on the wire."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.desk.records.times import format_time
from services.desk.rows import AnyRow

Shape = dict[str, Any]

# The path of a record, where it is not the plural of its kind.
_PATHS = {
    "identity": "users/{user_id}/identities/{id}",
    "sla_policy": "slas/policies/{id}",
    "custom_status": "custom_statuses/{id}",
    "category": "help_center/categories/{id}",
    "section": "help_center/sections/{id}",
    "article": "help_center/articles/{id}",
    "job_status": "job_statuses/{id}",
}


def render_body(body: Mapping[str, Any]) -> Shape:
    """Leaves out names that are ours, and writes times as the vendor does."""
    # Slices, not `startswith`: a list of 25 tickets has a thousand names.
    return {
        name: format_time(value) if name[-3:] == "_at" else value for name, value in body.items() if name[:1] != "_"
    }


def render(kind: str, row: AnyRow, base: str) -> Shape:
    """Renders any row: its address, id, body and times."""
    times = {"created_at": format_time(row["created_at"]), "updated_at": format_time(row["updated_at"])}
    return {"url": make_url(kind, row, base), "id": row["id"], **render_body(row["body"]), **times}


def render_all(kind: str, rows: Sequence[AnyRow], base: str) -> list[Shape]:
    return [render(kind, row, base) for row in rows]


def make_url(kind: str, row: AnyRow, base: str) -> str:
    template = _PATHS.get(kind)
    path = f"{kind}s/{row['id']}" if template is None else template.format(**{**row["body"], "id": row["id"]})
    return f"{base}/api/v2/{path}.json"
