"""The one way in which a ticket changes: row, comment, audit and metrics are written together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.desk.records.ticket_metrics import start_metrics, update_metrics
from services.desk.rows import AuditId, EventId, TicketId, UserId
from services.desk.rows.tickets import (
    AuditBody,
    AuditEvent,
    AuditRow,
    ChangeEvent,
    CommentBody,
    CommentDraft,
    CommentEvent,
    CommentRow,
    CreateEvent,
    CustomFields,
    SentEvent,
    TicketBody,
    TicketChanges,
    TicketRow,
    Via,
)
from services.desk.tables import audits, comments, tickets
from services.kernel.world import World

# The author of what rules write.
SYSTEM = UserId(-1)
# The actor of what rules write.
RULE = "rule"
API: Via = {"channel": "api", "source": {"from": {}, "to": {}, "rel": None}}
# Fields that stand in other events or in none.
_SILENT = frozenset({"metrics", "description", "is_public", "followup_ids", "deleted_at", "deleted_by", "via"})


@dataclass(frozen=True, slots=True)
class TicketChange:
    """One change of one ticket."""

    # None where the ticket is new.
    before: TicketRow | None
    after: TicketRow
    audit: AuditRow
    # The comment that came with it.
    comment: CommentRow | None
    author_id: UserId
    via: Via

    @property
    def created(self) -> bool:
        return self.before is None

    @property
    def changed_status(self) -> bool:
        return self.before is None or self.before["body"]["status"] != self.after["body"]["status"]


def create_ticket(
    world: World,
    body: TicketBody,
    comment: CommentDraft,
    author_id: UserId,
    via: Via,
    metadata: Mapping[str, Any] | None = None,
) -> TicketChange:
    """Writes a new ticket with its first comment; the metrics of `body` are replaced."""
    now = world.clock.now_ms()
    key = TicketId(world.ids.next("tickets"))
    audit_id = AuditId(world.ids.next("audits"))
    first = _write_comment(world, key, audit_id, comment, author_id, via)
    row: TicketRow = {
        "id": key,
        "created_at": now,
        "updated_at": now,
        "body": {**body, "metrics": start_metrics(body, author_id, now)},
    }
    world.save(tickets, row, "ticket.created")
    events: list[AuditEvent] = [_comment_event(first), *_create_events(world, body)]
    audit = _write_audit(world, key, audit_id, events, author_id, via, metadata)
    return TicketChange(None, row, audit, first, author_id, via)


def change_ticket(
    world: World,
    ticket: TicketRow,
    changes: TicketChanges,
    author_id: UserId,
    via: Via,
    comment: CommentDraft | None = None,
    audit: AuditRow | None = None,
    *,
    notifications: Sequence[SentEvent] = (),
    metadata: Mapping[str, Any] | None = None,
    event: str = "ticket.updated",
) -> TicketChange | None:
    """Writes the changes and their audit; returns None where nothing changes.

    With `audit` the events join it, as those of a rule join the audit of the update that set it off; `sent` are the
    notifications that went out with it.
    The caller has decided that the desk allows the changes, and runs the rules on them afterwards.
    """
    now = world.clock.now_ms()
    before = ticket["body"]
    after: TicketBody = {**before, **changes}
    differing = _differing_fields(before, after)
    if not differing and comment is None:
        return None
    audit_id = audit["id"] if audit is not None else AuditId(world.ids.next("audits"))
    written_comment = (
        None if comment is None else _write_comment(world, ticket["id"], audit_id, comment, author_id, via)
    )
    after["metrics"] = update_metrics(before, after, author_id, now, comment)
    row: TicketRow = {**ticket, "updated_at": now, "body": after}
    world.save(tickets, row, event)
    events: list[AuditEvent] = [] if written_comment is None else [_comment_event(written_comment)]
    events += _change_events(world, before, after, differing)
    if audit is None:
        events += [_number_event(world, sent_event) for sent_event in notifications]
        audit = _write_audit(world, ticket["id"], audit_id, events, author_id, via, metadata)
    else:
        audit = append_events(world, audit, [*(_with_via(event, via) for event in events), *notifications])
    return TicketChange(ticket, row, audit, written_comment, author_id, via)


def append_events(world: World, audit: AuditRow, events: Sequence[AuditEvent]) -> AuditRow:
    """Adds events to an audit that is written already: what a rule did, a notification that went out."""
    if not events:
        return audit
    body = audit["body"]
    numbered = [_number_event(world, event) for event in events]
    row: AuditRow = {**audit, "body": {**body, "events": [*body["events"], *numbered]}}
    world.save(audits, row, "audit.extended")
    return row


def _differing_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in after if after[name] != before.get(name) and name != "metrics"]


def _next_event_id(world: World) -> EventId:
    return EventId(world.ids.next("events"))


def _number_event(world: World, event: AuditEvent) -> AuditEvent:
    if "id" in event:
        return event
    # The number stands first, as the vendor writes it.
    numbered: Any = {"id": _next_event_id(world), **event}
    return numbered  # type: ignore[no-any-return]  # the same event with one more key


def _with_via(event: AuditEvent, via: Via) -> AuditEvent:
    extended: Any = {**event, "via": via}
    return extended  # type: ignore[no-any-return]  # the same event with one more key


def _create_events(world: World, body: Mapping[str, Any]) -> list[CreateEvent]:
    return [
        {"id": _next_event_id(world), "type": "Create", "field_name": name, "value": _as_audit_value(value)}
        for name, value in body.items()
        if name not in _SILENT and value not in (None, [], {})
    ]


def _change_events(
    world: World, before: Mapping[str, Any], after: Mapping[str, Any], differing: Sequence[str]
) -> list[ChangeEvent]:
    events: list[ChangeEvent] = []
    for name in differing:
        if name == "custom_fields":
            events += _custom_field_events(world, before[name], after[name])
        elif name not in _SILENT:
            events.append(_change_event(world, name, before.get(name), after[name]))
    return events


def _custom_field_events(world: World, before: CustomFields, after: CustomFields) -> list[ChangeEvent]:
    changed = [key for key in after if after[key] != before.get(key)]
    return [_change_event(world, key, before.get(key), after[key]) for key in changed]


def _change_event(world: World, name: str, before: Any, after: Any) -> ChangeEvent:
    return {
        "id": _next_event_id(world),
        "type": "Change",
        "field_name": name,
        "value": _as_audit_value(after),
        "previous_value": _as_audit_value(before),
    }


def _as_audit_value(value: Any) -> Any:
    """Audits hold texts, lists and null; numbers and ids are texts there."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _comment_event(comment: CommentRow) -> CommentEvent:
    return {"id": comment["id"], "type": "Comment"}


