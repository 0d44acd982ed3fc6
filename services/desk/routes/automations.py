"""Automations: rules that run every hour."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.operations import records, showing
from services.desk.routes.base import listed, noun_router, order, paging, staff
from services.desk.rules import keeping
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import automations
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.world import World

router = noun_router("automations")


@router.get("/automations", operation_id="desk.automations.list", response_model=schemas.AutomationsOut)
async def page(asked: Annotated[schemas.RuleList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List automations in the order in which they run every full hour."""
    return _page(request, world, asked, asked.active)


@router.get("/automations/active", operation_id="desk.automations.active", response_model=schemas.AutomationsOut)
async def active(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the automations that are in use."""
    return _page(request, world, asked, True)


@router.get("/automations/search", operation_id="desk.automations.search", response_model=schemas.AutomationsOut)
async def search(asked: Annotated[schemas.RuleSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Find automations by part of their title."""
    return _page(request, world, asked, asked.active, asked.query)


@router.get(
    "/automations/{automation_id}", operation_id="desk.automations.show", response_model=schemas.AutomationShown
)
async def show(automation_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one automation: its conditions and actions."""
    call = staff(request, world)
    return Json({"automation": showing.shown("automation", records.need(world, automations, automation_id), call.base)})


@router.post(
    "/automations", operation_id="desk.automations.create", response_model=schemas.AutomationShown, status_code=201
)
async def create(body: schemas.AutomationBody, request: Request, world: CurrentWorld) -> Response:
    """Make an automation; it needs a condition on hours since something, and an action that makes a condition false."""
    call = staff(request, world)
    row = keeping.create(world, automations, body.automation.given())
    return Json({"automation": showing.shown("automation", row, call.base)}, 201)


@router.put(
    "/automations/{automation_id}", operation_id="desk.automations.update", response_model=schemas.AutomationShown
)
async def update(automation_id: Id, body: schemas.AutomationBody, request: Request, world: CurrentWorld) -> Response:
    """Change an automation, or switch it off with active false; conditions and actions are replaced as a whole."""
    call = staff(request, world)
    row = keeping.update(world, automations, automation_id, body.automation.given())
    return Json({"automation": showing.shown("automation", row, call.base)})


@router.delete("/automations/{automation_id}", operation_id="desk.automations.delete", status_code=204)
async def delete(automation_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete an automation."""
    staff(request, world)
    keeping.delete(world, automations, automation_id)
    return Response(status_code=204)


def _page(request: Request, world: World, asked: Paged, active: bool | None, words: str | None = None) -> Response:
    call = staff(request, world)
    sorting = order(asked, keeping.SORTED, keeping.IN_ORDER)
    found = keeping.page(world, automations, paging(asked), sorting, active=active, words=words)
    return listed(call, "automations", found, showing.many("automation", found.rows, call.base))
