"""Macros: prepared replies and changes."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.operations import records, showing
from services.desk.routes.base import listed, noun_router, order, paging, staff
from services.desk.rules import applying, keeping
from services.desk.schemas import rules as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.tables import macros
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.world import World

router = noun_router("macros")


@router.get("/macros", operation_id="desk.macros.list", response_model=schemas.MacrosOut)
async def page(asked: Annotated[schemas.RuleList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List macros: prepared replies together with the changes that go with them."""
    return _page(request, world, asked, asked.active)


@router.get("/macros/active", operation_id="desk.macros.active", response_model=schemas.MacrosOut)
async def active(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the macros that are in use."""
    return _page(request, world, asked, True)


@router.get("/macros/search", operation_id="desk.macros.search", response_model=schemas.MacrosOut)
async def search(asked: Annotated[schemas.RuleSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Find macros by part of their title."""
    return _page(request, world, asked, asked.active, asked.query)


@router.get("/macros/{macro_id}", operation_id="desk.macros.show", response_model=schemas.MacroShown)
async def show(macro_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one macro and its actions."""
    call = staff(request, world)
    return Json({"macro": showing.shown("macro", records.need(world, macros, macro_id), call.base)})


@router.post("/macros", operation_id="desk.macros.create", response_model=schemas.MacroShown, status_code=201)
async def create(body: schemas.MacroBody, request: Request, world: CurrentWorld) -> Response:
    """Make a macro from actions such as comment_value, status or current_tags."""
    call = staff(request, world)
    row = keeping.create(world, macros, body.macro.given())
    return Json({"macro": showing.shown("macro", row, call.base)}, 201)


@router.put("/macros/{macro_id}", operation_id="desk.macros.update", response_model=schemas.MacroShown)
async def update(macro_id: Id, body: schemas.MacroBody, request: Request, world: CurrentWorld) -> Response:
    """Change a macro; its actions are replaced as a whole."""
    call = staff(request, world)
    row = keeping.update(world, macros, macro_id, body.macro.given())
    return Json({"macro": showing.shown("macro", row, call.base)})


@router.delete("/macros/{macro_id}", operation_id="desk.macros.delete", status_code=204)
async def delete(macro_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete a macro."""
    staff(request, world)
    keeping.delete(world, macros, macro_id)
    return Response(status_code=204)


@router.get("/macros/{macro_id}/apply", operation_id="desk.macros.apply", response_model=schemas.MacroApplied)
async def apply(macro_id: Id, request: Request, world: CurrentWorld) -> Response:
    """See which fields and which comment a macro would set on any ticket; nothing is written."""
    call = staff(request, world)
    return Json({"result": {"ticket": applying.effect(world, macro_id, call.user)}})


@router.get(
    "/tickets/{ticket_id}/macros/{macro_id}/apply",
    operation_id="desk.tickets.apply_macro",
    response_model=schemas.MacroApplied,
)
async def apply_to(ticket_id: Id, macro_id: Id, request: Request, world: CurrentWorld) -> Response:
    """See one ticket as a macro would leave it, its reply filled in; nothing is written."""
    call = staff(request, world)
    shown = applying.on_ticket(world, ticket_id, macro_id, call.user, call.base)
    return Json({"result": {"ticket": shown}})


def _page(request: Request, world: World, asked: Paged, active: bool | None, words: str | None = None) -> Response:
    call = staff(request, world)
    sorting = order(asked, keeping.SORTED, keeping.IN_ORDER)
    found = keeping.page(world, macros, paging(asked), sorting, active=active, words=words)
    return listed(call, "macros", found, showing.many("macro", found.rows, call.base))
