"""Task setups: the rows and the goals of one task, computed once on local forks and sent to the products."""

import asyncio
import hashlib
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType
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

_MAX_UNUSED_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class PlantedRows:
    """The rows that one product writes before the agent's first request.

    `rows` is the JSON array that the harness API takes: encoded once, it is sent with every opening as it is, and it
    takes a quarter of the memory of the decoded rows.
    """

    rows: bytes
    counters: Mapping[str, int]
    # Decides the ids of rows that the episode adds, as it decided those of `rows`.
    ids_key: str
    clock_ms: int
    template: str


@dataclass(frozen=True, slots=True)
class TaskSetup:
    """All that an opening needs: the task, the rows per product, and a fingerprint of the initial state.

    Every opening of the same task shares one setup, so nobody may change it.
    """

    instance: Instance | None
    planted: Mapping[str, PlantedRows]
    fingerprint: str
    settling_hours: int = 0
    menu: tuple[Call, ...] | None = None
    # The fingerprint of the salt that was mixed into the choices.
    salt: str | None = None

    @property
    def clock_ms(self) -> int:
        return max(planted.clock_ms for planted in self.planted.values())


@dataclass(slots=True)
class _CachedSetup:
    """A setup, its size, and when it was last used."""

    setup: TaskSetup
    size_bytes: int
    used_at: float


class SetupCache:
    """The task setups that were used last, bounded by the memory that they take.

    A setup that was not used for a while is dropped as well: a trainer that never repeats a seed would otherwise fill
    the whole cache for nothing.
    """

    def __init__(self, max_bytes: int, now: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._now = now
        # The least recently used comes first.
        self._entries: OrderedDict[OpenRequest, _CachedSetup] = OrderedDict()
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, request: OpenRequest) -> TaskSetup | None:
        entry = self._entries.get(request)
        if entry is None:
            return None
        entry.used_at = self._now()
        self._entries.move_to_end(request)
        return entry.setup

    def put(self, request: OpenRequest, setup: TaskSetup, size_bytes: int) -> None:
        """Add a setup that is not in the cache; one that is larger than the whole cache is not kept."""
        self._entries[request] = _CachedSetup(setup, size_bytes, self._now())
        self.size_bytes += size_bytes
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest_allowed = self._now() - _MAX_UNUSED_SECONDS
        while self._entries:
            oldest = next(iter(self._entries.values()))
            if self.size_bytes <= self._max_bytes and oldest.used_at >= oldest_allowed:
                return
            self._entries.popitem(last=False)
            self.size_bytes -= oldest.size_bytes