def _write_comment(
    world: World, ticket_id: TicketId, audit_id: AuditId, comment: CommentDraft, author_id: UserId, via: Via
) -> CommentRow:
    now = world.clock.now_ms()
    body: CommentBody = {
        "type": "Comment",
        "ticket_id": ticket_id,
        "author_id": comment.get("author_id", author_id),
        "body": comment["body"],
        "html_body": comment["html_body"],
        "plain_body": comment["plain_body"],
        "public": comment["public"],
        "attachments": comment.get("attachments", []),
        "audit_id": audit_id,
        "via": via,
        "metadata": {"system": {}, "custom": {}},
    }
    row: CommentRow = {"id": _next_event_id(world), "created_at": now, "updated_at": now, "body": body}
    world.save(comments, row, "comment.created")
    return row


def _write_audit(
    world: World,
    ticket_id: TicketId,
    key: AuditId,
    events: list[AuditEvent],
    author_id: UserId,
    via: Via,
    metadata: Mapping[str, Any] | None,
) -> AuditRow:
    now = world.clock.now_ms()
    body: AuditBody = {
        "ticket_id": ticket_id,
        "author_id": author_id,
        "via": via,
        "metadata": {"system": {}, "custom": dict(metadata or {})},
        "events": events,
    }
    row: AuditRow = {"id": key, "created_at": now, "updated_at": now, "body": body}
    world.save(audits, row, "audit.written")
    return row
