"""Replicas: which product processes there are, which of them answer, and the least busy one of each."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from services.control.doors import Door, Refused, Silent, Unreachable
from services.control.live import Owner
from services.control.problems import NotNow
from services.control.relay import Relay
from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Registry, RegistryDown, Replica

# A process that refuses connections is gone; one that is slow may only be busy.
_REFUSALS_ALLOWED = 1
_SILENCES_ALLOWED = 3
_PATIENCE_SECONDS = 5.0


@dataclass(eq=False)
class Watched:
    """One process under watch."""

    owner: Owner
    worlds: dict[str, str]
    refusals: int = 0
    silences: int = 0
    because: str | None = None

    @property
    def is_up(self) -> bool:
        return self.because is None

    @property
    def is_gone(self) -> bool:
        return self.refusals > _REFUSALS_ALLOWED or self.silences > _SILENCES_ALLOWED


class Replicas:
    """All processes of all products that control knows of, by instance."""

    def __init__(
        self,
        products: dict[str, Product],
        settings: Settings,
        registry: Registry,
        relay: Relay,
        make_door: Callable[[str, str], Door] = Door,
    ) -> None:
        self.products = products
        self._make_door = make_door
        self._settings = settings
        self._registry = registry
        self._relay = relay
        self._given_up: set[str] = set()
        self._doors: dict[str, Door] = {}
        self._watched: dict[str, dict[str, Watched]] = {name: {} for name in products}
        self._last_words: dict[str, str] = {}

    def up(self, product: str) -> list[Watched]:
        return [one for one in self._watched[product].values() if one.is_up]

    def all(self) -> list[Watched]:
        return [one for found in self._watched.values() for one in found.values()]

    def choose(self, product: str, world: str, fingerprint: str) -> Owner:
        """The least busy of those that serve this very world; its load is counted here until it says so itself."""
        found = [one for one in self.up(product) if one.worlds.get(world) == fingerprint]
        if not found:
            state = self.health()[product]
            why = f"is down: {state}" if state != "ok" else f"serves another world {world!r} than control; restart both"
            raise NotNow(f"{product} {why}")
        chosen = min(found, key=lambda one: (one.owner.replica.load, one.owner.replica.instance))
        replica = chosen.owner.replica
        chosen.owner = Owner(replace(replica, load=replica.load + 1), chosen.owner.door)
        return chosen.owner

    def health(self) -> dict[str, str]:
        return {product: self._health(product) for product in self.products}

    def worlds(self) -> dict[str, dict[str, str]]:
        return {product: found[0].worlds for product in self.products if (found := self.up(product))}

    async def look(self) -> list[Watched]:
        """Ask every process for its health, then find new ones; returns those that are gone for good."""
        known = self.all()
        asked = await asyncio.gather(*(self._is_gone(one) for one in known))
        gone = [one for one, is_gone in zip(known, asked, strict=True) if is_gone]
        for one in gone:
            replica = one.owner.replica
            self._watched[replica.product].pop(replica.instance)
            await self._give_up(replica)
            self._last_words[replica.product] = one.because or "its process was replaced"
        await asyncio.gather(*(self._find(product) for product in self.products.values()))
        return gone

    async def close(self) -> None:
        await self._relay.close()
        for door in self._doors.values():
            door.close()

    async def _find(self, product: Product) -> None:
        for door_url, url in await self._addresses(product):
            await self._discover(product.name, door_url, url)

    async def _addresses(self, product: Product) -> list[tuple[str, str]]:
        if self._settings.redis_url:
            try:
                return [(one.door_url, one.url) for one in await self._registry.replicas(product.name)]
            except RegistryDown:
                return []
        name, own = product.name, product.port
        return [(self._settings.door_url(name, own), self._settings.url(name, own))]

    async def _discover(self, product: str, door_url: str, url: str) -> None:
        door = self._doors.setdefault(door_url, self._make_door(door_url, self._settings.door_token))
        if any(one.owner.door is door and one.is_up for one in self._watched[product].values()):
            return
        try:
            said = await door.get("/health", _PATIENCE_SECONDS)
        except (Unreachable, Silent, Refused) as error:
            self._last_words[product] = str(error)
            return
        replica = Replica(product, said["instance"], url, door_url, said["episodes"])
        if replica.instance in self._given_up:
            # It came back as if nothing had happened, but its episodes are over: it must hear of it first.
            await self._give_up(replica)
        elif replica.instance not in self._watched[product]:
            replica = replace(replica, url=await self._relay.front(replica))
            self._watched[product][replica.instance] = Watched(Owner(replica, door), said["worlds"])
            await self._announce(replica)

    async def _is_gone(self, one: Watched) -> bool:
        try:
            said = await one.owner.door.get("/health", _PATIENCE_SECONDS)
        except Unreachable as error:
            one.refusals, one.because = one.refusals + 1, str(error)
        except Silent as error:
            one.silences, one.because = one.silences + 1, str(error)
        except Refused as error:
            one.because = f"broken: {error}"
            return True
        else:
            return not self._answered(one, said)
        return one.is_gone

    def _answered(self, one: Watched, said: dict[str, Any]) -> bool:
        """Whether it is still the process that we knew at this address."""
        replica = one.owner.replica
        if said["instance"] != replica.instance:
            return False
        one.refusals = one.silences = 0
        one.because = None
        one.worlds = said["worlds"]
        one.owner = Owner(replace(replica, load=said["episodes"]), one.owner.door)
        return True

    async def _announce(self, replica: Replica) -> None:
        """Without Redis nobody else would."""
        if not self._settings.redis_url:
            await self._registry.announce(replica, float("inf"))

    async def _give_up(self, replica: Replica) -> None:
        """With Redis the replica itself is told; without, the watch closes what it still holds when it is back."""
        await self._relay.release(replica)
        if self._settings.redis_url:
            self._given_up.add(replica.instance)
        with suppress(RegistryDown):
            await (self._registry.fence if self._settings.redis_url else self._registry.withdraw)(replica)

    def _health(self, product: str) -> str:
        found = list(self._watched[product].values())
        if any(one.is_up for one in found):
            return "ok" if any(one.is_up and one.worlds for one in found) else "no world is built: run make worlds"
        return next((one.because for one in found if one.because), self._last_words.get(product, "not running"))
