"""Setups of tasks on forks of the small company, and what they write."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fixtures.tasks.family import Family, Split
from services.kernel import catalog
from services.kernel.changes import Change, net
from services.kernel.episodes import Worlds
from services.kernel.world import World
from tests.company import WORLD


class Setups:
    """Plants tasks on forks of a world."""

    def __init__(self, worlds_folder: Path, world: str = WORLD) -> None:
        self._world = world
        self._worlds = {name: Worlds(catalog.product(name), worlds_folder, (world,)) for name in catalog.names()}

    def close(self) -> None:
        for worlds in self._worlds.values():
            worlds.close()

    @contextmanager
    def forks(self, products: tuple[str, ...], seed: int) -> Iterator[dict[str, World]]:
        forks = {name: self._worlds[name].forks_of(self._world) for name in products}
        taken = {name: pool.take() for name, pool in forks.items()}
        try:
            yield {name: World(fork, seed) for name, fork in taken.items()}
        finally:
            for name, pool in forks.items():
                pool.give_back(taken[name])

    def plant(self, family: Family[Any], seed: int, split: Split) -> dict[str, list[Change]]:
        """The rows that a setup writes, by product."""
        with self.forks(family.products, seed) as worlds:
            family.instance(worlds, family.draw(seed, split))
            return {name: net(world.changes()) for name, world in worlds.items()}
