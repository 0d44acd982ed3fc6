"""Pipelines and their stages, with an audit of their changes."""

from collections.abc import Mapping, Sequence

from services.crm.defaults import pipeline_row, stage_row
from services.crm.errors import AlreadyExists, InvalidRequest, RecordNotFound
from services.crm.object_types import BY_NAME, ObjectType
from services.crm.operations.object_types import PORTAL_ID
from services.crm.rows import Body, ObjectTypeName, PipelineRow, StageRow
from services.crm.tables import pipeline_key, pipelines, stage_key, stages
from services.kernel.changes import Change
from services.kernel.clock import iso
from services.kernel.statements import Row, select_where
from services.kernel.world import World

_IN_ORDER = ("display_order", "id")
_OF_TYPE = select_where(pipelines, "kind", condition=pipelines.c.archived_at.is_(None), order_by=_IN_ORDER)
_STAGES = select_where(stages, "kind", "pipeline_id", condition=stages.c.archived_at.is_(None), order_by=_IN_ORDER)
_IN_USE = (
    "SELECT o.id FROM property_values v JOIN objects o ON o.id = v.object_id "
    "WHERE v.kind = ? AND v.name = ? AND coalesce(v.exact, v.folded) = ? AND o.archived_at IS NULL "
    "ORDER BY o.id LIMIT 5"
)
_ACTIONS = {"created": "CREATE", "updated": "UPDATE", "archived": "DELETE"}
_AUTHOR = 59201174


def list_all(world: World, type_name: ObjectTypeName) -> list[PipelineRow]:
    return world.find(_OF_TYPE, kind=type_name)


def require(world: World, type_name: ObjectTypeName, pipeline_id: str, *, or_archived: bool = False) -> PipelineRow:
    row = world.get(pipelines, pipeline_key(type_name, pipeline_id))
    if row is None or (row["archived_at"] is not None and not or_archived):
        raise RecordNotFound(f"Pipeline with id {pipeline_id} does not exist for {type_name}")
    return row


def create(world: World, object_type: ObjectType, request: Body) -> PipelineRow:
    if object_type.pipeline_properties is None:
        raise InvalidRequest(f"Object type {object_type.name} does not support pipelines")
    _refuse_taken_label(world, object_type.name, request["label"])
    row = pipeline_row(
        object_type.name,
        request.get("pipelineId") or str(700_000_000 + world.ids.next("pipeline")),
        request["label"],
        request["displayOrder"],
        world.clock.now_ms(),
    )
    if (before := world.get(pipelines, row["id"])) is not None and before["archived_at"] is None:
        raise AlreadyExists(f"Pipeline with id {row['pipeline_id']} already exists")
    world.save(pipelines, row, "pipeline.created")
    for stage_request in request["stages"]:
        create_stage(world, row, stage_request)
    return row


def update(world: World, row: PipelineRow, changes: Body) -> PipelineRow:
    if "label" in changes:
        _refuse_taken_label(world, row["kind"], changes["label"], row)
    changed = row | {
        "label": changes.get("label", row["label"]),
        "display_order": changes.get("displayOrder", row["display_order"]),
    }
    if changed != row:
        changed["updated_at"] = world.clock.now_ms()
        world.save(pipelines, changed, "pipeline.updated")
    return changed


def replace(world: World, row: PipelineRow, request: Body, *, validate: bool) -> PipelineRow:
    """Replaces the stages too: those whose label is known stay, the others are archived or created."""
    requests_by_label = {stage_request["label"]: stage_request for stage_request in request["stages"]}
    for stage in list_stages(world, row):
        if stage["label"] in requests_by_label:
            update_stage(world, stage, requests_by_label.pop(stage["label"]))
        else:
            archive_stage(world, stage, validate=validate)
    for stage_request in requests_by_label.values():
        create_stage(world, row, stage_request)
    return update(world, row, {"label": request["label"], "displayOrder": request["displayOrder"]})


def archive(world: World, row: PipelineRow, *, validate: bool) -> None:
    if validate:
        _refuse_used(world, row["kind"], 0, row["pipeline_id"], f"Pipeline {row['pipeline_id']}")
    now = world.clock.now_ms()
    for stage in list_stages(world, row):
        world.save(stages, stage | {"updated_at": now, "archived_at": now}, "stage.archived")
    world.save(pipelines, row | {"updated_at": now, "archived_at": now}, "pipeline.archived")


def list_audits(world: World, row: PipelineRow) -> list[Body]:
    return _list_audits(row["pipeline_id"], row, world.history(pipelines, row["id"]))


def list_stages(world: World, row: PipelineRow) -> list[StageRow]:
    return world.find(_STAGES, kind=row["kind"], pipeline_id=row["pipeline_id"])


def require_stage(world: World, pipeline: PipelineRow, stage_id: str) -> StageRow:
    row = require_any_stage(world, pipeline["kind"], stage_id)
    if row["pipeline_id"] != pipeline["pipeline_id"] or row["archived_at"] is not None:
        raise _stage_not_found(stage_id)
    return row


def require_any_stage(world: World, type_name: ObjectTypeName, stage_id: str) -> StageRow:
    """Finds a stage in any pipeline, also an archived one."""
    row = world.get(stages, stage_key(type_name, stage_id))
    if row is None:
        raise _stage_not_found(stage_id)
    return row


