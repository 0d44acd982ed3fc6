"""Endpoints for the tables of operations.

An endpoint is made from a resource and the function that does the work, which takes the world, the ids of the path in
their order, and the body or the parameters that were sent.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from services.desk.documents import BY_ID, DeskTable, Page, Sort
from services.desk.errors import InvalidParameter
from services.desk.operations import tickets
from services.desk.operations.rule_crud import BY_POSITION, RuleKind
from services.desk.operations.rule_crud import SORT_COLUMNS as RULE_COLUMNS
from services.desk.routes.base import (
    AnyCall,
    Call,
    StaffCall,
    answer_count,
    answer_list,
    answer_page,
    answer_tickets,
    read_ids,
    read_paging,
    read_sort,
)
from services.desk.rows import AnyRow, JobId, UploadToken
from services.desk.schemas.base import Id, Included, Paged, RequestBody
from services.desk.schemas.people import ManyById
from services.desk.schemas.rules import RuleList, RuleSearch
from services.desk.shapes.base import Shape, render
from services.kernel import operations
from services.kernel.answers import Json
from services.kernel.documents import EVERYTHING, Where, among
from services.kernel.operations import Endpoint, Operation, parameter
from services.kernel.world import World

# The columns by the names that clients sort people, organizations and groups by.
BY_NAME = {"id": "id", "name": "name_folded", "created_at": "created_at", "updated_at": "updated_at"}
STAFF = parameter("call", StaffCall)
ANYBODY = parameter("call", AnyCall)
Locale = Annotated[str, Path(min_length=2, max_length=12, description="A language, such as en-us")]
# The ids of paths that are not numbers.
_ID_TYPES = {"job_id": JobId, "token": UploadToken, "locale": Locale}

# Takes the world, the ids of the path, and the parameters of the query.
MakeWhere = Callable[..., Where]
# Takes the world, the ids of the path, and for writes the fields that were sent; returns a row.
Work = Callable[..., AnyRow]


@dataclass(frozen=True, slots=True)
class Resource:
    """A table as the API shows it; `plural` is the name of its lists, `render` takes a row and the desk's address."""

    table: DeskTable[Any, Any]
    plural: str
    render: Callable[[Any, str], Shape]

    @property
    def kind(self) -> str:
        return str(self.table.info["kind"])

    def answer(self, call: Call, row: AnyRow, status: int = 200) -> Response:
        return Json({self.kind: self.render(row, call.base)}, status)

    def answer_page(self, call: Call, page: Page[Any]) -> Response:
        return answer_page(call, self.plural, page, [self.render(row, call.base) for row in page.rows])


def resource(table: DeskTable[Any, Any], plural: str = "") -> Resource:
    """Returns a resource whose rows are rendered whole."""
    return Resource(table, plural or str(table.name), partial(render, table.info["kind"]))


def add_operations(router: APIRouter, table: Iterable[Operation]) -> None:
    """Adds the operations to the router, in their order."""
    operations.add_operations(router, table, Id, _ID_TYPES)


def query(model: type[Included], call: Any) -> Any:
    return parameter("params", Annotated[model, Query()]), call


def everything(*_: Any) -> Where:
    return EVERYTHING


# --- reading --------------------------------------------------------------------------------------------------------


def list_rows(
    rows: Resource,
    params: type[Paged] = Paged,
    where: MakeWhere = everything,
    sorts: Mapping[str, str] | None = None,
    default: Sort = BY_ID,
    *,
    for_anybody: bool = False,
) -> Endpoint:
    """Serves a page of a table; without `sorts` the client cannot choose the order."""

    async def serve(*keys: Any, params: Any, call: Call) -> Response:
        condition = where(call.world, *keys, params)
        paging = read_paging(params)
        sort = default if sorts is None else read_sort(params, sorts, default)
        return rows.answer_page(call, rows.table.page(call.world, paging, condition, sort))

    return Endpoint(serve, query(params, ANYBODY if for_anybody else STAFF))


def list_tickets(where: MakeWhere, params: type[Paged] = Paged) -> Endpoint:
    """Serves a page of tickets, with what `include` names."""

    async def serve(*keys: Any, params: Any, call: Call) -> Response:
        condition = where(call.world, *keys, params)
        page = tickets.list_tickets(call.world, read_paging(params), read_sort(params, tickets.SORT_COLUMNS), condition)
        return answer_tickets(call, params, page)

    return Endpoint(serve, query(params, STAFF))


