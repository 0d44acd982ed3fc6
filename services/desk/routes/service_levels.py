"""Service level policies: what is promised to whom."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.operations import records, showing
from services.desk.operations.listing import page as page_of
from services.desk.routes.base import listed, noun_router, paging, staff
from services.desk.rules import defining, keeping
from services.desk.schemas import service_levels as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.schemas.rules import DefinitionsShown
from services.desk.tables import sla_policies
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld

router = noun_router("service levels")


@router.get("/slas/policies", operation_id="desk.sla_policies.list", response_model=schemas.PoliciesOut)
async def page(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List service level policies: how soon tickets are to be answered and solved, by priority."""
    call = staff(request, world)
    found = page_of(world, sla_policies, paging(asked), order=keeping.IN_ORDER)
    return listed(call, "sla_policies", found, showing.many("sla_policy", found.rows, call.base))


@router.get("/slas/policies/definitions", operation_id="desk.sla_policies.definitions", response_model=DefinitionsShown)
async def definitions(request: Request, world: CurrentWorld) -> Response:
    """Learn which filters and metrics service level policies know."""
    staff(request, world)
    return Json({"definitions": defining.filters()})


@router.get("/slas/policies/{policy_id}", operation_id="desk.sla_policies.show", response_model=schemas.PolicyShown)
async def show(policy_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one service level policy: its filter and its targets in minutes."""
    call = staff(request, world)
    return Json({"sla_policy": showing.shown("sla_policy", records.need(world, sla_policies, policy_id), call.base)})


@router.post(
    "/slas/policies", operation_id="desk.sla_policies.create", response_model=schemas.PolicyShown, status_code=201
)
async def create(body: schemas.PolicyBody, request: Request, world: CurrentWorld) -> Response:
    """Make a service level policy; a ticket falls under the first one whose filter it meets when it next changes."""
    call = staff(request, world)
    row = keeping.create(world, sla_policies, body.sla_policy.given())
    return Json({"sla_policy": showing.shown("sla_policy", row, call.base)}, 201)


@router.put("/slas/policies/{policy_id}", operation_id="desk.sla_policies.update", response_model=schemas.PolicyShown)
async def update(policy_id: Id, body: schemas.PolicyBody, request: Request, world: CurrentWorld) -> Response:
    """Change a service level policy; filter and metrics are replaced as a whole."""
    call = staff(request, world)
    row = keeping.update(world, sla_policies, policy_id, body.sla_policy.given())
    return Json({"sla_policy": showing.shown("sla_policy", row, call.base)})


@router.delete("/slas/policies/{policy_id}", operation_id="desk.sla_policies.delete", status_code=204)
async def delete(policy_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete a service level policy; tickets fall under another one when they next change."""
    staff(request, world)
    keeping.delete(world, sla_policies, policy_id)
    return Response(status_code=204)
