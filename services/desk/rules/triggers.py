"""Triggers run after every change of a ticket, in their order.

When a trigger changes the ticket, all others are looked at again from the first on; each fires once per update at most,
so that two triggers which undo each other come to rest.
"""

from services.desk.records.markup import draft_comment
from services.desk.records.ticket_changes import SYSTEM, TicketChange, append_events, change_ticket
from services.desk.rows import UserId
from services.desk.rows.tickets import AuditRow, CommentDraft, SentEvent, TicketRow, Via
from services.desk.rules.actions import Effect, apply_actions
from services.desk.rules.conditions import meets
from services.desk.rules.rule_store import Rule, attribute, get_active_rules, get_schedule
from services.desk.rules.subjects import subject_of_change
from services.desk.tables import triggers
from services.kernel.world import World


def run_triggers(world: World, change: TicketChange) -> TicketRow:
    """Returns the ticket as the triggers leave it."""
    row, audit = change.after, change.audit
    waiting = get_active_rules(world, triggers) if row["body"]["status"] != "closed" else []
    schedule = get_schedule(world)
    subject, index = subject_of_change(world, change, row, schedule), 0
    while index < len(waiting):
        rule = waiting[index]
        if not meets(subject, rule.conditions):
            index += 1
            continue
        before = row
        with attribute(world, triggers, rule):
            row, audit = _fire(world, rule, row, audit, change.author_id)
        waiting.remove(rule)
        if row is not before:
            subject, index = subject_of_change(world, change, row, schedule), 0
    return row


def _fire(world: World, rule: Rule, row: TicketRow, audit: AuditRow, author_id: UserId) -> tuple[TicketRow, AuditRow]:
    """Does what the rule says; its events join the audit of the update."""
    effect = apply_actions(world, row, rule.actions, None if author_id == SYSTEM else author_id)
    via = rule.via("trigger")
    sent = list_sent_events(effect, via)
    change = change_ticket(world, row, effect.changes, SYSTEM, via, draft_note(effect), audit, notifications=sent)
    return (row, append_events(world, audit, sent)) if change is None else (change.after, change.audit)


def draft_note(effect: Effect) -> CommentDraft | None:
    """Returns the comment that a rule writes; it is internal unless the rule says otherwise."""
    comment = effect.comment(public=False)
    return None if comment is None else draft_comment(comment, author_is_staff=True, public=False)


def list_sent_events(effect: Effect, via: Via) -> list[SentEvent]:
    """Returns the events of what a rule sent, with the rule as their source."""
    events = effect.sent.copy()
    for event in events:
        event["via"] = via
    return events