def show(rows: Resource, *, for_anybody: bool = False) -> Endpoint:
    """Serves the row that the path names."""

    async def serve(key: Any, call: Call) -> Response:
        return rows.answer(call, rows.table.need(call.world, key))

    return Endpoint(serve, (ANYBODY if for_anybody else STAFF,))


def show_many(rows: Resource) -> Endpoint:
    """Serves the rows that the query names by `ids` or `external_ids`."""

    async def serve(params: ManyById, call: Call) -> Response:
        if params.ids is not None:
            named = rows.table.by_ids(call.world, read_ids(params.ids))
        elif params.external_ids is not None:
            wanted = [part.strip() for part in params.external_ids.split(",")][:100]
            named = rows.table.find(call.world, among("external_id", wanted))
        else:
            raise InvalidParameter("ids", "Give ids or external_ids")
        return answer_list(rows.plural, [rows.render(row, call.base) for row in named])

    return Endpoint(serve, query(ManyById, STAFF))


def count(rows: Resource, where: Where = EVERYTHING) -> Endpoint:
    """Serves the number of rows."""

    async def serve(call: Call) -> Response:
        return answer_count(call.world, rows.table.count_rows(call.world, where))

    return Endpoint(serve, (STAFF,))


def answer_with(make: Callable[[World], Shape]) -> Endpoint:
    """Serves what a function makes of the world."""

    async def serve(call: Call) -> Response:
        return Json(make(call.world))

    return Endpoint(serve, (STAFF,))


# --- writing --------------------------------------------------------------------------------------------------------


def write(rows: Resource, body: type[RequestBody], work: Work, status: int = 200) -> Endpoint:
    """Serves a write whose body has the fields under the name of the resource."""

    async def serve(*keys: Any, body: Any, call: Call) -> Response:
        fields: RequestBody = getattr(body, rows.kind)
        return rows.answer(call, work(call.world, *keys, fields.dump()), status)

    return Endpoint(serve, (parameter("body", body), STAFF))


def create_or_update(
    rows: Resource, body: type[RequestBody], work: Callable[[World, dict[str, Any]], tuple[AnyRow, bool]]
) -> Endpoint:
    """Serves a write that says with its status whether the row is new."""

    async def serve(body: Any, call: Call) -> Response:
        fields: RequestBody = getattr(body, rows.kind)
        row, is_new = work(call.world, fields.dump())
        return rows.answer(call, row, 201 if is_new else 200)

    return Endpoint(serve, (parameter("body", body), STAFF))


def delete(work: Callable[..., None]) -> Endpoint:
    """Serves a deletion."""

    async def serve(*keys: Any, call: Call) -> Response:
        work(call.world, *keys)
        return Response(status_code=204)

    return Endpoint(serve, (STAFF,))


# --- rules ----------------------------------------------------------------------------------------------------------


def answer_rules(
    call: Call, rows: Resource, rules: RuleKind[Any, Any], params: Paged, active: bool | None, title: str | None = None
) -> Response:
    sort = read_sort(params, RULE_COLUMNS, BY_POSITION)
    return rows.answer_page(call, rules.page(call.world, read_paging(params), sort, active=active, title=title))


def list_rules(rows: Resource, rules: RuleKind[Any, Any]) -> Endpoint:
    """Serves rules in their order; `active` narrows them."""

    async def serve(params: RuleList, call: Call) -> Response:
        return answer_rules(call, rows, rules, params, params.active)

    return Endpoint(serve, query(RuleList, STAFF))


def list_active_rules(rows: Resource, rules: RuleKind[Any, Any]) -> Endpoint:
    """Serves the rules that are in use."""

    async def serve(params: Paged, call: Call) -> Response:
        return answer_rules(call, rows, rules, params, True)

    return Endpoint(serve, query(Paged, STAFF))


def search_rules(rows: Resource, rules: RuleKind[Any, Any]) -> Endpoint:
    """Serves the rules whose title contains the query."""

    async def serve(params: RuleSearch, call: Call) -> Response:
        return answer_rules(call, rows, rules, params, params.active, params.query)

    return Endpoint(serve, query(RuleSearch, STAFF))
