"""What rules and macros do to a ticket: changes of fields, a comment, messages that go out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.operations import assignment, listing
from services.desk.operations.listing import equal
from services.desk.operations.records import Body
from services.desk.operations.texts import tags_of
from services.desk.rules.conditions import listed
from services.desk.rules.placeholders import filled
from services.desk.rules.ruling import Action
from services.desk.rules.wording import CUSTOM, PRIORITIES, STATUSES, TYPES
from services.desk.tables import group_memberships, users
from services.kernel.statements import Row
from services.kernel.world import World

CHOICES: Mapping[str, tuple[str, ...]] = {"status": STATUSES[1:], "priority": PRIORITIES, "type": TYPES}
_TAGGING = ("set_tags", "current_tags", "remove_tags")
_SAYING = ("comment_value", "comment_value_html", "comment_mode_is_public")
_TELLING = ("notification_user", "notification_group", "notification_target", "notification_webhook")
_PLAIN = ("subject", "brand_id", "ticket_form_id", "satisfaction_score", "follower", "cc", "due_date")
OFFERED = "offered"
_LONGEST_ID = 15
FIELDS = (*CHOICES, "group_id", "assignee_id", *_TAGGING, *_SAYING, *_TELLING, *_PLAIN)


@dataclass(slots=True)
class Effect:
    """All that came of a list of actions."""

    changes: Body = field(default_factory=dict)
    said: str | None = None
    said_html: str | None = None
    is_public: bool | None = None
    # Audit events of what was sent.
    told: list[Body] = field(default_factory=list)

    def comment(self, *, public: bool) -> Body | None:
        """As a comment to be written: {body | html_body, public}."""
        if not (self.said or self.said_html or "").strip():
            return None
        text = {"html_body": self.said_html} if self.said is None else {"body": self.said}
        return {**text, "public": public if self.is_public is None else self.is_public}


@dataclass(frozen=True, slots=True)
class Bench:
    """What actions work on: a ticket, and in whose name; a macro that is only looked at has no ticket."""

    world: World
    ticket: Row | None
    current_user: int | None
    effect: Effect

    def before(self) -> Body:
        return {} if self.ticket is None else self.ticket["body"]

    def held(self, name: str) -> Any:
        return self.effect.changes[name] if name in self.effect.changes else self.before().get(name)

    def filled(self, text: Any) -> str:
        """A macro that is only looked at keeps its placeholders."""
        if self.ticket is None:
            return str(text)
        return filled(self.world, str(text), self.ticket, self.current_user)


def effect_of(world: World, ticket: Row | None, actions: Sequence[Action], current_user: int | None) -> Effect:
    bench = Bench(world, ticket, current_user, Effect())
    for action in actions:
        _DONE.get(action.field, _custom)(bench, action)
    return bench.effect


def _choose(bench: Bench, action: Action) -> None:
    if action.value in CHOICES[action.field] and not _refused(bench, action):
        bench.effect.changes[action.field] = action.value


def _refused(bench: Bench, action: Action) -> bool:
    """Nobody solves what nobody holds: the desk would refuse it of a person too."""
    solves = action.field == "status" and action.value == "solved"
    return solves and bench.ticket is not None and bench.held("assignee_id") is None


def _assign(bench: Bench, action: Action) -> None:
    key = _who(bench, action)
    if bench.ticket is None:
        bench.effect.changes[action.field] = key
        return
    try:
        now = {**bench.before(), **bench.effect.changes}
        bench.effect.changes |= assignment.assigned(bench.world, now, {action.field: key})
    except RecordInvalid:
        # A group or an agent that is gone: the vendor passes over such an action.
        return
    if bench.held("status") == "new" and bench.held("assignee_id") is not None:
        bench.effect.changes["status"] = "open"


def _who(bench: Bench, action: Action) -> int | None:
    match action.value:
        case "current_user":
            return bench.current_user
        case "current_groups":
            return None if bench.current_user is None else assignment.default_group(bench.world, bench.current_user)
        case "requester_id" | "assignee_id":
            found: int | None = bench.before().get(action.value)
            return found
    return _key(action.value)


def _key(value: Any) -> int | None:
    """An id, as a number or as text; longer ones are nobody's."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID else None


