"""When rules run: after every change of a ticket, and whenever time makes something due."""

from services.desk.records.ticket_changes import TicketChange
from services.desk.rules.automations import next_automation_hour, run_automations
from services.desk.rules.service_levels import miss_overdue, next_target_due, update_targets
from services.desk.rules.triggers import run_triggers
from services.kernel.world import World


def run_after_change(world: World, change: TicketChange) -> None:
    """Runs once after a ticket was created or updated, by a person, a job or an automation."""
    row = run_triggers(world, change)
    update_targets(world, change, row)


def next_due(world: World, after_ms: int, until_ms: int) -> int | None:
    """Returns the earliest time in (after, until] at which a rule or a target is due; overdue ones are due at once."""
    missed = next_target_due(world, until_ms)
    until = until_ms if missed is None else min(until_ms, max(missed, after_ms))
    hour = next_automation_hour(world, after_ms, until)
    times = [time_ms for time_ms in (missed, hour) if time_ms is not None]
    return max(min(times), after_ms) if times else None


def run_due(world: World, after_ms: int) -> None:
    """Does what fell due in (after, now]."""
    miss_overdue(world)
    run_automations(world, after_ms, run_after_change)
