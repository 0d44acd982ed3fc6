"""Which replicas of a product live, which of them owns an episode, and the live feed. In process, or in Redis."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import orjson
import redis.asyncio as redis

_FEED_KEPT = 10_000
_PREFIX = "dayshift"
# An owner entry outlives any episode's lease, so that a lost delete does not stay for ever.
_OWNED_SECONDS = 7 * 24 * 3600


class RegistryDown(RuntimeError):
    """The registry does not answer."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One process of a product: where agents reach it, where the harness does, and how busy it is."""

    product: str
    instance: str
    url: str
    door_url: str
    load: int = 0


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """Something that happened, and the mark to read on from."""

    mark: str
    event: Mapping[str, Any]


class Registry(Protocol):
    """Who is there and who owns what."""

    async def announce(self, replica: Replica, lease_seconds: float) -> None:
        """This replica lives, until the lease ends or it says so again."""

    async def withdraw(self, replica: Replica) -> None: ...

    async def replicas(self, product: str) -> list[Replica]:
        """Those that live, the least busy first."""

    async def own(self, episode_id: str, owners: Mapping[str, str]) -> None:
        """Write down which instance of each product holds the episode."""

    async def owners(self, episode_id: str) -> dict[str, str]: ...

    async def disown(self, episode_id: str) -> None: ...

    async def publish(self, event: Mapping[str, Any]) -> None: ...

    async def feed(self, after: str = "", limit: int = 100) -> list[FeedEntry]: ...

    async def alive(self) -> bool: ...

    async def close(self) -> None: ...


class RegistryInProcess:
    """The registry of a single control process."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._replicas: dict[tuple[str, str], tuple[Replica, float]] = {}
        self._owners: dict[str, dict[str, str]] = {}
        self._feed: deque[FeedEntry] = deque(maxlen=_FEED_KEPT)
        self._published = 0

    async def announce(self, replica: Replica, lease_seconds: float) -> None:
        self._replicas[replica.product, replica.instance] = (replica, self._now() + lease_seconds)

    async def withdraw(self, replica: Replica) -> None:
        self._replicas.pop((replica.product, replica.instance), None)

    async def replicas(self, product: str) -> list[Replica]:
        now = self._now()
        self._replicas = {key: held for key, held in self._replicas.items() if held[1] > now}
        return _least_busy_first([replica for replica, _ in self._replicas.values() if replica.product == product])

    async def own(self, episode_id: str, owners: Mapping[str, str]) -> None:
        self._owners[episode_id] = dict(owners)

    async def owners(self, episode_id: str) -> dict[str, str]:
        return dict(self._owners.get(episode_id, {}))

    async def disown(self, episode_id: str) -> None:
        self._owners.pop(episode_id, None)

    async def publish(self, event: Mapping[str, Any]) -> None:
        self._published += 1
        self._feed.append(FeedEntry(f"{self._published:020d}", dict(event)))

    async def feed(self, after: str = "", limit: int = 100) -> list[FeedEntry]:
        return [entry for entry in self._feed if entry.mark > after][:limit]

    async def alive(self) -> bool:
        return True

    async def close(self) -> None:
        return


class RegistryInRedis:
    """The registry that control, its products' replicas and the console share."""

    def __init__(self, url: str) -> None:
        self._redis: Any = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)

    async def announce(self, replica: Replica, lease_seconds: float) -> None:
        key = _replica_key(replica.product, replica.instance)
        await self._asked(self._redis.set(key, orjson.dumps(asdict(replica)), px=max(1, int(lease_seconds * 1000))))

    async def withdraw(self, replica: Replica) -> None:
        await self._asked(self._redis.delete(_replica_key(replica.product, replica.instance)))

    async def replicas(self, product: str) -> list[Replica]:
        keys = await self._asked(self._keys(_replica_key(product, "*")))
        found = await self._asked(self._redis.mget(keys)) if keys else []
        return _least_busy_first([Replica(**orjson.loads(kept)) for kept in found if kept is not None])

    async def own(self, episode_id: str, owners: Mapping[str, str]) -> None:
        await self._asked(self._redis.set(_owner_key(episode_id), orjson.dumps(dict(owners)), ex=_OWNED_SECONDS))

    async def owners(self, episode_id: str) -> dict[str, str]:
        kept = await self._asked(self._redis.get(_owner_key(episode_id)))
        found: dict[str, str] = {} if kept is None else orjson.loads(kept)
        return found

    async def disown(self, episode_id: str) -> None:
        await self._asked(self._redis.delete(_owner_key(episode_id)))

    async def publish(self, event: Mapping[str, Any]) -> None:
        packed = {"event": orjson.dumps(dict(event))}
        await self._asked(self._redis.xadd(f"{_PREFIX}:feed", packed, maxlen=_FEED_KEPT, approximate=True))

    async def feed(self, after: str = "", limit: int = 100) -> list[FeedEntry]:
        since = f"({after}" if after else "-"
        found = await self._asked(self._redis.xrange(f"{_PREFIX}:feed", min=since, count=limit))
        return [FeedEntry(mark.decode(), orjson.loads(fields[b"event"])) for mark, fields in found]

    async def alive(self) -> bool:
        try:
            return bool(await self._asked(self._redis.ping()))
        except RegistryDown:
            return False

    async def close(self) -> None:
        await self._redis.aclose()

    async def _keys(self, pattern: str) -> list[bytes]:
        return sorted([key async for key in self._redis.scan_iter(match=pattern, count=1000)])

    async def _asked(self, question: Any) -> Any:
        try:
            return await question
        except redis.RedisError as error:
            raise RegistryDown(f"the registry does not answer: {error}") from error


def registry_for(url: str) -> Registry:
    return RegistryInRedis(url) if url else RegistryInProcess()


def busier(replica: Replica, load: int) -> Replica:
    return replace(replica, load=load)


def _least_busy_first(found: list[Replica]) -> list[Replica]:
    return sorted(found, key=lambda replica: (replica.load, replica.instance))


def _replica_key(product: str, instance: str) -> str:
    return f"{_PREFIX}:replica:{product}:{instance}"


def _owner_key(episode_id: str) -> str:
    return f"{_PREFIX}:owner:{episode_id}"
