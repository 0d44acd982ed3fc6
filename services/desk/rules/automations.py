"""Automations: every full hour, whatever has been so for long enough.

When a ticket will be due is known ahead for as long as nothing changes, so that hours in which nothing is due cost
nothing.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from services.desk.records.ticket_changes import SYSTEM, TicketChange, change_ticket
from services.desk.rows import TicketId
from services.desk.rows.tickets import TicketBody, TicketRow
from services.desk.rules.actions import apply_actions
from services.desk.rules.conditions import Subject, holds, meets, to_number
from services.desk.rules.office_hours import HOUR_MS, Schedule
from services.desk.rules.rule_store import Rule, attribute, get_active_rules, get_schedule
from services.desk.rules.subjects import subject_at_rest
from services.desk.rules.triggers import draft_note, list_sent_events
from services.desk.rules.vocabulary import SINCE, UNTIL, Condition
from services.desk.tables import automations, tickets
from services.kernel.replay_cache import ReplayCache
from services.kernel.world import World

# The vendor's own bound.
MOST_AT_ONCE = 1_000
_FORECAST = "automations"
# Other wordings than a template's own are those of episodes in which somebody wrote rules.
_TEMPLATES_KEPT = 32
_UNCLOSED = "SELECT id FROM tickets WHERE status_rank < 5 AND deleted_at IS NULL"
_WITH_INCIDENTS = "SELECT DISTINCT problem_id FROM tickets WHERE problem_id IS NOT NULL"
_REQUEST_OF = "SELECT request FROM changes WHERE revision = :revision"
# The plus keeps SQLite from using the index on the table's name: few rows are newer, many may be of that table.
_TICKETS_SINCE = "SELECT row_id FROM changes WHERE revision > :revision AND +table_name = 'tickets'"
_WRITTEN = """SELECT iif(table_name = 'tickets', row_id, coalesce(after, before) ->> '$.body.ticket_id')
    FROM changes WHERE revision > :revision AND +table_name IN ('tickets', 'sla_targets')"""
AfterChange = Callable[[World, TicketChange], None]


@dataclass(slots=True)
class Forecast:
    """The hour at which each unclosed ticket, as it stands, next meets an automation, if it ever does."""

    rules: list[Rule]
    schedule: Schedule
    hours: dict[TicketId, int]
    # The last change that it includes, and the request that made it: an undone change has another request by now.
    revision: int = 0
    request: int = 0
    # The earliest of all hours; None where it is not known.
    first: int | None = None

    def earliest(self) -> int | None:
        if self.first is None:
            self.first = min(self.hours.values(), default=None)
        return self.first

    def is_valid(self, world: World, rules: list[Rule], schedule: Schedule) -> bool:
        """Rules and office hours are the same, and nothing that was included has been undone since."""
        if self.rules != rules or self.schedule != schedule:
            return False
        request = world.rows(_REQUEST_OF, {"revision": self.revision}) if self.revision else [(0,)]
        return request == [(self.request,)]


def next_automation_hour(world: World, after_ms: int, until_ms: int) -> int | None:
    """Returns the first full hour in (after, until] at which a ticket meets an automation."""
    if hour_after(after_ms) > until_ms:
        return None
    rules = get_active_rules(world, automations)
    if not rules:
        return None
    earliest = _update_forecast(world, rules, after_ms).earliest()
    return None if earliest is None or earliest > until_ms else earliest


def hour_after(ms: int) -> int:
    return (ms // HOUR_MS + 1) * HOUR_MS


def run_automations(world: World, after_ms: int, after_change: AfterChange) -> None:
    """Runs the last full hour in (after, now], if there is one; `after_change` is called with every change."""
    hour = world.clock.now_ms() // HOUR_MS * HOUR_MS
    if hour <= after_ms:
        return
    rules = get_active_rules(world, automations)
    schedule = get_schedule(world)
    forecast = _update_forecast(world, rules, hour - 1)
    if (earliest := forecast.earliest()) is None or earliest > hour:
        return
    due = sorted(key for key, hour_ms in forecast.hours.items() if hour_ms <= hour)
    read: dict[TicketId, TicketRow | None] = {}
    for rule in rules:
        for key in due[:MOST_AT_ONCE]:
            if key not in read:
                read[key] = world.get(tickets, key)
            row = read[key]
            if row is not None and meets(subject_at_rest(world, row, hour, schedule), rule.conditions):
                before = world.revision
                with attribute(world, automations, rule):
                    _REPLAYS.do(
                        world, (rule.id, key, hour), partial(_run_rule, world, rule.id, key, hour, after_change)
                    )
                # What follows from a change may concern any ticket.
                for (written,) in world.rows(_TICKETS_SINCE, {"revision": before}):
                    read.pop(written, None)


def _run_rule(world: World, rule_id: int, key: TicketId, hour: int, after_change: AfterChange) -> None:
    """Reads everything that it depends on itself, so that a recording of it can be replayed."""
    rule = next(rule for rule in get_active_rules(world, automations) if rule.id == rule_id)
    _fire(world, rule, tickets.must_exist(world, key), hour, after_change)


_REPLAYS = ReplayCache()


def _fire(world: World, rule: Rule, row: TicketRow, hour: int, after_change: AfterChange) -> None:
    fired = row["body"].get("_automated", {})
    if fired.get(str(rule.id)) == hour:
        return
    effect, via = apply_actions(world, row, rule.actions, None), rule.via("automation")
    body: TicketBody = {**row["body"], "_automated": {**fired, str(rule.id): hour}}
    marked: TicketRow = {**row, "body": body}
    sent = list_sent_events(effect, via)
    change = change_ticket(world, marked, effect.changes, SYSTEM, via, draft_note(effect), notifications=sent)
    if change is None:
        world.save(tickets, marked, "ticket.noted")
    else:
        after_change(world, TicketChange(row, change.after, change.audit, change.comment, SYSTEM, via))


def _update_forecast(world: World, rules: list[Rule], after_ms: int) -> Forecast:
    """Works hours out anew only for tickets that changed since the last look, or whose hour has passed."""
    schedule = get_schedule(world)
    forecast: Forecast | None = world.attachments.get(_FORECAST)
    if forecast is None or not forecast.is_valid(world, rules, schedule):
        forecast = Forecast(rules, schedule, _forecast_template(world, rules, schedule))
        world.attachments[_FORECAST] = forecast
    stale = _find_changed_tickets(world, forecast)
    earliest = forecast.earliest()
    if earliest is not None and earliest <= after_ms:
        stale.update(key for key, hour in forecast.hours.items() if hour <= after_ms)
    if stale:
        forecast.first = None
    for key in stale:
        row = world.get(tickets, key)
        hour = None if row is None or _is_done(row) else _first_hour(world, rules, row, after_ms, schedule)
        if hour is None:
            forecast.hours.pop(key, None)
        else:
            forecast.hours[key] = hour
    return forecast


def _find_changed_tickets(world: World, forecast: Forecast) -> set[TicketId]:
    """Returns the tickets that changed since the last look, and moves the forecast up to now."""
    if forecast.revision == world.revision:
        return set()
    keys = _find_written_since(world, forecast.rules, forecast.revision)
    forecast.revision = world.revision
    forecast.request = world.rows(_REQUEST_OF, {"revision": forecast.revision})[0][0]
    return keys


def _find_written_since(world: World, rules: list[Rule], since: int) -> set[TicketId]:
    """Returns tickets whose rows or targets were written; where incidents are counted, their problems too."""
    keys = {key for (key,) in world.rows(_WRITTEN, {"revision": since})}
    if any(condition.field == "number_of_incidents" for rule in rules for condition in rule.conditions):
        keys.update(key for (key,) in world.rows(_WITH_INCIDENTS))
    return keys


def _forecast_template(world: World, rules: list[Rule], schedule: Schedule) -> dict[TicketId, int]:
    """Most tickets are as the template has them: the hours of those are worked out once for all episodes."""
    hours = _template_hours(world.fingerprint, repr((rules, schedule)))
    unclosed = [key for (key,) in world.rows(_UNCLOSED)]
    unknown = [key for key in unclosed if key not in hours]
    written = _find_written_since(world, rules, 0) if unknown else set()
    for key in unknown:
        if key not in written:
            row = tickets.must_exist(world, key)
            hours[key] = _first_hour(world, rules, row, world.start_ms, schedule)
    return {key: hour for key in unclosed if (hour := hours.get(key)) is not None}


@lru_cache(maxsize=_TEMPLATES_KEPT)
def _template_hours(_fingerprint: str, _wording: str) -> dict[TicketId, int | None]:
    """Returns the dict of one template under one wording of the rules, which its callers fill."""
    return {}


def _is_done(row: TicketRow) -> bool:
    return row["body"]["status"] == "closed" or row["body"]["deleted_at"] is not None


def _first_hour(world: World, rules: list[Rule], row: TicketRow, after_ms: int, schedule: Schedule) -> int | None:
    hours = (_hour_of(world, rule, row, after_ms, schedule) for rule in rules)
    return min((hour for hour in hours if hour is not None), default=None)


def _hour_of(world: World, rule: Rule, row: TicketRow, after_ms: int, schedule: Schedule) -> int | None:
    """Conditions become true at the edges of their times, or just after: the full hours after each edge are tried."""
    subject = subject_at_rest(world, row, after_ms, schedule)
    if not all(holds(subject, condition) for condition in rule.conditions.required if _is_lasting(condition)):
        return None
    timed = [condition for condition in rule.conditions if condition.is_about_time]
    edges = [edge for condition in timed if (edge := _edge(subject, condition, schedule)) is not None]
    times = (after_ms, *(edge - 1 for edge in edges), *edges)
    for hour in sorted({hour_after(max(time_ms, after_ms)) for time_ms in times}):
        if meets(subject_at_rest(world, row, hour, schedule), rule.conditions):
            return hour
    return None


def _is_lasting(condition: Condition) -> bool:
    """While nobody changes the ticket, the condition holds at every hour or at none."""
    return not condition.is_about_time and condition.field != "in_business_hours"


def _edge(subject: Subject, condition: Condition, schedule: Schedule) -> int | None:
    """Returns when this condition becomes true or false."""
    is_ahead = condition.field in UNTIL
    at_ms = subject.lookup((UNTIL if is_ahead else SINCE)[condition.field])
    if at_ms is None:
        return None
    hours = int(to_number(condition.value) * HOUR_MS)
    in_office = condition.operator.endswith("_business_hours")
    if not is_ahead:
        return schedule.after_ms(at_ms, hours) if in_office else at_ms + hours
    # "Three hours before" is true for the whole hour that begins four hours before.
    hours += HOUR_MS if condition.operator.startswith("is") else 0
    return _so_long_before(subject.now_ms, at_ms, hours, schedule) if in_office else at_ms - hours


def _so_long_before(from_ms: int, at_ms: int, open_ms: int, schedule: Schedule) -> int:
    """Returns the last full hour at which at least this much open time is left; it only ever falls."""
    hours = range(from_ms // HOUR_MS, max(from_ms, at_ms) // HOUR_MS + 1)
    index = bisect_left(hours, True, key=lambda hour: schedule.open_ms(hour * HOUR_MS, at_ms) < open_ms)
    return HOUR_MS * hours[index - 1]
