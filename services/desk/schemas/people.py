"""Users, organizations and groups."""

from typing import Annotated, Any, Literal

from pydantic import Field

from services.desk.rows.people import OrganizationBody, Role, UserBody
from services.desk.schemas.base import (
    Id,
    Included,
    Long,
    Paged,
    RequestBody,
    ResponseBody,
    Short,
    Tags,
    envelope,
    page_of,
    record,
)


class IdentityIn(RequestBody):
    """Another address of a person."""

    type: Literal["email", "phone_number", "twitter", "facebook", "google"]
    value: Annotated[Short, Field(min_length=1)]


class NamedIn(RequestBody):
    """Something by its name."""

    name: Short | None = None


class UserIn(RequestBody):
    """A person; what is left out stays as it is."""

    name: Annotated[Short | None, Field(description="Needed for a new user")] = None
    email: Annotated[Short | None, Field(description="The primary address; one that is in use is refused")] = None
    phone: Short | None = None
    role: Annotated[Role | None, Field(description="end-user for customers")] = None
    organization_id: Annotated[Id | None, Field(description="The default organization")] = None
    organization: NamedIn | None = None
    external_id: Short | None = None
    alias: Short | None = None
    details: Long | None = None
    notes: Annotated[Long | None, Field(description="Seen by agents only")] = None
    tags: Tags | None = None
    user_fields: Annotated[dict[str, Any] | None, Field(description="Values by key; see desk.user_fields.list")] = None
    locale: Short | None = None
    time_zone: Short | None = None
    verified: bool | None = None
    suspended: Annotated[bool | None, Field(description="A suspended user's mails become suspended tickets")] = None
    default_group_id: Id | None = None
    identities: Annotated[list[IdentityIn] | None, Field(max_length=20)] = None


class UserPut(RequestBody):
    """A person."""

    user: UserIn


class UserRef(RequestBody):
    """Which user."""

    id: Id


class UserMerge(RequestBody):
    """The user who stays."""

    user: UserRef


class UserList(Paged):
    """Which users."""

    role: Annotated[Role | None, Field(description="Only users of this role")] = None
    roles: Annotated[tuple[Role, ...], Field(alias="role[]", description="Only users of these roles")] = ()
    external_id: Short | None = None


class UserSearch(Paged):
    """Users by words, address or external id."""

    query: Annotated[
        str | None,
        Field(max_length=500, description="Words of a name, or an email address; role:agent and the like work too"),
    ] = None
    external_id: Annotated[Short | None, Field(description="Exactly this external id")] = None


class ByName(Paged):
    """Whatever begins so."""

    name: Annotated[str, Field(min_length=1, max_length=255, description="The beginning of a name")]


class ManyById(Included):
    """Several by their ids, or by external ids."""

    ids: Annotated[str | None, Field(max_length=2000, description="Up to 100 ids, separated by commas")] = None
    external_ids: Annotated[str | None, Field(max_length=4000)] = None


UserOut = record(
    "UserOut",
    "A person: a customer (end-user), an agent or an administrator.",
    UserBody,
    "name email phone role organization_id active suspended tags notes user_fields",
)


UserShown = envelope("UserShown", "One person.", user=UserOut)
UsersOut = page_of("UsersOut", "Some people.", users=UserOut)


class UserRelated(ResponseBody):
    """How many tickets somebody has to do with."""

    assigned_tickets: int
    requested_tickets: int
    ccd_tickets: int
    organization_subscriptions: int


UserRelatedShown = envelope("UserRelatedShown", "How many tickets somebody has to do with.", user_related=UserRelated)
IdentitiesOut = page_of("IdentitiesOut", "Somebody's addresses.", identities=dict[str, Any])


class OrganizationIn(RequestBody):
    """A customer's organization; what is left out stays as it is."""

    id: Annotated[Id | None, Field(description="Only read by create_or_update")] = None
    name: Annotated[Short | None, Field(description="Needed for a new one, and unique")] = None
    domain_names: Annotated[list[Short] | None, Field(max_length=100)] = None
    details: Long | None = None
    notes: Long | None = None
    group_id: Id | None = None
    shared_tickets: bool | None = None
    shared_comments: bool | None = None
    external_id: Short | None = None
    tags: Tags | None = None
    organization_fields: dict[str, Any] | None = None


class OrganizationPut(RequestBody):
    """An organization."""

    organization: OrganizationIn


class OrganizationSearch(Paged):
    """An organization by external id or name, exactly."""

    external_id: Annotated[str | None, Field(max_length=400)] = None
    name: Short | None = None


OrganizationOut = record(
    "OrganizationOut",
    "A customer's organization.",
    OrganizationBody,
    "name domain_names external_id tags notes",
)


OrganizationShown = envelope("OrganizationShown", "One organization.", organization=OrganizationOut)
OrganizationsOut = page_of("OrganizationsOut", "Some organizations.", organizations=OrganizationOut)


class MembershipList(Paged):
    """Whose memberships."""

    user_id: Id | None = None
    organization_id: Id | None = None
    group_id: Id | None = None


OrganizationMembershipsOut = page_of(
    "OrganizationMembershipsOut", "Who belongs to which organization.", organization_memberships=dict[str, Any]
)


class GroupOut(ResponseBody):
    """A group of agents."""

    id: int
    url: str
    name: str
    deleted: bool


GroupShown = envelope("GroupShown", "One group.", group=GroupOut)
GroupsOut = page_of("GroupsOut", "Some groups.", groups=GroupOut)
GroupMembershipsOut = page_of(
    "GroupMembershipsOut", "Which agent works in which group.", group_memberships=dict[str, Any]
)
