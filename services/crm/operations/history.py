"""Past values of properties: read from the episode's changes, and from the template for the value before them."""

from collections.abc import Iterable, Sequence

from services.crm.object_types import ObjectType
from services.crm.rows import Body, RecordRow
from services.crm.tables import objects
from services.kernel.changes import AGENT, AGENTS_JOB, PLANTED, SYSTEM, TIME, Change
from services.kernel.clock import iso
from services.kernel.statements import Row
from services.kernel.world import World

_SOURCES: dict[str, Body] = {
    AGENT: {"sourceType": "INTEGRATION", "sourceId": "4180316"},
    TIME: {"sourceType": "IMPORT", "sourceId": "IMPORT"},
    AGENTS_JOB: {"sourceType": "IMPORT", "sourceId": "IMPORT"},
    SYSTEM: {"sourceType": "CRM_UI", "sourceId": "userId:59201174", "updatedByUserId": 59201174},
}


def read_history(world: World, object_type: ObjectType, row: RecordRow, names: Sequence[str]) -> dict[str, list[Body]]:
    """Returns the versions of each property, the newest first, as the vendor lists them."""
    # What was planted is how the record came to be, as for a record of the template.
    changes = [change for change in world.history(objects, row["id"]) if change.event != PLANTED]
    system_values = {
        object_type.created_property: _version(iso(row["created_at"]), row["created_at"], SYSTEM),
        object_type.modified_property: _version(iso(row["updated_at"]), row["updated_at"], SYSTEM),
        "hs_object_id": _version(str(row["id"]), row["created_at"], SYSTEM),
    }
    versions = {
        name: [system_values[name]] if name in system_values else list(_versions(name, row, changes)) for name in names
    }
    return {name: listed for name, listed in versions.items() if listed}


def _versions(name: str, row: RecordRow, changes: Sequence[Change]) -> Iterable[Body]:
    for change in reversed(changes):
        before, after = _value(change.before, name), _value(change.after, name)
        if before != after:
            yield _version(after or "", change.at, change.actor)
    first = _value(changes[0].before, name) if changes else row["properties"].get(name)
    if first is not None:
        yield _version(first, row["created_at"], SYSTEM)


def _value(image: Row | None, name: str) -> str | None:
    value: str | None = None if image is None else image["properties"].get(name)
    return value


def _version(value: str, time: int, actor: str) -> Body:
    return {"value": value, "timestamp": iso(time), **_SOURCES.get(actor, _SOURCES[SYSTEM])}
