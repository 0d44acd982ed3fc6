"""Pipelines and their stages."""

from typing import Annotated

from fastapi import Query, Response

from services.crm.operations import object_types, pipelines
from services.crm.routes.answers import REFUSALS, nothing
from services.crm.schemas import pipelines as bodies
from services.crm.schemas.shared import QueryFlag
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router

router = product_router(responses=REFUSALS, tags=["pipelines"])
_ALL = "/crm/v3/pipelines/{objectType}"
_ONE = _ALL + "/{pipelineId}"
_STAGES = _ONE + "/stages"
_STAGE = _STAGES + "/{stageId}"
Validated = Annotated[QueryFlag, Query(description="Refuse if records still use what is deleted.")]


@router.get(_ALL, operation_id="crm.pipelines.list", response_model=bodies.PipelineList)
async def list_all(objectType: str, world: CurrentWorld) -> Response:
    """List the pipelines of an object type with their stages; stages are named by id in records."""
    return Json({"results": pipelines.list_all(world, object_types.resolve(world, objectType))})


@router.post(_ALL, status_code=201, operation_id="crm.pipelines.create", response_model=bodies.PipelineOut)
async def create(objectType: str, body: bodies.PipelineIn, world: CurrentWorld) -> Response:
    """Create a pipeline with its stages."""
    kind = object_types.resolve(world, objectType)
    return Json(pipelines.create(world, kind, body.model_dump()), 201)


@router.get(_ONE, operation_id="crm.pipelines.get", response_model=bodies.PipelineOut)
async def read(objectType: str, pipelineId: str, world: CurrentWorld) -> Response:
    """Read one pipeline with its stages."""
    return Json(pipelines.read(world, object_types.resolve(world, objectType), pipelineId))


@router.patch(_ONE, operation_id="crm.pipelines.update", response_model=bodies.PipelineOut)
async def update(
    objectType: str,
    pipelineId: str,
    body: bodies.PipelineChangeIn,
    world: CurrentWorld,
    validateReferencesBeforeDelete: Validated = False,
    validateDealStageUsagesBeforeDelete: Validated = False,
) -> Response:
    """Rename or move a pipeline; archived=true archives it."""
    kind = object_types.resolve(world, objectType)
    shown = pipelines.update(world, kind, pipelineId, body.model_dump(exclude_none=True))
    if body.archived:
        validate = validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete
        pipelines.archive(world, kind, pipelineId, validate=validate)
        shown["archived"] = True
    return Json(shown)


@router.put(_ONE, operation_id="crm.pipelines.replace", response_model=bodies.PipelineOut)
async def replace(
    objectType: str,
    pipelineId: str,
    body: bodies.PipelineIn,
    world: CurrentWorld,
    validateReferencesBeforeDelete: Validated = False,
    validateDealStageUsagesBeforeDelete: Validated = False,
) -> Response:
    """Replace a pipeline and its stages; stages that are not named are archived."""
    kind = object_types.resolve(world, objectType)
    validate = validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete
    return Json(pipelines.replace(world, kind, pipelineId, body.model_dump(), validate=validate))


@router.delete(_ONE, status_code=204, operation_id="crm.pipelines.archive")
async def archive(
    objectType: str,
    pipelineId: str,
    world: CurrentWorld,
    validateReferencesBeforeDelete: Validated = False,
    validateDealStageUsagesBeforeDelete: Validated = False,
) -> Response:
    """Archive a pipeline and its stages."""
    kind = object_types.resolve(world, objectType)
    validate = validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete
    pipelines.archive(world, kind, pipelineId, validate=validate)
    return nothing()


@router.get(_ONE + "/audit", operation_id="crm.pipelines.audit", response_model=bodies.AuditList)
async def audit(objectType: str, pipelineId: str, world: CurrentWorld) -> Response:
    """Read what was done to a pipeline, newest first."""
    return Json({"results": pipelines.audit(world, object_types.resolve(world, objectType), pipelineId)})


@router.get(_STAGES, operation_id="crm.pipeline_stages.list", response_model=bodies.StageList)
async def list_stages(objectType: str, pipelineId: str, world: CurrentWorld) -> Response:
    """List the stages of a pipeline in their order."""
    return Json({"results": pipelines.list_stages(world, object_types.resolve(world, objectType), pipelineId)})


@router.post(_STAGES, status_code=201, operation_id="crm.pipeline_stages.create", response_model=bodies.StageOut)
async def create_stage(objectType: str, pipelineId: str, body: bodies.StageIn, world: CurrentWorld) -> Response:
    """Add a stage to a pipeline; deal stages need a probability in their metadata."""
    kind = object_types.resolve(world, objectType)
    return Json(pipelines.create_stage(world, kind, pipelineId, body.model_dump()), 201)


@router.get(_STAGE, operation_id="crm.pipeline_stages.get", response_model=bodies.StageOut)
async def read_stage(objectType: str, pipelineId: str, stageId: str, world: CurrentWorld) -> Response:
    """Read one stage of a pipeline by its id."""
    return Json(pipelines.read_stage(world, object_types.resolve(world, objectType), pipelineId, stageId))


@router.patch(_STAGE, operation_id="crm.pipeline_stages.update", response_model=bodies.StageOut)
async def update_stage(
    objectType: str, pipelineId: str, stageId: str, body: bodies.StageChangeIn, world: CurrentWorld
) -> Response:
    """Change a stage; archived=true archives it."""
    kind = object_types.resolve(world, objectType)
    given = body.model_dump(exclude_none=True)
    shown = pipelines.update_stage(world, kind, pipelineId, stageId, given)
    if body.archived:
        pipelines.archive_stage(world, kind, pipelineId, stageId)
        shown["archived"] = True
    return Json(shown)


@router.put(_STAGE, operation_id="crm.pipeline_stages.replace", response_model=bodies.StageOut)
async def replace_stage(
    objectType: str, pipelineId: str, stageId: str, body: bodies.StageIn, world: CurrentWorld
) -> Response:
    """Replace the label, order and metadata of a stage."""
    kind = object_types.resolve(world, objectType)
    return Json(pipelines.update_stage(world, kind, pipelineId, stageId, body.model_dump()))


@router.delete(_STAGE, status_code=204, operation_id="crm.pipeline_stages.archive")
async def archive_stage(objectType: str, pipelineId: str, stageId: str, world: CurrentWorld) -> Response:
    """Archive a stage that no record is in."""
    pipelines.archive_stage(world, object_types.resolve(world, objectType), pipelineId, stageId)
    return nothing()


@router.get(_STAGE + "/audit", operation_id="crm.pipeline_stages.audit", response_model=bodies.AuditList)
async def audit_stage(objectType: str, pipelineId: str, stageId: str, world: CurrentWorld) -> Response:  # noqa: ARG001 - below
    """Read what was done to a stage, newest first."""
    # A stage's id is enough, and the vendor's SDK leaves "{pipelineId}" in the path as it stands.
    return Json({"results": pipelines.audit_stage(world, object_types.resolve(world, objectType), stageId)})
