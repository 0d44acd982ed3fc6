"""Replicas: which product processes there are, which of them answer, and the least busy one of each."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from services.control.harness_client import AnswerTimeout, ErrorAnswer, HarnessClient, HarnessError, Unreachable
from services.control.open_episode import Owner
from services.control.problems import Unavailable
from services.control.relay import RelayManager
from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Registry, RegistryDown, Replica

_HEALTH_SECONDS = 5.0
# A process that refuses connections is gone: the second refusal is no accident.
_REFUSALS_ALLOWED = 1
# A process that accepts connections and answers nothing may be paused or starved of CPU. It gets new episodes until it
# was silent twice, and its episodes are given up when it was silent four times, which takes about 23 seconds.
_SILENCES_WHILE_UP = 1
_SILENCES_ALLOWED = 3
# Where a timer of five seconds fires so much later, control itself got no CPU: that says nothing about the product.
_OWN_DELAY_SECONDS = 1.0


@dataclass(eq=False)
class WatchedReplica:
    """One product process, and how its last health checks went."""

    owner: Owner
    worlds: dict[str, str]
    refusals: int = 0
    silences: int = 0
    # Why it gets no new episodes; None while it is up.
    because: str | None = None

    @property
    def is_up(self) -> bool:
        return self.because is None

    @property
    def is_gone(self) -> bool:
        return self.refusals > _REFUSALS_ALLOWED or self.silences > _SILENCES_ALLOWED

    def note_refusal(self, because: str) -> None:
        self.refusals += 1
        self.because = because

    def note_silence(self, because: str) -> None:
        self.silences += 1
        if self.silences > _SILENCES_WHILE_UP:
            self.because = because

    def note_sign_of_life(self) -> None:
        self.refusals = self.silences = 0
        self.because = None


class Replicas:
    """All processes of all products that control knows of, by instance."""

    def __init__(
        self,
        products: dict[str, Product],
        settings: Settings,
        registry: Registry,
        relay: RelayManager,
        make_client: Callable[[str, str], HarnessClient] = HarnessClient,
    ) -> None:
        self.products = products
        self._make_client = make_client
        self._settings = settings
        self._registry = registry
        self._relay = relay
        self._given_up: set[str] = set()
        self._clients: dict[str, HarnessClient] = {}
        self._watched: dict[str, dict[str, WatchedReplica]] = {name: {} for name in products}
        self._last_errors: dict[str, str] = {}

    def up(self, product: str) -> list[WatchedReplica]:
        return [watched for watched in self._watched[product].values() if watched.is_up]

    def all(self) -> list[WatchedReplica]:
        return [watched for by_instance in self._watched.values() for watched in by_instance.values()]

    def choose(self, product: str, world: str, fingerprint: str) -> Owner:
        """Return the least busy of those that serve this very world, and count its new episode.

        Those that missed a health check come last: they are busy.
        """
        candidates = [watched for watched in self.up(product) if watched.worlds.get(world) == fingerprint]
        if not candidates:
            state = self.health()[product]
            why = f"is down: {state}" if state != "ok" else f"serves another world {world!r} than control; restart both"
            raise Unavailable(f"{product} {why}")
        least_busy = min(candidates, key=_busyness)
        replica = least_busy.owner.replica
        least_busy.owner = Owner(replace(replica, load=replica.load + 1), least_busy.owner.client)
        return least_busy.owner

    def agent_url(self, product: str) -> str:
        """Return where the agent API of this product is reached from outside: that of the first replica that is up."""
        up = self.up(product)
        return up[0].owner.replica.url if up else self._settings.url(product, self.products[product].port)

    def health(self) -> dict[str, str]:
        return {product: self._health(product) for product in self.products}

    def worlds(self) -> dict[str, dict[str, str]]:
        return {product: watched[0].worlds for product in self.products if (watched := self.up(product))}

    async def check_all(self) -> list[WatchedReplica]:
        """Check every process, then discover new ones; returns those that are gone for good."""
        replicas = self.all()
        checks = await asyncio.gather(*(self._is_gone(watched) for watched in replicas))
        lost = [watched for watched, is_gone in zip(replicas, checks, strict=True) if is_gone]
        for watched in lost:
            replica = watched.owner.replica
            self._watched[replica.product].pop(replica.instance)
            await self._give_up(replica)
            self._last_errors[replica.product] = watched.because or "its process was replaced"
        await asyncio.gather(*(self._discover_all(product) for product in self.products.values()))
        return lost

    async def close(self) -> None:
        await self._relay.close()
        for client in self._clients.values():
            client.close()

    async def _discover_all(self, product: Product) -> None:
        for harness_url, url in await self._addresses(product):
            await self._discover(product.name, harness_url, url)

    async def _addresses(self, product: Product) -> list[tuple[str, str]]:
        if self._settings.redis_url:
            try:
                return [(replica.harness_url, replica.url) for replica in await self._registry.replicas(product.name)]
            except RegistryDown:
                return []
        name, own = product.name, product.port
        return [(self._settings.harness_url(name, own), self._settings.url(name, own))]

    async def _discover(self, product: str, harness_url: str, url: str) -> None:
        if harness_url not in self._clients:
            self._clients[harness_url] = self._make_client(harness_url, self._settings.harness_token)
        client = self._clients[harness_url]
        if any(watched.owner.client is client and watched.is_up for watched in self._watched[product].values()):
            return
        try:
            health = await client.get("/health", _HEALTH_SECONDS)
        except HarnessError as error:
            self._last_errors[product] = str(error)
            return
        replica = Replica(product, health["instance"], url, harness_url, health["episodes"])
        if replica.instance in self._given_up:
            # It runs on although control has ended its episodes: it must learn of that before it gets new ones.
            await self._give_up(replica)
        elif replica.instance not in self._watched[product]:
            replica = replace(replica, url=await self._relay.front(replica), direct_url=url)
            self._watched[product][replica.instance] = WatchedReplica(Owner(replica, client), health["worlds"])
            await self._announce(replica)

    async def _is_gone(self, watched: WatchedReplica) -> bool:
        """Check one process. Silence counts only where it is total.

        A product that answers other calls while its health check waits is busy, and a check that control itself was too
        late to finish says nothing.
        """
        client, began = watched.owner.client, time.monotonic()
        try:
            health = await client.get("/health", _HEALTH_SECONDS)
        except ErrorAnswer as error:
            watched.because = f"broken: {error}"
            return True
        except (Unreachable, AnswerTimeout) as error:
            if client.answered_at > began:
                watched.note_sign_of_life()
            elif time.monotonic() - began > _HEALTH_SECONDS + _OWN_DELAY_SECONDS:
                return watched.is_gone
            elif isinstance(error, Unreachable):
                watched.note_refusal(str(error))
            else:
                watched.note_silence(str(error))
            return watched.is_gone
        return not self._is_the_same(watched, health)

    def _is_the_same(self, watched: WatchedReplica, health: dict[str, Any]) -> bool:
        """Whether it is still the process that control knows at this address; if so, note what it says."""
        replica = watched.owner.replica
        if health["instance"] != replica.instance:
            return False
        watched.note_sign_of_life()
        watched.worlds = health["worlds"]
        watched.owner = Owner(replace(replica, load=health["episodes"]), watched.owner.client)
        return True

    async def _announce(self, replica: Replica) -> None:
        """Without Redis nobody else would."""
        if not self._settings.redis_url:
            await self._registry.announce(replica, float("inf"))

    async def _give_up(self, replica: Replica) -> None:
        """With Redis the replica learns it from the registry; without, the watchdog closes what it still holds."""
        await self._relay.release(replica)
        if self._settings.redis_url:
            self._given_up.add(replica.instance)
        with suppress(RegistryDown):
            await (self._registry.fence if self._settings.redis_url else self._registry.withdraw)(replica)

    def _health(self, product: str) -> str:
        watched = list(self._watched[product].values())
        up = [replica for replica in watched if replica.is_up]
        if up:
            return "ok" if any(replica.worlds for replica in up) else "no world is built: run make worlds"
        because = next((replica.because for replica in watched if replica.because), None)
        return because or self._last_errors.get(product, "not running")


def _busyness(watched: WatchedReplica) -> tuple[int, int, str]:
    replica = watched.owner.replica
    return watched.silences, replica.load, replica.instance
