"""Where the desk lets the rules have their turn."""

from services.desk.operations.changing import Change
from services.desk.rules import automations, service_levels, triggers
from services.kernel.world import World


def after_change(world: World, change: Change) -> None:
    """Called once after a ticket was created or updated, by a person, a job or an automation."""
    row = triggers.run(world, change)
    service_levels.after_change(world, change, row)


def next_moment(world: World, after_ms: int, until_ms: int) -> int | None:
    """The earliest moment in (after, until] at which a rule or a target falls due; what is left over is due at once."""
    missed = service_levels.next_due(world, until_ms)
    hour = automations.next_hour(world, after_ms, until_ms if missed is None else min(until_ms, max(missed, after_ms)))
    moments = [moment for moment in (missed, hour) if moment is not None]
    return max(min(moments), after_ms) if moments else None


def happen(world: World, after_ms: int) -> None:
    """Do what fell due in (after, now]."""
    service_levels.miss_overdue(world)
    automations.run(world, after_ms, after_change)
