"""Evaluates conditions of rules on tickets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from services.desk.rows import GroupId, UserId
from services.desk.rows.people import Role
from services.desk.rows.tickets import CommentBody, TicketBody
from services.desk.rules.office_hours import HOUR_MS, Schedule
from services.desk.rules.vocabulary import (
    CHANGED,
    COUNTS,
    CUSTOM,
    EQUAL,
    ORDERED,
    SCORES,
    SINCE,
    UNTIL,
    Condition,
    Conditions,
)

_TRUE = ("true", "1", "yes")
_VIA = {"0": "web", "4": "email", "mail": "email", "5": "api", "8": "rule", "24": "mobile", "29": "chat"}


@dataclass(frozen=True, slots=True)
class Author:
    """Whoever made the change that conditions look at."""

    id: UserId
    role: Role


@dataclass(frozen=True, slots=True)
class Subject:
    """A ticket as conditions see it: now, before the update, and whatever came with it."""

    ticket: TicketBody
    now_ms: int
    schedule: Schedule
    before: TicketBody | None = None
    is_update: bool = True
    comment: CommentBody | None = None
    author: Author | None = None
    # Looked up only where a condition needs it, like `lookup`.
    requester_role: Callable[[], str] = lambda: "end-user"
    channel: str = "web"
    # The member of staff that `current_user` and `current_groups` mean.
    viewer_id: UserId | None = None
    viewer_groups: tuple[GroupId, ...] = ()
    # Returns times and counts that are not on the ticket itself, by the names of SINCE, UNTIL and COUNTS.
    lookup: Callable[[str], int | None] = lambda _: None


def meets(subject: Subject, conditions: Conditions) -> bool:
    if not all(holds(subject, condition) for condition in conditions.required):
        return False
    return not conditions.alternatives or any(holds(subject, condition) for condition in conditions.alternatives)


def holds(subject: Subject, condition: Condition) -> bool:
    name, operator, value = condition.field, condition.operator, condition.value
    if condition.is_about_time:
        return _holds_hours(subject, name, operator, value)
    if name in _SPECIAL:
        return _SPECIAL[name](subject, operator, value)
    if name.startswith(CUSTOM):
        return _holds_custom(subject, name.removeprefix(CUSTOM), operator, value)
    if operator in CHANGED:
        return _holds_change(subject, name, operator, value)
    if value == "current_groups":
        return (get_field(subject.ticket, name) in subject.viewer_groups) == (operator == "is")
    return _compare(name, get_field(subject.ticket, name), operator, _resolve(subject, name, value))


def get_field(ticket: Mapping[str, Any], name: str) -> Any:
    """Returns a field of a ticket by the name that rules give it."""
    if name != "satisfaction_score":
        return ticket.get(name)
    rating = ticket.get("satisfaction_rating") or {}
    score = rating.get("score", "unoffered")
    return f"{score}withcomment" if score in ("good", "bad") and rating.get("comment") else score


def is_same(value: Any, expected: Any) -> bool:
    """Ids come as numbers and as texts; nothing is written as null, as an empty text or as a dash."""
    return _spell(value) == _spell(expected)


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value in (None, "-", "none") else str(value)


def rank(name: str, value: Any) -> int:
    """Returns a value's place in its order; one that is not set comes before all others."""
    order = ORDERED[name]
    return order.index(value) if value in order else -1


def _compare(name: str, value: Any, operator: str, expected: Any) -> bool:
    match operator:
        case "is":
            return is_same(value, expected)
        case "is_not":
            return not is_same(value, expected)
        case "less_than":
            return _place(name, value) < _place(name, expected)
        case "greater_than":
            return _place(name, value) > _place(name, expected)
    return False


def _place(name: str, value: Any) -> float:
    if name in ORDERED:
        return rank(name, value)
    if name == "satisfaction_score":
        return SCORES.index(value) if value in SCORES else -1
    return to_number(value)


