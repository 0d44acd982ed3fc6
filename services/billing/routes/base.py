"""What all routes share: parse, do, answer."""

from dataclasses import replace
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Query, Response

from services.billing.operations import expanding, listing, searching, showing
from services.billing.operations.listing import Where, Window
from services.billing.operations.records import Body
from services.billing.schemas.base import Asked, Listed, Range, Searched
from services.billing.schemas.shown import ErrorOut
from services.kernel.answers import Json
from services.kernel.app import product_router
from services.kernel.world import World

_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorOut, "description": "The request cannot be done"},
    401: {"model": ErrorOut, "description": "The key is not known"},
    402: {"model": ErrorOut, "description": "The bank declined"},
    404: {"model": ErrorOut, "description": "No such object"},
    429: {"model": ErrorOut, "description": "Too many requests"},
}


def noun_router(noun: str) -> APIRouter:
    return product_router(prefix="/v1", tags=[noun], responses=_REFUSALS)


Plain = Annotated[Asked, Query()]


def one(world: World, body: Body, asked: Asked | None) -> Response:
    paths = asked.expand if asked is not None else []
    return Json(expanding.expanded(world, showing.shown(world, body), paths))


def gone(body: Body) -> Response:
    return Json(body)


def many(
    world: World, table: sa.Table, asked: Listed, url: str, where: Where, filters: tuple[str, ...] = ()
) -> Response:
    window = Window(asked.limit, asked.starting_after, asked.ending_before)
    page = listing.page(world, table, window, _narrowed(asked, where, filters))
    return Json(expanding.expanded(world, showing.collection(world, page, url), asked.expand))


def _narrowed(asked: Listed, where: Where, filters: tuple[str, ...]) -> Where:
    equal = {name: getattr(asked, name) for name in filters if getattr(asked, name) is not None}
    ranges = {**where.ranges, **within("created", getattr(asked, "created", None))}
    return replace(where, equal={**where.equal, **equal}, ranges=ranges)


def within(column: str, asked: Range | int | None) -> dict[str, dict[str, int]]:
    if asked is None:
        return {}
    if isinstance(asked, int):
        return {column: {"gte": asked, "lte": asked}}
    bounds: dict[str, int] = asked.model_dump(exclude_none=True)
    return {column: bounds} if bounds else {}


def found(world: World, table: sa.Table, asked: Searched, url: str) -> Response:
    page = searching.search(world, table, asked.query, asked.limit, asked.page)
    return Json(expanding.expanded(world, showing.search_result(world, page, url), asked.expand))


EVERYTHING = Where()
