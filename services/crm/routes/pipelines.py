"""Pipelines and their stages."""

from typing import Annotated

from fastapi import Depends, Query, Response

from services.crm.operations import object_types, pipelines
from services.crm.routes.dependencies import PathObjectType
from services.crm.routes.responses import REFUSALS, no_content
from services.crm.rows import PipelineRow, StageRow
from services.crm.schemas import pipelines as bodies
from services.crm.schemas.shared import QueryFlag
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router(responses=REFUSALS, tags=["pipelines"])
Validated = Annotated[QueryFlag, Query(description="Refuse if records still use what is deleted.")]


def find_pipeline(objectType: str, pipelineId: str, world: CurrentWorld) -> PipelineRow:
    return pipelines.require(world, object_types.resolve(world, objectType).name, pipelineId)


def find_stage(objectType: str, pipelineId: str, stageId: str, world: CurrentWorld) -> StageRow:
    return pipelines.require_stage(world, find_pipeline(objectType, pipelineId, world), stageId)


PathPipeline = Annotated[PipelineRow, Depends(find_pipeline)]
PathStage = Annotated[StageRow, Depends(find_stage)]


@router.get("/crm/v3/pipelines/{objectType}", operation_id="crm.pipelines.list", response_model=bodies.PipelineList)
async def list_all(object_type: PathObjectType, world: CurrentWorld) -> Response:
    """List the pipelines of an object type with their stages; stages are named by id in records."""
    rows = pipelines.list_all(world, object_type.name)
    return Json({"results": [pipelines.serialize(world, row) for row in rows]})


@router.post(
    "/crm/v3/pipelines/{objectType}",
    status_code=201,
    operation_id="crm.pipelines.create",
    response_model=bodies.PipelineOut,
)
async def create(object_type: PathObjectType, body: bodies.PipelineIn, world: CurrentWorld) -> Response:
    """Create a pipeline with its stages."""
    return Json(pipelines.serialize(world, pipelines.create(world, object_type, body.model_dump())), 201)


@router.get(
    "/crm/v3/pipelines/{objectType}/{pipelineId}", operation_id="crm.pipelines.get", response_model=bodies.PipelineOut
)
async def read(pipeline: PathPipeline, world: CurrentWorld) -> Response:
    """Read one pipeline with its stages."""
    return Json(pipelines.serialize(world, pipeline))


@router.patch(
    "/crm/v3/pipelines/{objectType}/{pipelineId}",
    operation_id="crm.pipelines.update",
    response_model=bodies.PipelineOut,
)
async def update(
    pipeline: PathPipeline,
    body: bodies.PipelineChangeIn,
    world: CurrentWorld,
    validateReferencesBeforeDelete: Validated = False,
    validateDealStageUsagesBeforeDelete: Validated = False,
) -> Response:
    """Rename or move a pipeline; archived=true archives it."""
    changed = pipelines.update(world, pipeline, body.model_dump(exclude_none=True))
    answer = pipelines.serialize(world, changed)
    if body.archived:
        validate = validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete
        pipelines.archive(world, changed, validate=validate)
        answer["archived"] = True
    return Json(answer)


@router.put(
    "/crm/v3/pipelines/{objectType}/{pipelineId}",
    operation_id="crm.pipelines.replace",
    response_model=bodies.PipelineOut,
)
async def replace(
    pipeline: PathPipeline,
    body: bodies.PipelineIn,
    world: CurrentWorld,
    validateReferencesBeforeDelete: Validated = False,
    validateDealStageUsagesBeforeDelete: Validated = False,
) -> Response:
    """Replace a pipeline and its stages; stages that are not named are archived."""
    validate = validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete
    row = pipelines.replace(world, pipeline, body.model_dump(), validate=validate)
    return Json(pipelines.serialize(world, row))


@router.delete("/crm/v3/pipelines/{objectType}/{pipelineId}", status_code=204, operation_id="crm.pipelines.archive")
async def archive(
    pipeline: PathPipeline,
    world: CurrentWorld,
    validateReferencesBeforeDelete: Validated = False,
    validateDealStageUsagesBeforeDelete: Validated = False,
) -> Response:
    """Archive a pipeline and its stages."""
    validate = validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete
    pipelines.archive(world, pipeline, validate=validate)
    return no_content()


@router.get(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/audit",
    operation_id="crm.pipelines.audit",
    response_model=bodies.AuditList,
)
async def audit(object_type: PathObjectType, pipelineId: str, world: CurrentWorld) -> Response:
    """Read what was done to a pipeline, newest first."""
    row = pipelines.require(world, object_type.name, pipelineId, or_archived=True)
    return Json({"results": pipelines.list_audits(world, row)})


@router.get(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages",
    operation_id="crm.pipeline_stages.list",
    response_model=bodies.StageList,
)
async def list_stages(pipeline: PathPipeline, world: CurrentWorld) -> Response:
    """List the stages of a pipeline in their order."""
    return Json({"results": [pipelines.serialize_stage(row) for row in pipelines.list_stages(world, pipeline)]})


@router.post(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages",
    status_code=201,
    operation_id="crm.pipeline_stages.create",
    response_model=bodies.StageOut,
)
async def create_stage(pipeline: PathPipeline, body: bodies.StageIn, world: CurrentWorld) -> Response:
    """Add a stage to a pipeline; deal stages need a probability in their metadata."""
    return Json(pipelines.serialize_stage(pipelines.create_stage(world, pipeline, body.model_dump())), 201)


@router.get(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
    operation_id="crm.pipeline_stages.get",
    response_model=bodies.StageOut,
)
async def read_stage(stage: PathStage) -> Response:
    """Read one stage of a pipeline by its id."""
    return Json(pipelines.serialize_stage(stage))


@router.patch(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
    operation_id="crm.pipeline_stages.update",
    response_model=bodies.StageOut,
)
async def update_stage(stage: PathStage, body: bodies.StageChangeIn, world: CurrentWorld) -> Response:
    """Change a stage; archived=true archives it."""
    changed = pipelines.update_stage(world, stage, body.model_dump(exclude_none=True))
    answer = pipelines.serialize_stage(changed)
    if body.archived:
        pipelines.archive_stage(world, changed)
        answer["archived"] = True
    return Json(answer)


@router.put(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
    operation_id="crm.pipeline_stages.replace",
    response_model=bodies.StageOut,
)
async def replace_stage(stage: PathStage, body: bodies.StageIn, world: CurrentWorld) -> Response:
    """Replace the label, order and metadata of a stage."""
    return Json(pipelines.serialize_stage(pipelines.update_stage(world, stage, body.model_dump())))


@router.delete(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
    status_code=204,
    operation_id="crm.pipeline_stages.archive",
)
async def archive_stage(stage: PathStage, world: CurrentWorld) -> Response:
    """Archive a stage that no record is in."""
    pipelines.archive_stage(world, stage)
    return no_content()


@router.get(
    "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}/audit",
    operation_id="crm.pipeline_stages.audit",
    response_model=bodies.AuditList,
)
async def audit_stage(object_type: PathObjectType, pipelineId: str, stageId: str, world: CurrentWorld) -> Response:  # noqa: ARG001 - below
    """Read what was done to a stage, newest first."""
    # A stage's id is enough, and the vendor's SDK leaves "{pipelineId}" in the path as it stands.
    row = pipelines.require_any_stage(world, object_type.name, stageId)
    return Json({"results": pipelines.list_stage_audits(world, row)})
