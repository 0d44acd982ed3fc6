"""What falls due in every episode is computed once and replayed, but never where anything differs."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.kernel.actor_requests import ActorRequest, ActorRequests
from services.kernel.answers import Answer
from services.kernel.changes import Change
from services.kernel.forks import Forks
from services.kernel.replay_cache import ReplayCache
from services.kernel.world import World
from tests.kernel.pantry import BY_LABEL, product, shelves, tags

Work = Callable[[World], None]


class WorkPerEpisode:
    """The same work in one episode after another, and how often it really ran."""

    def __init__(self, forks: Forks, work: Work) -> None:
        self.cache = ReplayCache()
        self.runs = 0
        self._forks = forks
        self._work = work

    def run(self, before: Work = lambda _: None) -> list[Change]:
        """Returns what the work changes in an episode in which `before` has happened."""
        world = World(self._forks.take(), seed=7)
        before(world)
        revision, runs_before = world.revision, self.runs
        self.cache.do(world, "refill", lambda: self._run(world))
        if self.runs > runs_before + 1:
            self.runs = runs_before + 1
        return world.changes(since=revision)

    def _run(self, world: World) -> None:
        self.runs += 1
        self._work(world)


def refill(world: World) -> None:
    """Two new rows that name each other, and one that was there."""
    shelf, number = world.get(shelves, 3), world.ids.next("shelf")
    assert shelf is not None
    other = world.ids.next("shelf")
    world.save(shelves, {"id": number, "label": f"beside {other}", "contents": {"next": other}}, "shelf.created")
    world.save(shelves, {"id": other, "label": f"beside {number}", "contents": shelf["contents"]}, "shelf.created")
    found = [row["id"] for row in world.find(BY_LABEL, label=f"beside {other}")]
    world.save(shelves, {**shelf, "contents": {"spare": [*found, str(other)]}}, "shelf.refilled")


def made(count: int) -> Work:
    def make(world: World) -> None:
        for _ in range(count):
            world.save(shelves, {"id": world.ids.next("shelf"), "label": "new", "contents": {}}, "shelf.created")

    return make


def relabelled(world: World) -> None:
    world.save(shelves, {**(world.get(shelves, 3) or {}), "contents": {"jars": 99}}, "shelf.updated")


def summarize(history: list[Change]) -> list[Any]:
    return [(one.revision, one.request, one.at, one.actor, one.event, one.row_id, one.after) for one in history]


def run_uncached(forks: Forks, work: Work, before: Work) -> list[Any]:
    world = World(forks.take(), seed=7)
    before(world)
    revision = world.revision
    work(world)
    return summarize(world.changes(since=revision))


def test_from_the_third_time_on_work_is_replayed_with_the_same_result(forks: Forks) -> None:
    episodes = WorkPerEpisode(forks, refill)
    for count in range(6):
        assert summarize(episodes.run(made(count))) == run_uncached(forks, refill, made(count))

    assert episodes.runs == 2


def test_work_whose_rows_were_changed_is_done_anew(forks: Forks) -> None:
    episodes = WorkPerEpisode(forks, refill)
    for _ in range(3):
        episodes.run()

    changed = episodes.run(relabelled)

    assert summarize(changed) == run_uncached(forks, refill, relabelled)
    assert changed[1].after is not None
    assert changed[1].after["contents"] == {"jars": 99}
    assert episodes.runs == 3


def by_its_number(world: World) -> None:
    number = world.ids.next("shelf")
    world.save(shelves, {"id": number, "label": f"shelf {number:x}", "contents": {}}, "shelf.created")


def by_chance(world: World) -> None:
    world.save(tags, {"id": "t1", "colour": world.chance("colour").token(4)}, "tag.painted")


def by_history(world: World) -> None:
    world.save(tags, {"id": "t1", "colour": str(len(world.history(tags, "t2")))}, "tag.painted")


def painted(world: World) -> None:
    world.save(tags, {"id": "t2", "colour": "blue"}, "tag.painted")


@pytest.mark.parametrize("work", [by_its_number, by_chance, by_history])
def test_work_that_depends_on_more_than_rows_runs_every_time(forks: Forks, work: Work) -> None:
    episodes = WorkPerEpisode(forks, work)
    for count in range(5):

        def before(world: World, count: int = count) -> None:
            made(count)(world)
            painted(world)

        assert summarize(episodes.run(before)) == run_uncached(forks, work, before)

    assert episodes.runs == 5


def test_a_replay_that_does_not_fit_leaves_nothing_behind(forks: Forks) -> None:
    episodes = WorkPerEpisode(forks, refill)
    for _ in range(3):
        episodes.run()
    world = World(forks.take(), seed=7)
    relabelled(world)
    before = world.ids.snapshot(), world.revision

    episodes.cache.do(world, "refill", lambda: None)

    assert (world.ids.snapshot(), world.revision) == before
    assert [change.event for change in world.changes()] == ["shelf.updated"]


def test_the_least_recently_used_work_is_forgotten(forks: Forks) -> None:
    cache, count = ReplayCache(keep=2), []
    for about in ("one", "one", "one", "two", "three", "one"):
        world = World(forks.take(), seed=7)
        cache.do(world, about, lambda world=world: (count.append(world.revision), painted(world)))

    # "one" runs once, then three times to be recorded, is replayed once, and runs anew at the end.
    assert len(count) == 1 + 3 + 0 + 1 + 1 + 1


def test_an_actor_gets_the_same_answer_until_its_rows_change(world: World) -> None:
    actor_requests = ActorRequests(product)

    def look(shelf: int = 3) -> Answer:
        return asyncio.run(
            actor_requests.serve(world, ActorRequest(1, "customer", "GET", f"/shelves/{shelf}", {}, None))
        )

    first, again, other = look(), look(), look(4)
    world.save(shelves, {**(world.get(shelves, 4) or {}), "label": "jam"}, "shelf.updated")
    after_another_change = look()
    world.save(shelves, {**(world.get(shelves, 3) or {}), "label": "tea"}, "shelf.updated")

    assert again is first
    assert after_another_change is first
    assert b"shelf 4" in other.body
    assert b"tea" in look().body
    assert b"jam" in look(4).body
    assert world.request == 6
