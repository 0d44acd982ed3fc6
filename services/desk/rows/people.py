"""Users, organizations, groups and who belongs to them."""

from typing import Any, Literal, NotRequired, TypedDict

from services.desk.rows import (
    DeskRow,
    GroupId,
    IdentityId,
    OrganizationId,
    OrganizationMembershipId,
    UserId,
)

Role = Literal["end-user", "agent", "admin"]


class UserBody(TypedDict):
    """A customer (end-user), an agent or an administrator."""

    name: str
    email: str | None
    phone: str | None
    shared_phone_number: bool | None
    role: Role
    organization_id: OrganizationId | None
    default_group_id: GroupId | None
    external_id: str | None
    alias: str | None
    active: bool
    verified: bool
    suspended: bool
    shared: bool
    shared_agent: bool
    locale: str
    locale_id: int
    time_zone: str
    iana_time_zone: str
    tags: list[str]
    notes: str | None
    details: str | None
    signature: str | None
    user_fields: dict[str, Any]
    ticket_restriction: str | None
    only_private_comments: bool
    restricted_agent: bool
    moderator: bool
    custom_role_id: int | None
    role_type: int | None
    last_login_at: int | None
    photo: None
    two_factor_auth_enabled: bool | None
    deleted_at: int | None
    _merged_into: NotRequired[UserId]


class UserChanges(TypedDict, total=False):
    """The fields of a user that a request sets."""

    name: str
    email: str | None
    phone: str | None
    shared_phone_number: bool | None
    role: Role
    organization_id: OrganizationId | None
    default_group_id: GroupId | None
    external_id: str | None
    alias: str | None
    verified: bool
    suspended: bool
    locale: str
    time_zone: str
    tags: list[str]
    notes: str | None
    details: str | None
    signature: str | None
    user_fields: dict[str, Any]
    ticket_restriction: str | None
    only_private_comments: bool
    moderator: bool
    custom_role_id: int | None


class IdentityBody(TypedDict):
    """An address of a user."""

    user_id: UserId
    type: str
    value: str
    primary: bool
    verified: bool
    undeliverable_count: int
    deliverable_state: str


class OrganizationBody(TypedDict):
    """A customer's organization."""

    name: str
    domain_names: list[str]
    details: str | None
    notes: str | None
    group_id: GroupId | None
    shared_tickets: bool
    shared_comments: bool
    external_id: str | None
    tags: list[str]
    organization_fields: dict[str, Any]


class OrganizationChanges(TypedDict, total=False):
    """The fields of an organization that a request sets."""

    name: str
    domain_names: list[str]
    details: str | None
    notes: str | None
    group_id: GroupId | None
    shared_tickets: bool
    shared_comments: bool
    external_id: str | None
    tags: list[str]
    organization_fields: dict[str, Any]


class OrganizationMembershipBody(TypedDict):
    """A user belongs to an organization."""

    user_id: UserId
    organization_id: OrganizationId
    default: bool
    view_tickets: bool


class GroupBody(TypedDict):
    """A group of agents."""

    name: str
    description: str
    default: bool
    is_public: bool
    deleted: bool


class GroupMembershipBody(TypedDict):
    """An agent works in a group."""

    user_id: UserId
    group_id: GroupId
    default: bool


UserRow = DeskRow[UserId, UserBody]
IdentityRow = DeskRow[IdentityId, IdentityBody]
OrganizationRow = DeskRow[OrganizationId, OrganizationBody]
OrganizationMembershipRow = DeskRow[OrganizationMembershipId, OrganizationMembershipBody]
