"""Organizations and groups, and who belongs to them."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.desk.errors import InvalidParameter
from services.desk.operations import listing, organizations, records, showing, sideloads, tickets
from services.desk.operations.finding import beginning
from services.desk.operations.listing import EVERYTHING, Where, among, equal
from services.desk.routes.base import Call, ids_of, included, listed, noun_router, order, paging, staff
from services.desk.routes.tickets import counted
from services.desk.schemas import people as schemas
from services.desk.schemas.base import Id, Paged
from services.desk.schemas.tickets import Counted, TicketsOut
from services.desk.tables import group_memberships, groups, organization_memberships, users
from services.desk.tables import organizations as rows
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld
from services.kernel.statements import Row

router = noun_router("organizations")
_SORTED = {"id": "id", "name": "name_folded", "created_at": "created_at", "updated_at": "updated_at"}
_ACTIVE = Where("active = 1")
_MEMBERS = "id IN (SELECT user_id FROM organization_memberships WHERE organization_id = :member_of)"
_AGENTS = "id IN (SELECT user_id FROM group_memberships WHERE group_id = :member_of)"


@router.get("/organizations", operation_id="desk.organizations.list", response_model=schemas.OrganizationsOut)
async def page(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the customers' organizations."""
    call = staff(request, world)
    found = listing.page(world, rows, paging(asked), order=order(asked, _SORTED))
    return listed(call, "organizations", found, showing.many("organization", found.rows, call.base))


@router.get("/organizations/count", operation_id="desk.organizations.count", response_model=Counted)
async def count(request: Request, world: CurrentWorld) -> Response:
    """Count all organizations."""
    staff(request, world)
    return Json(counted(world, listing.count(world, rows)))


@router.get(
    "/organizations/show_many", operation_id="desk.organizations.show_many", response_model=schemas.OrganizationsOut
)
async def show_many(asked: Annotated[schemas.ManyById, Query()], request: Request, world: CurrentWorld) -> Response:
    """Read up to 100 organizations by `ids` or `external_ids`."""
    call = staff(request, world)
    if asked.ids is not None:
        found = listing.by_ids(world, rows, ids_of(asked.ids))
    elif asked.external_ids is not None:
        wanted = [one.strip() for one in asked.external_ids.split(",")][:100]
        found = listing.every(world, rows, among("external_id", wanted))
    else:
        raise InvalidParameter("ids", "Give ids or external_ids")
    shown = showing.many("organization", found, call.base)
    return Json({"organizations": shown, "count": len(shown), "next_page": None, "previous_page": None})


@router.get("/organizations/search", operation_id="desk.organizations.search", response_model=schemas.OrganizationsOut)
async def search(
    asked: Annotated[schemas.OrganizationSearch, Query()], request: Request, world: CurrentWorld
) -> Response:
    """Find organizations by exact external_id or exact name."""
    call = staff(request, world)
    if asked.external_id is not None:
        # One of the vendor's clients writes its page size behind the id.
        where = equal(external_id=asked.external_id.partition("?")[0])
    elif asked.name is not None:
        where = equal(name_folded=asked.name.casefold())
    else:
        raise InvalidParameter("external_id", "Give an external_id or a name")
    found = listing.page(world, rows, paging(asked), where, order(asked, _SORTED))
    return listed(call, "organizations", found, showing.many("organization", found.rows, call.base))


@router.get(
    "/organizations/autocomplete",
    operation_id="desk.organizations.autocomplete",
    response_model=schemas.OrganizationsOut,
)
async def autocomplete(asked: Annotated[schemas.ByName, Query()], request: Request, world: CurrentWorld) -> Response:
    """List organizations whose name begins so."""
    call = staff(request, world)
    found = listing.page(world, rows, paging(asked), beginning(rows, asked.name), order(asked, _SORTED))
    return listed(call, "organizations", found, showing.many("organization", found.rows, call.base))


