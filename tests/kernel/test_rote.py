"""Rote: what falls due in every episode is worked out once, and never where anything differs; what is looked at too."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.kernel.answers import Answer
from services.kernel.changes import Change
from services.kernel.forks import Forks
from services.kernel.rote import Rote
from services.kernel.visitors import Visit, Visitors
from services.kernel.world import World
from tests.kernel.pantry import BY_LABEL, product, shelves, tags

Deed = Callable[[World], None]


class Day:
    """A deed done in one episode after another, and how often it was really worked out."""

    def __init__(self, forks: Forks, deed: Deed) -> None:
        self.rote = Rote()
        self.in_earnest = 0
        self._forks = forks
        self._deed = deed

    def passes(self, before: Deed = lambda _: None) -> list[Change]:
        """What the deed changes in an episode in which this has happened before."""
        world = World(self._forks.take(), seed=7)
        before(world)
        revision, worked_out = world.revision, self.in_earnest
        self.rote.do(world, "a deed", lambda: self._work(world))
        if self.in_earnest > worked_out + 1:
            self.in_earnest = worked_out + 1
        return world.changes(since=revision)

    def _work(self, world: World) -> None:
        self.in_earnest += 1
        self._deed(world)


def refill(world: World) -> None:
    """Two new rows that name each other, and one that was there."""
    shelf, number = world.get(shelves, 3), world.ids.next("shelf")
    assert shelf is not None
    other = world.ids.next("shelf")
    world.save(shelves, {"id": number, "label": f"beside {other}", "contents": {"next": other}}, "shelf.created")
    world.save(shelves, {"id": other, "label": f"beside {number}", "contents": shelf["contents"]}, "shelf.created")
    found = [row["id"] for row in world.find(BY_LABEL, label=f"beside {other}")]
    world.save(shelves, {**shelf, "contents": {"spare": [*found, str(other)]}}, "shelf.refilled")


def made(count: int) -> Deed:
    def make(world: World) -> None:
        for _ in range(count):
            world.save(shelves, {"id": world.ids.next("shelf"), "label": "new", "contents": {}}, "shelf.created")

    return make


def relabelled(world: World) -> None:
    world.save(shelves, {**(world.get(shelves, 3) or {}), "contents": {"jars": 99}}, "shelf.updated")


def told(history: list[Change]) -> list[Any]:
    return [(one.revision, one.request, one.at, one.actor, one.event, one.row_id, one.after) for one in history]


def earnest(forks: Forks, deed: Deed, before: Deed) -> list[Any]:
    world = World(forks.take(), seed=7)
    before(world)
    revision = world.revision
    deed(world)
    return told(world.changes(since=revision))


def test_from_the_third_time_on_a_deed_is_repeated_and_comes_out_as_in_earnest(forks: Forks) -> None:
    day = Day(forks, refill)
    for count in range(6):
        assert told(day.passes(made(count))) == earnest(forks, refill, made(count))

    assert day.in_earnest == 2


def test_where_the_episode_has_touched_what_a_deed_asks_for_it_is_done_in_earnest(forks: Forks) -> None:
    day = Day(forks, refill)
    for _ in range(3):
        day.passes()

    changed = day.passes(relabelled)

    assert told(changed) == earnest(forks, refill, relabelled)
    assert changed[1].after is not None
    assert changed[1].after["contents"] == {"jars": 99}
    assert day.in_earnest == 3


def by_its_number(world: World) -> None:
    number = world.ids.next("shelf")
    world.save(shelves, {"id": number, "label": f"shelf {number:x}", "contents": {}}, "shelf.created")


def by_chance(world: World) -> None:
    world.save(tags, {"id": "t1", "colour": world.chance("colour").token(4)}, "tag.painted")


def by_history(world: World) -> None:
    world.save(tags, {"id": "t1", "colour": str(len(world.history(tags, "t2")))}, "tag.painted")


def painted(world: World) -> None:
    world.save(tags, {"id": "t2", "colour": "blue"}, "tag.painted")


@pytest.mark.parametrize("deed", [by_its_number, by_chance, by_history])
def test_what_depends_on_more_than_rows_is_worked_out_every_time(forks: Forks, deed: Deed) -> None:
    day = Day(forks, deed)
    for count in range(5):

        def before(world: World, count: int = count) -> None:
            made(count)(world)
            painted(world)

        assert told(day.passes(before)) == earnest(forks, deed, before)

    assert day.in_earnest == 5


def test_a_deed_that_does_not_fit_leaves_nothing_behind(forks: Forks) -> None:
    day = Day(forks, refill)
    for _ in range(3):
        day.passes()
    world = World(forks.take(), seed=7)
    relabelled(world)
    before = world.ids.snapshot(), world.revision

    day.rote.do(world, "a deed", lambda: None)

    assert (world.ids.snapshot(), world.revision) == before
    assert [change.event for change in world.changes()] == ["shelf.updated"]


def test_what_is_not_asked_for_is_forgotten(forks: Forks) -> None:
    rote, count = Rote(keep=2), []
    for about in ("one", "one", "one", "two", "three", "one"):
        world = World(forks.take(), seed=7)
        rote.do(world, about, lambda world=world: (count.append(world.revision), painted(world)))

    # "one" is worked out once and then, in order to be learnt, three times; repeated once; and begun anew at the end.
    assert len(count) == 1 + 3 + 0 + 1 + 1 + 1


def test_a_visitor_is_shown_the_same_answer_until_what_it_says_has_changed(world: World) -> None:
    visitors = Visitors(product)

    def look(shelf: int = 3) -> Answer:
        return asyncio.run(visitors.serve(world, Visit(1, "customer", "GET", f"/shelves/{shelf}", {}, None)))

    first, again, other = look(), look(), look(4)
    world.save(shelves, {**(world.get(shelves, 4) or {}), "label": "jam"}, "shelf.updated")
    meanwhile = look()
    world.save(shelves, {**(world.get(shelves, 3) or {}), "label": "tea"}, "shelf.updated")

    assert again is first
    assert meanwhile is first
    assert b"shelf 4" in other.body
    assert b"tea" in look().body
    assert b"jam" in look(4).body
    assert world.request == 6
