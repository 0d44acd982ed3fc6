"""Automations: every full hour, whatever has been so for long enough.

When a ticket will be due can be told ahead, as long as nothing changes: so nobody looks at hours in which nothing is.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from services.desk.operations import records
from services.desk.operations.changing import SYSTEM, Change, change_ticket
from services.desk.operations.texts import comment_of
from services.desk.rules import ruling, subjects
from services.desk.rules.actions import effect_of
from services.desk.rules.conditions import Subject, holds, meets, number
from services.desk.rules.office_hours import HOUR_MS, Schedule
from services.desk.rules.ruling import Rule
from services.desk.rules.wording import SINCE, UNTIL, Condition
from services.desk.tables import automations, tickets
from services.kernel.rote import Rote
from services.kernel.statements import Row
from services.kernel.world import World

# The vendor's own bound.
MOST_AT_ONCE = 1_000
_KEPT = "automations"
# Other wordings than a world's own are those of episodes in which somebody wrote rules.
_TEMPLATES_KEPT = 32
_LIVING = "SELECT id FROM tickets WHERE status_rank < 5 AND deleted_at IS NULL"
_WITH_INCIDENTS = "SELECT DISTINCT problem_id FROM tickets WHERE problem_id IS NOT NULL"
_REQUEST_OF = "SELECT request FROM changes WHERE revision = :revision"
# With a plus the table's name finds no index: what was written since is little, what was ever written may be much.
_TICKETS_SINCE = "SELECT row_id FROM changes WHERE revision > :revision AND +table_name = 'tickets'"
_WRITTEN = """SELECT iif(table_name = 'tickets', row_id, coalesce(after, before) ->> '$.body.ticket_id')
    FROM changes WHERE revision > :revision AND +table_name IN ('tickets', 'sla_targets')"""
Then = Callable[[World, Change], None]


@dataclass(slots=True)
class Outlook:
    """When each living ticket, as it stands, will next meet an automation; those that never will are not in it."""

    rules: list[Rule]
    schedule: Schedule
    hours: dict[int, int]
    # Everything up to this change is in it; the request that made the change tells whether it still stands.
    revision: int = 0
    request: int = 0
    # The earliest of all hours; None where it has to be looked for.
    first: int | None = None

    def earliest(self) -> int | None:
        if self.first is None:
            self.first = min(self.hours.values(), default=None)
        return self.first

    def holds(self, world: World, rules: list[Rule], schedule: Schedule) -> bool:
        """Rules and office hours are the same, and nothing that was seen has been undone since."""
        if self.rules != rules or self.schedule != schedule:
            return False
        found = world.rows(_REQUEST_OF, {"revision": self.revision}) if self.revision else [(0,)]
        return found == [(self.request,)]


def next_hour(world: World, after_ms: int, until_ms: int) -> int | None:
    """The first full hour in (after, until] at which something is to be done."""
    if hour_after(after_ms) > until_ms:
        return None
    rules = ruling.active(world, automations)
    if not rules:
        return None
    earliest = _outlook(world, rules, after_ms).earliest()
    return None if earliest is None or earliest > until_ms else earliest


def hour_after(ms: int) -> int:
    return (ms // HOUR_MS + 1) * HOUR_MS


def run(world: World, after_ms: int, then: Then) -> None:
    """The last full hour in (after, now], if there is one; `then` is what follows from every change."""
    hour = world.clock.now_ms() // HOUR_MS * HOUR_MS
    if hour <= after_ms:
        return
    rules = ruling.active(world, automations)
    schedule = ruling.schedule(world)
    seen = _outlook(world, rules, hour - 1)
    if (earliest := seen.earliest()) is None or earliest > hour:
        return
    due = sorted(key for key, at in seen.hours.items() if at <= hour)
    read: dict[int, Row | None] = {}
    for rule in rules:
        for key in due[:MOST_AT_ONCE]:
            if key not in read:
                read[key] = world.get(tickets, key)
            row = read[key]
            if row is not None and meets(subjects.at_rest(world, row, hour, schedule), rule.conditions):
                before = world.revision
                with ruling.answered_for(world, automations, rule):
                    _ROTE.do(world, (rule.id, key, hour), partial(_take_turn, world, rule.id, key, hour, then))
                # What follows from a change may concern any ticket.
                for (written,) in world.rows(_TICKETS_SINCE, {"revision": before}):
                    read.pop(written, None)


def _take_turn(world: World, rule_id: int, key: int, hour: int, then: Then) -> None:
    """Depends on nothing that it does not read itself."""
    rule = next(one for one in ruling.active(world, automations) if one.id == rule_id)
    _fire(world, rule, records.known(world, tickets, key), hour, then)


_ROTE = Rote()


def _fire(world: World, rule: Rule, row: Row, hour: int, then: Then) -> None:
    done = row["body"].get("_automated", {})
    if done.get(str(rule.id)) == hour:
        return
    effect, via = effect_of(world, row, rule.actions, None), rule.via("automation")
    said = effect.comment(public=False)
    comment = None if said is None else comment_of(said, author_is_staff=True, public=False)
    marked = {**row, "body": {**row["body"], "_automated": {**done, str(rule.id): hour}}}
    told = [{**event, "via": via} for event in effect.told]
    change = change_ticket(world, marked, effect.changes, SYSTEM, via, comment, told=told)
    if change is None:
        world.save(tickets, marked, "ticket.noted")
    else:
        then(world, Change(row, change.after, change.audit, change.comment, SYSTEM, via))


def _outlook(world: World, rules: list[Rule], after_ms: int) -> Outlook:
    """Worked out anew only for tickets that changed since the last look, or whose hour has passed."""
    schedule = ruling.schedule(world)
    seen: Outlook | None = world.beside.get(_KEPT)
    if seen is None or not seen.holds(world, rules, schedule):
        seen = world.beside[_KEPT] = Outlook(rules, schedule, _from_the_template(world, rules, schedule))
    stale = _changed(world, seen)
    earliest = seen.earliest()
    if earliest is not None and earliest <= after_ms:
        stale.update(key for key, hour in seen.hours.items() if hour <= after_ms)
    if stale:
        seen.first = None
    for key in stale:
        row = world.get(tickets, key)
        hour = None if row is None or _is_done(row) else _first_hour(world, rules, row, after_ms, schedule)
        if hour is None:
            seen.hours.pop(key, None)
        else:
            seen.hours[key] = hour
    return seen


def _changed(world: World, seen: Outlook) -> set[int]:
    """Tickets that may read differently than at the last look."""
    if seen.revision == world.revision:
        return set()
    keys = _written(world, seen.rules, seen.revision)
    seen.revision = world.revision
    seen.request = world.rows(_REQUEST_OF, {"revision": seen.revision})[0][0]
    return keys


def _written(world: World, rules: list[Rule], since: int) -> set[int]:
    """Tickets whose rows or promises were written; where incidents are counted, their problems too."""
    keys = {key for (key,) in world.rows(_WRITTEN, {"revision": since})}
    if any(one.field == "number_of_incidents" for rule in rules for one in _conditions(rule)):
        keys.update(key for (key,) in world.rows(_WITH_INCIDENTS))
    return keys


def _from_the_template(world: World, rules: list[Rule], schedule: Schedule) -> dict[int, int]:
    """Most tickets are as every episode finds them: when they fall due is worked out once for all episodes."""
    known = _standing(world.fingerprint, repr((rules, schedule)))
    living = [key for (key,) in world.rows(_LIVING)]
    unknown = [key for key in living if key not in known]
    written = _written(world, rules, 0) if unknown else set()
    for key in unknown:
        if key not in written:
            row = records.known(world, tickets, key)
            known[key] = _first_hour(world, rules, row, world.start_ms, schedule)
    return {key: hour for key in living if (hour := known.get(key)) is not None}


@lru_cache(maxsize=_TEMPLATES_KEPT)
def _standing(_fingerprint: str, _wording: str) -> dict[int, int | None]:
    """Of the tickets of one template under one wording of the rules; filled as they are looked at."""
    return {}


def _is_done(row: Row) -> bool:
    return row["body"]["status"] == "closed" or row["body"]["deleted_at"] is not None


def _first_hour(world: World, rules: list[Rule], row: Row, after_ms: int, schedule: Schedule) -> int | None:
    hours = (_hour_of(world, rule, row, after_ms, schedule) for rule in rules)
    return min((hour for hour in hours if hour is not None), default=None)


def _hour_of(world: World, rule: Rule, row: Row, after_ms: int, schedule: Schedule) -> int | None:
    """Conditions turn true at the edges of their times, or just after: try the full hours from each edge on."""
    subject = subjects.at_rest(world, row, after_ms, schedule)
    if not all(holds(subject, one) for one in rule.conditions.every if _is_lasting(one)):
        return None
    timed = [one for one in _conditions(rule) if one.is_about_time]
    edges = [edge for one in timed if (edge := _edge(subject, one, schedule)) is not None]
    moments = (after_ms, *(edge - 1 for edge in edges), *edges)
    for hour in sorted({hour_after(max(moment, after_ms)) for moment in moments}):
        if meets(subjects.at_rest(world, row, hour, schedule), rule.conditions):
            return hour
    return None


def _conditions(rule: Rule) -> tuple[Condition, ...]:
    return (*rule.conditions.every, *rule.conditions.some)


def _is_lasting(condition: Condition) -> bool:
    """While nobody changes the ticket, it is so at every hour or at none."""
    return not condition.is_about_time and condition.field != "in_business_hours"


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
