"""Runs: a load with a report, the knee, and what a request costs."""

import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from loadtests.load_run import LoadRun
from loadtests.measurements import Summary
from loadtests.pacing import SHAPES, constant
from loadtests.report import publish
from loadtests.targets import Target, open_target

_STAIRS = (200, 400, 600, 800, 1000, 1250, 1500, 1750, 2000, 2500, 3000, 3500, 4000)
_KNEE_P99_MS = 100.0
_KEPT_UP = 0.98


def run(options: argparse.Namespace) -> int:
    console = Console()
    shape = SHAPES[options.shape](options.qps, options.seconds)
    with open_target(options) as target:
        episodes = options.episodes or options.users
        drive = LoadRun(
            target, shape, users=options.users, episodes=episodes, world=options.world, product=options.product
        )
        summary = drive.run()
    publish(summary, options.reports, console)
    missed = list(_list_missed(summary, options))
    for what in missed:
        console.print(f"MISSED: {what}", style="bold red")
    return 1 if missed else 0


def _list_missed(summary: Summary, options: argparse.Namespace) -> Iterator[str]:
    if summary.errors:
        yield f"{summary.errors} errors"
    if summary.stale_reads:
        yield f"{summary.stale_reads} stale or wrong reads"
    if summary.episodes_left and not options.url:
        yield f"{summary.episodes_left} episodes were left open"
    if summary.responses.count < summary.offered:
        yield f"only {summary.responses.count} of {summary.offered} offered requests were answered"
    for what, spread, bar in (
        ("p99", summary.responses, options.p99),
        ("p99 of what answers at once", summary.prompt, options.prompt_p99),
    ):
        if bar is not None and not spread.p99 <= bar:
            yield f"{what} is {spread.p99:.1f} ms, above {bar:g}"
    growth = summary.resources.memory_growth
    if options.growth is not None and (growth is None or growth > options.growth):
        yield f"memory growth of {growth}, above {options.growth}"


def find_limit(options: argparse.Namespace) -> int:
    """Up the stairs until the stack no longer keeps up, then halve the last step twice."""
    console = Console()
    work = options.product or "all products"
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
    with open_target(options) as target:
        knee = _search_limit(target, options, table)
    console.print(table)
    console.print(f"knee: {knee:,.0f} QPS (p99 ≤ {_KNEE_P99_MS:g} ms, no error, {_KEPT_UP:.0%} of what was offered)")
    return 0


def _search_limit(target: Target, options: argparse.Namespace, table: Table) -> float:
    good = 0.0
    bad: float | None = None
    for qps in _STAIRS:
        if not _keeps_up(target, options, qps, table):
            bad = qps
            break
        good = qps
    for _ in range(2):
        if bad is None or not good:
            break
        middle = (good + bad) / 2
        if _keeps_up(target, options, middle, table):
            good = middle
        else:
            bad = middle
    return good


def _keeps_up(target: Target, options: argparse.Namespace, qps: float, table: Table) -> bool:
    shape = constant(qps, options.seconds)
    drive = LoadRun(
        target, shape, users=options.users, episodes=options.users, world=options.world, product=options.product
    )
    summary = drive.run()
    holds = (
        summary.errors == 0
        and summary.stale_reads == 0
        and summary.responses.p99 <= _KNEE_P99_MS
        and summary.qps >= _KEPT_UP * qps
    )
    resources = summary.resources
    table.add_row(
        f"{qps:,.0f}",
        f"{summary.qps:,.0f}",
        f"{summary.responses.p50:.1f}",
        f"{summary.responses.p99:.1f}",
        str(summary.errors + summary.stale_reads),
        "" if resources.cpu_us_per_request is None else f"{resources.cpu_us_per_request:,.0f}",
        f"{resources.generator_cpu_share:.0%}",
        "holds" if holds else "waits",
    )
    return holds
