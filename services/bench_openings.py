"""`python -m services.bench openings`: how many episodes a second a stack opens, over few and over many seeds.

All figures of a family come from one run of one stack, and ratios compare figures of the same minute. Every
measurement starts with seeds that were never opened, so that the time to compute task setups is part of it.
"""

import asyncio
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import orjson
import uvloop
from dayshift.connection import Address, Connection
from rich.console import Console
from rich.table import Table

from services.kernel.config import Settings
from services.kernel.file_limit import raise_file_limit
from services.temporary_stack import share_worlds, start_stack

FEW_SEEDS, MANY_SEEDS = 20, 100
MIN_RATIO = 0.7
BURST_FAMILY, BURST, MIN_BURST_RATE = "crm/correct-contact", 2000, 200
# One per product and the two whose setups take longest: `make bench` does not wait for all families.
USUAL_FAMILIES = ("crm/correct-contact", "crm/reassign-book", "desk/outage", "ide/fix-boundary", "office/churn-risk")
_OPENINGS_AT_ONCE = 16
_CLOSINGS_AT_ONCE = 32
_SLICE = 100
OpenRequest = dict[str, str | int]
Item = TypeVar("Item")


@dataclass
class Burst:
    """Openings of one family: how long they took together, and how each of them ended."""

    seconds: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    episode_ids: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.episode_ids) / self.seconds


@dataclass(frozen=True, slots=True)
class FamilyRates:
    """Openings a second of one family over few and over many seeds."""

    family: str
    few: float
    many: float
    errors: tuple[str, ...]

    @property
    def ratio(self) -> float:
        return self.many / self.few

    @property
    def is_good(self) -> bool:
        return not self.errors and self.ratio >= MIN_RATIO


class OpeningClient:
    """A client of control that costs little, so that it is not what is measured."""

    def __init__(self, address: Address) -> None:
        self._host, self._port = address.url.removeprefix("http://").split(":")
        self._headers = f"host: {self._host}\r\nauthorization: Bearer {address.token}\r\n"
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, message: object) -> tuple[int, bytes]:
        body = orjson.dumps(message)
        head = f"POST {path} HTTP/1.1\r\n{self._headers}content-type: application/json\r\ncontent-length: {len(body)}"
        kept = self._idle.pop() if self._idle else None
        reader, writer = kept or await asyncio.open_connection(self._host, int(self._port))
        writer.write(head.encode() + b"\r\n\r\n" + body)
        answer_head = await reader.readuntil(b"\r\n\r\n")
        length = int(answer_head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        answer = await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(answer_head.split(b" ", 2)[1]), answer

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()


class OpeningBench:
    """Measures openings on one stack; no seed is used by two measurements."""

    def __init__(self, client: OpeningClient, world: str) -> None:
        self._client = client
        self._world = world
        self._first_seeds = itertools.count(0, 1000)

    async def compare(self, family: str, split: str, openings: int) -> FamilyRates:
        """Alternate between few and many seeds, so that a neighbour on the machine slows both down alike."""
        # The first opening of a family reads the template, once in the life of the stack.
        await self.open_and_close(Burst(), self._requests(family, split, seeds=1, openings=1), at_once=1)
        few, many = Burst(), Burst()
        few_requests = self._requests(family, split, FEW_SEEDS, openings)
        many_requests = self._requests(family, split, MANY_SEEDS, openings)
        for start in range(0, openings, _SLICE):
            for burst, requests in ((few, few_requests), (many, many_requests)):
                await self.open_and_close(burst, requests[start : start + _SLICE], _OPENINGS_AT_ONCE)
        return FamilyRates(family, few.per_second, many.per_second, (*few.errors, *many.errors))

    async def burst(self, family: str, split: str) -> Burst:
        burst = Burst()
        await self.open_and_close(burst, self._requests(family, split, MANY_SEEDS, BURST), BURST)
        return burst

    async def open_and_close(self, burst: Burst, requests: list[OpenRequest], at_once: int) -> None:
        """Open all of them and add the time to the burst; closing them again is not measured."""
        opened_before = len(burst.episode_ids)
        began = time.perf_counter()
        await _for_each(requests, at_once, lambda request: self._open(request, burst))
        burst.seconds += time.perf_counter() - began
        await _for_each(burst.episode_ids[opened_before:], _CLOSINGS_AT_ONCE, self._close)

    def _requests(self, family: str, split: str, seeds: int, openings: int) -> list[OpenRequest]:
        first = next(self._first_seeds)
        return [
            {"task": family, "split": split, "seed": first + number % seeds, "world": self._world}
            for number in range(openings)
        ]

    async def _open(self, request: OpenRequest, burst: Burst) -> None:
        began = time.perf_counter()
        status, answer = await self._client.post("/v1/episodes", request)
        burst.latencies_ms.append((time.perf_counter() - began) * 1000)
        if status == 201:
            burst.episode_ids.append(orjson.loads(answer)["episode_id"])
        else:
            burst.errors.append(f"{status} {answer[:200].decode(errors='replace')}")

    async def _close(self, episode_id: str) -> None:
        await self._client.post(f"/v1/episodes/{episode_id}/close", {})


async def _for_each(items: Iterable[Item], at_once: int, work: Callable[[Item], Awaitable[None]]) -> None:
    slots = asyncio.Semaphore(at_once)

    async def run(item: Item) -> None:
        async with slots:
            await work(item)

    await asyncio.gather(*(run(item) for item in items))


def run_openings(settings: Settings, console: Console, families: tuple[str, ...], openings: int, world: str) -> bool:
    """Print both tables; returns whether every bar was met."""
    # Each opening of the burst is a connection of this process.
    raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="dayshift-bench-") as folder:
        home = Path(folder)
        share_worlds(settings, home)
        with start_stack(home) as address:
            with Connection(address) as connection:
                answer = connection.run(address.control.families())
            splits = {family.id: family.split[0] for family in answer.families}
            return uvloop.run(_measure(address, console, splits, families, openings, world))


