"""Which keys each kind of thing is searched by."""

from collections.abc import Mapping

from services.desk.indexing import PRIORITIES, STATUSES
from services.desk.language.asked import ANY, NONE, Asked, Test, ids, number
from services.desk.language.comparing import (
    exact,
    flag,
    identity,
    linked,
    moment,
    named,
    one_of,
    people,
    person,
    ranked,
    valued,
    written,
)
from services.desk.language.syntax import Property

_CUSTOM = "custom_field_"
_ROLES = {"end-user": "end-user", "enduser": "end-user", "end_user": "end-user"}
_RATED = {"goodwithcomment": ("good", True), "badwithcomment": ("bad", True)}


def _in_copy(asked: Asked, term: Property) -> str | None:
    who = people(asked, term)
    if who is None:
        return None
    return ids(f"SELECT owner_id FROM ticket_links WHERE kind = 'cc' AND CAST(value AS INTEGER) {who}")  # noqa: S608 - bound


def _commented(asked: Asked, term: Property) -> str | None:
    who = people(asked, term)
    return None if who is None else ids(f"SELECT ticket_id FROM comments WHERE author_id {who}")  # noqa: S608 - bound


def _in_comments(asked: Asked, term: Property) -> str | None:
    found = written("comments_texts")(asked, term)
    return None if found is None else ids(f"SELECT ticket_id FROM comments WHERE {found}")  # noqa: S608 - bound


def _attached(_: Asked, term: Property) -> str | None:
    inside = ids("SELECT ticket_id FROM comments WHERE files > 0")
    return inside if term.value.lower() == "true" else f"NOT {inside}"


def _satisfied(asked: Asked, term: Property) -> str | None:
    score, with_comment = _RATED.get(term.value.lower(), (term.value.lower(), False))
    if score not in ("good", "bad"):
        told = f"body ->> '$.satisfaction_rating.score' = {asked.binder.bind(score)}"
        return ids(f"SELECT id FROM tickets WHERE {told}")  # noqa: S608 - bound
    given = f"SELECT ticket_id FROM satisfaction_ratings WHERE score = {asked.binder.bind(score)}"  # noqa: S608 - bound
    return ids(f"{given} AND ifnull(body ->> '$.comment', '') <> ''" if with_comment else given)


def _any_value(asked: Asked, term: Property) -> str | None:
    value = asked.binder.bind(term.value)
    return ids(f"SELECT owner_id FROM ticket_links WHERE kind LIKE 'field:%' AND value = {value}")  # noqa: S608 - bound


def _ticketed(term: Property) -> Test | None:
    """`custom_field_123:value` and its like carry their id in the key."""
    field = number(term.key.removeprefix(_CUSTOM)) if term.key.startswith(_CUSTOM) else None
    return None if field is None else valued("ticket_links", f"field:{field}")


def _belonging(asked: Asked, term: Property) -> str | None:
    """A user's group: membership, not a column."""
    value = term.value.casefold()
    if value in (NONE, ANY):
        inside = ids("SELECT user_id FROM group_memberships")
        return f"NOT {inside}" if value == NONE else inside
    found = number(value)
    if found is not None:
        return ids(f"SELECT user_id FROM group_memberships WHERE group_id = {asked.binder.bind(found)}")  # noqa: S608 - bound
    there = exact("groups", "name_folded", folded=True)(asked, term)
    return ids(f"SELECT user_id FROM group_memberships WHERE group_id IN (SELECT id FROM groups WHERE {there})")  # noqa: S608 - bound


_TICKET: Mapping[str, Test] = {
    "status": ranked("tickets", "status_rank", STATUSES),
    "priority": ranked("tickets", "priority_rank", PRIORITIES),
    "ticket_type": one_of("tickets", "type"),
    "assignee": person("assignee_id"),
    "requester": person("requester_id"),
    "submitter": person("submitter_id"),
    "cc": _in_copy,
    "commenter": _commented,
    "group": named("tickets", "group_id", "groups"),
    "organization": named("tickets", "organization_id", "organizations"),
    "tags": linked("ticket_links", "tag"),
    "created": moment("tickets", "created_at"),
    "updated": moment("tickets", "updated_at"),
    "solved": moment("tickets", "solved_at"),
    "due_date": moment("tickets", "due_at"),
    "subject": written("tickets_texts", "subject_text"),
    "description": written("tickets_texts", "description_text"),
    "comment": _in_comments,
    "via": one_of("tickets", "channel", {"mail": "email", "web_form": "web", "webform": "web"}),
    "brand": exact("tickets", "brand_id"),
    "form": exact("tickets", "ticket_form_id"),
    "problem_id": exact("tickets", "problem_id"),
    "external_id": exact("tickets", "external_id"),
    "satisfaction": _satisfied,
    "has_attachment": _attached,
    "fieldvalue": _any_value,
    "id": identity,
    "ticket_id": identity,
}
_USER: Mapping[str, Test] = {
    "name": written("users_texts", "name_text"),
    "email": exact("users", "email_folded", folded=True),
    "role": one_of("users", "role", _ROLES),
    "phone": exact("users", "phone"),
    "external_id": exact("users", "external_id"),
    "notes": written("users_texts", "user_text"),
    "details": written("users_texts", "user_text"),
    "tags": linked("user_links", "tag"),
    "organization": named("users", "organization_id", "organizations"),
    "group": _belonging,
    "created": moment("users", "created_at"),
    "updated": moment("users", "updated_at"),
    "active": flag("users", "active"),
    "id": identity,
}
_ORGANIZATION: Mapping[str, Test] = {
    "name": written("organizations_texts", "name_text"),
    "external_id": exact("organizations", "external_id"),
    "notes": written("organizations_texts", "organization_text"),
    "details": written("organizations_texts", "organization_text"),
    "tags": linked("organization_links", "tag"),
    "domain": linked("organization_links", "domain"),
    "created": moment("organizations", "created_at"),
    "updated": moment("organizations", "updated_at"),
    "id": identity,
}
_GROUP: Mapping[str, Test] = {
    "name": exact("groups", "name_folded", folded=True),
    "created": moment("groups", "created_at"),
    "updated": moment("groups", "updated_at"),
    "id": identity,
}
FIELDS: Mapping[str, Mapping[str, Test]] = {
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


def key_of(term: Property) -> str:
    return _ALIASES.get(term.key, term.key)


def test_of(kind: str, term: Property) -> Test | None:
    """None where this kind of thing has no such field."""
    found = FIELDS[kind].get(key_of(term))
    return _ticketed(term) if found is None and kind == "ticket" else found


def is_known(term: Property) -> bool:
    return any(test_of(kind, term) is not None for kind in FIELDS)
