"""Automations: every full hour, whatever has been so for long enough.

When a ticket will be due can be told ahead, as long as nothing changes: so nobody looks at hours in which nothing is.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from services.desk.operations.changing import SYSTEM, Change, append_events, change_ticket
from services.desk.operations.texts import comment_of
from services.desk.rules import ruling, subjects
from services.desk.rules.actions import effect_of
from services.desk.rules.conditions import Subject, meets, number
from services.desk.rules.office_hours import HOUR_MS, Schedule
from services.desk.rules.ruling import Rule
from services.desk.rules.wording import SINCE, UNTIL, Condition
from services.desk.tables import automations, tickets
from services.kernel.statements import Row
from services.kernel.world import World

# The vendor's own bound.
MOST_AT_ONCE = 1_000
_KEPT = "automations"
_LIVING = (
    "SELECT id, created_at, updated_at, body FROM tickets WHERE status_rank < 5 AND deleted_at IS NULL ORDER BY id"
)
_PROMISES = "SELECT ticket_id, due_at, body ->> '$.breached_at' FROM sla_targets ORDER BY ticket_id, id"
Then = Callable[[World, Change], None]


@dataclass(slots=True)
class Foresight:
    """When a ticket, as it stands, will next meet one of the automations; None: never."""

    # Of everything that it was worked out from: texts themselves would be long to keep.
    digest: bytes
    hour_ms: int | None


def next_hour(world: World, after_ms: int, until_ms: int) -> int | None:
    """The first full hour in (after, until] at which something is to be done."""
    if hour_after(after_ms) > until_ms:
        return None
    rules = ruling.active(world, automations)
    if not rules:
        return None
    hours = (seen.hour_ms for _, seen in _foresee(world, rules, after_ms))
    return min((hour for hour in hours if hour is not None and hour <= until_ms), default=None)


def hour_after(ms: int) -> int:
    return (ms // HOUR_MS + 1) * HOUR_MS


def run(world: World, after_ms: int, then: Then) -> None:
    """The last full hour in (after, now], if there is one; `then` is what follows from every change."""
    hour = world.clock.now_ms() // HOUR_MS * HOUR_MS
    if hour <= after_ms:
        return
    rules = ruling.active(world, automations)
    schedule = ruling.schedule(world)
    due = [key for key, seen in _foresee(world, rules, hour - 1) if seen.hour_ms is not None and seen.hour_ms <= hour]
    for rule in rules:
        for key in due[:MOST_AT_ONCE]:
            row = world.get(tickets, key)
            if row is not None and meets(subjects.at_rest(world, row, hour, schedule), rule.conditions):
                with ruling.answered_for(world, automations, rule):
                    _fire(world, rule, row, hour, then)


def _fire(world: World, rule: Rule, row: Row, hour: int, then: Then) -> None:
    done = row["body"].get("_automated", {})
    if done.get(str(rule.id)) == hour:
        return
    effect, via = effect_of(world, row, rule.actions, None), rule.via("automation")
    said = effect.comment(public=False)
    comment = None if said is None else comment_of(said, author_is_staff=True, public=False)
    marked = {**row, "body": {**row["body"], "_automated": {**done, str(rule.id): hour}}}
    change = change_ticket(world, marked, effect.changes, SYSTEM, via, comment)
    if change is None:
        world.save(tickets, marked, "ticket.noted")
        return
    told = [{**event, "via": via} for event in effect.told]
    audit = append_events(world, change.audit, told)
    then(world, Change(row, change.after, audit, change.comment, SYSTEM, via))


def _foresee(world: World, rules: list[Rule], after_ms: int) -> list[tuple[int, Foresight]]:
    """Worked out anew only for tickets that read differently than before."""
    held: dict[int, Foresight] = world.beside.setdefault(_KEPT, {})
    schedule, promises = ruling.schedule(world), _promises(world)
    wording = repr((rules, schedule))
    found: list[tuple[int, Foresight]] = []
    for key, created, updated, body in world.rows(_LIVING):
        digest = _digest(wording, str(updated), body, promises.get(key, ""))
        seen = held.get(key)
        if seen is None or seen.digest != digest or (seen.hour_ms is not None and seen.hour_ms <= after_ms):
            row: Row = {"id": key, "created_at": created, "updated_at": updated, "body": orjson.loads(body)}
            seen = held[key] = Foresight(digest, _first_hour(world, rules, row, after_ms, schedule))
        found.append((key, seen))
    return found


def _promises(world: World) -> dict[int, str]:
    told: dict[int, str] = {}
    for ticket, due, breached in world.rows(_PROMISES):
        told[ticket] = f"{told.get(ticket, '')} {due} {breached}"
    return told


def _digest(*texts: str) -> bytes:
    return hashlib.blake2b("\x1f".join(texts).encode(), digest_size=16).digest()


def _first_hour(world: World, rules: list[Rule], row: Row, after_ms: int, schedule: Schedule) -> int | None:
    hours = (_hour_of(world, rule, row, after_ms, schedule) for rule in rules)
    return min((hour for hour in hours if hour is not None), default=None)


def _hour_of(world: World, rule: Rule, row: Row, after_ms: int, schedule: Schedule) -> int | None:
    """Conditions turn true at the edges of their times, or just after: try the full hours from each edge on."""
    subject = subjects.at_rest(world, row, after_ms, schedule)
    timed = [one for one in (*rule.conditions.every, *rule.conditions.some) if one.is_about_time]
    edges = [edge for one in timed if (edge := _edge(subject, one, schedule)) is not None]
    moments = (after_ms, *(edge - 1 for edge in edges), *edges)
    for hour in sorted({hour_after(max(moment, after_ms)) for moment in moments}):
        if meets(subjects.at_rest(world, row, hour, schedule), rule.conditions):
            return hour
    return None


def _edge(subject: Subject, condition: Condition, schedule: Schedule) -> int | None:
    """When this condition turns, one way or the other."""
    is_ahead = condition.field in UNTIL
    at = subject.also((UNTIL if is_ahead else SINCE)[condition.field])
    if at is None:
        return None
    hours = int(number(condition.value) * HOUR_MS)
    in_office = condition.operator.endswith("_business_hours")
    if not is_ahead:
        return schedule.after_ms(at, hours) if in_office else at + hours
    # "Three hours before" is true for the whole hour that begins four hours before.
    hours += HOUR_MS if condition.operator.startswith("is") else 0
    return _so_long_before(subject.now_ms, at, hours, schedule) if in_office else at - hours


def _so_long_before(from_ms: int, at_ms: int, open_ms: int, schedule: Schedule) -> int:
    """The first full hour from which less than this is left: office hours run out one way only."""
    hours = range(from_ms // HOUR_MS, max(from_ms, at_ms) // HOUR_MS + 1)
    return (
        HOUR_MS * hours[bisect_left(hours, True, key=lambda one: schedule.open_ms(one * HOUR_MS, at_ms) < open_ms) - 1]
    )
