"""Search over tickets, users, organizations and groups."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.language.search import Hit, Search, count_results, export_results, run_search
from services.desk.routes.base import Call, StaffCall, noun_router, read_include
from services.desk.routes.endpoints import add_operations
from services.desk.schemas import search as schemas
from services.desk.shapes.base import Shape, render
from services.desk.shapes.tickets import render_related, render_ticket
from services.kernel.answers import Json
from services.kernel.operations import Operation

router = noun_router("search")


async def search(params: Annotated[schemas.SearchPage, Query()], call: StaffCall) -> Response:
    """Search the desk by words and conditions; 100 a page, the first 1,000 results only, `count` tells them all."""
    sort_by = None if params.sort_by == "relevance" else params.sort_by
    descending = None if params.sort_order is None else params.sort_order == "desc"
    wanted = Search(params.query, call.user["id"], params.kind, sort_by, descending)
    result = run_search(call.world, wanted, params.page, params.per_page)
    related = _render_related(result.hits, read_include(params.include), call)
    has_more = params.page * params.per_page < result.count
    shape = {
        "results": _render_hits(result.hits, call),
        **related,
        "facets": None,
        "count": result.count,
        "next_page": call.link(page=params.page + 1) if has_more else None,
        "previous_page": call.link(page=params.page - 1) if params.page > 1 else None,
    }
    return Json(shape)


async def count(params: Annotated[schemas.SearchQuery, Query()], call: StaffCall) -> Response:
    """Count what a search would find."""
    return Json({"count": count_results(call.world, Search(params.query, call.user["id"], params.kind))})


async def export(params: Annotated[schemas.SearchExport, Query()], call: StaffCall) -> Response:
    """Read all results of a search on one kind of thing, however many, page after page by cursor; set filter[type]."""
    wanted = Search(params.query, call.user["id"], params.kind)
    hits, after = export_results(call.world, wanted, params.page_size, params.page_after)
    shape = {
        "results": _render_hits(hits, call),
        "facets": None,
        "meta": {"has_more": after is not None, "after_cursor": after, "before_cursor": params.page_after},
        "links": {"next": None if after is None else call.link(**{"page[after]": after}), "prev": None},
    }
    return Json(shape)


def _render_hits(hits: list[Hit], call: Call) -> list[Shape]:
    return [{**_render_hit(hit, call), "result_type": hit.kind} for hit in hits]


def _render_hit(hit: Hit, call: Call) -> Shape:
    if hit.kind == "ticket":
        return render_ticket(hit.row, call.base)
    return render(hit.kind, hit.row, call.base)


def _render_related(hits: list[Hit], include: frozenset[str], call: Call) -> Shape:
    rows = [hit.row for hit in hits if hit.kind == "ticket"]
    return render_related(call.world, rows, include, call.base) if include else {}


# fmt: off
add_operations(router, (
    Operation("desk.search", "GET", "/api/v2/search", "Search", schemas.SearchOut, search),
    Operation("desk.search.count", "GET", "/api/v2/search/count", "Count", schemas.SearchCount, count),
    Operation("desk.search.export", "GET", "/api/v2/search/export", "Export", schemas.SearchOut, export),
))
# fmt: on
