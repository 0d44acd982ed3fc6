"""Planting: a family's trouble is worked out on local forks of the same worlds and sent to the products as rows."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from dayshift.wire import OpenRequest

from fixtures.tasks.family import BadFamily, Call, Family, Instance
from services.control.problems import Unprocessable
from services.kernel.changes import net
from services.kernel.config import Settings
from services.kernel.episodes import UnknownWorld, Worlds
from services.kernel.faults import PLANS
from services.kernel.product import Product
from services.kernel.world import World

# Rollouts of one task come in groups; some tens of kilobytes each.
_PLOTS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Planted:
    """What one product must write before the agent may look."""

    rows: list[dict[str, Any]]
    counters: dict[str, int]
    clock_ms: int
    template: str


@dataclass(frozen=True, slots=True)
class Plot:
    """All that an opening needs: the task, the rows per product, and a fingerprint of the beginning.

    The same for every opening of the same task: whoever is given one leaves it as it is.
    """

    instance: Instance | None
    planted: Mapping[str, Planted]
    fingerprint: str
    settling_hours: int = 0
    menu: tuple[Call, ...] | None = None

    @property
    def clock_ms(self) -> int:
        return max(planted.clock_ms for planted in self.planted.values())


class Soil:
    """The same world files that the products serve, for looking and planting, never for serving."""

    def __init__(self, products: Mapping[str, Product], settings: Settings) -> None:
        self._worlds = {
            name: Worlds(product, settings.worlds_folder, settings.worlds) for name, product in products.items()
        }
        self._plotted = lru_cache(maxsize=_PLOTS_KEPT)(self._plot)

    def fingerprints(self, product: str) -> dict[str, str]:
        return self._worlds[product].fingerprints()

    def plot(self, family: Family[Any] | None, request: OpenRequest) -> Plot:
        """A function of what is asked for alone, so that it is worked out once for all rollouts of a task."""
        return self._plotted(family, request)

    def _plot(self, family: Family[Any] | None, request: OpenRequest) -> Plot:
        if request.faults not in PLANS:
            raise Unprocessable(f"no fault plan is called {request.faults!r}; there are {', '.join(PLANS)}")
        products = self._with(request.world) if family is None else family.products
        with self._forked(products, request) as worlds:
            if family is None:
                return Plot(None, *_summed(worlds, request))
            try:
                instance, trouble = family.instance(worlds, request.seed, request.split)
            except BadFamily as error:
                raise Unprocessable(str(error)) from error
            menu = family.shuffled_menu(trouble, request.seed, request.split) if request.menu else None
            return Plot(instance, *_summed(worlds, request), family.settling_hours, menu)

    def planted(self, family: Family[Any], request: OpenRequest) -> tuple[Instance, Any]:
        """The task that this request opens, and its trouble: oracles need that, and no agent ever sees it."""
        with self._forked(family.products, request) as worlds:
            return family.instance(worlds, request.seed, request.split)

    def _with(self, world: str) -> tuple[str, ...]:
        found = tuple(name for name, worlds in self._worlds.items() if world in worlds.fingerprints())
        if not found:
            raise Unprocessable(f"no product has a world called {world!r}; GET /health names those there are")
        return found

    def close(self) -> None:
        for worlds in self._worlds.values():
            worlds.close()

    @contextmanager
    def _forked(self, products: tuple[str, ...], request: OpenRequest) -> Iterator[dict[str, World]]:
        with ExitStack() as rolled_back:
            worlds = {}
            for product in products:
                try:
                    forks = self._worlds[product].named(request.world)
                except UnknownWorld as error:
                    raise Unprocessable(f"{product}: {error}") from error
                fork = forks.take()
                rolled_back.callback(forks.give_back, fork)
                worlds[product] = World(fork, request.seed)
            yield worlds


def _summed(worlds: Mapping[str, World], request: OpenRequest) -> tuple[dict[str, Planted], str]:
    planted = {product: _planted(world) for product, world in worlds.items()}
    beginning = {product: [one.template, one.rows, one.counters] for product, one in planted.items()}
    said = [request.task, request.seed, request.split, request.faults, beginning]
    return planted, hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _planted(world: World) -> Planted:
    rows = [{"table": change.table, "key": change.row_id, "row": change.after} for change in net(world.changes())]
    return Planted(rows, world.ids.since_template(), world.clock.now_ms(), world.fingerprint)
