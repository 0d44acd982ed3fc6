"""What rules and macros do to a ticket: changes of fields, a comment, messages that go out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.desk.errors import RecordInvalid
from services.desk.indexing import PRIORITIES, STATUSES
from services.desk.records.assignment import assign, get_default_group
from services.desk.records.markup import normalize_tags
from services.desk.records.payload import Payload
from services.desk.rows import GroupId, UserId
from services.desk.rows.tickets import SentEvent, TicketBody, TicketChanges, TicketRow
from services.desk.rules.conditions import split_words
from services.desk.rules.placeholders import fill_placeholders
from services.desk.rules.rule_store import Action
from services.desk.rules.vocabulary import CUSTOM, TYPES
from services.desk.tables import group_memberships, users
from services.kernel.documents import equal
from services.kernel.world import World

CHOICES: Mapping[str, tuple[str, ...]] = {"status": STATUSES[1:], "priority": PRIORITIES, "type": TYPES}
_TAG_ACTIONS = ("set_tags", "current_tags", "remove_tags")
_COMMENT_ACTIONS = ("comment_value", "comment_value_html", "comment_mode_is_public")
_NOTIFICATIONS = ("notification_user", "notification_group", "notification_target", "notification_webhook")
_PLAIN = ("subject", "brand_id", "ticket_form_id", "satisfaction_score", "follower", "cc", "due_date")
OFFERED = "offered"
_LONGEST_ID = 15
FIELDS = (*CHOICES, "group_id", "assignee_id", *_TAG_ACTIONS, *_COMMENT_ACTIONS, *_NOTIFICATIONS, *_PLAIN)


@dataclass(slots=True)
class Effect:
    """The result of a list of actions."""

    changes: TicketChanges = field(default_factory=TicketChanges)
    text: str | None = None
    html_text: str | None = None
    is_public: bool | None = None
    sent: list[SentEvent] = field(default_factory=list)

    def comment(self, *, public: bool) -> Payload | None:
        """Returns the comment to be written, as a request would send it."""
        if not (self.text or self.html_text or "").strip():
            return None
        text = {"html_body": self.html_text} if self.text is None else {"body": self.text}
        return {**text, "public": public if self.is_public is None else self.is_public}


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What actions work on: a ticket, and in whose name; a macro that is only previewed has no ticket."""

    world: World
    ticket: TicketRow | None
    current_user: UserId | None
    effect: Effect

    def get(self, name: str) -> Any:
        """Returns a field of the ticket as the actions so far leave it."""
        changes: Mapping[str, Any] = self.effect.changes
        return changes[name] if name in changes else self.get_before(name)

    def get_before(self, name: str) -> Any:
        if self.ticket is None:
            return None
        body: Mapping[str, Any] = self.ticket["body"]
        return body.get(name)

    def set(self, name: str, value: Any) -> None:
        """Sets a field by the name that the action gives it; the validation of rules knows the names."""
        changes: Any = self.effect.changes
        changes[name] = value

    def fill(self, text: Any) -> str:
        """Fills in placeholders; a macro that is only previewed keeps them."""
        if self.ticket is None:
            return str(text)
        return fill_placeholders(self.world, str(text), self.ticket, self.current_user)


def apply_actions(
    world: World, ticket: TicketRow | None, actions: Sequence[Action], current_user: UserId | None
) -> Effect:
    """Works out what the actions do; nothing is written."""
    context = ActionContext(world, ticket, current_user, Effect())
    for action in actions:
        _HANDLERS.get(action.field, _set_custom_field)(context, action)
    return context.effect


def _choose(context: ActionContext, action: Action) -> None:
    if action.value in CHOICES[action.field] and not _solves_unassigned(context, action):
        context.set(action.field, action.value)


def _solves_unassigned(context: ActionContext, action: Action) -> bool:
    """Returns whether the change solves a ticket without an assignee, which the desk refuses of people too."""
    solves = action.field == "status" and action.value == "solved"
    return solves and context.ticket is not None and context.get("assignee_id") is None


def _assign(context: ActionContext, action: Action) -> None:
    key = _resolve_assignment(context, action)
    if context.ticket is None:
        context.set(action.field, key)
        return
    try:
        now: TicketBody = {**context.ticket["body"], **context.effect.changes}
        context.effect.changes.update(assign(context.world, now, {action.field: key}))
    except RecordInvalid:
        # A group or an agent that is gone: the vendor passes over such an action.
        return
    if context.get("status") == "new" and context.get("assignee_id") is not None:
        context.effect.changes["status"] = "open"


