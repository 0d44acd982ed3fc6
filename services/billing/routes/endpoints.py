"""Endpoints for the tables of operations.

An endpoint is made from its parameter model and the function that does the work, which takes the world, the ids of the
path in their order, and the parameters that were sent.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from services.billing.operations import expansion, records, rendering
from services.billing.operations.records import Window
from services.billing.operations.search import search as run_search
from services.billing.rows import AnyBillingTable
from services.billing.schemas.base import BareParams, ListParams, Range, RequestParams, SearchParams
from services.billing.schemas.responses import ErrorOut
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.documents import EVERYTHING, Comparison, Where, compare, equal
from services.kernel.operations import Endpoint, Operation, add_operations, parameter
from services.kernel.world import World

_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorOut, "description": "The request cannot be done"},
    401: {"model": ErrorOut, "description": "The key is not known"},
    402: {"model": ErrorOut, "description": "The bank declined"},
    404: {"model": ErrorOut, "description": "No such object"},
    429: {"model": ErrorOut, "description": "Too many requests"},
}
_BOUNDS: Mapping[str, Comparison] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

# Takes the world, the ids of the path, and for some operations the parameters; returns an object.
Work = Callable[..., Mapping[str, Any]]


def register(tag: str, operations: Iterable[Operation]) -> APIRouter:
    """Returns a router that serves these operations."""
    router = product_router(tags=[tag], responses=_REFUSALS)
    add_operations(router, operations)
    return router


_WORLD = parameter("world", CurrentWorld)


def _query(model: type[RequestParams]) -> tuple[inspect.Parameter, ...]:
    return parameter("query", Annotated[model, Query()]), _WORLD


# --- endpoints ------------------------------------------------------------------------------------------------------


def respond(world: World, body: Mapping[str, Any], expand: list[str]) -> Response:
    return Json(expansion.expand(world, rendering.render(world, body), expand))


def read(work: Work) -> Endpoint:
    """Serves the object that the path names."""

    async def serve(*keys: str, query: RequestParams, world: World) -> Response:
        return respond(world, work(world, *keys), query.expand)

    return Endpoint(serve, _query(BareParams))


def read_row(table: AnyBillingTable) -> Endpoint:
    """Serves the row of this table that the path names."""
    return read(lambda world, key: records.need(world, table, key))


def post(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves a write with a body that must be sent."""

    async def serve(*keys: str, body: RequestParams, world: World) -> Response:
        return respond(world, work(world, *keys, body.dump_sent()), body.expand)

    return Endpoint(serve, (parameter("body", model), _WORLD))


def post_optional(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves a write with a body that may be left out."""

    async def serve(*keys: str, world: World, body: RequestParams | None = None) -> Response:
        if body is None:
            return respond(world, work(world, *keys, {}), [])
        return respond(world, work(world, *keys, body.dump_sent()), body.expand)

    return Endpoint(serve, (_WORLD, parameter("body", model | None, None)))


def act(work: Work, model: type[RequestParams] = BareParams) -> Endpoint:
    """Serves a write that takes no parameters."""
    return post_optional(model, lambda world, *arguments: work(world, *arguments[:-1]))


def delete(work: Work) -> Endpoint:
    """Serves a deletion."""

    async def serve(*keys: str, world: World) -> Response:
        return Json(records.without_private(work(world, *keys)))

    return Endpoint(serve, (_WORLD,))


def with_query(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves an operation with parameters in the query."""

    async def serve(*keys: str, query: RequestParams, world: World) -> Response:
        return respond(world, work(world, *keys, query.dump_sent()), query.expand)

    return Endpoint(serve, _query(model))


def with_query_as_is(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves an operation with parameters in the query, whose work returns the answer as it goes over the wire."""

    async def serve(*keys: str, query: RequestParams, world: World) -> Response:
        return Json(work(world, *keys, query.dump_sent()))

    return Endpoint(serve, _query(model))


def list_rows(
    model: type[ListParams],
    table: AnyBillingTable,
    filters: tuple[str, ...] = (),
    where: Callable[..., Where] = lambda *_: EVERYTHING,
    url_parameter: str = "",
) -> Endpoint:
    """Serves a page of a table.

    `filters` are parameters that a column must equal, `where` makes any other condition, `url_parameter` is repeated in
    the url of the list.
    """

    async def serve(*keys: str, query: ListParams, world: World, url: str) -> Response:
        if url_parameter:
            url = f"{url}?{url_parameter}={getattr(query, url_parameter)}"
        window = Window(query.limit, query.starting_after, query.ending_before)
        condition = _narrow(where(world, *keys, query), query, filters)
        page = records.page(world, table, window, condition)
        return Json(expansion.expand(world, rendering.render_list(world, page, url), query.expand))

    return Endpoint(serve, _query(model), takes_url=True)


def _narrow(where: Where, query: ListParams, filters: tuple[str, ...]) -> Where:
    values = {name: getattr(query, name) for name in filters if getattr(query, name) is not None}
    if values:
        where &= equal(**values)
    return where & within("created", getattr(query, "created", None))


def within(column: str, bounds: Range | int | None) -> Where:
    """Makes the condition that a column lies in a range, or equals a single moment."""
    if bounds is None:
        return EVERYTHING
    if isinstance(bounds, int):
        return equal(**{column: bounds})
    where = EVERYTHING
    for name, value in bounds.model_dump(exclude_none=True).items():
        where &= compare(column, _BOUNDS[name], value)
    return where


def with_request(work: Callable[[World, Request], Awaitable[Mapping[str, Any]]]) -> Endpoint:
    """Serves a write that reads the request itself."""

    async def serve(world: World, request: Request) -> Response:
        return Json(records.without_private(await work(world, request)))

    return Endpoint(serve, (parameter("request", Request), _WORLD))


def search(table: AnyBillingTable) -> Endpoint:
    """Serves a search in the vendor's language."""

    async def serve(query: SearchParams, world: World, url: str) -> Response:
        page = run_search(world, table, query.query, query.limit, query.page)
        return Json(expansion.expand(world, rendering.render_search(world, page, url), query.expand))

    return Endpoint(serve, _query(SearchParams), takes_url=True)
