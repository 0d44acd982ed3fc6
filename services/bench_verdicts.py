"""`python -m services.bench verdicts`: how long a verdict of the large service takes, and who waits meanwhile.

While a fix of the receivables service is judged, another episode of the IDE asks for its repositories, one request
after the other. Each round has a seed of its own, so that no verdict is remembered from another.
"""

import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import dayshift
from dayshift.connection import Address, Connection
from rich.console import Console
from rich.table import Table

from fixtures.codebase.service_tree import NAME
from fixtures.tasks.ide.service_bug import draw_instance
from fixtures.tasks.ide.shared import records as ide_records
from fixtures.tasks.registry import family
from services.kernel.config import Settings
from services.temporary_stack import share_worlds, start_stack

FAMILY, NEIGHBOUR = "ide/service-bug", "ide/fix-boundary"
ROUNDS = 5
MOST_SECONDS, MOST_WAIT_MS = 5.0, 100.0
# As one agent of many asks, not as fast as the machine allows.
_PAUSE = 0.01


@dataclass(frozen=True, slots=True)
class Round:
    """One verdict, and the waits of a neighbour while it was made."""

    bug: str
    outcome: str
    seconds: float
    waits_ms: tuple[float, ...]

    @property
    def is_good(self) -> bool:
        return self.outcome == "passed" and self.seconds <= MOST_SECONDS and max(self.waits_ms) <= MOST_WAIT_MS


class Neighbour:
    """Another episode, which asks and waits in a thread of its own until it is stopped."""

    def __init__(self, episode: dayshift.Episode) -> None:
        self._episode = episode
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.waits_ms: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._stopping.wait(_PAUSE):
            start = time.perf_counter()
            self._episode.step(dayshift.call("ide.repos.list", owner=ide_records.OWNER))
            self.waits_ms.append((time.perf_counter() - start) * 1000)


def run_verdicts(settings: Settings, console: Console, world: str) -> bool:
    """Print the table; returns whether every verdict met both bars."""
    with tempfile.TemporaryDirectory(prefix="dayshift-bench-") as folder:
        home = Path(folder)
        share_worlds(settings, home)
        with start_stack(home) as address:
            rounds = [_judge(address, seed, world) for seed in range(ROUNDS)]
    table = Table(title=f"Verdicts of {FAMILY}, world {world!r}")
    for heading in ("bug", "outcome", "seconds", "a neighbour's requests", "median ms", "longest ms", "bars"):
        table.add_column(heading, justify="left" if heading == "bug" else "right")
    for result in rounds:
        waits = sorted(result.waits_ms)
        cells = (f"{result.seconds:.1f}", str(len(waits)), f"{waits[len(waits) // 2]:.1f}", f"{waits[-1]:.1f}")
        table.add_row(result.bug, result.outcome, *cells, "ok" if result.is_good else "MISSED")
    console.print(table)
    console.print(f"bars: {MOST_SECONDS:g} s for a verdict, {MOST_WAIT_MS:g} ms for a neighbour")
    return all(result.is_good for result in rounds)


def _judge(address: Address, seed: int, world: str) -> Round:
    instance = draw_instance(family(FAMILY).draw(seed, "train"))
    with (
        Connection(address) as own,
        Connection(address) as other,
        dayshift.Episode.open(FAMILY, seed=seed, connection=own, world=world) as episode,
        dayshift.Episode.open(NEIGHBOUR, seed=seed, connection=other, world=world) as other_episode,
    ):
        for path, text in instance.reference.items():
            write = ide_records.write_file(f"{NAME}/{path}", text)
            episode.step(dayshift.call(write.operation, **write.arguments))
        with Neighbour(other_episode) as neighbour:
            start = time.perf_counter()
            verdict = episode.submit()
            seconds = time.perf_counter() - start
    return Round(instance.bug.id, verdict.outcome, seconds, tuple(neighbour.waits_ms))
