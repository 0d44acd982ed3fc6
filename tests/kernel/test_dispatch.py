"""Binding a query ourselves must mean what it means to FastAPI."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from services.kernel.binding import Parameters, can_bind
from services.kernel.dispatch import Dispatch
from services.kernel.encoding import JSON

router = APIRouter()


@router.get("/things")
async def things(
    wanted: str,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    size: Annotated[int | None, Query(alias="page[size]")] = None,
    order: Literal["asc", "desc"] = "asc",
    names: Annotated[list[str] | None, Query()] = None,
    ids: Annotated[list[int], Query(default_factory=list)] = ...,  # type: ignore[assignment]
    archived: bool = False,
) -> Response:
    return Response(f"{wanted}{limit}{size}{order}{names}{ids}{archived}")


ROUTE = next(route for route in router.routes if isinstance(route, APIRoute))
NAMES = ("wanted", "limit", "page[size]", "order", "names", "ids", "archived", "unknown", "")
VALUES = ("", "1", "0", "101", "asc", "true", "yes", "1.5", "ä +", "null", "7,8")


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.text(max_size=5)), max_size=8))
def test_a_query_is_bound_as_fastapi_binds_it(pairs: list[tuple[str, str]]) -> None:
    sent = urlencode(pairs).encode()
    values: dict[str, Any] = {}
    errors: list[Any] = []

    Parameters(ROUTE.dependant, JSON).bind_query({"query_string": sent}, values, errors)

    assert (values, errors) == request_params_to_args(ROUTE.dependant.query_params, QueryParams(sent))


CALLS: list[str] = []


def section(sectionId: int) -> str:
    CALLS.append("section")
    return f"section {sectionId}"


async def reader(request: Request, section: Annotated[str, Depends(section)]) -> str:
    CALLS.append("reader")
    return f"{request.headers['x-reader']} in {section}"


def require_open(section: Annotated[str, Depends(section)]) -> None:
    CALLS.append("require_open")
    if section == "section 13":
        raise PermissionError


library = APIRouter()


@library.get("/sections/{sectionId}/books/{bookId}", dependencies=[Depends(require_open)])
async def book(
    bookId: int,
    section: Annotated[str, Depends(section)],
    reader: Annotated[str, Depends(reader)],
    limit: Annotated[int, Query(ge=1)] = 10,
) -> Response:
    return Response(f"{bookId}, {section}, {reader}, {limit}")


def through_header(name: Annotated[str, Header()]) -> str:
    return name


@library.get("/headers")
async def headers(name: Annotated[str, Depends(through_header)]) -> Response:
    return Response(name)


def scope_of(path: str, query: bytes = b"") -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(b"x-reader", b"Ida")],
    }


@pytest.fixture
def dispatch() -> Dispatch:
    CALLS.clear()
    api = FastAPI()
    api.include_router(library)
    return Dispatch(api)


@pytest.mark.anyio
async def test_dependencies_run_in_order_and_each_of_them_once(dispatch: Dispatch) -> None:
    answer = await dispatch.answer(scope_of("/sections/7/books/3", b"limit=2"), b"")

    assert answer.body == b"3, section 7, Ida in section 7, 2"
    assert CALLS == ["section", "require_open", "reader"]


@pytest.mark.anyio
async def test_a_dependency_may_refuse_before_the_endpoint_runs(dispatch: Dispatch) -> None:
    with pytest.raises(PermissionError):
        await dispatch.answer(scope_of("/sections/13/books/3"), b"")

    assert CALLS == ["section", "require_open"]


@pytest.mark.parametrize(
    ("path", "query", "where"),
    [
        ("/sections/seven/books/3", b"", ("path", "sectionId")),
        ("/sections/7/books/three", b"", ("path", "bookId")),
        ("/sections/7/books/3", b"limit=0", ("query", "limit")),
    ],
)
@pytest.mark.anyio
async def test_parameters_are_validated_before_any_dependency_runs(
    dispatch: Dispatch, path: str, query: bytes, where: tuple[str, str]
) -> None:
    with pytest.raises(RequestValidationError) as refused:
        await dispatch.answer(scope_of(path, query), b"")

    assert [error["loc"] for error in refused.value.errors()] == [where]
    assert CALLS == []


def test_only_what_is_not_bound_here_goes_through_fastapi() -> None:
    routes = {route.path: can_bind(route) for route in library.routes if isinstance(route, APIRoute)}

    assert routes == {"/sections/{sectionId}/books/{bookId}": True, "/headers": False}
