"""Time passes: jobs, rules and targets fall due at their own moment, in order."""

from services.desk.operations import jobs
from services.desk.rules import hooks
from services.kernel.clock import TICK_MS
from services.kernel.world import World


def advance(world: World, until_ms: int) -> None:
    while (at := _next(world, until_ms)) is not None:
        before = world.clock.now_ms()
        world.clock.advance_to(max(at, before))
        jobs.work_off(world)
        hooks.happen(world, before)
    world.clock.advance_to(max(until_ms, world.clock.now_ms()))


def ticked(world: World) -> None:
    """The second that every request takes is time like any other."""
    now = world.clock.now_ms()
    jobs.work_off(world)
    if hooks.next_moment(world, now - TICK_MS, now) is not None:
        hooks.happen(world, now - TICK_MS)


def _next(world: World, until_ms: int) -> int | None:
    now = world.clock.now_ms()
    moments = (jobs.next_due(world, until_ms), hooks.next_moment(world, now, until_ms))
    return min((moment for moment in moments if moment is not None), default=None)
