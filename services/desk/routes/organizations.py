"""Organizations and groups, and who belongs to them."""

from typing import Any

from services.desk.errors import InvalidParameter
from services.desk.operations import organizations as operations
from services.desk.routes import endpoints as serve
from services.desk.routes.base import name_starts_with, noun_router
from services.desk.routes.endpoints import BY_NAME, add_operations, resource
from services.desk.rows import GroupId, OrganizationId
from services.desk.schemas import people as schemas
from services.desk.schemas.base import Paged
from services.desk.schemas.tickets import Counted, TicketsOut
from services.desk.tables import group_memberships, groups, organization_memberships, organizations, users
from services.kernel.documents import Where, equal
from services.kernel.operations import Operation
from services.kernel.world import World

_ORGANIZATIONS, _GROUPS, _USERS = resource(organizations), resource(groups), resource(users)
_MEMBERSHIPS, _GROUP_MEMBERSHIPS = resource(organization_memberships), resource(group_memberships)
_ACTIVE = Where("active = 1")
_MEMBERS = "id IN (SELECT user_id FROM organization_memberships WHERE organization_id = :member_of)"
_AGENTS = "id IN (SELECT user_id FROM group_memberships WHERE group_id = :member_of)"


def _matches(_: World, params: schemas.OrganizationSearch) -> Where:
    if params.external_id is not None:
        # One of the vendor's clients writes its page size behind the id.
        return equal(external_id=params.external_id.partition("?")[0])
    if params.name is not None:
        return equal(name_folded=params.name.casefold())
    raise InvalidParameter("external_id", "Give an external_id or a name")


def _name_starts_with(_: World, params: schemas.ByName) -> Where:
    return name_starts_with(organizations, params.name)


def _of_organization(world: World, key: OrganizationId, _: Any) -> Where:
    organizations.need(world, key)
    return equal(organization_id=key)


def _in_organization(world: World, key: OrganizationId, _: Any) -> Where:
    organizations.need(world, key)
    return Where(_MEMBERS, {"member_of": key}) & _ACTIVE


def _in_group(world: World, key: GroupId, _: Any) -> Where:
    groups.need(world, key)
    return Where(_AGENTS, {"member_of": key}) & _ACTIVE


def _not_deleted(*_: Any) -> Where:
    return equal(deleted=0)


def _of_user_and_organization(_: World, params: schemas.MembershipList) -> Where:
    return _equal_where_set(user_id=params.user_id, organization_id=params.organization_id)


def _of_user_and_group(_: World, params: schemas.MembershipList) -> Where:
    return _equal_where_set(user_id=params.user_id, group_id=params.group_id)


def _equal_where_set(**wanted: int | None) -> Where:
    return equal(**{name: value for name, value in wanted.items() if value is not None})


router = noun_router("organizations")


# fmt: off
add_operations(router, (
    Operation("desk.organizations.list", "GET", "/api/v2/organizations", "Page", schemas.OrganizationsOut,
              serve.list_rows(_ORGANIZATIONS, sorts=BY_NAME), "List the customers' organizations."),
    Operation("desk.organizations.count", "GET", "/api/v2/organizations/count", "Count", Counted,
              serve.count(_ORGANIZATIONS), "Count all organizations."),
    Operation("desk.organizations.show_many", "GET", "/api/v2/organizations/show_many", "Show Many",
              schemas.OrganizationsOut, serve.show_many(_ORGANIZATIONS),
              "Read up to 100 organizations by `ids` or `external_ids`."),
    Operation("desk.organizations.search", "GET", "/api/v2/organizations/search", "Search", schemas.OrganizationsOut,
              serve.list_rows(_ORGANIZATIONS, schemas.OrganizationSearch, _matches, BY_NAME),
              "Find organizations by exact external_id or exact name."),
    Operation("desk.organizations.autocomplete", "GET", "/api/v2/organizations/autocomplete", "Autocomplete",
              schemas.OrganizationsOut, serve.list_rows(_ORGANIZATIONS, schemas.ByName, _name_starts_with, BY_NAME),
              "List organizations whose name begins so."),
    Operation("desk.organizations.show", "GET", "/api/v2/organizations/{organization_id}", "Show",
              schemas.OrganizationShown, serve.show(_ORGANIZATIONS), "Read one organization."),
    Operation("desk.organizations.create", "POST", "/api/v2/organizations", "Create", schemas.OrganizationShown,
              serve.write(_ORGANIZATIONS, schemas.OrganizationPut, operations.create_organization, 201),
              "Create an organization; its name must not be taken.", status=201),
    Operation("desk.organizations.create_or_update", "POST", "/api/v2/organizations/create_or_update",
              "Create Or Update", schemas.OrganizationShown,
              serve.create_or_update(_ORGANIZATIONS, schemas.OrganizationPut, operations.create_or_update),
              "Create an organization, or change the one with the same id, external_id or name.",
              responses={201: {"model": schemas.OrganizationShown, "description": "A new organization"}}),
    Operation("desk.organizations.update", "PUT", "/api/v2/organizations/{organization_id}", "Update",
              schemas.OrganizationShown,
              serve.write(_ORGANIZATIONS, schemas.OrganizationPut, operations.update_organization),
              "Change an organization; what is left out stays."),
    Operation("desk.organizations.delete", "DELETE", "/api/v2/organizations/{organization_id}", "Delete", None,
              serve.delete(operations.delete_organization),
              "Delete an organization; its users and tickets stay, without it.", status=204),
    Operation("desk.organizations.tickets", "GET", "/api/v2/organizations/{organization_id}/tickets", "Tickets Of",
              TicketsOut, serve.list_tickets(_of_organization), "List the tickets of an organization."),
    Operation("desk.organizations.users", "GET", "/api/v2/organizations/{organization_id}/users", "Users Of",
              schemas.UsersOut, serve.list_rows(_USERS, Paged, _in_organization, BY_NAME),
              "List the users who belong to an organization."),
    Operation("desk.organizations.organization_memberships", "GET",
              "/api/v2/organizations/{organization_id}/organization_memberships", "Members Of",
              schemas.OrganizationMembershipsOut, serve.list_rows(_MEMBERSHIPS, Paged, _of_organization),
              "List who belongs to an organization."),
    Operation("desk.organization_memberships.list", "GET", "/api/v2/organization_memberships", "Memberships",
              schemas.OrganizationMembershipsOut,
              serve.list_rows(_MEMBERSHIPS, schemas.MembershipList, _of_user_and_organization),
              "List who belongs to which organization, of one user or organization or of all."),
    Operation("desk.groups.list", "GET", "/api/v2/groups", "All Groups", schemas.GroupsOut,
              serve.list_rows(_GROUPS, Paged, _not_deleted, BY_NAME), "List the groups of agents."),
    Operation("desk.groups.show", "GET", "/api/v2/groups/{group_id}", "Group", schemas.GroupShown, serve.show(_GROUPS),
              "Read one group."),
    Operation("desk.groups.users", "GET", "/api/v2/groups/{group_id}/users", "Agents Of", schemas.UsersOut,
              serve.list_rows(_USERS, Paged, _in_group, BY_NAME), "List the agents of a group."),
    Operation("desk.group_memberships.list", "GET", "/api/v2/group_memberships", "Works In",
              schemas.GroupMembershipsOut,
              serve.list_rows(_GROUP_MEMBERSHIPS, schemas.MembershipList, _of_user_and_group),
              "List which agent works in which group, of one user or group or of all."),
))
# fmt: on
