"""cost: does a request cost more when many episodes are open, or when the world is larger?"""

import argparse

import httpx
from rich.console import Console
from rich.table import Table

from loadtests.ceiling import measure
from loadtests.episode_scripts import Workload, play_endlessly
from loadtests.load_run import LoadRun
from loadtests.measurements import Summary
from loadtests.pacing import constant
from loadtests.peers import open_episode
from loadtests.probes import READS_AND_SEARCHES, Probe
from loadtests.process_stats import cpu_seconds
from loadtests.targets import Target, start_embedded

_QPS = 200.0
_WARM_CALLS = 20
_MANY, _MANY_USERS = 500, 50
_MOST_BY_EPISODES = 1.2
_MOST_BY_WORLD = 1.5
_MOST_MEMORY_MB = 2000.0


def compare_cost(options: argparse.Namespace) -> int:
    console = Console()
    table = Table(title="CPU of a request")
    for heading in ("", "CPU µs/request", "beside", "bar", "memory MB", "errors"):
        table.add_column(heading, justify="left" if not heading else "right")
    with start_embedded(options.worlds) as target:
        missed = [*_by_episodes(target, options, table), *_by_world(target, options, table, console)]
    console.print(table)
    for what in missed:
        console.print(f"MISSED: {what}", style="bold red")
    return 1 if missed else 0


def _by_episodes(target: Target, options: argparse.Namespace, table: Table) -> list[str]:
    single = _drive(target, options, episodes=1, users=1)
    many = _drive(target, options, episodes=_MANY, users=_MANY_USERS)
    base, full = single.resources.cpu_us_per_request or 0.0, many.resources.cpu_us_per_request or 0.0
    memory = many.resources.memory_mb or 0.0
    table.add_row("1 open episode", f"{base:,.0f}", "", "", f"{single.resources.memory_mb:,.0f}", str(_bad(single)))
    bar = f"≤ {_MOST_BY_EPISODES}"
    table.add_row(
        f"{_MANY} open episodes", f"{full:,.0f}", f"{full / base:.2f} ×", bar, f"{memory:,.0f}", str(_bad(many))
    )
    for summary, which in ((single, "1"), (many, str(_MANY))):
        split = ", ".join(f"{name} {spent:,.0f}" for name, spent in summary.resources.cpu_by_service.items())
        open_resources = ", ".join(f"{name} {mb:,.0f}" for name, mb in summary.resources.memory_by_service.items())
        table.add_row(f"  of these at {which}", split, "", "", open_resources, "")
    missed = []
    if full > _MOST_BY_EPISODES * base:
        missed.append(f"a request at {_MANY} open episodes costs {full / base:.2f} times one at 1")
    if memory > _MOST_MEMORY_MB:
        missed.append(f"{memory:,.0f} MB at {_MANY} open episodes")
    if _bad(single) + _bad(many):
        missed.append("requests failed")
    return missed


def _drive(target: Target, options: argparse.Namespace, *, episodes: int, users: int) -> Summary:
    workload = Workload(target.url, target.token, (None,), options.world, options.product)
    shape = constant(_QPS, options.seconds)
    drive = LoadRun(target, shape, users=users, episodes=episodes, world=options.world, product=options.product)
    return drive.run(make_script=lambda number: play_endlessly(workload, number), warm_calls=_WARM_CALLS)


def _bad(summary: Summary) -> int:
    return summary.errors + summary.stale_reads


def _by_world(target: Target, options: argparse.Namespace, table: Table, console: Console) -> list[str]:
    if not (options.worlds / "crm-large.sqlite").exists():
        console.print("the large world is not built, so nothing was compared with it: python -m fixtures build large")
        return []
    missed = []
    for probe in READS_AND_SEARCHES:
        costs = {world: _cpu_us(target, options, world, probe) for world in ("standard", "large")}
        ratio = costs["large"] / costs["standard"]
        table.add_row(f"{probe.name}, standard", f"{costs['standard']:,.0f}", "", "", "", "")
        table.add_row(f"{probe.name}, large", f"{costs['large']:,.0f}", f"{ratio:.2f} ×", f"≤ {_MOST_BY_WORLD}", "", "")
        if ratio > _MOST_BY_WORLD:
            missed.append(f"{probe.name} on the large world costs {ratio:.2f} times one on the standard world")
    return missed


def _cpu_us(target: Target, options: argparse.Namespace, world: str, probe: Probe) -> float:
    """CPU of the product alone, at its ceiling."""
    with httpx.Client(timeout=120, trust_env=False) as client:
        opened = open_episode(client, target, world, 1)
        shots = probe.shots(client, opened)
        base_url = opened.products[probe.product].base_url
        measure(base_url, shots, 1.0)
        pid = target.service(probe.product)
        before = cpu_seconds(pid)
        ceiling = measure(base_url, shots, options.seconds)
        seconds = cpu_seconds(pid) - before
        client.post(
            f"{target.url}/v1/episodes/{opened.episode_id}/close", headers={"authorization": f"Bearer {target.token}"}
        )
    if ceiling.refused:
        raise RuntimeError(f"{probe.name}: {ceiling.refused} requests were refused, so their cost says nothing")
    return float(seconds / (ceiling.per_second * options.seconds) * 1e6)
