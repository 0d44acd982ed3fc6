"""chaos: break one part at a time under load, and check that no client gets a wrong answer."""

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

from loadtests.backing_services import BackingServices
from loadtests.leftovers import OpenResources
from loadtests.load_run import LoadRun
from loadtests.machine_description import describe_machine
from loadtests.measurements import Recorder, Summary
from loadtests.pacing import constant
from loadtests.process_stats import read_stats
from loadtests.targets import Target, await_health, free_ports, start_embedded
from loadtests.tcp_proxy import TcpProxy
from loadtests.users import RunState

_HARNESS_TOKEN = "load-harness"  # noqa: S105 - a loopback stack that lives for minutes
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
class FaultResult:
    """What one fault did."""

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


class ChaosStack:
    """The embedded stack with everything that can be broken within reach."""

    def __init__(self, target: Target, backing_services: BackingServices, proxy: TcpProxy, harness_port: int) -> None:
        self.target = target
        self.backing_services = backing_services
        self.proxy = proxy
        self._harness_url = f"http://127.0.0.1:{harness_port}"

    def faults(self) -> Iterator[Fault]:
        yield Fault("product killed", lambda: os.kill(self._product(), signal.SIGKILL), _nothing, 0.0)
        yield Fault(
            "PostgreSQL restarted", self.backing_services.postgres.stop, self.backing_services.postgres.start, 2.0
        )
        yield Fault("Redis restarted", self.backing_services.redis.stop, self.backing_services.redis.start, 2.0)
        yield Fault("product paused", lambda: self._signal(signal.SIGSTOP), lambda: self._signal(signal.SIGCONT), 6.0)
        if self.backing_services.postgres.has_own_disk:
            full = self.backing_services.postgres
            yield Fault("disk of the ledger full", full.fill_disk, full.empty_disk, 6.0)
        yield Fault("network frozen between control and product", self.proxy.freeze, self.proxy.restore, 6.0)
        yield Fault("network cut between control and product", self.proxy.cut, self.proxy.restore, 6.0)

    def outcome(self, episode: str) -> tuple[str | None, str | None]:
        try:
            state = self.target.get(f"/v1/episodes/{episode}")
        except HTTPError as error:
            return None, f"control answered {error.code}"
        return state["outcome"], state["because"]

    def forks(self) -> int:
        """Forks that some episode holds, as the product itself counts them."""
        request = Request(f"{self._harness_url}/metrics", headers={"authorization": f"Bearer {_HARNESS_TOKEN}"})  # noqa: S310 - our own stack
        with urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            return _gauge(answer.read().decode(), "open_forks")

    def open_resources(self) -> OpenResources:
        seen = read_stats(self.target.pids())
        return OpenResources(self.forks(), seen.connections, seen.open_files - seen.connections)

    def _product(self) -> int:
        return self.target.service("crm")

    def _signal(self, number: signal.Signals) -> None:
        os.kill(self._product(), number)


def chaos(options: argparse.Namespace) -> int:
    console = Console(width=_WIDTH)
    with _start_stack(options.worlds) as stack:
        # As long as under each fault, so that most of what is kept for the next episodes is there by then.
        _drive(stack, options, options.seconds)
        before = _await_quiet(stack, None)
        results = []
        for fault in stack.faults():
            if options.fault and fault.name not in options.fault:
                continue
            console.print(f"breaking: {fault.name} …")
            results.append(_run_fault(stack, fault, options, before))
        if not stack.backing_services.postgres.has_own_disk:
            console.print("the disk of the ledger was not filled: that needs root, to mount a small one")
    _print(console, results)
    _keep(results, options.reports)
    return 0 if all(one.is_good for one in results) else 1


@contextmanager
def _start_stack(worlds: Path) -> Iterator[ChaosStack]:
    base = free_ports()
    harness_port = base + 11
    others = free_ports()
    with BackingServices((others, others + 1)) as backing_services, TcpProxy(harness_port) as proxy:
        settings = {
            "DAYSHIFT_LEDGER_URL": backing_services.postgres.url,
            "DAYSHIFT_REDIS_URL": backing_services.redis.url,
            "DAYSHIFT_CRM_HARNESS_URL": f"http://127.0.0.1:{proxy.port}",
            "DAYSHIFT_HARNESS_TOKEN": _HARNESS_TOKEN,
        }
        with start_embedded(worlds, settings, "--restart", base=base) as target:
            yield ChaosStack(target, backing_services, proxy, harness_port)


