"""Tables of operations: each row says how one operation is served and documented.

An endpoint is made from its parameter model and the function that does the work, which takes the world, the ids of the
path in their order, and the parameters that were sent. `register` gives it the signature that FastAPI reads.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.routing import compile_path

from services.billing.operations import expansion, records, rendering
from services.billing.operations.records import Window
from services.billing.operations.search import search as run_search
from services.billing.rows import AnyBillingTable
from services.billing.schemas.base import Asked, ListParams, Range, RequestParams, SearchParams
from services.billing.schemas.responses import ErrorOut
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.documents import EVERYTHING, Comparison, Where, compare, equal
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
ServedFunction = Callable[..., Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A function that serves an operation, and the parameters that it declares beside the path."""

    # Takes the ids of the path first, then the arguments by name, and `url`, the path with its ids, if it is to.
    serve: ServedFunction
    parameters: tuple[inspect.Parameter, ...]
    takes_url: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    id: str
    method: str
    path: str
    summary: str
    response: Any
    endpoint: Endpoint
    description: str
    openapi_extra: dict[str, Any] = field(default_factory=dict)


def register(tag: str, operations: Iterable[Operation]) -> APIRouter:
    """Returns a router that serves these operations."""
    router = product_router(tags=[tag], responses=_REFUSALS)
    for operation in operations:
        router.add_api_route(
            operation.path,
            _with_signature(operation),
            methods=[operation.method],
            operation_id=operation.id,
            summary=operation.summary,
            description=operation.description,
            response_model=operation.response,
            openapi_extra=operation.openapi_extra or None,
        )
    return router


def _with_signature(operation: Operation) -> ServedFunction:
    names = list(compile_path(operation.path)[2])
    serve, takes_url, path = operation.endpoint.serve, operation.endpoint.takes_url, operation.path

    async def endpoint(**arguments: Any) -> Response:
        if takes_url:
            arguments["url"] = path.format(**arguments)
        keys = [arguments.pop(name) for name in names]
        return await serve(*keys, **arguments)

    signature = [*(_parameter(name, str) for name in names), *operation.endpoint.parameters]
    endpoint.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]  # what FastAPI reads
    return endpoint


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


_WORLD = _parameter("world", CurrentWorld)


def _query(model: type[RequestParams]) -> tuple[inspect.Parameter, ...]:
    return _parameter("query", Annotated[model, Query()]), _WORLD


# --- endpoints ------------------------------------------------------------------------------------------------------


def respond(world: World, body: Mapping[str, Any], expand: list[str]) -> Response:
    return Json(expansion.expand(world, rendering.render(world, body), expand))


def read(work: Work) -> Endpoint:
    """Serves the object that the path names."""

    async def serve(*keys: str, query: RequestParams, world: World) -> Response:
        return respond(world, work(world, *keys), query.expand)

    return Endpoint(serve, _query(Asked))


def read_row(table: AnyBillingTable) -> Endpoint:
    """Serves the row of this table that the path names."""
    return read(lambda world, key: records.need(world, table, key))


def post(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves a write with a body that must be sent."""

    async def serve(*keys: str, body: RequestParams, world: World) -> Response:
        return respond(world, work(world, *keys, body.sent()), body.expand)

    return Endpoint(serve, (_parameter("body", model), _WORLD))


def post_optional(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves a write with a body that may be left out."""

    async def serve(*keys: str, world: World, body: RequestParams | None = None) -> Response:
        if body is None:
            return respond(world, work(world, *keys, {}), [])
        return respond(world, work(world, *keys, body.sent()), body.expand)

    return Endpoint(serve, (_WORLD, _parameter("body", model | None, None)))


def act(work: Work, model: type[RequestParams] = Asked) -> Endpoint:
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
        return respond(world, work(world, *keys, query.sent()), query.expand)

    return Endpoint(serve, _query(model))


def with_query_as_is(model: type[RequestParams], work: Work) -> Endpoint:
    """Serves an operation with parameters in the query, whose work returns the answer as it goes over the wire."""

    async def serve(*keys: str, query: RequestParams, world: World) -> Response:
        return Json(work(world, *keys, query.sent()))

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
    """The condition that a column lies in a range; one moment is a range of itself."""
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

    return Endpoint(serve, (_parameter("request", Request), _WORLD))


def search(table: AnyBillingTable) -> Endpoint:
    """Serves a search in the vendor's language."""

    async def serve(query: SearchParams, world: World, url: str) -> Response:
        page = run_search(world, table, query.query, query.limit, query.page)
        return Json(expansion.expand(world, rendering.render_search(world, page, url), query.expand))

    return Endpoint(serve, _query(SearchParams), takes_url=True)
