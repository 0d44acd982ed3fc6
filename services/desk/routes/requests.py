"""Requests: the end user's own door."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.indexing import STATUSES
from services.desk.language.searching import Search, search
from services.desk.operations import comments, requests, sideloads, tickets
from services.desk.operations.listing import EVERYTHING, Numbered, Order, Page, among
from services.desk.routes.base import Call, anyone, listed, noun_router, order, paging
from services.desk.schemas import requests as schemas
from services.desk.schemas.base import Id, Paged
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.statements import Row

router = noun_router("requests")


@router.get("/requests", operation_id="desk.requests.list", response_model=schemas.RequestsOut)
async def page(asked: Annotated[schemas.RequestList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List your own requests for help; `status` narrows them."""
    call = anyone(request, world)
    ranks = [STATUSES.index(one.strip()) for one in (asked.status or "").split(",") if one.strip() in STATUSES]
    where = EVERYTHING if asked.status is None else among("status_rank", ranks)
    found = requests.page(world, call.user, paging(asked), order(asked, tickets.SORTED), where)
    return listed(call, "requests", found, [requests.shown(row, call.user, call.base) for row in found.rows])


@router.get("/requests/search", operation_id="desk.requests.search", response_model=schemas.RequestsOut)
async def find(asked: Annotated[schemas.RequestSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Search your own requests."""
    call = anyone(request, world)
    way = paging(asked)
    numbered = way if isinstance(way, Numbered) else Numbered(1, way.size)
    hits = search(world, Search(f"{asked.query} requester:me", call.user["id"], "ticket"), numbered.page, numbered.size)
    rows = [hit.row for hit in hits.hits if hit.row["body"]["requester_id"] == call.user["id"]]
    found = Page(rows, numbered.page * numbered.size < hits.count, hits.count)
    return listed(call, "requests", found, [requests.shown(row, call.user, call.base) for row in rows])


@router.get("/requests/{request_id}", operation_id="desk.requests.show", response_model=schemas.RequestShown)
async def show(request_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one of your requests."""
    call = anyone(request, world)
    return one(call, requests.read(world, request_id, call.user))


@router.post("/requests", operation_id="desk.requests.create", response_model=schemas.RequestShown, status_code=201)
async def create(body: schemas.RequestCreate, request: Request, world: CurrentWorld) -> Response:
    """Ask for help in your own name: a new ticket with you as its requester."""
    call = anyone(request, world)
    return one(call, requests.create(world, body.request.given(), call.user).after, 201)


@router.put("/requests/{request_id}", operation_id="desk.requests.update", response_model=schemas.RequestShown)
async def update(request_id: Id, body: schemas.RequestPut, request: Request, world: CurrentWorld) -> Response:
    """Add a comment to your request, or mark it as solved; a comment reopens what waits or is solved."""
    call = anyone(request, world)
    return one(call, requests.update(world, request_id, body.request.given(), call.user))


@router.get(
    "/requests/{request_id}/comments", operation_id="desk.requests.comments", response_model=schemas.RequestCommentsOut
)
async def said(request_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List what was said on your request, oldest first; internal notes are not shown."""
    call = anyone(request, world)
    requests.read(world, request_id, call.user)
    ordered = order(asked, {"created_at": "created_at"}, Order("created_at"))
    found = comments.of_ticket(world, request_id, paging(asked), ordered, public_only=True)
    authors = sideloads.people(world, [row["body"]["author_id"] for row in found.rows], call.base)
    named = [
        {"id": one["id"], "name": one["name"], "agent": one["role"] != "end-user", "photo": None} for one in authors
    ]
    return listed(call, "comments", found, comments.shown(world, found.rows, call.base), users=named)


def one(call: Call, row: Row, status: int = 200) -> Response:
    return Json({"request": requests.shown(row, call.user, call.base)}, status)
