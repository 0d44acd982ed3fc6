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
        # A Redis that restarted has closed every connection in the pool, and each of them fails only when it is used:
        # the call is repeated once on a new one. A call that times out is not repeated. At worst the feed shows an
        # event twice.
        retry_once = Retry(NoBackoff(), retries=1, supported_errors=(redis.ConnectionError,))
        self._redis: Any = redis.Redis.from_url(
            url, socket_timeout=_SECONDS_TO_ANSWER, socket_connect_timeout=_SECONDS_TO_ANSWER, retry=retry_once
        )

    async def announce(self, replica: Replica, lease_seconds: float) -> bool:
        if await self._call(self._redis.exists(_fence_key(replica.instance))):
            return False
        key = _replica_key(replica.product, replica.instance)
        await self._call(self._redis.set(key, orjson.dumps(asdict(replica)), px=max(1, int(lease_seconds * 1000))))
        return True

    async def withdraw(self, replica: Replica) -> None:
        await self._call(self._redis.delete(_replica_key(replica.product, replica.instance)))

    async def fence(self, replica: Replica) -> None:
        await self._call(self._redis.set(_fence_key(replica.instance), b"", ex=_OWNED_SECONDS))
        await self.withdraw(replica)

    async def replicas(self, product: str) -> list[Replica]:
        keys = await self._call(self._keys(_replica_key(product, "*")))
        values = await self._call(self._redis.mget(keys)) if keys else []
        return least_busy_first([Replica(**orjson.loads(value)) for value in values if value is not None])

    async def own(self, episode_id: str, owners: Mapping[str, str]) -> None:
        await self._call(self._redis.set(_owner_key(episode_id), orjson.dumps(dict(owners)), ex=_OWNED_SECONDS))

    async def owners(self, episode_id: str) -> dict[str, str]:
        value = await self._call(self._redis.get(_owner_key(episode_id)))
        owners: dict[str, str] = {} if value is None else orjson.loads(value)
        return owners

    async def disown(self, episode_id: str) -> None:
        await self._call(self._redis.delete(_owner_key(episode_id)))

    async def publish(self, event: Mapping[str, Any]) -> None:
        packed = {"event": orjson.dumps(dict(event))}
        await self._call(self._redis.xadd(f"{_PREFIX}:feed", packed, maxlen=FEED_KEPT, approximate=True))

    async def feed(self, after: str = "", limit: int = 100) -> list[FeedEntry]:
        since = f"({after}" if after else "-"
        entries = await self._call(self._redis.xrange(f"{_PREFIX}:feed", min=since, count=limit))
        return [FeedEntry(mark.decode(), orjson.loads(fields[b"event"])) for mark, fields in entries]

    async def alive(self) -> bool:
        try:
            return bool(await self._call(self._redis.ping()))
        except RegistryDown:
            return False

    async def close(self) -> None:
        await self._redis.aclose()

    async def _keys(self, pattern: str) -> list[bytes]:
        return sorted([key async for key in self._redis.scan_iter(match=pattern, count=1000)])

    async def _call(self, call: Any) -> Any:
        try:
            return await call
        except redis.RedisError as error:
            raise RegistryDown(f"the registry does not answer: {error}") from error


def _replica_key(product: str, instance: str) -> str:
    return f"{_PREFIX}:replica:{product}:{instance}"


def _fence_key(instance: str) -> str:
    return f"{_PREFIX}:fence:{instance}"


def _owner_key(episode_id: str) -> str:
    return f"{_PREFIX}:owner:{episode_id}"
