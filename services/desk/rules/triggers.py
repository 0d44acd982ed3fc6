"""Triggers: after every change of a ticket, in their order.

A trigger that changes the ticket lets all others look again from the first on; each fires once per update at most,
so that two which undo each other come to rest.
"""

from services.desk.operations.changing import SYSTEM, Change, append_events, change_ticket
from services.desk.operations.texts import comment_of
from services.desk.rules import ruling, subjects
from services.desk.rules.actions import effect_of
from services.desk.rules.conditions import meets
from services.desk.rules.ruling import Rule
from services.desk.tables import triggers
from services.kernel.statements import Row
from services.kernel.world import World


def run(world: World, change: Change) -> Row:
    """The ticket as the triggers leave it."""
    row, audit = change.after, change.audit
    waiting = ruling.active(world, triggers) if row["body"]["status"] != "closed" else []
    schedule = ruling.schedule(world)
    subject, at = subjects.of_change(world, change, row, schedule), 0
    while at < len(waiting):
        rule = waiting[at]
        if not meets(subject, rule.conditions):
            at += 1
            continue
        before = row
        with ruling.answered_for(world, triggers, rule):
            row, audit = fire(world, rule, "trigger", row, audit, change.author_id)
        waiting.remove(rule)
        if row is not before:
            subject, at = subjects.of_change(world, change, row, schedule), 0
    return row


def fire(world: World, rule: Rule, kind: str, row: Row, audit: Row, current_user: int) -> tuple[Row, Row]:
    """Do what the rule says, in the audit that is given."""
    effect = effect_of(world, row, rule.actions, None if current_user == SYSTEM else current_user)
    via = rule.via(kind)
    said = effect.comment(public=False)
    comment = None if said is None else comment_of(said, author_is_staff=True, public=False)
    told = [{**event, "via": via} for event in effect.told]
    done = change_ticket(world, row, effect.changes, SYSTEM, via, comment, audit, told=told)
    return (row, append_events(world, audit, told)) if done is None else (done.after, done.audit)
