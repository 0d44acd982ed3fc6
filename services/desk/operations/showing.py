"""Rows as the wire shows them."""

from datetime import UTC, datetime
from typing import Any

from services.kernel.statements import Row

Shown = dict[str, Any]

# Where an object of a kind lives, where that is not the plural of its kind.
_PLACES = {
    "identity": "users/{user_id}/identities/{id}",
    "sla_policy": "slas/policies/{id}",
    "custom_status": "custom_statuses/{id}",
    "category": "help_center/categories/{id}",
    "section": "help_center/sections/{id}",
    "article": "help_center/articles/{id}",
    "job_status": "job_statuses/{id}",
}
# Shapes that have no address of their own on the wire.
_WITHOUT_URL = frozenset({"comment", "audit"})


def iso(ms: int | None) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamped(body: dict[str, Any]) -> Shown:
    """Without what is ours, and with times as the vendor writes them."""
    return {
        name: iso(value) if name.endswith("_at") else value for name, value in body.items() if not name.startswith("_")
    }


def shown(kind: str, row: Row, base: str) -> Shown:
    """Any row: its address, id, body and times."""
    body = row["body"]
    address = {} if kind in _WITHOUT_URL else {"url": url(kind, row, base)}
    times = {"created_at": iso(row["created_at"]), "updated_at": iso(row["updated_at"])}
    return {**address, "id": row["id"], **stamped(body), **times}


def url(kind: str, row: Row, base: str) -> str:
    place = _PLACES.get(kind, kind + "s/{id}").format(**{**row["body"], "id": row["id"]})
    return f"{base}/api/v2/{place}.json"


def ticket(row: Row, base: str) -> Shown:
    body = row["body"]
    fields = [{"id": int(key), "value": value} for key, value in body["custom_fields"].items()]
    told = stamped(body)
    for ours in ("metrics", "deleted_at", "deleted_by", "followup_source_id"):
        told.pop(ours, None)
    return {
        "url": f"{base}/api/v2/tickets/{row['id']}.json",
        "id": row["id"],
        **told,
        "raw_subject": body["subject"],
        "custom_fields": fields,
        "fields": fields,
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "has_incidents": body["type"] == "problem",
    }


def tickets(rows: list[Row], base: str) -> list[Shown]:
    return [ticket(row, base) for row in rows]


def many(kind: str, rows: list[Row], base: str) -> list[Shown]:
    return [shown(kind, row, base) for row in rows]
