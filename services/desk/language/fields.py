"""The keys that each kind of record is searched by."""

from collections.abc import Mapping

from services.desk.documents import select_ids
from services.desk.indexing import PRIORITIES, STATUSES
from services.desk.language.context import ANY, NONE, FieldTest, SearchContext, id_in, read_number, rows_where
from services.desk.language.field_tests import (
    flag,
    identity,
    match_person,
    moment,
    name_reference,
    one_of,
    person,
    rank,
    tag,
    value,
    whole_value,
    words_in,
)
from services.desk.language.syntax import Property

_CUSTOM = "custom_field_"
_ROLES = {"end-user": "end-user", "enduser": "end-user", "end_user": "end-user"}
_RATED = {"goodwithcomment": ("good", True), "badwithcomment": ("bad", True)}


def _has_copy(context: SearchContext, term: Property) -> str | None:
    who = match_person(context, term)
    if who is None:
        return None
    return id_in(select_ids("ticket_links", f"kind = 'cc' AND CAST(value AS INTEGER) {who}", "owner_id"))


def _has_commenter(context: SearchContext, term: Property) -> str | None:
    who = match_person(context, term)
    return None if who is None else id_in(select_ids("comments", f"author_id {who}", "ticket_id"))


def _has_comment(context: SearchContext, term: Property) -> str | None:
    condition = words_in("comments_texts")(context, term)
    return None if condition is None else id_in(select_ids("comments", condition, "ticket_id"))


def _has_attachment(_: SearchContext, term: Property) -> str | None:
    tickets = id_in(select_ids("comments", "files > 0", "ticket_id"))
    return tickets if term.value.lower() == "true" else f"NOT {tickets}"


def _has_rating(context: SearchContext, term: Property) -> str | None:
    score, with_comment = _RATED.get(term.value.lower(), (term.value.lower(), False))
    if score not in ("good", "bad"):
        return rows_where("tickets", f"body ->> '$.satisfaction_rating.score' = {context.binder.bind(score)}")
    rated = f"score = {context.binder.bind(score)}"
    if with_comment:
        rated += " AND ifnull(body ->> '$.comment', '') <> ''"
    return id_in(select_ids("satisfaction_ratings", rated, "ticket_id"))


def _has_any_value(context: SearchContext, term: Property) -> str | None:
    condition = f"kind LIKE 'field:%' AND value = {context.binder.bind(term.value)}"
    return id_in(select_ids("ticket_links", condition, "owner_id"))


def _custom_field(term: Property) -> FieldTest | None:
    """`custom_field_123:value` carries the field's id in its key."""
    field = read_number(term.key.removeprefix(_CUSTOM)) if term.key.startswith(_CUSTOM) else None
    return None if field is None else value("ticket_links", f"field:{field}")


def _has_group(context: SearchContext, term: Property) -> str | None:
    """A user's group is a membership, not a column."""
    name = term.value.casefold()
    if name in (NONE, ANY):
        members = id_in("SELECT user_id FROM group_memberships")
        return f"NOT {members}" if name == NONE else members
    number = read_number(name)
    if number is not None:
        return id_in(select_ids("group_memberships", f"group_id = {context.binder.bind(number)}", "user_id"))
    named = whole_value("groups", "name_folded", folded=True)(context, term) or "0"
    return id_in(select_ids("group_memberships", f"group_id IN ({select_ids('groups', named)})", "user_id"))


_TICKET: Mapping[str, FieldTest] = {
    "status": rank("tickets", "status_rank", STATUSES),
    "priority": rank("tickets", "priority_rank", PRIORITIES),
    "ticket_type": one_of("tickets", "type"),
    "assignee": person("assignee_id"),
    "requester": person("requester_id"),
    "submitter": person("submitter_id"),
    "cc": _has_copy,
    "commenter": _has_commenter,
    "group": name_reference("tickets", "group_id", "groups"),
    "organization": name_reference("tickets", "organization_id", "organizations"),
    "tags": tag("ticket_links", "tag"),
    "created": moment("tickets", "created_at"),
    "updated": moment("tickets", "updated_at"),
    "solved": moment("tickets", "solved_at"),
    "due_date": moment("tickets", "due_at"),
    "subject": words_in("tickets_texts", "subject_text"),
    "description": words_in("tickets_texts", "description_text"),
    "comment": _has_comment,
    "via": one_of("tickets", "channel", {"mail": "email", "web_form": "web", "webform": "web"}),
    "brand": whole_value("tickets", "brand_id"),
    "form": whole_value("tickets", "ticket_form_id"),
    "problem_id": whole_value("tickets", "problem_id"),
    "external_id": whole_value("tickets", "external_id"),
    "satisfaction": _has_rating,
    "has_attachment": _has_attachment,
    "fieldvalue": _has_any_value,
    "id": identity,
    "ticket_id": identity,
}
_USER: Mapping[str, FieldTest] = {
    "name": words_in("users_texts", "name_text"),
    "email": whole_value("users", "email_folded", folded=True),
    "role": one_of("users", "role", _ROLES),
    "phone": whole_value("users", "phone"),
    "external_id": whole_value("users", "external_id"),
    "notes": words_in("users_texts", "user_text"),
    "details": words_in("users_texts", "user_text"),
    "tags": tag("user_links", "tag"),
    "organization": name_reference("users", "organization_id", "organizations"),
    "group": _has_group,
    "created": moment("users", "created_at"),
    "updated": moment("users", "updated_at"),
    "active": flag("users", "active"),
    "id": identity,
}
_ORGANIZATION: Mapping[str, FieldTest] = {
    "name": words_in("organizations_texts", "name_text"),
    "external_id": whole_value("organizations", "external_id"),
    "notes": words_in("organizations_texts", "organization_text"),
    "details": words_in("organizations_texts", "organization_text"),
    "tags": tag("organization_links", "tag"),
    "domain": tag("organization_links", "domain"),
    "created": moment("organizations", "created_at"),
    "updated": moment("organizations", "updated_at"),
    "id": identity,
}
_GROUP: Mapping[str, FieldTest] = {
    "name": whole_value("groups", "name_folded", folded=True),
    "created": moment("groups", "created_at"),
    "updated": moment("groups", "updated_at"),
    "id": identity,
}
FIELDS: Mapping[str, Mapping[str, FieldTest]] = {
    "ticket": _TICKET,
    "user": _USER,
    "organization": _ORGANIZATION,
    "group": _GROUP,
}
_ALIASES = {
    "tag": "tags",
    "created_at": "created",
    "updated_at": "updated",
    "solved_at": "solved",
    "due": "due_date",
    "due_at": "due_date",
    "assignee_id": "assignee",
    "requester_id": "requester",
    "submitter_id": "submitter",
    "group_id": "group",
    "organization_id": "organization",
    "channel": "via",
    "ticket_form_id": "form",
    "brand_id": "brand",
}


def resolve_key(term: Property) -> str:
    return _ALIASES.get(term.key, term.key)


def find_test(kind: str, term: Property) -> FieldTest | None:
    """Returns None where this kind of record has no such field."""
    test = FIELDS[kind].get(resolve_key(term))
    return _custom_field(term) if test is None and kind == "ticket" else test


def is_known(term: Property) -> bool:
    return any(find_test(kind, term) is not None for kind in FIELDS)
