"""Whether a ticket meets the conditions of a rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from services.desk.rules.office_hours import HOUR_MS, Schedule
from services.desk.rules.wording import (
    COUNTS,
    CUSTOM,
    EQUAL,
    MOVED,
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
class Subject:
    """A ticket as conditions see it: now, before the update, and whatever came with it."""

    ticket: Mapping[str, Any]
    now_ms: int
    schedule: Schedule
    before: Mapping[str, Any] | None = None
    is_update: bool = True
    comment: Mapping[str, Any] | None = None
    author: Mapping[str, Any] | None = None
    # Looked up only where a condition asks, as what stands in `also`.
    requester_role: Callable[[], str] = lambda: "end-user"
    channel: str = "web"
    # Whose desk it is, for `current_user` and `current_groups`.
    viewer_id: int | None = None
    viewer_groups: tuple[int, ...] = ()
    # Moments and counts that are not on the ticket itself, by the names of SINCE, UNTIL and COUNTS.
    also: Callable[[str], int | None] = lambda _: None


def meets(subject: Subject, conditions: Conditions) -> bool:
    if not all(holds(subject, one) for one in conditions.every):
        return False
    return not conditions.some or any(holds(subject, one) for one in conditions.some)


def holds(subject: Subject, condition: Condition) -> bool:
    name, operator, value = condition.field, condition.operator, condition.value
    if condition.is_about_time:
        return _hours(subject, name, operator, value)
    if name in _SPECIAL:
        return _SPECIAL[name](subject, operator, value)
    if name.startswith(CUSTOM):
        return _custom(subject, name.removeprefix(CUSTOM), operator, value)
    if operator in MOVED:
        return _moved(subject, name, operator, value)
    if value == "current_groups":
        return (held_by(subject.ticket, name) in subject.viewer_groups) == (operator == "is")
    return _compared(name, held_by(subject.ticket, name), operator, _meant(subject, name, value))


def held_by(ticket: Mapping[str, Any], name: str) -> Any:
    """A field of a ticket by the name that rules give it."""
    if name != "satisfaction_score":
        return ticket.get(name)
    rating = ticket.get("satisfaction_rating") or {}
    score = rating.get("score", "unoffered")
    return f"{score}withcomment" if score in ("good", "bad") and rating.get("comment") else score


def same(held: Any, asked: Any) -> bool:
    """Ids come as numbers and as texts; nothing is spelt as null, as an empty text or as a dash."""
    return _spelt(held) == _spelt(asked)


def _spelt(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value in (None, "-", "none") else str(value)


def rank(name: str, value: Any) -> int:
    """Where a value stands in its order; one that is not set comes before all others."""
    order = ORDERED[name]
    return order.index(value) if value in order else -1


def _compared(name: str, held: Any, operator: str, asked: Any) -> bool:
    match operator:
        case "is":
            return same(held, asked)
        case "is_not":
            return not same(held, asked)
        case "less_than":
            return _place(name, held) < _place(name, asked)
        case "greater_than":
            return _place(name, held) > _place(name, asked)
    return False


def _place(name: str, value: Any) -> float:
    if name in ORDERED:
        return rank(name, value)
    if name == "satisfaction_score":
        return SCORES.index(value) if value in SCORES else -1
    return number(value)


def number(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return 0.0


def _moved(subject: Subject, name: str, operator: str, value: Any) -> bool:
    if not subject.is_update:
        return False
    held = held_by(subject.ticket, name)
    was = None if subject.before is None else held_by(subject.before, name)
    changed, asked = not same(held, was), _meant(subject, name, value)
    match operator.removeprefix("not_"):
        case "changed":
            found = changed
        case "value":
            found = changed and same(held, asked)
        case _:
            found = changed and same(was, asked)
    return not found if operator.startswith("not_") else found


def _meant(subject: Subject, name: str, value: Any) -> Any:
    """`current_user` is whoever acts or looks; `requester_id` and `assignee_id` are those of the ticket."""
    if value == "current_user":
        return subject.viewer_id if subject.author is None else subject.author["id"]
    if name.endswith("_id") and value in ("requester_id", "assignee_id"):
        return subject.ticket.get(str(value))
    return value


def _hours(subject: Subject, name: str, operator: str, value: Any) -> bool:
    until = name in UNTIL
    at = subject.also((UNTIL if until else SINCE)[name])
    if at is None:
        return False
    start, end = (subject.now_ms, at) if until else (at, subject.now_ms)
    in_office = operator.endswith("_business_hours")
    passed = subject.schedule.open_ms(start, end) if in_office and end > start else end - start
    hours = passed // HOUR_MS
    match operator.removesuffix("_business_hours"):
        case "is":
            return hours == int(number(value))
        case "less_than":
            return passed < number(value) * HOUR_MS
    return passed > number(value) * HOUR_MS


def _tags(subject: Subject, operator: str, value: Any) -> bool:
    found = any(tag in subject.ticket["tags"] for tag in listed(value))
    return found if operator == "includes" else not found


def listed(value: Any) -> list[str]:
    """Tags and words come as a list, or as a text with blanks or commas between them."""
    parts = value if isinstance(value, list) else str(value or "").replace(",", " ").split()
    return [str(part).casefold() for part in parts]


def _worded(read: Callable[[Subject], str]) -> Callable[[Subject, str, Any], bool]:
    def holds_words(subject: Subject, operator: str, value: Any) -> bool:
        text = read(subject).casefold()
        if operator in EQUAL:
            return (str(value or "").casefold() in text) == (operator == "is")
        words = set("".join(letter if letter.isalnum() else " " for letter in text).split())
        return any(word in words for word in listed(value)) == (operator == "includes")

    return holds_words


def _comment_is_public(subject: Subject, operator: str, value: Any) -> bool:
    if subject.comment is None:
        return False
    if value == "not_relevant":
        return operator == "is"
    asked = value == "requester_can_see_comment" or _spelt(value) in _TRUE
    return (bool(subject.comment["public"]) == asked) == (operator == "is")


def _acting(subject: Subject, operator: str, value: Any) -> bool:
    author = subject.author
    return _role(author["role"] if author else None, author["id"] if author else None, subject, value) == (
        operator == "is"
    )


def _requesting(subject: Subject, operator: str, value: Any) -> bool:
    return _role(subject.requester_role(), None, subject, value) == (operator == "is")


def _role(role: str | None, user_id: int | None, subject: Subject, value: Any) -> bool:
    match str(value).replace("_", "-"):
        case "end-user":
            return role == "end-user"
        case "agent":
            return role in ("agent", "admin")
        case "admin":
            return role == "admin"
        case "requester-id" | "assignee-id":
            return user_id is not None and user_id == subject.ticket.get(str(value))
    return same(user_id, value)


def _update_type(subject: Subject, operator: str, value: Any) -> bool:
    kind = "Create" if subject.before is None else "Change"
    return (kind == str(value).capitalize()) == (operator == "is")


def _channel(read: Callable[[Subject], str]) -> Callable[[Subject, str, Any], bool]:
    def holds_channel(subject: Subject, operator: str, value: Any) -> bool:
        return (read(subject) == channel(value)) == (operator == "is")

    return holds_channel


def channel(value: Any) -> str:
    return _VIA.get(str(value), str(value))


def _in_business_hours(subject: Subject, operator: str, value: Any) -> bool:
    return (subject.schedule.is_open(subject.now_ms) == (_spelt(value) in _TRUE)) == (operator == "is")


def _counted(name: str) -> Callable[[Subject, str, Any], bool]:
    def holds_count(subject: Subject, operator: str, value: Any) -> bool:
        return _compared(name, int(subject.also(name) or 0), operator, int(number(value)))

    return holds_count


def _custom(subject: Subject, key: str, operator: str, value: Any) -> bool:
    held = subject.ticket["custom_fields"].get(key)
    empty = held in (None, "", [], False)
    match operator:
        case "present":
            return not empty
        case "not_present":
            return empty
        case "includes" | "not_includes":
            wanted = value if isinstance(value, list) else [value]
            return any(same(held, one) for one in wanted) == (operator == "includes")
    return same(held, value) == (operator == "is")


_SPECIAL: Mapping[str, Callable[[Subject, str, Any], bool]] = {
    "current_tags": _tags,
    "subject_includes_word": _worded(lambda subject: subject.ticket["subject"] or ""),
    "description_includes_word": _worded(
        lambda subject: f"{subject.ticket['subject'] or ''}\n{subject.ticket['description'] or ''}"
    ),
    "comment_includes_word": _worded(lambda subject: subject.comment["body"] if subject.comment else ""),
    "comment_is_public": _comment_is_public,
    "role": _acting,
    "requester_role": _requesting,
    "update_type": _update_type,
    "via_id": _channel(lambda subject: str((subject.ticket.get("via") or {}).get("channel"))),
    "current_via_id": _channel(lambda subject: subject.channel),
    "in_business_hours": _in_business_hours,
    **{name: _counted(name) for name in COUNTS},
}
