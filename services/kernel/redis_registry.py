"""The registry in Redis, shared by control, the products' replicas and the console."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson
import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from services.kernel.registry import FEED_KEPT, FeedEntry, RegistryDown, Replica, least_busy_first

_PREFIX = "dayshift"
# An owner entry outlives any episode's lease, so that a lost delete does not stay for ever.
_OWNED_SECONDS = 7 * 24 * 3600
_SECONDS_TO_ANSWER = 5


class RegistryInRedis:
    """Replicas as keys that expire, owners as keys, the feed as a stream."""

    def __init__(self, url: str) -> None:
        # A Redis that restarted has hung up on every connection in the pool, and each tells so only when it is used:
        # one more try, on a new one. Silence is not asked twice. At worst the feed tells onlookers of something twice.
        again = Retry(NoBackoff(), retries=1, supported_errors=(redis.ConnectionError,))
        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=_SECONDS_TO_ANSWER, socket_connect_timeout=_SECONDS_TO_ANSWER, retry=again
        )

    async def announce(self, replica: Replica, lease_seconds: float) -> bool:
        if await self._asked(self._redis.exists(_fence_key(replica.instance))):
            return False
        key = _replica_key(replica.product, replica.instance)
        await self._asked(self._redis.set(key, orjson.dumps(asdict(replica)), px=max(1, int(lease_seconds * 1000))))
        return True

    async def withdraw(self, replica: Replica) -> None:
        await self._asked(self._redis.delete(_replica_key(replica.product, replica.instance)))

    async def fence(self, replica: Replica) -> None:
        await self._asked(self._redis.set(_fence_key(replica.instance), b"", ex=_OWNED_SECONDS))
        await self.withdraw(replica)

    async def replicas(self, product: str) -> list[Replica]:
        keys = await self._asked(self._keys(_replica_key(product, "*")))
        found = await self._asked(self._redis.mget(keys)) if keys else []
        return least_busy_first([Replica(**orjson.loads(kept)) for kept in found if kept is not None])

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
        await self._asked(self._redis.xadd(f"{_PREFIX}:feed", packed, maxlen=FEED_KEPT, approximate=True))

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


def _replica_key(product: str, instance: str) -> str:
    return f"{_PREFIX}:replica:{product}:{instance}"


def _fence_key(instance: str) -> str:
    return f"{_PREFIX}:fence:{instance}"


def _owner_key(episode_id: str) -> str:
    return f"{_PREFIX}:owner:{episode_id}"
