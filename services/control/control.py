"""Control, put together."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from dayshift import wire

from fixtures.tasks.registry import families
from services.control.doors import Door
from services.control.episodes import Episodes
from services.control.ledger import Ledger
from services.control.planting import Soil
from services.control.playground import Playground
from services.control.relay import Relay
from services.control.replicas import Replicas
from services.control.watch import Watch
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Registry, registry_for
from services.kernel.telemetry import Telemetry


@dataclass(frozen=True)
class Control:
    """Everything that the control wire speaks for."""

    settings: Settings
    soil: Soil
    replicas: Replicas
    ledger: Ledger
    registry: Registry
    episodes: Episodes
    playground: Playground
    watch: Watch
    telemetry: Telemetry

    async def health(self) -> wire.Health:
        products = self.replicas.health()
        ledger = "ok" if await self.ledger.alive() else "does not answer"
        registry = "ok" if await self.registry.alive() else "does not answer"
        worlds = self.replicas.worlds()
        products |= {name: why for name in worlds if (why := self._disagrees(name, worlds[name])) is not None}
        is_well = all(state == "ok" for state in (*products.values(), ledger, registry))
        status: Literal["ok", "degraded"] = "ok" if is_well else "degraded"
        return wire.Health(status=status, products=products, worlds=worlds, ledger=ledger, registry=registry)

    def families(self, product: str | None, family: str | None, split: str | None) -> list[wire.Family]:
        return [
            wire.Family(
                id=found.id,
                products=list(found.products),
                split=list(found.splits),
                title=found.title,
                instances=found.instances,
                budget=wire.Budget(steps=found.budget.steps, hours=found.budget.hours),
            )
            for found in families().values()
            if (product is None or product in found.products)
            and (family is None or family == found.id)
            and (split is None or split in found.splits)
        ]

    def metrics(self) -> bytes:
        self.telemetry.open_episodes.set(len(self.episodes))
        return self.telemetry.exposition()

    async def close(self) -> None:
        await self.replicas.close()
        self.soil.close()
        await self.registry.close()
        await self.ledger.stop()

    def _disagrees(self, product: str, served: dict[str, str]) -> str | None:
        ours = self.soil.fingerprints(product)
        differing = sorted(name for name, printed in served.items() if ours.get(name, printed) != printed)
        return (
            f"serves another world {', '.join(differing)} than control plants in; restart both" if differing else None
        )


def put_together(
    settings: Settings, products: dict[str, Product] | None = None, make_door: Callable[[str, str], Door] = Door
) -> Control:
    """For all products there are, reached over sockets, unless somebody has both at hand."""
    products = catalog.products() if products is None else products
    soil = Soil(products, settings)
    registry = registry_for(settings.redis_url)
    replicas = Replicas(products, settings, registry, Relay(products, settings), make_door)
    ledger = Ledger(settings.ledger_url or f"sqlite:///{settings.var / 'ledger.sqlite'}")
    telemetry = Telemetry("control")
    episodes = Episodes(soil, replicas, ledger, registry, telemetry, settings.max_episodes)
    playground = Playground(replicas, settings.playground_token)
    return Control(
        settings=settings,
        soil=soil,
        replicas=replicas,
        ledger=ledger,
        registry=registry,
        episodes=episodes,
        playground=playground,
        watch=Watch(episodes, replicas, ledger, playground, settings.lease_seconds),
        telemetry=telemetry,
    )


async def watched(control: Control) -> "asyncio.Task[None]":
    """Bring the record up to date, look once, and go on looking."""
    await control.ledger.start()
    await control.watch.start()
    return asyncio.create_task(control.watch.run())


async def put_to_rest(control: Control, watching: "asyncio.Task[None]") -> None:
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    await control.close()
