"""chaos: break one part at a time under load, and see that nobody was ever lied to."""

import argparse
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.table import Table

from loadtests.cable import Cable
from loadtests.drive import Drive
from loadtests.gauges import look
from loadtests.held import Held
from loadtests.machine import machine
from loadtests.measurements import Recorder, Summary
from loadtests.pacing import constant
from loadtests.parts import Parts
from loadtests.targets import Target, await_health, embedded, free_ports
from loadtests.users import Run

_DOOR_TOKEN = "load-door"  # noqa: S105 - a loopback stack that lives for minutes
_BREAK_AT_SECONDS = 6.0
_SETTLE_SECONDS = 60.0
_USERS = 30
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that breaks, and how it becomes whole again."""

    name: str
    begin: Callable[[], None]
    end: Callable[[], None]
    seconds: float


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What became of one fault."""

    fault: str
    wrong_answers: int
    failed_requests: int
    episodes_hit: int
    unscored_with_cause: int
    unexplained: list[str]
    episodes_unharmed: int
    broken_seconds: float
    recovery_seconds: float
    leaked: list[str]
    causes: dict[str, int]
    failures: dict[str, int]

    @property
    def is_good(self) -> bool:
        return not (self.wrong_answers or self.unexplained or self.leaked) and self.episodes_unharmed > 0


class House:
    """The embedded stack with everything that can be broken within reach."""

    def __init__(self, target: Target, parts: Parts, cable: Cable, door_port: int) -> None:
        self.target = target
        self.parts = parts
        self.cable = cable
        self._door = f"http://127.0.0.1:{door_port}"

    def faults(self) -> Iterator[Fault]:
        yield Fault("product killed", lambda: os.kill(self._product(), signal.SIGKILL), _nothing, 0.0)
        yield Fault("PostgreSQL restarted", self.parts.postgres.stop, self.parts.postgres.start, 2.0)
        yield Fault("Redis restarted", self.parts.redis.stop, self.parts.redis.start, 2.0)
        yield Fault("product paused", lambda: self._signal(signal.SIGSTOP), lambda: self._signal(signal.SIGCONT), 6.0)
        if self.parts.postgres.has_own_disk:
            full = self.parts.postgres
            yield Fault("disk of the ledger full", full.fill_disk, full.empty_disk, 6.0)
        yield Fault("network frozen between control and product", self.cable.freeze, self.cable.mend, 6.0)
        yield Fault("network cut between control and product", self.cable.cut, self.cable.mend, 6.0)

    def outcome(self, episode: str) -> tuple[str | None, str | None]:
        try:
            state = self.target.get(f"/v1/episodes/{episode}")
        except HTTPError as error:
            return None, f"control answered {error.code}"
        return state["outcome"], state["because"]

    def forks(self) -> int:
        """Forks that some episode holds, as the product itself counts them."""
        request = Request(f"{self._door}/metrics", headers={"authorization": f"Bearer {_DOOR_TOKEN}"})  # noqa: S310 - our own stack
        with urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            return _gauge(answer.read().decode(), "open_forks")

    def held(self) -> Held:
        seen = look(self.target.pids())
        return Held(self.forks(), seen.connections, seen.open_files - seen.connections)

    def _product(self) -> int:
        return self.target.service("crm")

    def _signal(self, number: signal.Signals) -> None:
        os.kill(self._product(), number)


def chaos(asked: argparse.Namespace) -> int:
    console = Console(width=_WIDTH)
    with _house(asked.worlds) as house:
        # As long as under each fault, so that most of what is kept for the next episodes is there by then.
        _drive(house, asked, asked.seconds)
        before = _settled(house, None)
        found = []
        for fault in house.faults():
            if asked.fault and fault.name not in asked.fault:
                continue
            console.print(f"breaking: {fault.name} …")
            found.append(_broken(house, fault, asked, before))
        if not house.parts.postgres.has_own_disk:
            console.print("the disk of the ledger was not filled: that needs root, to mount a small one")
    _print(console, found)
    _keep(found, asked.reports)
    return 0 if all(one.is_good for one in found) else 1


@contextmanager
def _house(worlds: Path) -> Iterator[House]:
    base = free_ports()
    door_port = base + 11
    others = free_ports()
    with Parts((others, others + 1)) as parts, Cable(door_port) as cable:
        settings = {
            "DAYSHIFT_LEDGER_URL": parts.postgres.url,
            "DAYSHIFT_REDIS_URL": parts.redis.url,
            "DAYSHIFT_CRM_DOOR_URL": f"http://127.0.0.1:{cable.port}",
            "DAYSHIFT_DOOR_TOKEN": _DOOR_TOKEN,
        }
        with embedded(worlds, settings, "--restart", base=base) as target:
            yield House(target, parts, cable, door_port)


