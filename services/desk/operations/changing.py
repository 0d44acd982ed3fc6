"""The one way in which a ticket changes: row, comment, audit and measures together, then the rules have their turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from services.desk.operations import measures
from services.desk.operations.records import Body
from services.desk.tables import audits, comments, tickets
from services.kernel.statements import Row
from services.kernel.world import World

# Rules write in nobody's name.
SYSTEM = -1
RULE = "rule"
API: Body = {"channel": "api", "source": {"from": {}, "to": {}, "rel": None}}
# Kept on the ticket, told by other events or by none.
_SILENT = frozenset({"metrics", "description", "is_public", "followup_ids", "deleted_at", "deleted_by", "via"})


@dataclass(frozen=True, slots=True)
class Change:
    """What befell one ticket in one go."""

    # None where the ticket is new.
    before: Row | None
    after: Row
    audit: Row
    # The comment that came with it.
    comment: Row | None
    author_id: int
    via: Body

    @property
    def created(self) -> bool:
        return self.before is None

    def changed(self, field: str) -> bool:
        return self.before is None or self.before["body"].get(field) != self.after["body"].get(field)


def create_ticket(
    world: World, body: Body, comment: Body, author_id: int, via: Body, metadata: Mapping[str, Any] | None = None
) -> Change:
    """A new ticket with its first comment; `body` is whole, `comment` is {body, html_body, plain_body, public, …}."""
    now = world.clock.now_ms()
    key = world.ids.next("tickets")
    row: Row = {"id": key, "created_at": now, "updated_at": now, "body": body}
    audit_id = world.ids.next("audits")
    said = _comment(world, key, audit_id, comment, author_id, via)
    row["body"] = {**body, "metrics": measures.begun(body, author_id, now)}
    world.save(tickets, row, "ticket.created")
    events = [_said(said)]
    events += [
        {"id": world.ids.next("events"), "type": "Create", "field_name": name, "value": _plain(value)}
        for name, value in body.items()
        if name not in _SILENT and value not in (None, [], {})
    ]
    return Change(None, row, _audit(world, key, audit_id, events, author_id, via, metadata), said, author_id, via)


def change_ticket(
    world: World,
    ticket: Row,
    changes: Body,
    author_id: int,
    via: Body,
    comment: Body | None = None,
    audit: Row | None = None,
    *,
    told: Sequence[Body] = (),
    metadata: Mapping[str, Any] | None = None,
    event: str = "ticket.updated",
) -> Change | None:
    """Write the changes and their audit; None where nothing is to change.

    With `audit` the events join it, as those of a rule join the audit of the update that set it off; `told` are events
    of what else came of it, such as a notification that went out.
    Whether the desk allows the changes has been decided before; what the rules make of them comes after, by `settle`.
    """
    now = world.clock.now_ms()
    before = ticket["body"]
    after = {**before, **changes}
    differing = [name for name in after if after[name] != before.get(name) and name != "metrics"]
    if not differing and comment is None:
        return None
    audit_id = audit["id"] if audit is not None else world.ids.next("audits")
    said = None if comment is None else _comment(world, ticket["id"], audit_id, comment, author_id, via)
    after["metrics"] = measures.moved(before, after, author_id, now, comment)
    row = {**ticket, "updated_at": now, "body": after}
    world.save(tickets, row, event)
    events = ([] if said is None else [_said(said)]) + _differences(world, before, after, differing)
    if audit is None:
        events += [_numbered(world, one) for one in told]
        written = _audit(world, ticket["id"], audit_id, events, author_id, via, metadata)
    else:
        written = append_events(world, audit, [*({**one, "via": via} for one in events), *told])
    return Change(ticket, row, written, said, author_id, via)


def append_events(world: World, audit: Row, events: list[Body]) -> Row:
    """More events in an audit that is there: what a rule did, a notification that went out."""
    if not events:
        return audit
    numbered = [_numbered(world, one) for one in events]
    row = {**audit, "body": {**audit["body"], "events": [*audit["body"]["events"], *numbered]}}
    world.save(audits, row, "audit.extended")
    return row


def _numbered(world: World, event: Body) -> Body:
    return event if "id" in event else {"id": world.ids.next("events"), **event}


def _differences(world: World, before: Body, after: Body, differing: list[str]) -> list[Body]:
    events: list[Body] = []
    for name in differing:
        if name == "custom_fields":
            events += _custom_differences(world, before[name], after[name])
        elif name not in _SILENT:
            events.append(_differs(world, name, before.get(name), after[name]))
    return events


def _custom_differences(world: World, before: Body, after: Body) -> list[Body]:
    changed = [key for key in after if after[key] != before.get(key)]
    return [_differs(world, key, before.get(key), after[key]) for key in changed]


def _differs(world: World, name: str, before: Any, after: Any) -> Body:
    told = {"id": world.ids.next("events"), "type": "Change", "field_name": name}
    return {**told, "value": _plain(after), "previous_value": _plain(before)}


def _plain(value: Any) -> Any:
    """Audits hold texts, lists and null; ids too are texts there."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _comment(world: World, ticket_id: int, audit_id: int, comment: Body, author_id: int, via: Body) -> Row:
    now = world.clock.now_ms()
    body = {
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
    row = {"id": world.ids.next("events"), "created_at": now, "updated_at": now, "body": body}
    world.save(comments, row, "comment.created")
    return row


def _said(comment: Row) -> Body:
    """The comment as an event: its text stays where it is, so that a redaction reaches every place."""
    return {"id": comment["id"], "type": "Comment"}


def _audit(
    world: World,
    ticket_id: int,
    key: int,
    events: list[Body],
    author_id: int,
    via: Body,
    metadata: Mapping[str, Any] | None,
) -> Row:
    now = world.clock.now_ms()
    body = {
        "ticket_id": ticket_id,
        "author_id": author_id,
        "via": via,
        "metadata": {"system": {}, "custom": dict(metadata or {})},
        "events": events,
    }
    row = {"id": key, "created_at": now, "updated_at": now, "body": body}
    world.save(audits, row, "audit.written")
    return row
