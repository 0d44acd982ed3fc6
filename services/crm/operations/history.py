"""What a property was before: read from the episode's changes, and from the template for what came first."""

from collections.abc import Iterable, Sequence
from typing import Any

from services.crm.kinds import Kind
from services.crm.tables import objects
from services.kernel.changes import AGENTS_JOB, Change
from services.kernel.clock import iso
from services.kernel.statements import Row
from services.kernel.world import World

_SOURCES: dict[str, dict[str, Any]] = {
    "agent": {"sourceType": "INTEGRATION", "sourceId": "4180316"},
    "time": {"sourceType": "IMPORT", "sourceId": "IMPORT"},
    AGENTS_JOB: {"sourceType": "IMPORT", "sourceId": "IMPORT"},
    "house": {"sourceType": "CRM_UI", "sourceId": "userId:59201174", "updatedByUserId": 59201174},
}


def of(world: World, kind: Kind, row: Row, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Newest first, as the vendor lists it."""
    written = world.history(objects, row["id"])
    told = {name: list(_versions(name, row, written)) for name in names}
    told |= {
        name: [_system(name, kind, row)] for name in names if name in (kind.created, kind.modified, "hs_object_id")
    }
    return {name: versions for name, versions in told.items() if versions}


def _versions(name: str, row: Row, written: Sequence[Change]) -> Iterable[dict[str, Any]]:
    for change in reversed(written):
        before, after = _value(change.before, name), _value(change.after, name)
        if before != after:
            yield _version(after or "", change.at, change.actor)
    first = _value(written[0].before, name) if written else row["properties"].get(name)
    if first is not None:
        yield _version(first, row["created_at"], "house")


def _system(name: str, kind: Kind, row: Row) -> dict[str, Any]:
    values = {
        kind.created: iso(row["created_at"]),
        kind.modified: iso(row["updated_at"]),
        "hs_object_id": str(row["id"]),
    }
    return _version(values[name], row["updated_at"] if name == kind.modified else row["created_at"], "house")


def _value(image: Row | None, name: str) -> str | None:
    value: str | None = None if image is None else image["properties"].get(name)
    return value


def _version(value: str, at: int, actor: str) -> dict[str, Any]:
    return {"value": value, "timestamp": iso(at), **_SOURCES.get(actor, _SOURCES["house"])}
