"""The registry's promises, in process and in a real Redis."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from loadtests.backing_services import Redis
from loadtests.targets import free_ports
from services.kernel.redis_registry import RegistryInRedis
from services.kernel.registry import Registry, RegistryDown, RegistryInProcess, Replica, registry_for

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["in process", "redis"])
async def registry(request: pytest.FixtureRequest) -> AsyncIterator[Registry]:
    if request.param == "in process":
        opened = registry_for("")
        assert isinstance(opened, RegistryInProcess)
    else:
        opened = registry_for(request.getfixturevalue("redis_url"))
        assert isinstance(opened, RegistryInRedis)
        await opened._redis.flushall()
    yield opened
    await opened.close()


def replica(instance: str, load: int = 0, product: str = "crm") -> Replica:
    return Replica(product, instance, f"http://{instance}:8701", f"http://{instance}:8711", load)


async def test_replicas_come_least_busy_first_and_by_product(registry: Registry) -> None:
    for one in (replica("a", 5), replica("b", 2), replica("c", 9, "desk")):
        await registry.announce(one, 60)

    assert await registry.replicas("crm") == [replica("b", 2), replica("a", 5)]
    assert await registry.replicas("billing") == []


async def test_announcing_again_replaces(registry: Registry) -> None:
    await registry.announce(replica("a", 1), 60)
    await registry.announce(replica("a", 7), 60)

    assert await registry.replicas("crm") == [replica("a", 7)]


async def test_a_replica_that_falls_silent_is_forgotten(registry: Registry) -> None:
    await registry.announce(replica("a"), 0.05)
    await registry.announce(replica("b"), 60)
    await asyncio.sleep(0.15)

    assert await registry.replicas("crm") == [replica("b")]


async def test_a_replica_that_leaves_is_gone(registry: Registry) -> None:
    await registry.announce(replica("a"), 60)
    await registry.withdraw(replica("a"))

    assert await registry.replicas("crm") == []


async def test_an_episode_has_its_owners_until_it_ends(registry: Registry) -> None:
    await registry.own("e1", {"crm": "a", "desk": "c"})
    assert await registry.owners("e1") == {"crm": "a", "desk": "c"}

    await registry.disown("e1")
    assert await registry.owners("e1") == {}


async def test_the_feed_is_read_on_from_a_mark(registry: Registry) -> None:
    for number in range(5):
        await registry.publish({"event": "opened", "number": number})

    first = await registry.feed(limit=2)
    rest = await registry.feed(after=first[-1].mark)

    assert [entry.event["number"] for entry in (*first, *rest)] == [0, 1, 2, 3, 4]
    assert await registry.feed(after=rest[-1].mark) == []


async def test_a_living_registry_says_so(registry: Registry) -> None:
    assert await registry.alive()


async def test_a_redis_that_is_away_is_a_registry_that_is_down() -> None:
    registry = registry_for("redis://127.0.0.1:1")
    try:
        assert not await registry.alive()
        with pytest.raises(RegistryDown):
            await registry.replicas("crm")
    finally:
        await registry.close()


@pytest.fixture
def server() -> Iterator[Redis]:
    """One that can be stopped and started again; its folder may be used by whoever it runs as."""
    with tempfile.TemporaryDirectory(prefix="registry-") as folder:
        Path(folder).chmod(0o777)
        one = Redis(Path(folder), free_ports())
        one.start()
        yield one
        one.stop()


async def test_a_redis_that_was_restarted_fails_nobody_who_comes_after(server: Redis) -> None:
    """It has hung up on every connection in the pool, and each tells so only when it is used."""
    registry = registry_for(server.url)
    try:
        await asyncio.gather(*(registry.own(f"e{number}", {"crm": "a"}) for number in range(20)))
        server.stop()
        with pytest.raises(RegistryDown):
            await registry.owners("e1")
        server.start()

        found = await asyncio.gather(*(registry.owners(f"e{number}") for number in range(20)))

        assert found == [{"crm": "a"}] * 20
    finally:
        await registry.close()