@router.get(
    "/organizations/{organization_id}", operation_id="desk.organizations.show", response_model=schemas.OrganizationShown
)
async def show(organization_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one organization."""
    return one(staff(request, world), records.need(world, rows, organization_id))


@router.post(
    "/organizations",
    operation_id="desk.organizations.create",
    response_model=schemas.OrganizationShown,
    status_code=201,
)
async def create(body: schemas.OrganizationPut, request: Request, world: CurrentWorld) -> Response:
    """Create an organization; its name must not be taken."""
    return one(staff(request, world), organizations.create(world, body.organization.given()), 201)


@router.post(
    "/organizations/create_or_update",
    operation_id="desk.organizations.create_or_update",
    response_model=schemas.OrganizationShown,
    responses={201: {"model": schemas.OrganizationShown, "description": "A new organization"}},
)
async def create_or_update(body: schemas.OrganizationPut, request: Request, world: CurrentWorld) -> Response:
    """Create an organization, or change the one with the same id, external_id or name."""
    call = staff(request, world)
    row, made = organizations.create_or_update(world, body.organization.given())
    return one(call, row, 201 if made else 200)


@router.put(
    "/organizations/{organization_id}",
    operation_id="desk.organizations.update",
    response_model=schemas.OrganizationShown,
)
async def update(organization_id: Id, body: schemas.OrganizationPut, request: Request, world: CurrentWorld) -> Response:
    """Change an organization; what is left out stays."""
    return one(staff(request, world), organizations.update(world, organization_id, body.organization.given()))


@router.delete("/organizations/{organization_id}", operation_id="desk.organizations.delete", status_code=204)
async def delete(organization_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Delete an organization; its users and tickets stay, without it."""
    staff(request, world)
    organizations.delete(world, organization_id)
    return Response(status_code=204)


@router.get(
    "/organizations/{organization_id}/tickets", operation_id="desk.organizations.tickets", response_model=TicketsOut
)
async def tickets_of(
    organization_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the tickets of an organization."""
    call = staff(request, world)
    records.need(world, rows, organization_id)
    found = tickets.page(world, paging(asked), order(asked, tickets.SORTED), equal(organization_id=organization_id))
    shown, beside = sideloads.tickets(world, found.rows, included(asked.include), call.base)
    return listed(call, "tickets", found, shown, **beside)


@router.get(
    "/organizations/{organization_id}/users", operation_id="desk.organizations.users", response_model=schemas.UsersOut
)
async def users_of(
    organization_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List the users who belong to an organization."""
    call = staff(request, world)
    records.need(world, rows, organization_id)
    where = Where(_MEMBERS, {"member_of": organization_id}) & _ACTIVE
    found = listing.page(world, users, paging(asked), where, order(asked, _SORTED))
    return listed(call, "users", found, showing.many("user", found.rows, call.base))


@router.get(
    "/organizations/{organization_id}/organization_memberships",
    operation_id="desk.organizations.organization_memberships",
    response_model=schemas.OrganizationMembershipsOut,
)
async def members_of(
    organization_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List who belongs to an organization."""
    call = staff(request, world)
    records.need(world, rows, organization_id)
    found = listing.page(world, organization_memberships, paging(asked), equal(organization_id=organization_id))
    shown = showing.many("organization_membership", found.rows, call.base)
    return listed(call, "organization_memberships", found, shown)


@router.get(
    "/organization_memberships",
    operation_id="desk.organization_memberships.list",
    response_model=schemas.OrganizationMembershipsOut,
)
async def memberships(
    asked: Annotated[schemas.MembershipList, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List who belongs to which organization, of one user or organization or of all."""
    call = staff(request, world)
    where = _narrowed(user_id=asked.user_id, organization_id=asked.organization_id)
    found = listing.page(world, organization_memberships, paging(asked), where)
    shown = showing.many("organization_membership", found.rows, call.base)
    return listed(call, "organization_memberships", found, shown)


@router.get("/groups", operation_id="desk.groups.list", response_model=schemas.GroupsOut)
async def all_groups(asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the groups of agents."""
    call = staff(request, world)
    found = listing.page(world, groups, paging(asked), equal(deleted=0), order(asked, _SORTED))
    return listed(call, "groups", found, showing.many("group", found.rows, call.base))


@router.get("/groups/{group_id}", operation_id="desk.groups.show", response_model=schemas.GroupShown)
async def group(group_id: Id, request: Request, world: CurrentWorld) -> Response:
    """Read one group."""
    call = staff(request, world)
    return Json({"group": showing.shown("group", records.need(world, groups, group_id), call.base)})


@router.get("/groups/{group_id}/users", operation_id="desk.groups.users", response_model=schemas.UsersOut)
async def agents_of(group_id: Id, asked: Annotated[Paged, Query()], request: Request, world: CurrentWorld) -> Response:
    """List the agents of a group."""
    call = staff(request, world)
    records.need(world, groups, group_id)
    where = Where(_AGENTS, {"member_of": group_id}) & _ACTIVE
    found = listing.page(world, users, paging(asked), where, order(asked, _SORTED))
    return listed(call, "users", found, showing.many("user", found.rows, call.base))


@router.get(
    "/group_memberships", operation_id="desk.group_memberships.list", response_model=schemas.GroupMembershipsOut
)
async def works_in(
    asked: Annotated[schemas.MembershipList, Query()], request: Request, world: CurrentWorld
) -> Response:
    """List which agent works in which group, of one user or group or of all."""
    call = staff(request, world)
    where = _narrowed(user_id=asked.user_id, group_id=asked.group_id)
    found = listing.page(world, group_memberships, paging(asked), where)
    return listed(call, "group_memberships", found, showing.many("group_membership", found.rows, call.base))


def _narrowed(**wanted: int | None) -> Where:
    given = {name: value for name, value in wanted.items() if value is not None}
    return equal(**given) if given else EVERYTHING


def one(call: Call, row: Row, status: int = 200) -> Response:
    return Json({"organization": showing.shown("organization", row, call.base)}, status)
