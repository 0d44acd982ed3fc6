"""Binding a query ourselves must mean what it means to FastAPI."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from fastapi.dependencies.utils import request_params_to_args
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from services.kernel.dispatch import Bound
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

    Bound(ROUTE, JSON)._bind_query({"query_string": sent}, values, errors)

    assert (values, errors) == request_params_to_args(ROUTE.dependant.query_params, QueryParams(sent))