def _broken(house: House, fault: Fault, asked: argparse.Namespace, before: Held) -> Aftermath:
    healed_at = [0.0]

    def meanwhile(run: Run) -> None:
        time.sleep(_BREAK_AT_SECONDS)
        fault.begin()
        time.sleep(fault.seconds)
        fault.end()
        healed_at[0] = run.now()

    recorder, summary = _drive(house, asked, asked.seconds, meanwhile)
    await_health(house.target, patience=_SETTLE_SECONDS)
    hit = sorted({trouble.episode for trouble in recorder.troubles if trouble.episode})
    told = {episode: house.outcome(episode) for episode in hit}
    unexplained = [f"{episode}: {said}" for episode, said in told.items() if not _is_explained(*said)]
    after = _settled(house, before)
    failures = [sample.done for sample in recorder.samples if sample.is_error]
    last = max([*failures, *(trouble.at for trouble in recorder.troubles)], default=_BREAK_AT_SECONDS)
    return Aftermath(
        fault=fault.name,
        wrong_answers=summary.stale_reads,
        failed_requests=len(failures),
        episodes_hit=len(hit),
        unscored_with_cause=sum(outcome == "unscored" and bool(because) for outcome, because in told.values()),
        unexplained=unexplained,
        episodes_unharmed=summary.lives,
        broken_seconds=last - _BREAK_AT_SECONDS,
        recovery_seconds=max(0.0, last - healed_at[0]),
        leaked=after.left_since(before),
        causes=_counted(because or str(outcome) for outcome, because in told.values()),
        failures=_counted(trouble.what[:120] for trouble in recorder.troubles),
    )


def _drive(
    house: House, asked: argparse.Namespace, seconds: float, meanwhile: Callable[[Run], None] | None = None
) -> tuple[Recorder, Summary]:
    drive = Drive(house.target, constant(asked.qps, seconds), users=_USERS, episodes=_USERS, world=asked.world)
    summary = drive.run(meanwhile=meanwhile)
    return drive.recorder, summary


def _settled(house: House, before: Held | None) -> Held:
    """Give control's watch the time to close what nobody owns; idle connections end after some seconds too."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    time.sleep(8)
    held = house.held()
    while before is not None and held.left_since(before) and time.monotonic() < deadline:
        time.sleep(1)
        held = house.held()
    return held


def _is_explained(outcome: str | None, because: str | None) -> bool:
    """Judged before it broke, or unscored with a cause: never open for ever, never a reward for our failure."""
    return outcome in ("passed", "failed") or (outcome == "unscored" and bool(because))


def _gauge(metrics: str, name: str) -> int:
    lines = (line for line in metrics.splitlines() if not line.startswith("#") and name in line)
    return int(sum(float(line.rpartition(" ")[2]) for line in lines))


def _counted(causes: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for cause in causes:
        found[cause] = found.get(cause, 0) + 1
    return found


def _nothing() -> None:
    """The stack's own supervisor brings it back."""


def _print(console: Console, found: list[Aftermath]) -> None:
    table = Table(title="one fault at a time, under load")
    for heading in (
        "fault",
        "wrong answers",
        "failed requests",
        "episodes hit",
        "unscored with a cause",
        "unharmed",
        "errors for s",
        "recovered after s",
        "leaked",
    ):
        table.add_column(heading, justify="left" if heading == "fault" else "right")
    for one in found:
        table.add_row(
            one.fault,
            str(one.wrong_answers),
            str(one.failed_requests),
            str(one.episodes_hit),
            str(one.unscored_with_cause),
            str(one.episodes_unharmed),
            f"{one.broken_seconds:.1f}",
            f"{one.recovery_seconds:.1f}",
            ", ".join(one.leaked) or "nothing",
        )
    console.print(table)
    for one in found:
        for cause, count in one.causes.items():
            console.print(f"{one.fault}: {count} episodes hit: {cause}", highlight=False, markup=False)
        for what, count in one.failures.items():
            console.print(f"{one.fault}: {count} × {what}", highlight=False, markup=False)
        for line in one.unexplained:
            console.print(f"{one.fault}: UNEXPLAINED {line}", highlight=False, markup=False)


def _keep(found: list[Aftermath], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kept: dict[str, Any] = {"machine": machine(), "faults": [asdict(one) for one in found]}
    (folder / "chaos.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False))