def _tag(bench: Bench, action: Action) -> None:
    held, named = set(bench.held("tags") or []), set(tags_of(listed(action.value)))
    match action.field:
        case "set_tags":
            tags = named
        case "current_tags":
            tags = held | named
        case _:
            tags = held - named
    bench.effect.changes["tags"] = sorted(tags)


def _say(bench: Bench, action: Action) -> None:
    """Texts come alone or as [channel, text]."""
    if action.field == "comment_mode_is_public":
        bench.effect.is_public = str(action.value).lower() == "true"
        return
    text = bench.filled(action.value[-1] if isinstance(action.value, list) and action.value else action.value or "")
    if action.field == "comment_value":
        bench.effect.said = text
    else:
        bench.effect.said_html = text


def _tell(bench: Bench, action: Action) -> None:
    parts = action.value if isinstance(action.value, list) else [action.value]
    whom, subject, body = (*parts, "", "", "")[:3]
    if action.field in ("notification_target", "notification_webhook"):
        bench.effect.told.append({"type": "External", "resource": str(whom), "body": bench.filled(body or subject)})
        return
    recipients = _group(bench, whom) if action.field == "notification_group" else _people(bench, whom)
    if recipients:
        told = {"type": "Notification", "subject": bench.filled(subject), "body": bench.filled(body)}
        bench.effect.told.append({**told, "recipients": recipients})


def _people(bench: Bench, whom: Any) -> list[int]:
    body = bench.before()
    match whom:
        case "requester_id" | "assignee_id":
            key = bench.held(whom)
            return [] if key is None else [key]
        case "requester_and_ccs":
            return [body["requester_id"], *(one for one in body["email_cc_ids"] if one != body["requester_id"])]
        case "current_user":
            return [] if bench.current_user is None else [bench.current_user]
        case "all_agents":
            return [
                row["id"] for role in ("admin", "agent") for row in listing.every(bench.world, users, equal(role=role))
            ]
    key = _key(whom)
    return [] if key is None else [key]


def _group(bench: Bench, whom: Any) -> list[int]:
    key = _key(bench.held("group_id") if whom == "group_id" else whom)
    members = [] if key is None else listing.every(bench.world, group_memberships, equal(group_id=key))
    return [row["body"]["user_id"] for row in members]


def _set(bench: Bench, action: Action) -> None:
    value = action.value
    match action.field:
        case "subject":
            bench.effect.changes["subject"] = bench.filled(value)
        case "brand_id" | "ticket_form_id":
            bench.effect.changes[action.field] = _key(value)
        case "satisfaction_score":
            _offer(bench)
        case "cc" | "follower":
            _copy(bench, "email_cc_ids" if action.field == "cc" else "follower_ids", value)


def _offer(bench: Bench) -> None:
    """A rule may ask for a rating; to give one is the customer's."""
    if (bench.held("satisfaction_rating") or {}).get("score", "unoffered") == "unoffered":
        bench.effect.changes["satisfaction_rating"] = {"score": OFFERED}


def _copy(bench: Bench, name: str, value: Any) -> None:
    held = list(bench.held(name) or [])
    bench.effect.changes[name] = [*held, *(one for one in _people(bench, value) if one not in held)]


def _custom(bench: Bench, action: Action) -> None:
    key = _key(action.field.removeprefix(CUSTOM))
    if action.field.startswith(CUSTOM) and key is not None:
        held = bench.held("custom_fields") or {}
        bench.effect.changes["custom_fields"] = {**held, str(key): action.value}


_DONE: Mapping[str, Callable[[Bench, Action], None]] = {
    **dict.fromkeys(CHOICES, _choose),
    **dict.fromkeys(("group_id", "assignee_id"), _assign),
    **dict.fromkeys(_TAGGING, _tag),
    **dict.fromkeys(_SAYING, _say),
    **dict.fromkeys(_TELLING, _tell),
    **dict.fromkeys(_PLAIN, _set),
}
