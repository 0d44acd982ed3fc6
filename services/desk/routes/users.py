"""Users."""

import re
from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.errors import InvalidParameter
from services.desk.language.searching import Search, search
from services.desk.operations import callers, listing, showing, sideloads, tickets, users
from services.desk.operations.finding import beginning
from services.desk.operations.listing import ALIVE, EVERYTHING, Numbered, Page, Where, among, equal, linked
from services.desk.routes.base import Call, anyone, ids_of, included, listed, noun_router, order, paging, staff
from services.desk.routes.tickets import counted
from services.desk.schemas import people as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.schemas.tickets import Counted, TicketsOut
from services.desk.tables import organization_memberships
from services.desk.tables import tickets as ticket_rows
from services.desk.tables import users as rows
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.statements import Row
from services.kernel.world import World

router = noun_router("users")
_SORTED = {"id": "id", "name": "name_folded", "created_at": "created_at", "updated_at": "updated_at"}
_ACTIVE = Where("active = 1")
_ADDRESS = re.compile(r"[^\s@:]+@[^\s@:]+")


@router.get("/users", operation_id="desk.users.list", response_model=schemas.UsersOut)
async def page(asked: Annotated[schemas.UserList, Query()], request: Request, world: CurrentWorld) -> Response:
    """List users; `role` narrows to end-user, agent or admin."""
    call = staff(request, world)
    roles = [*asked.roles, *([asked.role] if asked.role else [])]
    where = _ACTIVE & (among("role", roles) if roles else EVERYTHING)
    if asked.external_id is not None:
        where &= equal(external_id=asked.external_id)
    found = listing.page(world, rows, paging(asked), where, order(asked, _SORTED))
    return listed(call, "users", found, showing.many("user", found.rows, call.base))


@router.get("/users/me", operation_id="desk.users.me", response_model=schemas.UserShown)
async def me(request: Request, world: CurrentWorld) -> Response:
    """Who you are at this desk."""
    call = anyone(request, world)
    return one(call, call.user)


@router.get("/users/count", operation_id="desk.users.count", response_model=Counted)
async def count(request: Request, world: CurrentWorld) -> Response:
    """Count all users."""
    staff(request, world)
    return Json(counted(world, listing.count(world, rows, _ACTIVE)))


@router.get("/users/show_many", operation_id="desk.users.show_many", response_model=schemas.UsersOut)
async def show_many(asked: Annotated[schemas.ManyById, Query()], request: Request, world: CurrentWorld) -> Response:
    """Read up to 100 users by `ids` or `external_ids`."""
    call = staff(request, world)
    if asked.ids is not None:
        found = listing.by_ids(world, rows, ids_of(asked.ids))
    elif asked.external_ids is not None:
        wanted = [one.strip() for one in asked.external_ids.split(",")][:100]
        found = listing.every(world, rows, among("external_id", wanted))
    else:
        raise InvalidParameter("ids", "Give ids or external_ids")
    shown = showing.many("user", found, call.base)
    return Json({"users": shown, "count": len(shown), "next_page": None, "previous_page": None})


@router.get("/users/search", operation_id="desk.users.search", response_model=schemas.UsersOut)
async def find(asked: Annotated[schemas.UserSearch, Query()], request: Request, world: CurrentWorld) -> Response:
    """Search users by words of their name, by email address, or by external_id."""
    call = staff(request, world)
    if asked.external_id is not None:
        where = equal(external_id=asked.external_id.partition("?")[0]) & _ACTIVE
        found = listing.page(world, rows, paging(asked), where, order(asked, _SORTED))
    elif asked.query:
        found = _searched(world, call, asked)
    else:
        raise InvalidParameter("query", "Give a query or an external_id")
    return listed(call, "users", found, showing.many("user", found.rows, call.base))


def _searched(world: World, call: Call, asked: schemas.UserSearch) -> Page:
    """In the language of all searches; pages have numbers here. An address leads to its owner, first or second."""
    if _ADDRESS.fullmatch(str(asked.query)) and (owner := callers.by_email(world, str(asked.query))) is not None:
        return listing.paged([owner], paging(asked))
    way = paging(asked)
    numbered = way if isinstance(way, Numbered) else Numbered(1, way.size)
    hits = search(world, Search(str(asked.query), call.user["id"], "user"), numbered.page, numbered.size)
    more = numbered.page * numbered.size < hits.count
    return Page([hit.row for hit in hits.hits], more, hits.count)


@router.get("/users/autocomplete", operation_id="desk.users.autocomplete", response_model=schemas.UsersOut)
async def autocomplete(asked: Annotated[schemas.ByName, Query()], request: Request, world: CurrentWorld) -> Response:
    """List users whose name begins so."""
    call = staff(request, world)
    found = listing.page(world, rows, paging(asked), beginning(rows, asked.name) & _ACTIVE, order(asked, _SORTED))
    return listed(call, "users", found, showing.many("user", found.rows, call.base))


