"""Requests: the API of end users."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import Page, Sort
from services.desk.indexing import STATUSES
from services.desk.language.search import Search, run_search
from services.desk.operations import requests
from services.desk.operations.comments import list_comments
from services.desk.operations.tickets import SORT_COLUMNS
from services.desk.routes.base import AnyCall, Call, answer_page, noun_router, read_paging, read_single_page, read_sort
from services.desk.routes.endpoints import add_operations
from services.desk.rows.tickets import TicketRow
from services.desk.schemas import requests as schemas
from services.desk.schemas.base import Paged, TicketKey
from services.desk.shapes.threads import render_comments
from services.desk.shapes.tickets import render_people, render_request
from services.kernel.answers import Json
from services.kernel.documents import EVERYTHING, among
from services.kernel.operations import Operation

router = noun_router("requests")


async def page(params: Annotated[schemas.RequestList, Query()], call: AnyCall) -> Response:
    """List your own requests for help; `status` narrows them."""
    wanted = {part.strip() for part in (params.status or "").split(",")}
    ranks = [rank for rank, status in enumerate(STATUSES) if status in wanted]
    where = EVERYTHING if params.status is None else among("status_rank", ranks)
    result = requests.list_requests(call.world, call.user, read_paging(params), read_sort(params, SORT_COLUMNS), where)
    return answer_page(call, "requests", result, [render_request(row, call.user, call.base) for row in result.rows])


async def find(params: Annotated[schemas.RequestSearch, Query()], call: AnyCall) -> Response:
    """Search your own requests."""
    paging = read_single_page(params)
    search = Search(f"{params.query} requester:me", call.user["id"], "ticket")
    results = run_search(call.world, search, paging.page, paging.size)
    rows = [hit.row for hit in results.hits if hit.row["body"]["requester_id"] == call.user["id"]]
    result = Page(rows, paging.page * paging.size < results.count, results.count)
    return answer_page(call, "requests", result, [render_request(row, call.user, call.base) for row in rows])


async def show(request_id: TicketKey, call: AnyCall) -> Response:
    """Read one of your requests."""
    return _answer(call, requests.get_request(call.world, request_id, call.user))


async def create(body: schemas.RequestCreate, call: AnyCall) -> Response:
    """Ask for help in your own name: a new ticket with you as its requester."""
    return _answer(call, requests.create_request(call.world, body.request.dump(), call.user).after, 201)


async def update(request_id: TicketKey, body: schemas.RequestPut, call: AnyCall) -> Response:
    """Add a comment to your request, or mark it as solved; a comment reopens what waits or is solved."""
    return _answer(call, requests.update_request(call.world, request_id, body.request.dump(), call.user))


async def comments(request_id: TicketKey, params: Annotated[Paged, Query()], call: AnyCall) -> Response:
    """List what was said on your request, oldest first; internal notes are not shown."""
    requests.get_request(call.world, request_id, call.user)
    sort = read_sort(params, {"created_at": "created_at"}, Sort("created_at"))
    result = list_comments(call.world, request_id, read_paging(params), sort, public_only=True)
    authors = render_people(call.world, [row["body"]["author_id"] for row in result.rows], call.base)
    named = [
        {"id": user["id"], "name": user["name"], "agent": user["role"] != "end-user", "photo": None} for user in authors
    ]
    return answer_page(call, "comments", result, render_comments(call.world, result.rows, call.base), users=named)


def _answer(call: Call, row: TicketRow, status: int = 200) -> Response:
    return Json({"request": render_request(row, call.user, call.base)}, status)


# fmt: off
add_operations(router, (
    Operation("desk.requests.list", "GET", "/api/v2/requests", "Page", schemas.RequestsOut, page),
    Operation("desk.requests.search", "GET", "/api/v2/requests/search", "Find", schemas.RequestsOut, find),
    Operation("desk.requests.show", "GET", "/api/v2/requests/{request_id}", "Show", schemas.RequestShown, show),
    Operation("desk.requests.create", "POST", "/api/v2/requests", "Create", schemas.RequestShown, create, status=201),
    Operation("desk.requests.update", "PUT", "/api/v2/requests/{request_id}", "Update", schemas.RequestShown, update),
    Operation("desk.requests.comments", "GET", "/api/v2/requests/{request_id}/comments", "Said",
              schemas.RequestCommentsOut, comments),
))
# fmt: on
