"""Users."""

import re
from typing import Annotated

from fastapi import Query, Response

from services.desk.documents import ALIVE, Page, cut_page, linked
from services.desk.errors import InvalidParameter
from services.desk.language.search import Search, run_search
from services.desk.operations import users as operations
from services.desk.operations.tickets import SORT_COLUMNS, list_tickets
from services.desk.records.people import find_by_email
from services.desk.routes.base import (
    AnyCall,
    Call,
    StaffCall,
    answer_count,
    answer_list,
    answer_rows,
    answer_tickets,
    name_starts_with,
    noun_router,
    read_ids,
    read_paging,
    read_single_page,
    read_sort,
)
from services.desk.rows import AnyRow, UserId
from services.desk.rows.people import UserRow
from services.desk.schemas import people as schemas
from services.desk.schemas.base import Paged, UserKey
from services.desk.schemas.tickets import Counted, TicketsOut
from services.desk.shapes.base import render, render_all
from services.desk.tables import organization_memberships, tickets, users
from services.kernel.answers import Json
from services.kernel.documents import EVERYTHING, Where, among, equal

router = noun_router("users")
_SORT_COLUMNS = {"id": "id", "name": "name_folded", "created_at": "created_at", "updated_at": "updated_at"}
_ACTIVE = Where("active = 1")
_ADDRESS = re.compile(r"[^\s@:]+@[^\s@:]+")


@router.get("/users", operation_id="desk.users.list", response_model=schemas.UsersOut)
async def page(params: Annotated[schemas.UserList, Query()], call: StaffCall) -> Response:
    """List users; `role` narrows to end-user, agent or admin."""
    roles = [*params.roles, *([params.role] if params.role else [])]
    where = _ACTIVE & (among("role", roles) if roles else EVERYTHING)
    if params.external_id is not None:
        where &= equal(external_id=params.external_id)
    result = users.page(call.world, read_paging(params), where, read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "user", "users", result)


@router.get("/users/me", operation_id="desk.users.me", response_model=schemas.UserShown)
async def me(call: AnyCall) -> Response:
    """Who you are at this desk."""
    return _answer(call, call.user)


@router.get("/users/count", operation_id="desk.users.count", response_model=Counted)
async def count(call: StaffCall) -> Response:
    """Count all users."""
    return answer_count(call.world, users.count_rows(call.world, _ACTIVE))


@router.get("/users/show_many", operation_id="desk.users.show_many", response_model=schemas.UsersOut)
async def show_many(params: Annotated[schemas.ManyById, Query()], call: StaffCall) -> Response:
    """Read up to 100 users by `ids` or `external_ids`."""
    if params.ids is not None:
        rows = users.by_ids(call.world, [UserId(key) for key in read_ids(params.ids)])
    elif params.external_ids is not None:
        wanted = [part.strip() for part in params.external_ids.split(",")][:100]
        rows = users.find(call.world, among("external_id", wanted))
    else:
        raise InvalidParameter("ids", "Give ids or external_ids")
    return answer_list("users", render_all("user", rows, call.base))


@router.get("/users/search", operation_id="desk.users.search", response_model=schemas.UsersOut)
async def find(params: Annotated[schemas.UserSearch, Query()], call: StaffCall) -> Response:
    """Search users by words of their name, by email address, or by external_id."""
    if params.external_id is not None:
        where = equal(external_id=params.external_id.partition("?")[0]) & _ACTIVE
        result = users.page(call.world, read_paging(params), where, read_sort(params, _SORT_COLUMNS))
    elif params.query:
        return answer_rows(call, "user", "users", _search(call, params, params.query))
    else:
        raise InvalidParameter("query", "Give a query or an external_id")
    return answer_rows(call, "user", "users", result)


def _search(call: Call, params: Paged, query: str) -> Page[AnyRow]:
    """Runs the desk's search, whose pages have numbers; an address leads to its owner, primary or not."""
    if _ADDRESS.fullmatch(query) and (owner := find_by_email(call.world, query)) is not None:
        return cut_page([owner], read_paging(params))
    paging = read_single_page(params)
    results = run_search(call.world, Search(query, call.user["id"], "user"), paging.page, paging.size)
    has_more = paging.page * paging.size < results.count
    return Page([hit.row for hit in results.hits], has_more, results.count)


@router.get("/users/autocomplete", operation_id="desk.users.autocomplete", response_model=schemas.UsersOut)
async def autocomplete(params: Annotated[schemas.ByName, Query()], call: StaffCall) -> Response:
    """List users whose name begins so."""
    result = users.page(
        call.world,
        read_paging(params),
        name_starts_with(users, params.name) & _ACTIVE,
        read_sort(params, _SORT_COLUMNS),
    )
    return answer_rows(call, "user", "users", result)


