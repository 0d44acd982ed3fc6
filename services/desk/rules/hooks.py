"""Where the desk lets the rules have their turn."""

from services.desk.operations.changing import Change
from services.kernel.world import World


def after_change(world: World, change: Change) -> None:
    """Called once after a ticket was created or updated by a person or a job."""


def next_moment(world: World, after_ms: int, until_ms: int) -> int | None:
    """The earliest moment in (after, until] at which a rule or a target falls due; what is left over is due at once."""
    return None


def happen(world: World, after_ms: int) -> None:
    """Do what fell due in (after, now]."""
