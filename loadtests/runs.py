"""Runs: a load with a report, the knee, and what a request costs."""

import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from loadtests.drive import Drive
from loadtests.measurements import Summary
from loadtests.pacing import SHAPES, constant
from loadtests.report import publish
from loadtests.targets import Target, aimed

_STAIRS = (200, 400, 600, 800, 1000, 1250, 1500, 1750, 2000, 2500, 3000, 3500, 4000)
_KNEE_P99_MS = 100.0
_KEPT_UP = 0.98


def run(asked: argparse.Namespace) -> int:
    console = Console()
    shape = SHAPES[asked.shape](asked.qps, asked.seconds)
    with aimed(asked) as target:
        episodes = asked.episodes or asked.users
        drive = Drive(target, shape, users=asked.users, episodes=episodes, world=asked.world, product=asked.product)
        summary = drive.run()
    publish(summary, asked.reports, console)
    missed = list(_missed(summary, asked))
    for what in missed:
        console.print(f"MISSED: {what}", style="bold red")
    return 1 if missed else 0


def _missed(summary: Summary, asked: argparse.Namespace) -> Iterator[str]:
    if summary.errors:
        yield f"{summary.errors} errors"
    if summary.stale_reads:
        yield f"{summary.stale_reads} stale or wrong reads"
    if summary.episodes_left and not asked.url:
        yield f"{summary.episodes_left} episodes were left open"
    if summary.responses.count < summary.offered:
        yield f"only {summary.responses.count} of {summary.offered} offered requests were answered"
    for what, spread, bar in (
        ("p99", summary.responses, asked.p99),
        ("p99 of what answers at once", summary.prompt, asked.prompt_p99),
    ):
        if bar is not None and not spread.p99 <= bar:
            yield f"{what} is {spread.p99:.1f} ms, above {bar:g}"
    growth = summary.strain.memory_growth
    if asked.growth is not None and (growth is None or growth > asked.growth):
        yield f"memory growth of {growth}, above {asked.growth}"


def find_knee(asked: argparse.Namespace) -> int:
    """Up the stairs until the stack no longer keeps up, then halve the last step twice."""
    console = Console()
    work = asked.product or "the mixed shift"
    table = Table(title=f"the knee of {work}, by Locust (FastHttpUser, one process, on the same machine)")
    for heading in (
        "offered QPS",
        "answered QPS",
        "p50 ms",
        "p99 ms",
        "errors",
        "CPU µs/request",
        "generator CPU %",
        "",
    ):
        table.add_column(heading, justify="right")
    with aimed(asked) as target:
        knee = _climb(target, asked, table)
    console.print(table)
    console.print(f"knee: {knee:,.0f} QPS (p99 ≤ {_KNEE_P99_MS:g} ms, no error, {_KEPT_UP:.0%} of what was offered)")
    return 0


def _climb(target: Target, asked: argparse.Namespace, table: Table) -> float:
    good = 0.0
    bad: float | None = None
    for qps in _STAIRS:
        if not _holds(target, asked, qps, table):
            bad = qps
            break
        good = qps
    for _ in range(2):
        if bad is None or not good:
            break
        middle = (good + bad) / 2
        if _holds(target, asked, middle, table):
            good = middle
        else:
            bad = middle
    return good


def _holds(target: Target, asked: argparse.Namespace, qps: float, table: Table) -> bool:
    shape = constant(qps, asked.seconds)
    drive = Drive(target, shape, users=asked.users, episodes=asked.users, world=asked.world, product=asked.product)
    summary = drive.run()
    holds = (
        summary.errors == 0
        and summary.stale_reads == 0
        and summary.responses.p99 <= _KNEE_P99_MS
        and summary.qps >= _KEPT_UP * qps
    )
    strain = summary.strain
    table.add_row(
        f"{qps:,.0f}",
        f"{summary.qps:,.0f}",
        f"{summary.responses.p50:.1f}",
        f"{summary.responses.p99:.1f}",
        str(summary.errors + summary.stale_reads),
        "" if strain.cpu_us_per_request is None else f"{strain.cpu_us_per_request:,.0f}",
        f"{strain.generator_cpu_share:.0%}",
        "holds" if holds else "waits",
    )
    return holds
