"""Days in which most of what happens concerns nobody's task: repeated from a record, and yet this episode's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from services.kernel import catalog
from services.kernel.episodes import Worlds
from services.kernel.replay_cache import ReplayCache
from services.kernel.world import World
from tests.company import WORLD

_DAYS_MS = 8 * 24 * 3_600_000


@contextmanager
def begun(worlds: Worlds, taken: int) -> Iterator[World]:
    """An episode in which so many of every kind of row were made before."""
    forks = worlds.forks_of(WORLD)
    fork = forks.take()
    world = World(fork, 7)
    for kind in world.ids.snapshot():
        for _ in range(taken):
            world.ids.next(kind)
    yield world
    forks.give_back(fork)


@pytest.mark.parametrize(("name", "table"), [("desk", "tickets"), ("billing", "subscriptions")])
def test_what_time_does_from_a_record_is_what_it_does_in_earnest_also_where_an_episode_touched_something(
    company: Path, monkeypatch: pytest.MonkeyPatch, name: str, table: str
) -> None:
    product = catalog.product(name)
    worlds = Worlds(product, company / "worlds")

    def days(taken: int, touched: int | str | None = None) -> list[Any]:
        with begun(worlds, taken) as world:
            if touched is not None:
                row = world.get(product.table(table), touched)
                assert row is not None
                world.save(product.table(table), {**row, "body": {**row["body"], "_seen": True}}, "planted")
            world.actor = "time"
            product.advance(world, world.start_ms + _DAYS_MS)
            return [(one.revision, one.at, one.table, one.row_id, one.before, one.after) for one in world.changes()]

    first = days(0)
    changed = next(key for _, _, where, key, before, _ in first if where == table and before is not None)
    episodes = [(taken, touched) for taken in (0, 1, 3) for touched in (None, changed)]
    from_records = [days(*one) for one in episodes]
    monkeypatch.setattr(ReplayCache, "do", lambda _cache, _world, _about, work: work())

    assert from_records == [days(*one) for one in episodes]
    assert from_records[0] == first
    assert any((one[5] or {"body": {}})["body"].get("_seen") for one in from_records[1][1:])
    worlds.close()