def _resolve_assignment(context: ActionContext, action: Action) -> int | None:
    match action.value:
        case "current_user":
            return context.current_user
        case "current_groups":
            return None if context.current_user is None else get_default_group(context.world, context.current_user)
        case "requester_id" | "assignee_id":
            key: int | None = context.get_before(action.value)
            return key
    return _read_id(action.value)


def _read_id(value: Any) -> int | None:
    """Reads an id that came as a number or as text; longer ones are nobody's."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID else None


def _tag(context: ActionContext, action: Action) -> None:
    current, named = set(context.get("tags") or []), set(normalize_tags(split_words(action.value)))
    match action.field:
        case "set_tags":
            tags = named
        case "current_tags":
            tags = current | named
        case _:
            tags = current - named
    context.effect.changes["tags"] = sorted(tags)


def _comment(context: ActionContext, action: Action) -> None:
    """Texts come alone or as [channel, text]."""
    if action.field == "comment_mode_is_public":
        context.effect.is_public = str(action.value).lower() == "true"
        return
    text = context.fill(action.value[-1] if isinstance(action.value, list) and action.value else action.value or "")
    if action.field == "comment_value":
        context.effect.text = text
    else:
        context.effect.html_text = text


def _notify(context: ActionContext, action: Action) -> None:
    parts = action.value if isinstance(action.value, list) else [action.value]
    recipient, subject, body = (*parts, "", "", "")[:3]
    if action.field in ("notification_target", "notification_webhook"):
        text = context.fill(body or subject)
        context.effect.sent.append({"type": "External", "resource": str(recipient), "body": text})
        return
    if action.field == "notification_group":
        recipients = _group_members(context, recipient)
    else:
        recipients = _resolve_people(context, recipient)
    if recipients:
        context.effect.sent.append(
            {
                "type": "Notification",
                "subject": context.fill(subject),
                "body": context.fill(body),
                "recipients": recipients,
            }
        )


def _resolve_people(context: ActionContext, whom: Any) -> list[UserId]:
    match whom:
        case "requester_id" | "assignee_id":
            key = context.get(whom)
            return [] if key is None else [key]
        case "requester_and_ccs":
            if context.ticket is None:
                return []
            body = context.ticket["body"]
            return [body["requester_id"], *(user for user in body["email_cc_ids"] if user != body["requester_id"])]
        case "current_user":
            return [] if context.current_user is None else [context.current_user]
        case "all_agents":
            return [row["id"] for role in ("admin", "agent") for row in users.find(context.world, equal(role=role))]
    key = _read_id(whom)
    return [] if key is None else [UserId(key)]


def _group_members(context: ActionContext, whom: Any) -> list[UserId]:
    key = _read_id(context.get("group_id") if whom == "group_id" else whom)
    members = [] if key is None else group_memberships.find(context.world, equal(group_id=GroupId(key)))
    return [row["body"]["user_id"] for row in members]


def _set_field(context: ActionContext, action: Action) -> None:
    value = action.value
    match action.field:
        case "subject":
            context.effect.changes["subject"] = context.fill(value)
        case "brand_id" | "ticket_form_id":
            context.set(action.field, _read_id(value))
        case "satisfaction_score":
            _offer_rating(context)
        case "cc" | "follower":
            _add_people(context, "email_cc_ids" if action.field == "cc" else "follower_ids", value)


def _offer_rating(context: ActionContext) -> None:
    """A rule may ask for a rating; only the customer gives one."""
    if (context.get("satisfaction_rating") or {}).get("score", "unoffered") == "unoffered":
        context.effect.changes["satisfaction_rating"] = {"score": OFFERED}


def _add_people(context: ActionContext, name: str, value: Any) -> None:
    current = list(context.get(name) or [])
    context.set(name, [*current, *(user for user in _resolve_people(context, value) if user not in current)])


def _set_custom_field(context: ActionContext, action: Action) -> None:
    key = _read_id(action.field.removeprefix(CUSTOM))
    if action.field.startswith(CUSTOM) and key is not None:
        current = context.get("custom_fields") or {}
        context.effect.changes["custom_fields"] = {**current, str(key): action.value}


_HANDLERS: Mapping[str, Callable[[ActionContext, Action], None]] = {
    **dict.fromkeys(CHOICES, _choose),
    **dict.fromkeys(("group_id", "assignee_id"), _assign),
    **dict.fromkeys(_TAG_ACTIONS, _tag),
    **dict.fromkeys(_COMMENT_ACTIONS, _comment),
    **dict.fromkeys(_NOTIFICATIONS, _notify),
    **dict.fromkeys(_PLAIN, _set_field),
}
