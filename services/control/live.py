"""Live: one open episode as control holds it, and what it asks of the products that hold its forks."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dayshift.wire import InjectedFault, OpenRequest

from services.control.doors import Door, Refused, Silent, Unreachable
from services.control.ledger import Ending
from services.control.planting import Plot
from services.control.verdicts import Seen
from services.control.written import Written
from services.kernel.clock import iso
from services.kernel.registry import Replica

if TYPE_CHECKING:
    from services.control.customers.shift import Shift

DoorFailed = (Unreachable, Silent, Refused)
HOUR_MS = 3_600_000


class HouseBroke(Exception):
    """An episode that cannot be judged through a failure of ours; the message is the cause."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that holds an episode's fork of one product."""

    replica: Replica
    door: Door


@dataclass(eq=False)
class Live:
    """One open episode."""

    id: str
    request: OpenRequest
    plot: Plot
    owners: Mapping[str, Owner]
    touched: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waited_ms: int = 0
    # Every product holds its fork: from now on one that does not has lost it.
    is_ready: bool = False
    # Judged or ended, but not yet in the ledger: nothing but the writing may happen to it any more.
    ending: Ending | None = None
    leased: bool = True
    # The people who act when time passes, where the task has any.
    shift: "Shift | None" = None

    @property
    def path(self) -> str:
        return f"/control/episodes/{self.id}"

    async def ask_all(self, path: str = "") -> dict[str, dict[str, Any]]:
        return await self._together({name: owner.door.get(self.path + path) for name, owner in self.owners.items()})

    async def tell_all(self, path: str, messages: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        return await self._together(
            {name: owner.door.post(self.path + path, messages.get(name)) for name, owner in self.owners.items()}
        )

    async def advance(self, by_ms: int) -> dict[str, dict[str, Any]]:
        """Every clock to the latest of all and on from there: products never disagree about the time after it."""
        states = await self.ask_all()
        return await self.advance_to(max(state["clock_ms"] for state in states.values()) + by_ms)

    async def advance_to(self, to_ms: int) -> dict[str, dict[str, Any]]:
        return await self.tell_all("/advance", {name: {"to_ms": to_ms} for name in self.owners})

    async def pass_time(self, by_ms: int) -> dict[str, dict[str, Any]]:
        """Time for everybody: what falls due happens in order, and whoever has something to do does it."""
        return await (self.advance(by_ms) if self.shift is None else self.shift.pass_time(self, by_ms))

    async def tell(self, product: str, path: str, message: Mapping[str, Any]) -> dict[str, Any]:
        return (await self._together({product: self.owners[product].door.post(self.path + path, message)}))[product]

    async def close_quietly(self, without: str = "") -> dict[str, dict[str, Any]]:
        """Close what still can be closed, and return the farewells that came."""
        asked = {name: self._farewell(owner) for name, owner in self.owners.items() if name != without}
        said = await asyncio.gather(*asked.values())
        return {name: farewell for name, farewell in zip(asked, said, strict=True) if farewell is not None}

    def silent_in(self, said: Mapping[str, Any]) -> str | None:
        """The cause, where a product that holds this episode said no farewell: a trainer may close before we notice."""
        return next((died(product) for product in self.owners if product not in said), None)

    async def _farewell(self, owner: Owner) -> dict[str, Any] | None:
        try:
            farewell: dict[str, Any] = await owner.door.post(self.path + "/close")
        except DoorFailed:
            return None
        return farewell

    async def _together(self, asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        said = await asyncio.gather(*asked.values(), return_exceptions=True)
        answers = dict(zip(asked, said, strict=True))
        for product, answer in answers.items():
            if isinstance(answer, BaseException):
                raise HouseBroke(await self._cause(product, answer)) from answer
        return {product: answer for product, answer in answers.items() if isinstance(answer, dict)}

    async def _cause(self, product: str, error: BaseException) -> str:
        if isinstance(error, Unreachable):
            return died(product)
        if isinstance(error, Refused) and error.status == 404 and await self._is_another(product):
            return died(product)
        if isinstance(error, DoorFailed):
            return f"{product} failed: {error}"
        raise error

    async def _is_another(self, product: str) -> bool:
        owner = self.owners[product]
        try:
            health = await owner.door.get("/health")
        except DoorFailed:
            return True
        return bool(health["instance"] != owner.replica.instance)


def died(product: str) -> str:
    return f"{product} process died"


def seen_by(said: Mapping[str, Mapping[str, Any]]) -> Seen:
    """What the products say of an episode, laid together."""
    return Seen(
        answers={product: one.get("findings", ()) for product, one in said.items()},
        history={product: list(map(Written, one["changes"]["history"])) for product, one in said.items()},
        faults=[
            InjectedFault(product=product, kind=fault["kind"], operation=fault["operation"])
            for product, one in said.items()
            for fault in one["faults"]
        ],
        steps=sum(one["steps"] for one in said.values()),
        clock=iso(max((one["clock_ms"] for one in said.values()), default=0)),
        trajectory=steps_of(said),
        strangers=sum(one.get("strangers", 0) for one in said.values()),
    )


def steps_of(said: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The steps of all products in the order of the episode's time."""
    steps = [{"product": product, **step} for product, one in said.items() for step in one.get("trajectory", ())]
    return sorted(steps, key=lambda step: int(step["clock_ms"]))


def broken_in(said: Mapping[str, Mapping[str, Any]]) -> str | None:
    return next((f"{product}: {one['broken']}" for product, one in said.items() if one["broken"]), None)
