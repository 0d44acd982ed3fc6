"""`python -m services instances`: finds the different instances of every family and split."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from fixtures.tasks.family import Family, InstanceDraw, Split
from fixtures.tasks.identity import identify
from fixtures.tasks.instance_counts import MOST_TRIED, InstanceCount, read_counts, write_counts
from fixtures.tasks.registry import families, family
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.episodes import Worlds
from services.kernel.world import World

# The numbers that are published are those of the world that episodes get without asking for another.
WORLD = "standard"


class InstanceCounter:
    """Plants instances on forks and compares their problems; nothing is opened, sent or judged."""

    def __init__(self, settings: Settings, world: str = WORLD) -> None:
        self._settings = settings
        self._world = world
        self._worlds: dict[str, Worlds] = {}

    def identify(self, family: Family[Any], split: Split, number: int) -> str:
        """The identity of the instance with this number, which need not be one that a seed stands for."""
        return self._identify(family, InstanceDraw(family.id, split, number, family.splits, self._settings.salt))

    def identify_seed(self, family: Family[Any], split: Split, seed: int) -> str:
        return self._identify(family, family.draw(seed, split, self._settings.salt))

    def count(self, family: Family[Any], split: Split, tried: int = MOST_TRIED) -> InstanceCount:
        return InstanceCount.of(self.identify(family, split, number) for number in range(tried))

    def close(self) -> None:
        for worlds in self._worlds.values():
            worlds.close()

    def _identify(self, family: Family[Any], draw: InstanceDraw) -> str:
        if (identity := family.identify_draw(draw)) is not None:
            return identity
        with self._fork_worlds(family.products, draw.number) as worlds:
            return identify(family, worlds, draw)

    @contextmanager
    def _fork_worlds(self, products: Sequence[str], number: int) -> Iterator[Mapping[str, World]]:
        with ExitStack() as rolled_back:
            worlds = {}
            for product in products:
                if product not in self._worlds:
                    self._worlds[product] = Worlds(
                        catalog.product(product), self._settings.worlds_folder, self._settings.worlds
                    )
                forks = self._worlds[product].forks_of(self._world)
                fork = forks.take()
                rolled_back.callback(forks.give_back, fork)
                worlds[product] = World(fork, self._settings.salt.mix_seed(number))
            yield worlds


@dataclass(frozen=True, slots=True)
class Job:
    """One family and split to be measured."""

    family: str
    split: Split


def measure(settings: Settings, only: Sequence[str], processes: int, *, write: bool) -> int:
    """Prints the counts; `write` puts them into the file that seeds and listings go by, else they are compared to it.

    Returns 1 where a count differs from the file.
    """
    chosen = [found for found in families().values() if not only or found.id in only]
    jobs = [Job(found.id, split) for found in chosen for split in found.splits]
    before, measured, differing = read_counts(), dict(read_counts()), 0
    console = Console()
    with ProcessPoolExecutor(processes, initializer=_start, initargs=(settings,)) as pool:
        for job, count in zip(jobs, pool.map(_count, jobs), strict=True):
            agrees = before.get(job.family, {}).get(job.split) == count
            differing += not agrees
            console.print(f"{job.family:32} {job.split:10} {count.count:5}{'' if agrees else ' *'}", highlight=False)
            measured[job.family] = {**measured.get(job.family, {}), job.split: count}
            if write:
                # After each one: all of them take many minutes, and what was measured must not be lost.
                write_counts(measured)
    if differing and not write:
        console.print(f"{differing} counts (*) differ from the file; --write updates it")
    return 1 if differing and not write else 0


_counter: InstanceCounter


def _start(settings: Settings) -> None:
    global _counter  # noqa: PLW0603 - one per process of the pool, which has no other place for it
    _counter = InstanceCounter(settings)


def _count(job: Job) -> InstanceCount:
    return _counter.count(family(job.family), job.split)
