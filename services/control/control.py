"""Control: all its parts, created and connected."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from dayshift import wire

from fixtures.tasks.known_solutions import load_known_solutions
from fixtures.tasks.registry import families
from services.control.approvals import Approvals
from services.control.episodes import Episodes
from services.control.harness_client import HarnessClient
from services.control.ledger import Ledger
from services.control.operators import Operators
from services.control.playground import Playground
from services.control.relay import RelayManager
from services.control.replicas import Replicas
from services.control.task_setup import TaskBuilder
from services.control.watchdog import Watchdog
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Registry, registry_for
from services.kernel.telemetry import Telemetry


@dataclass(frozen=True)
class Control:
    """The parts behind the control API."""

    settings: Settings
    task_builder: TaskBuilder
    replicas: Replicas
    ledger: Ledger
    registry: Registry
    episodes: Episodes
    playground: Playground
    watchdog: Watchdog
    operators: Operators
    telemetry: Telemetry

    async def health(self) -> wire.Health:
        products = self.replicas.health()
        ledger = "ok" if await self.ledger.alive() else "does not answer"
        registry = "ok" if await self.registry.alive() else "does not answer"
        worlds = self.replicas.worlds()
        products |= {name: why for name in worlds if (why := self._disagrees(name, worlds[name])) is not None}
        is_healthy = all(state == "ok" for state in (*products.values(), ledger, registry))
        status: Literal["ok", "degraded"] = "ok" if is_healthy else "degraded"
        return wire.Health(status=status, products=products, worlds=worlds, ledger=ledger, registry=registry)

    def families(self, product: str | None, family: str | None, split: str | None) -> list[wire.Family]:
        return [
            wire.Family(
                id=task.id,
                products=list(task.products),
                split=list(task.splits),
                title=task.title,
                instances={name: task.count_instances(name) for name in task.splits},
                budget=wire.Budget(steps=task.budget.steps, hours=task.budget.hours),
                operations=load_known_solutions().get(task.id, []),
            )
            for task in families().values()
            if (product is None or product in task.products)
            and (family is None or family == task.id)
            and (split is None or split in task.splits)
            and task.is_available()
        ]

    def access(self, credential: str) -> wire.AgentAccess:
        """What an agent's credential opens: the playground, or products of an open episode."""
        return self.playground.access(credential) or self.episodes.access(credential)

    def metrics(self) -> bytes:
        self.telemetry.open_episodes.set(len(self.episodes))
        return self.telemetry.exposition()

    async def close(self) -> None:
        await self.replicas.close()
        self.task_builder.close()
        await self.registry.close()
        await self.ledger.stop()

    def _disagrees(self, product: str, served: dict[str, str]) -> str | None:
        ours = self.task_builder.fingerprints(product)
        differing = sorted(name for name, printed in served.items() if ours.get(name, printed) != printed)
        return (
            f"serves another world {', '.join(differing)} than control plants in; restart both" if differing else None
        )


def create_control(
    settings: Settings,
    products: dict[str, Product] | None = None,
    make_client: Callable[[str, str], HarnessClient] = HarnessClient,
) -> Control:
    """Serves all products of the catalogue over sockets, unless the caller passes products and a client of its own."""
    products = catalog.products() if products is None else products
    task_builder = TaskBuilder(products, settings)
    registry = registry_for(settings.redis_url)
    replicas = Replicas(products, settings, registry, RelayManager(products, settings), make_client)
    ledger = Ledger(settings.ledger_url or f"sqlite:///{settings.var / 'ledger.sqlite'}")
    telemetry = Telemetry("control")
    episodes = Episodes(
        task_builder,
        replicas,
        ledger,
        registry,
        telemetry,
        settings.max_episodes,
        "" if catalog.is_left_out("mcp") else settings.mcp_url,
        approvals=Approvals(ledger, settings.approval_seconds),
        human_approvals=settings.human_approvals,
    )
    playground = Playground(replicas, settings.playground_token, follows_wall_clock=settings.playground_clock == "wall")
    watchdog = Watchdog(episodes, replicas, ledger, playground, settings.lease_seconds)
    return Control(
        settings=settings,
        task_builder=task_builder,
        replicas=replicas,
        ledger=ledger,
        registry=registry,
        episodes=episodes,
        playground=playground,
        watchdog=watchdog,
        operators=Operators(episodes, replicas, ledger, watchdog, settings.max_episodes),
        telemetry=telemetry,
    )


async def start_control(control: Control) -> "asyncio.Task[None]":
    """Migrates the ledger, checks all products once, and starts the watchdog."""
    await control.ledger.start()
    await control.watchdog.start()
    return asyncio.create_task(control.watchdog.run())


async def stop_control(control: Control, watching: "asyncio.Task[None]") -> None:
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    await control.close()
