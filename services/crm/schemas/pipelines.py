"""Bodies of pipelines and their stages."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from services.crm.schemas.shared import Flag, In, Label, ListOf, Moment, Order, Out

_Metadata = Annotated[
    dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=250)]], Field(max_length=20)
]
_StageId = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-zA-Z0-9_\-]+$")]


class StageIn(In):
    """A stage."""

    label: Label = Field(examples=["Contract sent"])
    displayOrder: Order
    metadata: _Metadata = Field(
        default={}, description='Deal stages need {"probability": "0.4"}, ticket stages {"ticketState": "OPEN"}.'
    )
    stageId: _StageId | None = Field(default=None, description="An id of your own for the stage.")


class StageChangeIn(In):
    """What to change of a stage."""

    label: Label | None = None
    displayOrder: Order | None = None
    metadata: _Metadata | None = None
    archived: Flag | None = None


class PipelineIn(In):
    """A pipeline with its stages."""

    label: Label = Field(examples=["Renewals"])
    displayOrder: Order
    stages: list[StageIn] = Field(max_length=100)
    pipelineId: _StageId | None = Field(default=None, description="An id of your own for the pipeline.")


class PipelineChangeIn(In):
    """What to change of a pipeline."""

    label: Label | None = None
    displayOrder: Order | None = None
    archived: Flag | None = None


class StageOut(Out):
    """A stage of a pipeline."""

    id: str
    label: str
    displayOrder: int
    metadata: dict[str, str]
    writePermissions: str
    createdAt: Moment
    updatedAt: Moment
    archived: bool


class PipelineOut(Out):
    """A pipeline with its stages."""

    id: str
    label: str
    displayOrder: int
    stages: list[StageOut]
    createdAt: Moment
    updatedAt: Moment
    archived: bool


class AuditOut(Out):
    """What was done to a pipeline or a stage."""

    portalId: int
    identifier: str
    action: str
    timestamp: Moment
    fromUserId: int | None = None
    message: str | None = None
    rawObject: dict[str, Any] | None = None


PipelineList = ListOf[PipelineOut]
StageList = ListOf[StageOut]
AuditList = ListOf[AuditOut]