class TaskBuilder:
    """Computes task setups on forks of the same world files that the products serve.

    One worker thread does all the work: a setup takes 1 to 30 ms, and the first one of a family up to 400 ms, which is
    too long for the event loop. One thread is enough, because setups are computed once per task and are pure Python
    under the GIL; and it makes the forks, and what families remember of a template, the property of a single thread.
    """

    def __init__(self, products: Mapping[str, Product], settings: Settings) -> None:
        self._worlds = {
            name: Worlds(product, settings.worlds_folder, settings.worlds) for name, product in products.items()
        }
        self._salt = settings.salt
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="task-setup")
        self._building: dict[OpenRequest, asyncio.Task[TaskSetup]] = {}
        self.cache = SetupCache(settings.setup_cache_bytes)

    def fingerprints(self, product: str) -> dict[str, str]:
        return self._worlds[product].fingerprints()

    async def build(self, family: Family[Any] | None, request: OpenRequest) -> TaskSetup:
        """Return the setup of this task, which depends on the request alone.

        However many openings ask for the same setup at the same time, it is computed once; if that fails, all of them
        get the same error and the next opening tries again.
        """
        if (setup := self.cache.get(request)) is not None:
            return setup
        building = self._building.get(request)
        if building is None:
            building = asyncio.create_task(self._build_and_keep(family, request))
            self._building[request] = building
            building.add_done_callback(lambda _: self._building.pop(request, None))
        # Shielded: whoever asked first may go away while others still wait.
        return await asyncio.shield(building)

    def mix_seed(self, request: OpenRequest) -> int:
        """Return the seed that the products and the simulated people draw from: the request's, with the salt."""
        return self._salt.mix_seed(request.seed)

    def draw(self, family: Family[Any], request: OpenRequest) -> tuple[Instance, Any]:
        """Return the task that this request opens, and its trouble: oracles need it, and no agent ever sees it."""
        return self._worker.submit(self._draw, family, request).result()

    def close(self) -> None:
        self._worker.shutdown(cancel_futures=True)
        for worlds in self._worlds.values():
            worlds.close()

    async def _build_and_keep(self, family: Family[Any] | None, request: OpenRequest) -> TaskSetup:
        loop = asyncio.get_running_loop()
        setup, size_bytes = await loop.run_in_executor(self._worker, self._compute, family, request)
        self.cache.put(request, setup, size_bytes)
        return setup

    def _compute(self, family: Family[Any] | None, request: OpenRequest) -> tuple[TaskSetup, int]:
        if request.faults not in PLANS:
            raise Unprocessable(f"no fault plan is called {request.faults!r}; there are {', '.join(PLANS)}")
        products = self._products_with(request.world) if family is None else family.products
        with self._fork_worlds(products, request) as worlds:
            setup = self._free_play(worlds, request) if family is None else self._setup_of(family, worlds, request)
        return setup, measure_bytes(setup)

    def _draw(self, family: Family[Any], request: OpenRequest) -> tuple[Instance, Any]:
        with self._fork_worlds(family.products, request) as worlds:
            return family.instance(worlds, family.draw(request.seed, request.split, self._salt))

    def _free_play(self, worlds: Mapping[str, World], request: OpenRequest) -> TaskSetup:
        return TaskSetup(None, *_read_planted(worlds, request), salt=self._salt.fingerprint)

    def _setup_of(self, family: Family[Any], worlds: Mapping[str, World], request: OpenRequest) -> TaskSetup:
        try:
            draw = family.draw(request.seed, request.split, self._salt)
            instance, trouble = family.instance(worlds, draw)
        except BadFamily as error:
            raise Unprocessable(str(error)) from error
        menu = family.shuffle_menu(trouble, draw) if request.menu else None
        planted, fingerprint = _read_planted(worlds, request)
        return TaskSetup(instance, planted, fingerprint, family.settling_hours, menu, self._salt.fingerprint)

    def _products_with(self, world: str) -> tuple[str, ...]:
        names = tuple(name for name, worlds in self._worlds.items() if world in worlds.fingerprints())
        if not names:
            raise Unprocessable(f"no product has a world called {world!r}; GET /health names those there are")
        return names

    @contextmanager
    def _fork_worlds(self, products: tuple[str, ...], request: OpenRequest) -> Iterator[dict[str, World]]:
        with ExitStack() as rolled_back:
            worlds = {}
            for product in products:
                try:
                    forks = self._worlds[product].forks_of(request.world)
                except UnknownWorld as error:
                    raise Unprocessable(f"{product}: {error}") from error
                fork = forks.take()
                rolled_back.callback(forks.give_back, fork)
                worlds[product] = World(fork, self.mix_seed(request))
            yield worlds


def _read_planted(worlds: Mapping[str, World], request: OpenRequest) -> tuple[dict[str, PlantedRows], str]:
    rows = {product: _rows_of(world) for product, world in worlds.items()}
    counters = {product: world.ids.since_template() for product, world in worlds.items()}
    initial_state = {
        product: [world.fingerprint, rows[product], counters[product], world.ids.key]
        for product, world in worlds.items()
    }
    content = [request.task, request.seed, request.split, request.faults, initial_state]
    fingerprint = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
    planted = {
        product: PlantedRows(
            orjson.dumps(rows[product]), counters[product], world.ids.key, world.clock.now_ms(), world.fingerprint
        )
        for product, world in worlds.items()
    }
    return planted, fingerprint


def _rows_of(world: World) -> list[dict[str, Any]]:
    return [{"table": change.table, "key": change.row_id, "row": change.after} for change in net(world.changes())]


_COUNTED_ONCE = (type, FunctionType)


def measure_bytes(value: object) -> int:
    """Return the memory of this value and of all that it refers to, except for classes and functions."""
    counted: set[int] = set()
    pending = [value]
    total = 0
    while pending:
        item = pending.pop()
        if id(item) in counted or isinstance(item, _COUNTED_ONCE):
            continue
        counted.add(id(item))
        total += sys.getsizeof(item)
        pending.extend(_parts_of(item))
    return total


def _parts_of(item: object) -> Iterable[object]:
    match item:
        case str() | bytes() | int() | float():
            return ()
        case Mapping():
            return (*item.keys(), *item.values())
        case tuple() | list() | set() | frozenset():
            return item
    if is_dataclass(item):
        return [getattr(item, field.name) for field in fields(item)]
    return vars(item).values() if hasattr(item, "__dict__") else ()
