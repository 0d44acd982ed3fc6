"""Time passes: jobs, automations and targets are due at their own time, in order."""

from services.desk.operations import jobs
from services.desk.rules import engine
from services.kernel.world import World


def advance(world: World, until_ms: int) -> None:
    """Moves the clock to `until_ms` and does everything that is due on the way."""
    while (due_ms := _next_due(world, until_ms)) is not None:
        before = world.clock.now_ms()
        world.clock.advance_to(max(due_ms, before))
        jobs.run_due_jobs(world)
        engine.run_due(world, before)
    world.clock.advance_to(max(until_ms, world.clock.now_ms()))


def tick(world: World) -> None:
    """Does what is due in the seconds since the desk's last request, one for each request of the episode."""
    before, now = world.clock.ticked_from_ms, world.clock.now_ms()
    jobs.run_due_jobs(world)
    if engine.next_due(world, before, now) is not None:
        engine.run_due(world, before)


def _next_due(world: World, until_ms: int) -> int | None:
    now = world.clock.now_ms()
    times = (jobs.next_job_due(world, until_ms), engine.next_due(world, now, until_ms))
    return min((due_ms for due_ms in times if due_ms is not None), default=None)
