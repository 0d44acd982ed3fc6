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
from services.kernel.operations import Operation, add_operations

router = product_router(responses=REFUSALS, tags=["pipelines"])
Validated = Annotated[QueryFlag, Query(description="Refuse if records still use what is deleted.")]


def validate_usage(
    validateReferencesBeforeDelete: Validated = False, validateDealStageUsagesBeforeDelete: Validated = False
) -> bool:
    """Either parameter makes a deletion refuse what records still use."""
    return validateReferencesBeforeDelete or validateDealStageUsagesBeforeDelete


ValidateUsage = Annotated[bool, Depends(validate_usage)]


def find_pipeline(objectType: str, pipelineId: str, world: CurrentWorld) -> PipelineRow:
    return pipelines.require(world, object_types.resolve(world, objectType).name, pipelineId)


def find_stage(objectType: str, pipelineId: str, stageId: str, world: CurrentWorld) -> StageRow:
    return pipelines.require_stage(world, find_pipeline(objectType, pipelineId, world), stageId)


PathPipeline = Annotated[PipelineRow, Depends(find_pipeline)]
PathStage = Annotated[StageRow, Depends(find_stage)]


async def list_all(object_type: PathObjectType, world: CurrentWorld) -> Response:
    """List the pipelines of an object type with their stages; stages are named by id in records."""
    rows = pipelines.list_all(world, object_type.name)
    return Json({"results": [pipelines.serialize(world, row) for row in rows]})


async def create(object_type: PathObjectType, body: bodies.PipelineIn, world: CurrentWorld) -> Response:
    """Create a pipeline with its stages."""
    return Json(pipelines.serialize(world, pipelines.create(world, object_type, body.model_dump())), 201)


async def read(pipeline: PathPipeline, world: CurrentWorld) -> Response:
    """Read one pipeline with its stages."""
    return Json(pipelines.serialize(world, pipeline))


async def update(
    pipeline: PathPipeline, body: bodies.PipelineChangeIn, world: CurrentWorld, validate: ValidateUsage
) -> Response:
    """Rename or move a pipeline; archived=true archives it."""
    changed = pipelines.update(world, pipeline, body.model_dump(exclude_none=True))
    answer = pipelines.serialize(world, changed)
    if body.archived:
        pipelines.archive(world, changed, validate=validate)
        answer["archived"] = True
    return Json(answer)


async def replace(
    pipeline: PathPipeline, body: bodies.PipelineIn, world: CurrentWorld, validate: ValidateUsage
) -> Response:
    """Replace a pipeline and its stages; stages that are not named are archived."""
    row = pipelines.replace(world, pipeline, body.model_dump(), validate=validate)
    return Json(pipelines.serialize(world, row))


async def archive(pipeline: PathPipeline, world: CurrentWorld, validate: ValidateUsage) -> Response:
    """Archive a pipeline and its stages."""
    pipelines.archive(world, pipeline, validate=validate)
    return no_content()


async def audit(object_type: PathObjectType, pipelineId: str, world: CurrentWorld) -> Response:
    """Read what was done to a pipeline, newest first."""
    row = pipelines.require(world, object_type.name, pipelineId, or_archived=True)
    return Json({"results": pipelines.list_audits(world, row)})


async def list_stages(pipeline: PathPipeline, world: CurrentWorld) -> Response:
    """List the stages of a pipeline in their order."""
    return Json({"results": [pipelines.serialize_stage(row) for row in pipelines.list_stages(world, pipeline)]})


async def create_stage(pipeline: PathPipeline, body: bodies.StageIn, world: CurrentWorld) -> Response:
    """Add a stage to a pipeline; deal stages need a probability in their metadata."""
    return Json(pipelines.serialize_stage(pipelines.create_stage(world, pipeline, body.model_dump())), 201)


async def read_stage(stage: PathStage) -> Response:
    """Read one stage of a pipeline by its id."""
    return Json(pipelines.serialize_stage(stage))


async def update_stage(stage: PathStage, body: bodies.StageChangeIn, world: CurrentWorld) -> Response:
    """Change a stage; archived=true archives it."""
    changed = pipelines.update_stage(world, stage, body.model_dump(exclude_none=True))
    answer = pipelines.serialize_stage(changed)
    if body.archived:
        pipelines.archive_stage(world, changed)
        answer["archived"] = True
    return Json(answer)


async def replace_stage(stage: PathStage, body: bodies.StageIn, world: CurrentWorld) -> Response:
    """Replace the label, order and metadata of a stage."""
    return Json(pipelines.serialize_stage(pipelines.update_stage(world, stage, body.model_dump())))


async def archive_stage(stage: PathStage, world: CurrentWorld) -> Response:
    """Archive a stage that no record is in."""
    pipelines.archive_stage(world, stage)
    return no_content()


async def audit_stage(object_type: PathObjectType, pipelineId: str, stageId: str, world: CurrentWorld) -> Response:  # noqa: ARG001 - below
    """Read what was done to a stage, newest first."""
    # A stage's id is enough, and the vendor's SDK leaves "{pipelineId}" in the path as it stands.
    row = pipelines.require_any_stage(world, object_type.name, stageId)
    return Json({"results": pipelines.list_stage_audits(world, row)})


# fmt: off
add_operations(router, (
    Operation("crm.pipelines.list", "GET", "/crm/v3/pipelines/{objectType}", "List All", bodies.PipelineList, list_all),
    Operation("crm.pipelines.create", "POST", "/crm/v3/pipelines/{objectType}", "Create", bodies.PipelineOut, create,
              status=201),
    Operation("crm.pipelines.get", "GET", "/crm/v3/pipelines/{objectType}/{pipelineId}", "Read", bodies.PipelineOut,
              read),
    Operation("crm.pipelines.update", "PATCH", "/crm/v3/pipelines/{objectType}/{pipelineId}", "Update",
              bodies.PipelineOut, update),
    Operation("crm.pipelines.replace", "PUT", "/crm/v3/pipelines/{objectType}/{pipelineId}", "Replace",
              bodies.PipelineOut, replace),
    Operation("crm.pipelines.archive", "DELETE", "/crm/v3/pipelines/{objectType}/{pipelineId}", "Archive", None,
              archive, status=204),
    Operation("crm.pipelines.audit", "GET", "/crm/v3/pipelines/{objectType}/{pipelineId}/audit", "Audit",
              bodies.AuditList, audit),
    Operation("crm.pipeline_stages.list", "GET", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages", "List Stages",
              bodies.StageList, list_stages),
    Operation("crm.pipeline_stages.create", "POST", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages",
              "Create Stage", bodies.StageOut, create_stage, status=201),
    Operation("crm.pipeline_stages.get", "GET", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
              "Read Stage", bodies.StageOut, read_stage),
    Operation("crm.pipeline_stages.update", "PATCH", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
              "Update Stage", bodies.StageOut, update_stage),
    Operation("crm.pipeline_stages.replace", "PUT", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
              "Replace Stage", bodies.StageOut, replace_stage),
    Operation("crm.pipeline_stages.archive", "DELETE", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}",
              "Archive Stage", None, archive_stage, status=204),
    Operation("crm.pipeline_stages.audit", "GET", "/crm/v3/pipelines/{objectType}/{pipelineId}/stages/{stageId}/audit",
              "Audit Stage", bodies.AuditList, audit_stage),
))
# fmt: on
