"""Search over tickets, users, organizations and groups."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from services.desk.language import searching
from services.desk.language.searching import Hit, Search
from services.desk.operations import showing, sideloads
from services.desk.routes.base import Call, included, noun_router, staff
from services.desk.schemas import search as schemas
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.world import World

router = noun_router("search")


@router.get("/search", operation_id="desk.search", response_model=schemas.SearchOut)
async def search(asked: Annotated[schemas.SearchPage, Query()], request: Request, world: CurrentWorld) -> Response:
    """Search the desk by words and conditions; 100 a page, the first 1,000 results only, `count` tells them all."""
    call = staff(request, world)
    sort_by = None if asked.sort_by == "relevance" else asked.sort_by
    descending = None if asked.sort_order is None else asked.sort_order == "desc"
    wanted = Search(asked.query, call.user["id"], asked.kind, sort_by, descending)
    found = searching.search(world, wanted, asked.page, asked.per_page)
    beside = _beside(world, found.hits, included(asked.include), call)
    more = asked.page * asked.per_page < found.count
    told = {
        "results": _shown(found.hits, call),
        **beside,
        "facets": None,
        "count": found.count,
        "next_page": call.link(page=asked.page + 1) if more else None,
        "previous_page": call.link(page=asked.page - 1) if asked.page > 1 else None,
    }
    return Json(told)


@router.get("/search/count", operation_id="desk.search.count", response_model=schemas.SearchCount)
async def count(asked: Annotated[schemas.Searched, Query()], request: Request, world: CurrentWorld) -> Response:
    """Count what a search would find."""
    call = staff(request, world)
    return Json({"count": searching.count(world, Search(asked.query, call.user["id"], asked.kind))})


@router.get("/search/export", operation_id="desk.search.export", response_model=schemas.SearchOut)
async def export(asked: Annotated[schemas.SearchExport, Query()], request: Request, world: CurrentWorld) -> Response:
    """Read all results of a search on one kind of thing, however many, page after page by cursor; set filter[type]."""
    call = staff(request, world)
    wanted = Search(asked.query, call.user["id"], asked.kind)
    hits, after = searching.export(world, wanted, asked.page_size, asked.page_after)
    told = {
        "results": _shown(hits, call),
        "facets": None,
        "meta": {"has_more": after is not None, "after_cursor": after, "before_cursor": asked.page_after},
        "links": {"next": None if after is None else call.link(**{"page[after]": after}), "prev": None},
    }
    return Json(told)


def _shown(hits: list[Hit], call: Call) -> list[dict[str, Any]]:
    return [{**_one(hit, call), "result_type": hit.kind} for hit in hits]


def _one(hit: Hit, call: Call) -> dict[str, Any]:
    if hit.kind == "ticket":
        return showing.ticket(hit.row, call.base)
    return showing.shown(hit.kind, hit.row, call.base)


def _beside(world: World, hits: list[Hit], include: frozenset[str], call: Call) -> dict[str, Any]:
    found = [hit.row for hit in hits if hit.kind == "ticket"]
    return sideloads.around(world, found, include, call.base) if include else {}
