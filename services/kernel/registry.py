"""Which replicas of a product are alive, which of them owns an episode, and the live feed."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

FEED_KEPT = 10_000


class RegistryDown(RuntimeError):
    """The registry does not answer."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One process of a product: where agents reach it, where the harness does, and how busy it is."""

    product: str
    instance: str
    url: str
    harness_url: str
    load: int = 0
    # Where other services reach its agent API, if not at `url`: agents may come through a relay.
    direct_url: str = ""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An event, and the mark to read on from."""

    mark: str
    event: Mapping[str, Any]


class Registry(Protocol):
    """Which replicas exist and which episodes they own."""

    async def announce(self, replica: Replica, lease_seconds: float) -> bool:
        """Registers the replica until the lease ends; returns False if it was fenced."""

    async def withdraw(self, replica: Replica) -> None: ...

    async def fence(self, replica: Replica) -> None:
        """Control has ended the replica's episodes: its next announcement fails, and it must not serve them again."""

    async def replicas(self, product: str) -> list[Replica]:
        """The replicas that are alive, the least busy first."""

    async def own(self, episode_id: str, owners: Mapping[str, str]) -> None:
        """Records which instance of each product holds the episode."""

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
        self._fenced: set[str] = set()
        self._owners: dict[str, dict[str, str]] = {}
        self._feed: deque[FeedEntry] = deque(maxlen=FEED_KEPT)
        self._published = 0

    async def announce(self, replica: Replica, lease_seconds: float) -> bool:
        if replica.instance in self._fenced:
            return False
        self._replicas[replica.product, replica.instance] = (replica, self._now() + lease_seconds)
        return True

    async def withdraw(self, replica: Replica) -> None:
        self._replicas.pop((replica.product, replica.instance), None)

    async def fence(self, replica: Replica) -> None:
        self._fenced.add(replica.instance)
        await self.withdraw(replica)

    async def replicas(self, product: str) -> list[Replica]:
        now = self._now()
        self._replicas = {key: entry for key, entry in self._replicas.items() if entry[1] > now}
        return least_busy_first([replica for replica, _ in self._replicas.values() if replica.product == product])

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


def registry_for(url: str) -> Registry:
    if not url:
        return RegistryInProcess()
    # A late import: the Redis client takes half a second, which only its users should pay.
    from services.kernel.redis_registry import RegistryInRedis

    return RegistryInRedis(url)


def least_busy_first(replicas: list[Replica]) -> list[Replica]:
    return sorted(replicas, key=lambda replica: (replica.load, replica.instance))