@router.get("/users/{user_id}", operation_id="desk.users.show", response_model=schemas.UserShown)
async def show(user_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one user."""
    return one(staff(request, world), users.read(world, user_id))


@router.post("/users", operation_id="desk.users.create", response_model=schemas.UserShown, status_code=201)
async def create(body: schemas.UserPut, request: Request, world: CurrentWorld) -> Response:
    """Create a user; an address that is in use is refused."""
    return one(staff(request, world), users.create(world, body.user.given()), 201)


@router.post(
    "/users/create_or_update",
    operation_id="desk.users.create_or_update",
    response_model=schemas.UserShown,
    responses={201: {"model": schemas.UserShown, "description": "A new user"}},
)
async def create_or_update(body: schemas.UserPut, request: Request, world: CurrentWorld) -> Response:
    """Create a user, or change the one with the same external_id or email."""
    call = staff(request, world)
    row, made = users.create_or_update(world, body.user.given())
    return one(call, row, 201 if made else 200)


@router.put("/users/{user_id}", operation_id="desk.users.update", response_model=schemas.UserShown)
async def update(user_id: Id, body: schemas.UserPut, request: Request, world: CurrentWorld) -> Response:
    """Change a user; a new email becomes primary, and the old one stays as a second address."""
    return one(staff(request, world), users.update(world, user_id, body.user.given()))


@router.delete("/users/{user_id}", operation_id="desk.users.delete", response_model=schemas.UserShown)
async def delete(user_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete a user who requested no ticket that is still open; what they wrote stays."""
    call = staff(request, world)
    return one(call, users.delete(world, user_id, call.user["id"]))


@router.put("/users/{user_id}/merge", operation_id="desk.users.merge", response_model=schemas.UserShown)
async def merge(user_id: Id, body: schemas.UserMerge, request: Request, world: CurrentWorld) -> Response:
    """Merge this end user into another, who gets their tickets and addresses; this one is deleted."""
    return one(staff(request, world), users.merge(world, user_id, body.user.id))


@router.get("/users/{user_id}/related", operation_id="desk.users.related", response_model=schemas.UserRelatedShown)
async def related(user_id: Id, request: Request, world: CurrentWorld) -> Response:
    """How many tickets a user requested, is assigned to and is in copy of."""
    staff(request, world)
    users.read(world, user_id)
    told = {
        "assigned_tickets": listing.count(world, ticket_rows, equal(assignee_id=user_id) & ALIVE),
        "requested_tickets": listing.count(world, ticket_rows, equal(requester_id=user_id) & ALIVE),
        "ccd_tickets": listing.count(world, ticket_rows, linked("ticket_links", "cc", str(user_id)) & ALIVE),
        "organization_subscriptions": 0,
    }
    return Json({"user_related": told})


@router.get("/users/{user_id}/identities", operation_id="desk.users.identities", response_model=schemas.IdentitiesOut)
async def identities(user_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List a user's addresses, the primary one among them."""
    call = staff(request, world)
    found = listing.paged(users.identities_of(world, user_id), paging(asked))
    return listed(call, "identities", found, showing.many("identity", found.rows, call.base))


@router.get(
    "/users/{user_id}/organization_memberships",
    operation_id="desk.users.organization_memberships",
    response_model=schemas.OrganizationMembershipsOut,
)
async def memberships(user_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the organizations that a user belongs to."""
    call = staff(request, world)
    users.read(world, user_id)
    found = listing.page(world, organization_memberships, paging(asked), equal(user_id=user_id))
    shown = showing.many("organization_membership", found.rows, call.base)
    return listed(call, "organization_memberships", found, shown)


def _tickets(name: str, told: str) -> None:
    """One of four lists of a user's tickets."""

    async def page(user_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
        call = staff(request, world)
        users.read(world, user_id)
        chosen = Where(_OF_USER[name], {"user_id": user_id, "user_text": str(user_id)})
        found = tickets.page(world, paging(asked), order(asked, tickets.SORTED), chosen)
        shown, beside = sideloads.tickets(world, found.rows, included(asked.include), call.base)
        return listed(call, "tickets", found, shown, **beside)

    page.__doc__ = told
    path = f"/users/{{user_id}}/tickets/{name}"
    router.get(path, operation_id=f"desk.users.{name}_tickets", response_model=TicketsOut)(page)


_LINKED = "id IN (SELECT owner_id FROM ticket_links WHERE kind = '{}' AND value = :user_text)"
_OF_USER = {
    "requested": "requester_id = :user_id",
    "assigned": "assignee_id = :user_id",
    "ccd": _LINKED.format("cc"),
    "followed": _LINKED.format("follower"),
}
_tickets("requested", "List the tickets that a user asked for help with.")
_tickets("assigned", "List the tickets that an agent works on.")
_tickets("ccd", "List the tickets that a user is in copy of.")
_tickets("followed", "List the tickets that an agent follows.")


def one(call: Call, row: Row, status: int = 200) -> Response:
    return Json({"user": showing.shown("user", row, call.base)}, status)
