"""Measures the client: its import time, its overhead per step, and its throughput beside Locust.

    make up                          # in the clone, in another terminal
    python examples/bench_client.py

Each figure is measured beside its reference in the same run; absolute numbers depend on the machine.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dayshift
import httpx
from dayshift.connection import Address, AsyncConnection, Connection

LOCUST_FILE = """
import itertools, json, os
from locust import FastHttpUser, constant, task

PLAN = json.load(open(os.environ["BENCH_PLAN"]))
ACCESS = itertools.cycle(PLAN["access"])

class Agent(FastHttpUser):
    host = PLAN["access"][0]["base"]
    wait_time = constant(0)

    def on_start(self):
        self.headers = {"authorization": "Bearer " + next(ACCESS)["credential"]}

    @task
    def read(self):
        self.client.get(PLAN["path"], headers=self.headers)
"""


def measure_import(runs: int = 5) -> float:
    """Returns the best time of some new interpreters, less the start of the interpreter itself."""

    def run(program: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603 - our own program
        return time.perf_counter() - started

    return min(run("import dayshift") for _ in range(runs)) - min(run("pass") for _ in range(runs))


def measure_overhead(
    connection: Connection, world: str, rounds: int = 10, calls: int = 200
) -> dict[str, dict[str, float]]:
    """Returns the median seconds of a step and of the same request with plain httpx, in alternating rounds."""
    with (
        dayshift.Episode.open(None, world=world, connection=connection) as episode,
        httpx.Client(trust_env=False) as plain,
    ):
        access = episode.products["crm"]
        headers = {"authorization": f"Bearer {access.credential}"}
        contacts = f"{access.base_url}/crm/v3/objects/contacts"
        contact = str(episode.step("crm.contacts.list", limit=1).json()["results"][0]["id"])
        body = {"properties": {"jobtitle": "Head of Operations"}}
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "get": (
                lambda: plain.get(f"{contacts}/{contact}", headers=headers),
                lambda: episode.step("crm.contacts.get", contactId=contact),
            ),
            "list of 25": (
                lambda: plain.get(contacts, params={"limit": 25}, headers=headers),
                lambda: episode.step("crm.contacts.list", limit=25),
            ),
            "update": (
                lambda: plain.patch(f"{contacts}/{contact}", json=body, headers=headers),
                lambda: episode.step("crm.contacts.update", contactId=contact, **body),
            ),
        }
        return {name: _compare(*pair, rounds, calls) for name, pair in pairs.items()}


def _compare(plain: Callable[[], object], step: Callable[[], object], rounds: int, calls: int) -> dict[str, float]:
    times: dict[str, list[float]] = {"plain": [], "step": []}
    for _ in range(rounds):
        for name, call in (("plain", plain), ("step", step)):
            for _ in range(calls):
                started = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {**medians, "overhead": medians["step"] / medians["plain"] - 1}


async def measure_throughput(address: Address, world: str, episodes: int, seconds: float) -> float:
    """Returns the steps per second of this many episodes, each of which reads one contact repeatedly."""
    steps = 0
    async with AsyncConnection(address, connections=64) as connection:
        opening = [dayshift.AsyncEpisode.open(None, world=world, connection=connection) for _ in range(episodes)]
        open_episodes = await asyncio.gather(*opening)
        contact = str((await open_episodes[0].step("crm.contacts.list", limit=1)).json()["results"][0]["id"])
        until = time.perf_counter() + seconds

        async def play(episode: dayshift.AsyncEpisode) -> None:
            nonlocal steps
            while time.perf_counter() < until:
                await episode.step("crm.contacts.get", contactId=contact)
                steps += 1

        started = time.perf_counter()
        await asyncio.gather(*(play(episode) for episode in open_episodes))
        rate = steps / (time.perf_counter() - started)
        await asyncio.gather(*(episode.close() for episode in open_episodes))
    return rate


def measure_locust(connection: Connection, world: str, users: int, seconds: float) -> float:
    episodes = [dayshift.Episode.open(None, world=world, connection=connection) for _ in range(users)]
    contact = episodes[0].step("crm.contacts.list", limit=1).json()["results"][0]["id"]
    accesses = [episode.products["crm"] for episode in episodes]
    plan = {
        "access": [{"base": access.base_url, "credential": access.credential} for access in accesses],
        "path": f"/crm/v3/objects/contacts/{contact}",
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plan.json").write_text(json.dumps(plan))
        (Path(folder) / "locustfile.py").write_text(LOCUST_FILE)
        rate = _run_locust(Path(folder), users, seconds)
    for episode in episodes:
        episode.close()
    return rate


def _run_locust(folder: Path, users: int, seconds: float) -> float:
    """Returns the requests per second in the second half of the run, when all users have started."""
    options = [
        "--headless",
        "-u",
        str(users),
        "-r",
        str(users),
        "-t",
        f"{seconds:g}s",
        "--csv",
        "out",
        "--csv-full-history",
    ]
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "locust", "-f", "locustfile.py", "--only-summary", "--loglevel", "ERROR", *options],
        cwd=folder,
        env={**os.environ, "BENCH_PLAN": str(folder / "plan.json")},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    lines = (folder / "out_stats_history.csv").read_text().splitlines()
    head = lines[0].split(",")
    rows = [line.split(",") for line in lines[1:] if ",Aggregated," in line]
    rates = [float(row[head.index("Requests/s")]) for row in rows]
    return statistics.median(rates[len(rates) // 2 :])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the cost of the client.")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=12.0)
    args = parser.parse_args()
    address = Address.find()
    print(f"import dayshift: {measure_import():.3f} s")
    with Connection(address) as connection:
        for name, times in measure_overhead(connection, args.world).items():
            plain, step = times["plain"] * 1e6, times["step"] * 1e6
            print(f"{name}: plain httpx {plain:.0f} µs, step {step:.0f} µs, overhead {times['overhead']:+.1%}")
        client = asyncio.run(measure_throughput(address, args.world, args.episodes, args.seconds))
        locust = measure_locust(connection, args.world, args.episodes, args.seconds)
    print(f"{args.episodes} episodes: {client:.0f} steps/s; Locust with as many users: {locust:.0f} requests/s")
    print(f"ratio {client / locust:.2f}")


if __name__ == "__main__":
    main()
