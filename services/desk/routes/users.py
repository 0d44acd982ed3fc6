"""Users."""

import re
from typing import Annotated, Any

from fastapi import Query, Response

from services.desk.documents import ALIVE, Page, cut_page, find_linked
from services.desk.errors import InvalidParameter
from services.desk.language.search import Search, run_search
from services.desk.operations import users as operations
from services.desk.records.people import find_by_email
from services.desk.routes import endpoints as serve
from services.desk.routes.base import (
    AnyCall,
    Call,
    StaffCall,
    answer_rows,
    name_starts_with,
    noun_router,
    read_paging,
    read_single_page,
    read_sort,
)
from services.desk.routes.endpoints import BY_NAME, MakeWhere, add_operations, resource
from services.desk.rows import AnyRow, UserId
from services.desk.schemas import people as schemas
from services.desk.schemas.base import Paged, UserKey
from services.desk.schemas.tickets import Counted, TicketsOut
from services.desk.tables import organization_memberships, tickets, users
from services.kernel.answers import Json
from services.kernel.documents import EVERYTHING, Where, among, equal
from services.kernel.operations import Operation
from services.kernel.world import World

router = noun_router("users")
_USERS, _MEMBERSHIPS = resource(users), resource(organization_memberships)
_ACTIVE = Where("active = 1")
_ADDRESS = re.compile(r"[^\s@:]+@[^\s@:]+")
_LINKED = "id IN (SELECT owner_id FROM ticket_links WHERE kind = '{}' AND value = :user_text)"


def _has_role(_: World, params: schemas.UserList) -> Where:
    roles = [*params.roles, *([params.role] if params.role else [])]
    where = _ACTIVE & (among("role", roles) if roles else EVERYTHING)
    return where if params.external_id is None else where & equal(external_id=params.external_id)


def _name_starts_with(_: World, params: schemas.ByName) -> Where:
    return name_starts_with(users, params.name) & _ACTIVE


def _of_user(world: World, key: UserId, _: Any) -> Where:
    users.need(world, key)
    return equal(user_id=key)


def _tickets_where(condition: str) -> MakeWhere:
    def make(world: World, key: UserId, _: Any) -> Where:
        users.need(world, key)
        return Where(condition, {"user_id": key, "user_text": str(key)})

    return make


async def me(call: AnyCall) -> Response:
    """Who you are at this desk."""
    return _USERS.answer(call, call.user)


async def find(params: Annotated[schemas.UserSearch, Query()], call: StaffCall) -> Response:
    """Search users by words of their name, by email address, or by external_id."""
    if params.external_id is not None:
        where = equal(external_id=params.external_id.partition("?")[0]) & _ACTIVE
        result = users.page(call.world, read_paging(params), where, read_sort(params, BY_NAME))
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


async def delete(user_id: UserKey, call: StaffCall) -> Response:
    """Delete a user who requested no ticket that is still open; what they wrote stays."""
    return _USERS.answer(call, operations.delete_user(call.world, user_id, call.user["id"]))


async def merge(user_id: UserKey, body: schemas.UserMerge, call: StaffCall) -> Response:
    """Merge this end user into another, who gets their tickets and addresses; this one is deleted."""
    return _USERS.answer(call, operations.merge_users(call.world, user_id, UserId(body.user.id)))


async def show_related(user_id: UserKey, call: StaffCall) -> Response:
    """How many tickets a user requested, is assigned to and is in copy of."""
    users.need(call.world, user_id)
    counts = {
        "assigned_tickets": tickets.count_rows(call.world, equal(assignee_id=user_id) & ALIVE),
        "requested_tickets": tickets.count_rows(call.world, equal(requester_id=user_id) & ALIVE),
        "ccd_tickets": tickets.count_rows(call.world, find_linked("ticket_links", "cc", str(user_id)) & ALIVE),
        "organization_subscriptions": 0,
    }
    return Json({"user_related": counts})


