"""How the desk is set up, and the help centre."""

from typing import NotRequired, TypedDict

from services.desk.rows import (
    AccountId,
    ArticleId,
    BrandId,
    CategoryId,
    DeskRow,
    SectionId,
    TicketFieldId,
    TicketFormId,
    UserId,
)
from services.desk.rows.tickets import Status


class FieldOption(TypedDict):
    """One choice of a custom field; its value is a tag as well."""

    id: int
    name: str
    raw_name: str
    value: str
    default: bool
    position: NotRequired[int]


class TicketFieldBody(TypedDict):
    """A field of tickets: one of the desk's own, or a custom one."""

    type: str
    title: str
    raw_title: str
    description: str
    raw_description: str
    position: int
    active: bool
    required: bool
    collapsed_for_agents: bool
    regexp_for_validation: str | None
    title_in_portal: str
    visible_in_portal: bool
    editable_in_portal: bool
    required_in_portal: bool
    tag: str | None
    removable: NotRequired[bool]
    custom_field_options: NotRequired[list[FieldOption]]


class TicketFormBody(TypedDict):
    """A form: some fields in an order."""

    name: str
    raw_name: str
    display_name: str
    raw_display_name: str
    position: int
    active: bool
    default: bool
    end_user_visible: bool
    ticket_field_ids: list[TicketFieldId]
    in_all_brands: bool
    restricted_brand_ids: list[BrandId]


class CustomStatusBody(TypedDict):
    """A status that agents see, within one of the desk's own."""

    status_category: Status
    agent_label: str
    raw_agent_label: str
    end_user_label: str
    raw_end_user_label: str
    description: str
    end_user_description: str
    active: bool
    default: bool


class PersonFieldBody(TypedDict):
    """A custom field of users or organizations."""

    key: str
    type: str
    title: str
    raw_title: str
    description: str
    position: int
    active: bool
    system: bool
    # Of a "dropdown".
    custom_field_options: NotRequired[list[FieldOption]]


class BrandBody(TypedDict):
    """A brand under which help is given."""

    name: str
    subdomain: str
    brand_url: str
    host_mapping: str
    has_help_center: bool
    help_center_state: str
    active: bool
    default: bool
    is_deleted: bool
    logo: None
    ticket_form_ids: list[TicketFormId]
    signature_template: str


class CategoryBody(TypedDict):
    """A category of the help centre."""

    name: str
    description: str
    position: int
    locale: str


class SectionBody(TypedDict):
    """A section of a category."""

    name: str
    description: str
    position: int
    locale: str
    category_id: CategoryId
    parent_section_id: SectionId | None
    outdated: bool


class ArticleBody(TypedDict):
    """An article; its body is HTML."""

    title: str
    name: str
    body: str
    locale: str
    source_locale: str
    section_id: SectionId
    position: int
    draft: bool
    promoted: bool
    outdated: bool
    comments_disabled: bool
    label_names: list[str]
    html_url: str
    # Articles for staff carry a segment.
    user_segment_id: int | None
    permission_group_id: int
    author_id: UserId | None
    vote_sum: int
    vote_count: int


class ScheduleInterval(TypedDict):
    """Open minutes, counted from Sunday 00:00."""

    start_time: int
    end_time: int


class ScheduleBody(TypedDict):
    """Office hours of a week."""

    name: str
    time_zone: str
    utc_offset_minutes: int
    has_summer_time: bool
    intervals: list[ScheduleInterval]


class AccountBody(TypedDict):
    """The account: one row."""

    subdomain: str
    name: str
    # The user who works with the account's token.
    agent_id: UserId
    schedule: NotRequired[ScheduleBody]


ArticleRow = DeskRow[ArticleId, ArticleBody]
AccountRow = DeskRow[AccountId, AccountBody]
