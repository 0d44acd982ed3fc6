"""The playground: a standing episode for people who only want the APIs."""

import asyncio
import hmac
import time
from collections.abc import Iterable
from contextlib import suppress

from dayshift import wire

from services.control.agent_credentials import product_access
from services.control.harness_client import ErrorAnswer, HarnessError
from services.control.playground_clock import PlaygroundClock
from services.control.problems import Unavailable
from services.control.replicas import Replicas, WatchedReplica
from services.kernel.config import BadSetting
from services.kernel.product import Product

PLAYGROUND = "playground"
_MIN_CREDENTIAL_LENGTH = 8
_PREFERRED_WORLD = "standard"
_ALREADY_OPEN = 409


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Playground:
    """One credential, every product, no lease, no brief, no verdict; kept open on every process that is up."""

    def __init__(self, replicas: Replicas, credential: str, *, follows_wall_clock: bool = False) -> None:
        if len(credential) < _MIN_CREDENTIAL_LENGTH:
            raise BadSetting(f"DAYSHIFT_PLAYGROUND_TOKEN must have at least {_MIN_CREDENTIAL_LENGTH} characters")
        self._replicas = replicas
        self._credential = credential
        self._lock = asyncio.Lock()
        self.clock = (
            PlaygroundClock(_wall_ms, f"/control/episodes/{PLAYGROUND}/advance") if follows_wall_clock else None
        )

    async def keep(self, lacking: Iterable[WatchedReplica]) -> None:
        """Open it wherever it is missing: after a start, and after a product came back."""
        async with self._lock:
            for replica in lacking:
                if replica.worlds:
                    await self._open(replica)

    async def reset(self) -> None:
        """Reset it to the template on every process."""
        async with self._lock:
            for replica in self._replicas.all():
                if replica.is_up and replica.worlds:
                    with suppress(HarnessError):
                        await replica.owner.client.post(f"/control/episodes/{PLAYGROUND}/close")
                    await self._open(replica)

    def describe(self) -> wire.Playground:
        """Return where each product is reached, and with which credentials."""
        health = self._replicas.health()
        return wire.Playground(
            products={
                name: wire.PlaygroundAccess(
                    title=product.title,
                    state=health[name],
                    base_url=(base := self._replicas.agent_url(name)),
                    openapi_url=f"{base}/openapi.json",
                    credentials=self._credentials(product),
                )
                for name, product in self._replicas.products.items()
            }
        )

    def access(self, credential: str) -> wire.AgentAccess | None:
        """Return what an agent's credential opens here: every product that is up, or nothing."""
        products = self._replicas.products
        known = {key for product in products.values() for key in self._credentials(product)}
        if not any(hmac.compare_digest(key.encode(), credential.encode()) for key in sorted(known)):
            return None
        up = {name: replicas[0].owner.replica for name in products if (replicas := self._replicas.up(name))}
        return wire.AgentAccess(
            episode_id=PLAYGROUND,
            products={name: product_access(replica, self._credential) for name, replica in up.items()},
            can_finish=False,
        )

    def _credentials(self, product: Product) -> list[str]:
        """Return the bare credential first, then those in the vendor's own form."""
        return [self._credential, *(shape.format(self._credential) for shape in product.key_shapes)]

    async def _open(self, replica: WatchedReplica) -> None:
        product = self._replicas.products[replica.owner.replica.product]
        world = _PREFERRED_WORLD if _PREFERRED_WORLD in replica.worlds else min(replica.worlds)
        try:
            await replica.owner.client.post(
                "/control/episodes",
                {
                    "episode_id": PLAYGROUND,
                    "credential": self._credential,
                    "further_credentials": self._credentials(product)[1:],
                    "seed": 0,
                    "world": world,
                    "leased": False,
                    "playground": True,
                },
            )
        except HarnessError as error:
            # A reset may have opened it since the watchdog looked.
            if isinstance(error, ErrorAnswer) and error.status == _ALREADY_OPEN:
                return
            raise Unavailable(f"{replica.owner.replica.product} did not open the playground: {error}") from error
