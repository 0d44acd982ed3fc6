"""Pipelines and their stages, with an audit of what was done to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from services.crm.defaults import pipeline_row, stage_row
from services.crm.errors import AlreadyExists, InvalidRequest, RecordNotFound
from services.crm.kinds import Kind
from services.crm.operations.object_types import PORTAL_ID
from services.crm.tables import pipelines, qualified, stages
from services.kernel.clock import iso
from services.kernel.statements import Row, Statement
from services.kernel.world import World

_OF_KIND = Statement(
    sa.select(pipelines)
    .where(pipelines.c.kind == sa.bindparam("kind"), pipelines.c.archived_at.is_(None))
    .order_by(pipelines.c.display_order, pipelines.c.id)
)
_STAGES = Statement(
    sa.select(stages)
    .where(
        stages.c.kind == sa.bindparam("kind"),
        stages.c.pipeline_id == sa.bindparam("pipeline_id"),
        stages.c.archived_at.is_(None),
    )
    .order_by(stages.c.display_order, stages.c.id)
)
_IN_USE = (
    "SELECT o.id FROM property_values v JOIN objects o ON o.id = v.object_id "
    "WHERE v.kind = ? AND v.name = ? AND coalesce(v.exact, v.folded) = ? AND o.archived_at IS NULL "
    "ORDER BY o.id LIMIT 5"
)
_ACTIONS = {"created": "CREATE", "updated": "UPDATE", "archived": "DELETE"}
_AUTHOR = 59201174


def list_all(world: World, kind: Kind) -> list[Row]:
    return [_shown(world, row) for row in world.find(_OF_KIND, kind=kind.name)]


def read(world: World, kind: Kind, pipeline_id: str) -> Row:
    return _shown(world, _live(world, kind, pipeline_id))


def create(world: World, kind: Kind, given: Mapping[str, Any]) -> Row:
    _require_pipelines(kind)
    _refuse_label(world, kind, given["label"], None)
    row = pipeline_row(
        kind.name,
        given.get("pipelineId") or str(700_000_000 + world.ids.next("pipeline")),
        given["label"],
        given["displayOrder"],
        world.clock.now_ms(),
    )
    if (before := world.get(pipelines, row["id"])) is not None and before["archived_at"] is None:
        raise AlreadyExists(f"Pipeline with id {row['pipeline_id']} already exists")
    world.save(pipelines, row, "pipeline.created")
    _stage_all(world, kind, row["pipeline_id"], given["stages"])
    return _shown(world, row)


def update(world: World, kind: Kind, pipeline_id: str, given: Mapping[str, Any]) -> Row:
    row = _live(world, kind, pipeline_id)
    if "label" in given:
        _refuse_label(world, kind, given["label"], row["id"])
    changed = {
        **row,
        "label": given.get("label", row["label"]),
        "display_order": given.get("displayOrder", row["display_order"]),
    }
    if changed != row:
        changed["updated_at"] = world.clock.now_ms()
        world.save(pipelines, changed, "pipeline.updated")
    return _shown(world, changed)


def replace(world: World, kind: Kind, pipeline_id: str, given: Mapping[str, Any], *, validate: bool) -> Row:
    """The stages given are the stages there are: those with a known label stay, the rest come and go."""
    row = _live(world, kind, pipeline_id)
    kept = {one["label"]: one for one in given["stages"]}
    for stage in world.find(_STAGES, kind=kind.name, pipeline_id=pipeline_id):
        if stage["label"] in kept:
            _change_stage(world, kind, stage, kept.pop(stage["label"]))
        else:
            _archive_stage(world, kind, stage, validate=validate)
    _stage_all(world, kind, pipeline_id, list(kept.values()))
    return update(world, kind, row["pipeline_id"], {"label": given["label"], "displayOrder": given["displayOrder"]})


def archive(world: World, kind: Kind, pipeline_id: str, *, validate: bool) -> None:
    row = _live(world, kind, pipeline_id)
    if validate:
        _refuse_used(world, kind, 0, pipeline_id, f"Pipeline {pipeline_id}")
    now = world.clock.now_ms()
    for stage in world.find(_STAGES, kind=kind.name, pipeline_id=pipeline_id):
        world.save(stages, {**stage, "updated_at": now, "archived_at": now}, "stage.archived")
    world.save(pipelines, {**row, "updated_at": now, "archived_at": now}, "pipeline.archived")


def audit(world: World, kind: Kind, pipeline_id: str) -> list[Row]:
    row = world.get(pipelines, qualified(kind.name, pipeline_id))
    if row is None:
        raise _unknown(kind, pipeline_id)
    return _audited(world, pipelines, row, pipeline_id)


def list_stages(world: World, kind: Kind, pipeline_id: str) -> list[Row]:
    _live(world, kind, pipeline_id)
    return [_shown_stage(row) for row in world.find(_STAGES, kind=kind.name, pipeline_id=pipeline_id)]


def read_stage(world: World, kind: Kind, pipeline_id: str, stage_id: str) -> Row:
    return _shown_stage(_live_stage(world, kind, pipeline_id, stage_id))


def create_stage(world: World, kind: Kind, pipeline_id: str, given: Mapping[str, Any]) -> Row:
    _live(world, kind, pipeline_id)
    return _shown_stage(_new_stage(world, kind, pipeline_id, given))


def update_stage(world: World, kind: Kind, pipeline_id: str, stage_id: str, given: Mapping[str, Any]) -> Row:
    return _shown_stage(_change_stage(world, kind, _live_stage(world, kind, pipeline_id, stage_id), given))


def archive_stage(world: World, kind: Kind, pipeline_id: str, stage_id: str) -> None:
    _archive_stage(world, kind, _live_stage(world, kind, pipeline_id, stage_id), validate=True)


def audit_stage(world: World, kind: Kind, stage_id: str) -> list[Row]:
    row = world.get(stages, qualified(kind.name, stage_id))
    if row is None:
        raise _unknown_stage(stage_id)
    return _audited(world, stages, row, stage_id)


def _require_pipelines(kind: Kind) -> None:
    if kind.pipeline is None:
        raise InvalidRequest(f"Object type {kind.name} does not support pipelines")


def _live(world: World, kind: Kind, pipeline_id: str) -> Row:
    row = world.get(pipelines, qualified(kind.name, pipeline_id))
    if row is None or row["archived_at"] is not None:
        raise _unknown(kind, pipeline_id)
    return row


def _live_stage(world: World, kind: Kind, pipeline_id: str, stage_id: str) -> Row:
    _live(world, kind, pipeline_id)
    row = world.get(stages, qualified(kind.name, stage_id))
    if row is None or row["pipeline_id"] != pipeline_id or row["archived_at"] is not None:
        raise _unknown_stage(stage_id)
    return row


def _unknown(kind: Kind, pipeline_id: str) -> RecordNotFound:
    return RecordNotFound(f"Pipeline with id {pipeline_id} does not exist for {kind.name}")


def _unknown_stage(stage_id: str) -> RecordNotFound:
    return RecordNotFound(f"Stage with id {stage_id} does not exist")


def _refuse_label(world: World, kind: Kind, label: str, own: str | None) -> None:
    if any(row["label"] == label and row["id"] != own for row in world.find(_OF_KIND, kind=kind.name)):
        raise AlreadyExists(f"Pipeline label {label} already exists")


def _stage_all(world: World, kind: Kind, pipeline_id: str, given: Sequence[Mapping[str, Any]]) -> None:
    for one in given:
        _new_stage(world, kind, pipeline_id, one)


def _new_stage(world: World, kind: Kind, pipeline_id: str, given: Mapping[str, Any]) -> Row:
    siblings = world.find(_STAGES, kind=kind.name, pipeline_id=pipeline_id)
    if any(row["label"] == given["label"] for row in siblings):
        raise AlreadyExists(f"Stage label {given['label']} already exists in pipeline {pipeline_id}")
    stage_id = given.get("stageId") or str(900_000_000 + world.ids.next("stage"))
    before = world.get(stages, qualified(kind.name, stage_id))
    if before is not None and before["archived_at"] is None:
        raise AlreadyExists(f"Stage with id {stage_id} already exists")
    metadata = _metadata(kind, given.get("metadata") or {})
    now = world.clock.now_ms()
    row = stage_row(kind.name, pipeline_id, stage_id, given["label"], given["displayOrder"], metadata, now)
    world.save(stages, row, "stage.created")
    return row


def _change_stage(world: World, kind: Kind, row: Row, given: Mapping[str, Any]) -> Row:
    changed = {
        **row,
        "label": given.get("label", row["label"]),
        "display_order": given.get("displayOrder", row["display_order"]),
    }
    if given.get("metadata"):
        changed["metadata"] = {**row["metadata"], **_metadata(kind, given["metadata"])}
    if changed != row:
        changed["updated_at"] = world.clock.now_ms()
        world.save(stages, changed, "stage.updated")
    return changed


def _metadata(kind: Kind, given: Mapping[str, str]) -> dict[str, str]:
    """A deal's stage carries a probability that says whether it is closed; a ticket's carries its state."""
    metadata = dict(given)
    if kind.name == "deals":
        try:
            probability = float(metadata.get("probability", ""))
        except ValueError:
            probability = -1.0
        if not 0 <= probability <= 1:
            raise InvalidRequest(
                "Deal stages need a metadata probability between 0.0 and 1.0", context={"metadata": ["probability"]}
            )
        metadata["isClosed"] = metadata.get("isClosed") or ("true" if probability in (0.0, 1.0) else "false")
    if kind.name == "tickets":
        state = metadata.setdefault("ticketState", "OPEN")
        if state not in ("OPEN", "CLOSED"):
            raise InvalidRequest("ticketState must be OPEN or CLOSED", context={"metadata": ["ticketState"]})
        metadata["isClosed"] = "true" if state == "CLOSED" else "false"
    return metadata


def _archive_stage(world: World, kind: Kind, row: Row, *, validate: bool) -> None:
    if validate:
        _refuse_used(world, kind, 1, row["stage_id"], f"Stage {row['stage_id']}")
    now = world.clock.now_ms()
    world.save(stages, {**row, "updated_at": now, "archived_at": now}, "stage.archived")


def _refuse_used(world: World, kind: Kind, which: int, value: str, what: str) -> None:
    used = [] if kind.pipeline is None else world.rows(_IN_USE, (kind.name, kind.pipeline[which], value))
    if used:
        raise InvalidRequest(
            f"{what} is still being referenced by object IDs: {[found[0] for found in used]}",
            sub_category="PipelineError.STAGE_ID_IN_USE",
            context={"objectIds": [str(found[0]) for found in used]},
        )


def _audited(world: World, table: sa.Table, row: Row, identifier: str) -> list[Row]:
    """Newest first: the account's changes, then what was there from the start."""
    written = world.history(table, row["id"])
    entries = [
        _entry(identifier, _ACTIONS.get(change.event.rpartition(".")[2], "UPDATE"), change.at, change.after)
        for change in reversed(written)
    ]
    if not written or written[0].before is not None:
        entries.append(_entry(identifier, "CREATE", row["created_at"], written[0].before if written else row))
    return entries


def _entry(identifier: str, action: str, at: int, image: Row | None) -> Row:
    entry: Row = {
        "portalId": PORTAL_ID,
        "identifier": identifier,
        "action": action,
        "timestamp": iso(at),
        "fromUserId": _AUTHOR,
    }
    if image is not None:
        entry["rawObject"] = {"label": image["label"], "displayOrder": image["display_order"]}
    return entry


def _shown(world: World, row: Row) -> Row:
    shown: Row = {
        "id": row["pipeline_id"],
        "label": row["label"],
        "displayOrder": row["display_order"],
        "stages": [
            _shown_stage(stage) for stage in world.find(_STAGES, kind=row["kind"], pipeline_id=row["pipeline_id"])
        ],
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": row["archived_at"] is not None,
    }
    return shown


def _shown_stage(row: Row) -> Row:
    return {
        "id": row["stage_id"],
        "label": row["label"],
        "displayOrder": row["display_order"],
        "metadata": row["metadata"],
        "writePermissions": "CRM_PERMISSIONS_ENFORCEMENT",
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": row["archived_at"] is not None,
    }