@router.get("/users/{user_id}", operation_id="desk.users.show", response_model=schemas.UserShown)
async def show(user_id: UserKey, call: StaffCall) -> Response:
    """Read one user."""
    return _answer(call, users.need(call.world, user_id))


@router.post("/users", operation_id="desk.users.create", response_model=schemas.UserShown, status_code=201)
async def create(body: schemas.UserPut, call: StaffCall) -> Response:
    """Create a user; an address that is in use is refused."""
    return _answer(call, operations.create_user(call.world, body.user.dump()), 201)


@router.post(
    "/users/create_or_update",
    operation_id="desk.users.create_or_update",
    response_model=schemas.UserShown,
    responses={201: {"model": schemas.UserShown, "description": "A new user"}},
)
async def create_or_update(body: schemas.UserPut, call: StaffCall) -> Response:
    """Create a user, or change the one with the same external_id or email."""
    row, created = operations.create_or_update(call.world, body.user.dump())
    return _answer(call, row, 201 if created else 200)


@router.put("/users/{user_id}", operation_id="desk.users.update", response_model=schemas.UserShown)
async def update(user_id: UserKey, body: schemas.UserPut, call: StaffCall) -> Response:
    """Change a user; a new email becomes primary, and the old one stays as a second address."""
    return _answer(call, operations.update_user(call.world, user_id, body.user.dump()))


@router.delete("/users/{user_id}", operation_id="desk.users.delete", response_model=schemas.UserShown)
async def delete(user_id: UserKey, call: StaffCall) -> Response:
    """Delete a user who requested no ticket that is still open; what they wrote stays."""
    return _answer(call, operations.delete_user(call.world, user_id, call.user["id"]))


@router.put("/users/{user_id}/merge", operation_id="desk.users.merge", response_model=schemas.UserShown)
async def merge(user_id: UserKey, body: schemas.UserMerge, call: StaffCall) -> Response:
    """Merge this end user into another, who gets their tickets and addresses; this one is deleted."""
    return _answer(call, operations.merge_users(call.world, user_id, UserId(body.user.id)))


@router.get("/users/{user_id}/related", operation_id="desk.users.related", response_model=schemas.UserRelatedShown)
async def related(user_id: UserKey, call: StaffCall) -> Response:
    """How many tickets a user requested, is assigned to and is in copy of."""
    users.need(call.world, user_id)
    counts = {
        "assigned_tickets": tickets.count_rows(call.world, equal(assignee_id=user_id) & ALIVE),
        "requested_tickets": tickets.count_rows(call.world, equal(requester_id=user_id) & ALIVE),
        "ccd_tickets": tickets.count_rows(call.world, linked("ticket_links", "cc", str(user_id)) & ALIVE),
        "organization_subscriptions": 0,
    }
    return Json({"user_related": counts})


@router.get("/users/{user_id}/identities", operation_id="desk.users.identities", response_model=schemas.IdentitiesOut)
async def identities(user_id: UserKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List a user's addresses, the primary one among them."""
    result = cut_page(operations.list_identities(call.world, user_id), read_paging(params))
    return answer_rows(call, "identity", "identities", result)


@router.get(
    "/users/{user_id}/organization_memberships",
    operation_id="desk.users.organization_memberships",
    response_model=schemas.OrganizationMembershipsOut,
)
async def memberships(user_id: UserKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the organizations that a user belongs to."""
    users.need(call.world, user_id)
    result = organization_memberships.page(call.world, read_paging(params), equal(user_id=user_id))
    return answer_rows(call, "organization_membership", "organization_memberships", result)


def _add_tickets(name: str, condition: str, description: str) -> None:
    """Adds one of four lists of a user's tickets: `/users/{user_id}/tickets/requested` and its like."""

    async def page(user_id: UserKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
        users.need(call.world, user_id)
        chosen = Where(condition, {"user_id": user_id, "user_text": str(user_id)})
        result = list_tickets(call.world, read_paging(params), read_sort(params, SORT_COLUMNS), chosen)
        return answer_tickets(call, params, result)

    page.__doc__ = description
    path = f"/users/{{user_id}}/tickets/{name}"
    router.get(path, operation_id=f"desk.users.{name}_tickets", response_model=TicketsOut)(page)


_LINKED = "id IN (SELECT owner_id FROM ticket_links WHERE kind = '{}' AND value = :user_text)"
_add_tickets("requested", "requester_id = :user_id", "List the tickets that a user asked for help with.")
_add_tickets("assigned", "assignee_id = :user_id", "List the tickets that an agent works on.")
_add_tickets("ccd", _LINKED.format("cc"), "List the tickets that a user is in copy of.")
_add_tickets("followed", _LINKED.format("follower"), "List the tickets that an agent follows.")


def _answer(call: Call, row: UserRow, status: int = 200) -> Response:
    return Json({"user": render("user", row, call.base)}, status)