def _run_fault(stack: ChaosStack, fault: Fault, options: argparse.Namespace, before: OpenResources) -> FaultResult:
    healed_at = [0.0]

    def during(run: RunState) -> None:
        time.sleep(_BREAK_AT_SECONDS)
        fault.begin()
        time.sleep(fault.seconds)
        fault.end()
        healed_at[0] = run.now()

    recorder, summary = _drive(stack, options, options.seconds, during)
    await_health(stack.target, patience=_SETTLE_SECONDS)
    hit = sorted({failure.episode for failure in recorder.failures if failure.episode})
    outcomes = {episode: stack.outcome(episode) for episode in hit}
    unexplained = [f"{episode}: {said}" for episode, said in outcomes.items() if not _is_explained(*said)]
    after = _await_quiet(stack, before)
    failures = [sample.done for sample in recorder.samples if sample.is_error]
    last = max([*failures, *(failure.at for failure in recorder.failures)], default=_BREAK_AT_SECONDS)
    return FaultResult(
        fault=fault.name,
        wrong_answers=summary.stale_reads,
        failed_requests=len(failures),
        episodes_hit=len(hit),
        unscored_with_cause=sum(outcome == "unscored" and bool(because) for outcome, because in outcomes.values()),
        unexplained=unexplained,
        episodes_unharmed=summary.episodes_played,
        broken_seconds=last - _BREAK_AT_SECONDS,
        recovery_seconds=max(0.0, last - healed_at[0]),
        leaked=after.leftovers_since(before),
        causes=_count(because or str(outcome) for outcome, because in outcomes.values()),
        failures=_count(failure.what[:120] for failure in recorder.failures),
    )


def _drive(
    stack: ChaosStack, options: argparse.Namespace, seconds: float, during: Callable[[RunState], None] | None = None
) -> tuple[Recorder, Summary]:
    drive = LoadRun(stack.target, constant(options.qps, seconds), users=_USERS, episodes=_USERS, world=options.world)
    summary = drive.run(during=during)
    return drive.recorder, summary


def _await_quiet(stack: ChaosStack, before: OpenResources | None) -> OpenResources:
    """Wait until control's watchdog has closed what nobody owns; idle connections end after some seconds too."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    time.sleep(8)
    open_resources = stack.open_resources()
    while before is not None and open_resources.leftovers_since(before) and time.monotonic() < deadline:
        time.sleep(1)
        open_resources = stack.open_resources()
    return open_resources


def _is_explained(outcome: str | None, because: str | None) -> bool:
    """Whether it was judged before the fault, or is unscored with a cause."""
    return outcome in ("passed", "failed") or (outcome == "unscored" and bool(because))


def _gauge(metrics: str, name: str) -> int:
    lines = (line for line in metrics.splitlines() if not line.startswith("#") and name in line)
    return int(sum(float(line.rpartition(" ")[2]) for line in lines))


def _count(causes: Iterable[str]) -> dict[str, int]:
    results: dict[str, int] = {}
    for cause in causes:
        results[cause] = results.get(cause, 0) + 1
    return results


def _nothing() -> None:
    """Do nothing: the supervisor of the stack restarts the product."""


def _print(console: Console, results: list[FaultResult]) -> None:
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
    for result in results:
        table.add_row(
            result.fault,
            str(result.wrong_answers),
            str(result.failed_requests),
            str(result.episodes_hit),
            str(result.unscored_with_cause),
            str(result.episodes_unharmed),
            f"{result.broken_seconds:.1f}",
            f"{result.recovery_seconds:.1f}",
            ", ".join(result.leaked) or "nothing",
        )
    console.print(table)
    for result in results:
        for cause, count in result.causes.items():
            console.print(f"{result.fault}: {count} episodes hit: {cause}", highlight=False, markup=False)
        for what, count in result.failures.items():
            console.print(f"{result.fault}: {count} × {what}", highlight=False, markup=False)
        for line in result.unexplained:
            console.print(f"{result.fault}: UNEXPLAINED {line}", highlight=False, markup=False)


def _keep(results: list[FaultResult], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"machine": describe_machine(), "faults": [asdict(one) for one in results]}
    (folder / "chaos.json").write_text(json.dumps(report, indent=1, ensure_ascii=False))
