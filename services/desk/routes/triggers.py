"""Triggers: rules that run after every change of a ticket."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.operations import records, showing
from services.desk.routes.base import listed, noun_router, order, paging, staff
from services.desk.rules import defining, keeping
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import triggers
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.world import World

router = noun_router("triggers")


@router.get("/triggers", operation_id="desk.triggers.list", response_model=schemas.TriggersOut)
async def page(asked: Annotated[schemas.RuleList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List triggers in the order in which they run after every change of a ticket."""
    return _page(request, world, asked, asked.active)


@router.get("/triggers/active", operation_id="desk.triggers.active", response_model=schemas.TriggersOut)
async def active(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the triggers that are in use."""
    return _page(request, world, asked, True)


@router.get("/triggers/search", operation_id="desk.triggers.search", response_model=schemas.TriggersOut)
async def search(asked: Annotated[schemas.RuleSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Find triggers by part of their title."""
    return _page(request, world, asked, asked.active, asked.query)


@router.get("/triggers/definitions", operation_id="desk.triggers.definitions", response_model=schemas.DefinitionsShown)
async def definitions(request: Request, world: CurrentWorld) -> Response:
    """Learn which conditions, operators and actions rules know."""
    staff(request, world)
    return Json({"definitions": defining.definitions()})


@router.put("/triggers/reorder", operation_id="desk.triggers.reorder", response_model=schemas.TriggersOut)
async def reorder(body: schemas.TriggerOrder, request: Request, world: CurrentWorld) -> Response:
    """Put triggers into another order: those named run first, in the order given."""
    staff(request, world)
    keeping.reorder(world, triggers, body.trigger_ids)
    return _page(request, world, Paged(), None)


@router.get("/triggers/{trigger_id}", operation_id="desk.triggers.show", response_model=schemas.TriggerShown)
async def show(trigger_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one trigger: its conditions and actions."""
    call = staff(request, world)
    return Json({"trigger": showing.shown("trigger", records.need(world, triggers, trigger_id), call.base)})


@router.post("/triggers", operation_id="desk.triggers.create", response_model=schemas.TriggerShown, status_code=201)
async def create(body: schemas.TriggerBody, request: Request, world: CurrentWorld) -> Response:
    """Make a trigger: when its conditions hold after a change of a ticket, its actions are done."""
    call = staff(request, world)
    row = keeping.create(world, triggers, body.trigger.given())
    return Json({"trigger": showing.shown("trigger", row, call.base)}, 201)


@router.put("/triggers/{trigger_id}", operation_id="desk.triggers.update", response_model=schemas.TriggerShown)
async def update(trigger_id: Id, body: schemas.TriggerBody, request: Request, world: CurrentWorld) -> Response:
    """Change a trigger, or switch it off with active false; conditions and actions are replaced as a whole."""
    call = staff(request, world)
    row = keeping.update(world, triggers, trigger_id, body.trigger.given())
    return Json({"trigger": showing.shown("trigger", row, call.base)})


@router.delete("/triggers/{trigger_id}", operation_id="desk.triggers.delete", status_code=204)
async def delete(trigger_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete a trigger."""
    staff(request, world)
    keeping.delete(world, triggers, trigger_id)
    return Response(status_code=204)


def _page(request: Request, world: World, asked: Paged, active: bool | None, words: str | None = None) -> Response:
    call = staff(request, world)
    sorting = order(asked, keeping.SORTED, keeping.IN_ORDER)
    found = keeping.page(world, triggers, paging(asked), sorting, active=active, words=words)
    return listed(call, "triggers", found, showing.many("trigger", found.rows, call.base))
