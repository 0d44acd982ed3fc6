"""Organizations and groups, and who belongs to them."""

from typing import Annotated

from fastapi import Query, Response

from services.desk.errors import InvalidParameter
from services.desk.operations import organizations as operations
from services.desk.operations.tickets import SORT_COLUMNS, list_tickets
from services.desk.routes.base import (
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
    read_sort,
)
from services.desk.rows import OrganizationId
from services.desk.rows.people import OrganizationRow
from services.desk.schemas import people as schemas
from services.desk.schemas.base import GroupKey, OrganizationKey, Paged
from services.desk.schemas.tickets import Counted, TicketsOut
from services.desk.shapes.base import render, render_all
from services.desk.tables import group_memberships, groups, organization_memberships, organizations, users
from services.kernel.answers import Json
from services.kernel.documents import Where, among, equal

router = noun_router("organizations")
_SORT_COLUMNS = {"id": "id", "name": "name_folded", "created_at": "created_at", "updated_at": "updated_at"}
_ACTIVE = Where("active = 1")
_MEMBERS = "id IN (SELECT user_id FROM organization_memberships WHERE organization_id = :member_of)"
_AGENTS = "id IN (SELECT user_id FROM group_memberships WHERE group_id = :member_of)"


@router.get("/organizations", operation_id="desk.organizations.list", response_model=schemas.OrganizationsOut)
async def page(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the customers' organizations."""
    result = organizations.page(call.world, read_paging(params), sort=read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "organization", "organizations", result)


@router.get("/organizations/count", operation_id="desk.organizations.count", response_model=Counted)
async def count(call: StaffCall) -> Response:
    """Count all organizations."""
    return answer_count(call.world, organizations.count_rows(call.world))


@router.get(
    "/organizations/show_many", operation_id="desk.organizations.show_many", response_model=schemas.OrganizationsOut
)
async def show_many(params: Annotated[schemas.ManyById, Query()], call: StaffCall) -> Response:
    """Read up to 100 organizations by `ids` or `external_ids`."""
    if params.ids is not None:
        rows = organizations.by_ids(call.world, [OrganizationId(key) for key in read_ids(params.ids)])
    elif params.external_ids is not None:
        wanted = [part.strip() for part in params.external_ids.split(",")][:100]
        rows = organizations.find(call.world, among("external_id", wanted))
    else:
        raise InvalidParameter("ids", "Give ids or external_ids")
    return answer_list("organizations", render_all("organization", rows, call.base))


@router.get("/organizations/search", operation_id="desk.organizations.search", response_model=schemas.OrganizationsOut)
async def search(params: Annotated[schemas.OrganizationSearch, Query()], call: StaffCall) -> Response:
    """Find organizations by exact external_id or exact name."""
    if params.external_id is not None:
        # One of the vendor's clients writes its page size behind the id.
        where = equal(external_id=params.external_id.partition("?")[0])
    elif params.name is not None:
        where = equal(name_folded=params.name.casefold())
    else:
        raise InvalidParameter("external_id", "Give an external_id or a name")
    result = organizations.page(call.world, read_paging(params), where, read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "organization", "organizations", result)


@router.get(
    "/organizations/autocomplete",
    operation_id="desk.organizations.autocomplete",
    response_model=schemas.OrganizationsOut,
)
async def autocomplete(params: Annotated[schemas.ByName, Query()], call: StaffCall) -> Response:
    """List organizations whose name begins so."""
    result = organizations.page(
        call.world, read_paging(params), name_starts_with(organizations, params.name), read_sort(params, _SORT_COLUMNS)
    )
    return answer_rows(call, "organization", "organizations", result)


@router.get(
    "/organizations/{organization_id}", operation_id="desk.organizations.show", response_model=schemas.OrganizationShown
)
async def show(organization_id: OrganizationKey, call: StaffCall) -> Response:
    """Read one organization."""
    return _answer(call, organizations.need(call.world, organization_id))


@router.post(
    "/organizations",
    operation_id="desk.organizations.create",
    response_model=schemas.OrganizationShown,
    status_code=201,
)
async def create(body: schemas.OrganizationPut, call: StaffCall) -> Response:
    """Create an organization; its name must not be taken."""
    return _answer(call, operations.create_organization(call.world, body.organization.dump()), 201)


@router.post(
    "/organizations/create_or_update",
    operation_id="desk.organizations.create_or_update",
    response_model=schemas.OrganizationShown,
    responses={201: {"model": schemas.OrganizationShown, "description": "A new organization"}},
)
async def create_or_update(body: schemas.OrganizationPut, call: StaffCall) -> Response:
    """Create an organization, or change the one with the same id, external_id or name."""
    row, created = operations.create_or_update(call.world, body.organization.dump())
    return _answer(call, row, 201 if created else 200)


@router.put(
    "/organizations/{organization_id}",
    operation_id="desk.organizations.update",
    response_model=schemas.OrganizationShown,
)
async def update(organization_id: OrganizationKey, body: schemas.OrganizationPut, call: StaffCall) -> Response:
    """Change an organization; what is left out stays."""
    return _answer(call, operations.update_organization(call.world, organization_id, body.organization.dump()))


@router.delete("/organizations/{organization_id}", operation_id="desk.organizations.delete", status_code=204)
async def delete(organization_id: OrganizationKey, call: StaffCall) -> Response:
    """Delete an organization; its users and tickets stay, without it."""
    operations.delete_organization(call.world, organization_id)
    return Response(status_code=204)


@router.get(
    "/organizations/{organization_id}/tickets", operation_id="desk.organizations.tickets", response_model=TicketsOut
)
async def tickets_of(organization_id: OrganizationKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the tickets of an organization."""
    organizations.need(call.world, organization_id)
    result = list_tickets(
        call.world, read_paging(params), read_sort(params, SORT_COLUMNS), equal(organization_id=organization_id)
    )
    return answer_tickets(call, params, result)


@router.get(
    "/organizations/{organization_id}/users", operation_id="desk.organizations.users", response_model=schemas.UsersOut
)
async def users_of(organization_id: OrganizationKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the users who belong to an organization."""
    organizations.need(call.world, organization_id)
    where = Where(_MEMBERS, {"member_of": organization_id}) & _ACTIVE
    result = users.page(call.world, read_paging(params), where, read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "user", "users", result)


@router.get(
    "/organizations/{organization_id}/organization_memberships",
    operation_id="desk.organizations.organization_memberships",
    response_model=schemas.OrganizationMembershipsOut,
)
async def members_of(organization_id: OrganizationKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List who belongs to an organization."""
    organizations.need(call.world, organization_id)
    result = organization_memberships.page(call.world, read_paging(params), equal(organization_id=organization_id))
    return answer_rows(call, "organization_membership", "organization_memberships", result)


@router.get(
    "/organization_memberships",
    operation_id="desk.organization_memberships.list",
    response_model=schemas.OrganizationMembershipsOut,
)
async def memberships(params: Annotated[schemas.MembershipList, Query()], call: StaffCall) -> Response:
    """List who belongs to which organization, of one user or organization or of all."""
    where = _equal_where_set(user_id=params.user_id, organization_id=params.organization_id)
    result = organization_memberships.page(call.world, read_paging(params), where)
    return answer_rows(call, "organization_membership", "organization_memberships", result)


@router.get("/groups", operation_id="desk.groups.list", response_model=schemas.GroupsOut)
async def all_groups(params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the groups of agents."""
    result = groups.page(call.world, read_paging(params), equal(deleted=0), read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "group", "groups", result)


@router.get("/groups/{group_id}", operation_id="desk.groups.show", response_model=schemas.GroupShown)
async def group(group_id: GroupKey, call: StaffCall) -> Response:
    """Read one group."""
    return Json({"group": render("group", groups.need(call.world, group_id), call.base)})


@router.get("/groups/{group_id}/users", operation_id="desk.groups.users", response_model=schemas.UsersOut)
async def agents_of(group_id: GroupKey, params: Annotated[Paged, Query()], call: StaffCall) -> Response:
    """List the agents of a group."""
    groups.need(call.world, group_id)
    where = Where(_AGENTS, {"member_of": group_id}) & _ACTIVE
    result = users.page(call.world, read_paging(params), where, read_sort(params, _SORT_COLUMNS))
    return answer_rows(call, "user", "users", result)


@router.get(
    "/group_memberships",
    operation_id="desk.group_memberships.list",
    summary="Works In",
    response_model=schemas.GroupMembershipsOut,
)
async def list_group_memberships(params: Annotated[schemas.MembershipList, Query()], call: StaffCall) -> Response:
    """List which agent works in which group, of one user or group or of all."""
    where = _equal_where_set(user_id=params.user_id, group_id=params.group_id)
    result = group_memberships.page(call.world, read_paging(params), where)
    return answer_rows(call, "group_membership", "group_memberships", result)


def _equal_where_set(**wanted: int | None) -> Where:
    return equal(**{name: value for name, value in wanted.items() if value is not None})


def _answer(call: Call, row: OrganizationRow, status: int = 200) -> Response:
    return Json({"organization": render("organization", row, call.base)}, status)