async def _measure(
    address: Address, console: Console, splits: Mapping[str, str], families: tuple[str, ...], openings: int, world: str
) -> bool:
    client = OpeningClient(address)
    bench = OpeningBench(client, world)
    cold = await bench.burst(BURST_FAMILY, splits[BURST_FAMILY])
    _print_burst(console, cold, world)
    rates = []
    for name in families or tuple(splits):
        if name in splits:
            rates.append(await bench.compare(name, splits[name], openings))
            console.print(f"[dim]{name}: {rates[-1].ratio:.2f}[/dim]", highlight=False)
    client.close()
    _print_rates(console, rates, openings, world)
    return not cold.errors and cold.per_second >= MIN_BURST_RATE and all(rate.is_good for rate in rates)


def _print_burst(console: Console, burst: Burst, world: str) -> None:
    table = Table(title=f"{BURST} openings of {BURST_FAMILY} at once, {MANY_SEEDS} seeds, cold, world {world!r}")
    for heading in ("openings/s", "median ms", "longest ms", "errors", "bar"):
        table.add_column(heading, justify="right")
    latencies = sorted(burst.latencies_ms)
    is_met = not burst.errors and burst.per_second >= MIN_BURST_RATE
    table.add_row(
        f"{burst.per_second:,.0f}",
        f"{latencies[len(latencies) // 2]:,.0f}",
        f"{latencies[-1]:,.0f}",
        str(len(burst.errors)),
        f"≥ {MIN_BURST_RATE} {'ok' if is_met else 'MISSED'}",
    )
    console.print(table)
    _print_errors(console, burst.errors)


def _print_rates(console: Console, rates: list[FamilyRates], openings: int, world: str) -> None:
    table = Table(title=f"{openings} openings, {_OPENINGS_AT_ONCE} at once, world {world!r}")
    for heading in ("family", f"{FEW_SEEDS} seeds /s", f"{MANY_SEEDS} seeds /s", "ratio", "bar"):
        table.add_column(heading, justify="left" if heading == "family" else "right")
    for rate in rates:
        bar = f"≥ {MIN_RATIO} {'ok' if rate.is_good else 'MISSED'}"
        table.add_row(rate.family, f"{rate.few:,.0f}", f"{rate.many:,.0f}", f"{rate.ratio:.2f}", bar)
    console.print(table)
    _print_errors(console, [error for rate in rates for error in rate.errors])


def _print_errors(console: Console, errors: list[str]) -> None:
    for error in errors[:5]:
        console.print(f"[red]{error}[/red]", highlight=False)