def create_stage(world: World, pipeline: PipelineRow, request: Body) -> StageRow:
    type_name, pipeline_id, label = pipeline["kind"], pipeline["pipeline_id"], request["label"]
    if any(row["label"] == label for row in list_stages(world, pipeline)):
        raise AlreadyExists(f"Stage label {label} already exists in pipeline {pipeline_id}")
    stage_id = request.get("stageId") or str(900_000_000 + world.ids.next("stage"))
    before = world.get(stages, stage_key(type_name, stage_id))
    if before is not None and before["archived_at"] is None:
        raise AlreadyExists(f"Stage with id {stage_id} already exists")
    metadata = _complete_metadata(type_name, request.get("metadata") or {})
    now = world.clock.now_ms()
    row = stage_row(type_name, pipeline_id, stage_id, label, request["displayOrder"], metadata, now)
    world.save(stages, row, "stage.created")
    return row


def update_stage(world: World, row: StageRow, changes: Body) -> StageRow:
    changed = row | {
        "label": changes.get("label", row["label"]),
        "display_order": changes.get("displayOrder", row["display_order"]),
    }
    if changes.get("metadata"):
        changed["metadata"] = {**row["metadata"], **_complete_metadata(row["kind"], changes["metadata"])}
    if changed != row:
        changed["updated_at"] = world.clock.now_ms()
        world.save(stages, changed, "stage.updated")
    return changed


def archive_stage(world: World, row: StageRow, *, validate: bool = True) -> None:
    if validate:
        _refuse_used(world, row["kind"], 1, row["stage_id"], f"Stage {row['stage_id']}")
    now = world.clock.now_ms()
    world.save(stages, row | {"updated_at": now, "archived_at": now}, "stage.archived")


def list_stage_audits(world: World, row: StageRow) -> list[Body]:
    return _list_audits(row["stage_id"], row, world.history(stages, row["id"]))


def serialize(world: World, row: PipelineRow) -> Body:
    return {
        "id": row["pipeline_id"],
        "label": row["label"],
        "displayOrder": row["display_order"],
        "stages": [serialize_stage(stage) for stage in list_stages(world, row)],
        "createdAt": iso(row["created_at"]),
        "updatedAt": iso(row["updated_at"]),
        "archived": row["archived_at"] is not None,
    }


def serialize_stage(row: StageRow) -> Body:
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


def _stage_not_found(stage_id: str) -> RecordNotFound:
    return RecordNotFound(f"Stage with id {stage_id} does not exist")


def _refuse_taken_label(world: World, type_name: ObjectTypeName, label: str, own: PipelineRow | None = None) -> None:
    for row in list_all(world, type_name):
        if row["label"] == label and (own is None or row["id"] != own["id"]):
            raise AlreadyExists(f"Pipeline label {label} already exists")


def _complete_metadata(type_name: ObjectTypeName, request: Mapping[str, str]) -> dict[str, str]:
    """A deal's stage has a probability that says whether it is closed; a ticket's stage has a state."""
    metadata = dict(request)
    if type_name == "deals":
        try:
            probability = float(metadata.get("probability", ""))
        except ValueError:
            probability = -1.0
        if not 0 <= probability <= 1:
            raise InvalidRequest(
                "Deal stages need a metadata probability between 0.0 and 1.0", context={"metadata": ["probability"]}
            )
        metadata["isClosed"] = metadata.get("isClosed") or ("true" if probability in (0.0, 1.0) else "false")
    if type_name == "tickets":
        state = metadata.setdefault("ticketState", "OPEN")
        if state not in ("OPEN", "CLOSED"):
            raise InvalidRequest("ticketState must be OPEN or CLOSED", context={"metadata": ["ticketState"]})
        metadata["isClosed"] = "true" if state == "CLOSED" else "false"
    return metadata


def _refuse_used(world: World, type_name: ObjectTypeName, which: int, value: str, what: str) -> None:
    """Refuses if a record names the pipeline (`which` is 0) or the stage (1) that is to be archived."""
    object_type = BY_NAME.get(type_name)
    if object_type is None or object_type.pipeline_properties is None:
        return
    rows = world.rows(_IN_USE, (type_name, object_type.pipeline_properties[which], value))
    if rows:
        ids = [record_id for (record_id,) in rows]
        raise InvalidRequest(
            f"{what} is still being referenced by object IDs: {ids}",
            sub_category="PipelineError.STAGE_ID_IN_USE",
            context={"objectIds": [str(record_id) for record_id in ids]},
        )


def _list_audits(identifier: str, row: PipelineRow | StageRow, changes: Sequence[Change]) -> list[Body]:
    """Lists the account's changes, the newest first, and then the creation if it came before them."""
    audits = [
        _audit(identifier, _ACTIONS.get(change.event.rpartition(".")[2], "UPDATE"), change.at, change.after)
        for change in reversed(changes)
    ]
    if not changes:
        audits.append(_audit(identifier, "CREATE", row["created_at"], dict(row)))
    elif changes[0].before is not None:
        audits.append(_audit(identifier, "CREATE", row["created_at"], changes[0].before))
    return audits


def _audit(identifier: str, action: str, time: int, image: Row | None) -> Body:
    body: Body = {
        "portalId": PORTAL_ID,
        "identifier": identifier,
        "action": action,
        "timestamp": iso(time),
        "fromUserId": _AUTHOR,
    }
    if image is not None:
        body["rawObject"] = {"label": image["label"], "displayOrder": image["display_order"]}
    return body