async def identities(user_id: UserKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List a user's addresses, the primary one among them."""
    result = cut_page(operations.list_identities(call.world, user_id), read_paging(params))
    return answer_rows(call, "identity", "identities", result)


# fmt: off
add_operations(router, (
    Operation("desk.users.list", "GET", "/api/v2/users", "Page", schemas.UsersOut,
              serve.list_rows(_USERS, schemas.UserList, _has_role, BY_NAME),
              "List users; `role` narrows to end-user, agent or admin."),
    Operation("desk.users.me", "GET", "/api/v2/users/me", "Me", schemas.UserShown, me),
    Operation("desk.users.count", "GET", "/api/v2/users/count", "Count", Counted, serve.count(_USERS, _ACTIVE),
              "Count all users."),
    Operation("desk.users.show_many", "GET", "/api/v2/users/show_many", "Show Many", schemas.UsersOut,
              serve.show_many(_USERS), "Read up to 100 users by `ids` or `external_ids`."),
    Operation("desk.users.search", "GET", "/api/v2/users/search", "Find", schemas.UsersOut, find),
    Operation("desk.users.autocomplete", "GET", "/api/v2/users/autocomplete", "Autocomplete", schemas.UsersOut,
              serve.list_rows(_USERS, schemas.ByName, _name_starts_with, BY_NAME), "List users whose name begins so."),
    Operation("desk.users.show", "GET", "/api/v2/users/{user_id}", "Show", schemas.UserShown, serve.show(_USERS),
              "Read one user."),
    Operation("desk.users.create", "POST", "/api/v2/users", "Create", schemas.UserShown,
              serve.write(_USERS, schemas.UserPut, operations.create_user, 201),
              "Create a user; an address that is in use is refused.", status=201),
    Operation("desk.users.create_or_update", "POST", "/api/v2/users/create_or_update", "Create Or Update",
              schemas.UserShown, serve.create_or_update(_USERS, schemas.UserPut, operations.create_or_update),
              "Create a user, or change the one with the same external_id or email.",
              responses={201: {"model": schemas.UserShown, "description": "A new user"}}),
    Operation("desk.users.update", "PUT", "/api/v2/users/{user_id}", "Update", schemas.UserShown,
              serve.write(_USERS, schemas.UserPut, operations.update_user),
              "Change a user; a new email becomes primary, and the old one stays as a second address."),
    Operation("desk.users.delete", "DELETE", "/api/v2/users/{user_id}", "Delete", schemas.UserShown, delete),
    Operation("desk.users.merge", "PUT", "/api/v2/users/{user_id}/merge", "Merge", schemas.UserShown, merge),
    Operation("desk.users.related", "GET", "/api/v2/users/{user_id}/related", "Related", schemas.UserRelatedShown,
              show_related),
    Operation("desk.users.identities", "GET", "/api/v2/users/{user_id}/identities", "Identities", schemas.IdentitiesOut,
              identities),
    Operation("desk.users.organization_memberships", "GET", "/api/v2/users/{user_id}/organization_memberships",
              "Memberships", schemas.OrganizationMembershipsOut, serve.list_rows(_MEMBERSHIPS, Paged, _of_user),
              "List the organizations that a user belongs to."),
    Operation("desk.users.requested_tickets", "GET", "/api/v2/users/{user_id}/tickets/requested", "Page", TicketsOut,
              serve.list_tickets(_tickets_where("requester_id = :user_id")),
              "List the tickets that a user asked for help with."),
    Operation("desk.users.assigned_tickets", "GET", "/api/v2/users/{user_id}/tickets/assigned", "Page", TicketsOut,
              serve.list_tickets(_tickets_where("assignee_id = :user_id")), "List the tickets that an agent works on."),
    Operation("desk.users.ccd_tickets", "GET", "/api/v2/users/{user_id}/tickets/ccd", "Page", TicketsOut,
              serve.list_tickets(_tickets_where(_LINKED.format("cc"))), "List the tickets that a user is in copy of."),
    Operation("desk.users.followed_tickets", "GET", "/api/v2/users/{user_id}/tickets/followed", "Page", TicketsOut,
              serve.list_tickets(_tickets_where(_LINKED.format("follower"))),
              "List the tickets that an agent follows."),
))
# fmt: on
