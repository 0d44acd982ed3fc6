"""Task setups: computed once, off the event loop, and kept within a bound of bytes."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from dayshift.wire import OpenRequest

from fixtures.tasks.family import BadFamily, Family, InstanceDraw
from fixtures.tasks.registry import family
from services.control.problems import Unprocessable
from services.control.task_setup import PlantedRows, SetupCache, TaskBuilder, TaskSetup, measure_bytes
from services.kernel import catalog
from services.kernel.config import Settings
from tests.control.worlds import build_crm

TASK = "crm/correct-contact"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    build_crm(tmp_path / "worlds")
    return Settings(var=tmp_path)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """The seed of every setup that is computed, and the thread that computes it."""
    computed: list[tuple[int, str]] = []
    original = type(family(TASK)).instance

    def instance(self: Family[Any], worlds: Any, draw: InstanceDraw) -> Any:
        computed.append((draw.number, threading.current_thread().name))
        time.sleep(0.1)
        if draw.number == 13:
            raise BadFamily("seed 13 cannot be planted")
        return original(self, worlds, draw)

    monkeypatch.setattr(type(family(TASK)), "instance", instance)
    return computed


def _run(settings: Settings, scenario: Callable[[TaskBuilder], Awaitable[None]]) -> None:
    async def run() -> None:
        builder = TaskBuilder({"crm": catalog.product("crm")}, settings)
        try:
            await scenario(builder)
        finally:
            builder.close()

    uvloop.run(run())


def _request(seed: int) -> OpenRequest:
    return OpenRequest(task=TASK, seed=seed)


def test_however_many_ask_at_the_same_time_a_setup_is_computed_once(
    settings: Settings, counted: list[tuple[int, str]]
) -> None:
    async def scenario(builder: TaskBuilder) -> None:
        setups = await asyncio.gather(*(builder.build(family(TASK), _request(seed)) for seed in (1, 2) * 50))

        assert sorted(seed for seed, _ in counted) == [1, 2]
        assert len({id(setup) for setup in setups}) == 2
        assert await builder.build(family(TASK), _request(1)) is setups[0]

    _run(settings, scenario)


def test_the_event_loop_goes_on_while_a_setup_is_computed(
    settings: Settings, counted: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setup waits for the event loop: computed on the loop itself, it would wait in vain."""
    has_begun, may_end = threading.Event(), threading.Event()
    original = type(family(TASK)).instance

    def instance(self: Family[Any], worlds: Any, draw: InstanceDraw) -> Any:
        has_begun.set()
        assert may_end.wait(timeout=60), "the event loop stood still"
        return original(self, worlds, draw)

    monkeypatch.setattr(type(family(TASK)), "instance", instance)

    async def scenario(builder: TaskBuilder) -> None:
        building = asyncio.create_task(builder.build(family(TASK), _request(1)))
        await asyncio.to_thread(has_begun.wait, 60)
        may_end.set()
        await building

        assert [thread.startswith("task-setup") for _, thread in counted] == [True]

    _run(settings, scenario)


def test_a_setup_that_fails_fails_for_all_who_wait_and_is_tried_again(
    settings: Settings, counted: list[tuple[int, str]]
) -> None:
    async def scenario(builder: TaskBuilder) -> None:
        asked = (builder.build(family(TASK), _request(13)) for _ in range(5))
        errors = await asyncio.gather(*asked, return_exceptions=True)

        assert {type(error) for error in errors} == {Unprocessable}
        assert {str(error) for error in errors} == {"seed 13 cannot be planted"}
        assert len(builder.cache) == 0
        assert len(counted) == 1
        with pytest.raises(Unprocessable, match="seed 13"):
            await builder.build(family(TASK), _request(13))
        assert len(counted) == 2

    _run(settings, scenario)


def test_others_get_the_setup_when_whoever_asked_first_goes_away(
    settings: Settings, counted: list[tuple[int, str]]
) -> None:
    async def scenario(builder: TaskBuilder) -> None:
        first = asyncio.create_task(builder.build(family(TASK), _request(1)))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(builder.build(family(TASK), _request(1)))
        await asyncio.sleep(0.01)
        first.cancel()

        assert (await second).instance is not None
        assert len(counted) == 1

    _run(settings, scenario)


def test_a_hundred_seeds_in_turn_are_computed_once_each(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    original = TaskBuilder._compute

    def compute(self: TaskBuilder, chosen: Any, request: OpenRequest) -> Any:
        computed.append(request.seed)
        return original(self, chosen, request)

    monkeypatch.setattr(TaskBuilder, "_compute", compute)

    async def scenario(builder: TaskBuilder) -> None:
        for _ in range(3):
            for seed in range(100):
                await builder.build(family(TASK), _request(seed))

        assert computed == list(range(100))
        assert builder.cache.size_bytes < settings.setup_cache_bytes / 50

    _run(settings, scenario)


def test_the_cache_drops_what_was_used_least_recently_and_stays_within_its_bytes() -> None:
    cache = SetupCache(1000)
    for seed in range(10):
        cache.put(_request(seed), _setup(), 100)
    cache.get(_request(0))

    cache.put(_request(10), _setup(), 250)

    assert cache.size_bytes == 950
    assert [seed for seed in range(11) if cache.get(_request(seed)) is not None] == [0, 4, 5, 6, 7, 8, 9, 10]


def test_a_setup_that_nobody_uses_for_ten_minutes_is_dropped() -> None:
    seconds = 0.0
    cache = SetupCache(1000, now=lambda: seconds)
    cache.put(_request(1), _setup(), 100)
    cache.put(_request(2), _setup(), 100)
    seconds = 500.0
    cache.get(_request(1))

    seconds = 700.0
    cache.put(_request(3), _setup(), 100)

    assert [seed for seed in (1, 2, 3) if cache.get(_request(seed)) is not None] == [1, 3]
    assert cache.size_bytes == 200


def test_a_setup_that_is_larger_than_the_cache_is_not_kept() -> None:
    cache = SetupCache(1000)

    cache.put(_request(1), _setup(), 1001)

    assert (len(cache), cache.size_bytes) == (0, 0)


def test_the_measured_size_follows_the_rows() -> None:
    small, large = measure_bytes(_setup(b"x")), measure_bytes(_setup(b"x" * 100_001))

    assert large - small == 100_000


def _setup(rows: bytes = b"[]") -> TaskSetup:
    return TaskSetup(None, {"crm": PlantedRows(rows, {}, "key", 0, "abc")}, "fingerprint")