def to_number(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return 0.0


def _holds_change(subject: Subject, name: str, operator: str, value: Any) -> bool:
    if not subject.is_update:
        return False
    after = get_field(subject.ticket, name)
    before = None if subject.before is None else get_field(subject.before, name)
    changed, expected = not is_same(after, before), _resolve(subject, name, value)
    match operator.removeprefix("not_"):
        case "changed":
            result = changed
        case "value":
            result = changed and is_same(after, expected)
        case _:
            result = changed and is_same(before, expected)
    return not result if operator.startswith("not_") else result


def _resolve(subject: Subject, name: str, value: Any) -> Any:
    """`current_user` is whoever acts or looks; `requester_id` and `assignee_id` are those of the ticket."""
    if value == "current_user":
        return subject.viewer_id if subject.author is None else subject.author.id
    if name.endswith("_id") and value in ("requester_id", "assignee_id"):
        return get_field(subject.ticket, value)
    return value


def _holds_hours(subject: Subject, name: str, operator: str, value: Any) -> bool:
    until = name in UNTIL
    at_ms = subject.lookup((UNTIL if until else SINCE)[name])
    if at_ms is None:
        return False
    start, end = (subject.now_ms, at_ms) if until else (at_ms, subject.now_ms)
    in_office = operator.endswith("_business_hours")
    passed = subject.schedule.open_ms(start, end) if in_office and end > start else end - start
    match operator.removesuffix("_business_hours"):
        case "is":
            return passed // HOUR_MS == int(to_number(value))
        case "less_than":
            return passed < to_number(value) * HOUR_MS
    return passed > to_number(value) * HOUR_MS


def _holds_tags(subject: Subject, operator: str, value: Any) -> bool:
    is_tagged = any(tag in subject.ticket["tags"] for tag in split_words(value))
    return is_tagged if operator == "includes" else not is_tagged


def split_words(value: Any) -> list[str]:
    """Tags and words come as a list, or as a text with blanks or commas between them."""
    parts = value if isinstance(value, list) else str(value or "").replace(",", " ").split()
    return [str(part).casefold() for part in parts]


def _words_in(read: Callable[[Subject], str]) -> Callable[[Subject, str, Any], bool]:
    def holds_words(subject: Subject, operator: str, value: Any) -> bool:
        text = read(subject).casefold()
        if operator in EQUAL:
            return (str(value or "").casefold() in text) == (operator == "is")
        words = set("".join(letter if letter.isalnum() else " " for letter in text).split())
        return any(word in words for word in split_words(value)) == (operator == "includes")

    return holds_words


def _holds_comment_is_public(subject: Subject, operator: str, value: Any) -> bool:
    if subject.comment is None:
        return False
    if value == "not_relevant":
        return operator == "is"
    wanted = value == "requester_can_see_comment" or _spell(value) in _TRUE
    return (bool(subject.comment["public"]) == wanted) == (operator == "is")


def _holds_author(subject: Subject, operator: str, value: Any) -> bool:
    author = subject.author
    role, user_id = (None, None) if author is None else (author.role, author.id)
    return _has_role(role, user_id, subject, value) == (operator == "is")


def _holds_requester_role(subject: Subject, operator: str, value: Any) -> bool:
    return _has_role(subject.requester_role(), None, subject, value) == (operator == "is")


def _has_role(role: str | None, user_id: UserId | None, subject: Subject, value: Any) -> bool:
    match str(value).replace("_", "-"):
        case "end-user":
            return role == "end-user"
        case "agent":
            return role in ("agent", "admin")
        case "admin":
            return role == "admin"
        case "requester-id" | "assignee-id":
            return user_id is not None and user_id == get_field(subject.ticket, str(value))
    return is_same(user_id, value)


def _holds_update_type(subject: Subject, operator: str, value: Any) -> bool:
    kind = "Create" if subject.before is None else "Change"
    return (kind == str(value).capitalize()) == (operator == "is")


def _channel_of(read: Callable[[Subject], str]) -> Callable[[Subject, str, Any], bool]:
    def holds_channel(subject: Subject, operator: str, value: Any) -> bool:
        return (read(subject) == channel_name(value)) == (operator == "is")

    return holds_channel


def channel_name(value: Any) -> str:
    """Returns the channel for the vendor's number of it, or as it is."""
    return _VIA.get(str(value), str(value))


def _holds_business_hours(subject: Subject, operator: str, value: Any) -> bool:
    return (subject.schedule.is_open(subject.now_ms) == (_spell(value) in _TRUE)) == (operator == "is")


def _count_of(name: str) -> Callable[[Subject, str, Any], bool]:
    def holds_count(subject: Subject, operator: str, value: Any) -> bool:
        return _compare(name, int(subject.lookup(name) or 0), operator, int(to_number(value)))

    return holds_count


def _holds_custom(subject: Subject, key: str, operator: str, value: Any) -> bool:
    current = subject.ticket["custom_fields"].get(key)
    empty = current in (None, "", [], False)
    match operator:
        case "present":
            return not empty
        case "not_present":
            return empty
        case "includes" | "not_includes":
            wanted = value if isinstance(value, list) else [value]
            return any(is_same(current, item) for item in wanted) == (operator == "includes")
    return is_same(current, value) == (operator == "is")


_SPECIAL: Mapping[str, Callable[[Subject, str, Any], bool]] = {
    "current_tags": _holds_tags,
    "subject_includes_word": _words_in(lambda subject: subject.ticket["subject"] or ""),
    "description_includes_word": _words_in(
        lambda subject: f"{subject.ticket['subject'] or ''}\n{subject.ticket['description'] or ''}"
    ),
    "comment_includes_word": _words_in(lambda subject: subject.comment["body"] if subject.comment else ""),
    "comment_is_public": _holds_comment_is_public,
    "role": _holds_author,
    "requester_role": _holds_requester_role,
    "update_type": _holds_update_type,
    "via_id": _channel_of(lambda subject: str((get_field(subject.ticket, "via") or {}).get("channel"))),
    "current_via_id": _channel_of(lambda subject: subject.channel),
    "in_business_hours": _holds_business_hours,
    **{name: _count_of(name) for name in COUNTS},
}
