"""What the client itself costs: import time, overhead per step, and throughput beside Locust.

    python -m services up            # in another terminal
    python examples/bench_client.py

Each figure is measured beside its yardstick in the same run; absolute numbers depend on the machine.
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
SEATS = itertools.cycle(PLAN["seats"])

class Agent(FastHttpUser):
    host = PLAN["seats"][0]["base"]
    wait_time = constant(0)

    def on_start(self):
        self.headers = {"authorization": "Bearer " + next(SEATS)["credential"]}

    @task
    def read(self):
        self.client.get(PLAN["path"], headers=self.headers)
"""


def import_seconds(runs: int = 5) -> float:
    """Best of some fresh interpreters, less the interpreter itself."""

    def once(program: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603 - our own program
        return time.perf_counter() - started

    return min(once("import dayshift") for _ in range(runs)) - min(once("pass") for _ in range(runs))


def overhead(connection: Connection, world: str, rounds: int = 10, calls: int = 200) -> dict[str, dict[str, float]]:
    """Median seconds of a step and of the same request by bare httpx, in alternating rounds."""
    with (
        dayshift.Episode.open(None, world=world, connection=connection) as episode,
        httpx.Client(trust_env=False) as bare,
    ):
        access = episode.dialogue.opened.products["crm"]
        headers = {"authorization": f"Bearer {access.credential}"}
        contacts = f"{access.base_url}/crm/v3/objects/contacts"
        one = str(episode.step("crm.contacts.list", limit=1).json()["results"][0]["id"])
        body = {"properties": {"jobtitle": "Head of Operations"}}
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "get": (
                lambda: bare.get(f"{contacts}/{one}", headers=headers),
                lambda: episode.step("crm.contacts.get", contactId=one),
            ),
            "list of 25": (
                lambda: bare.get(contacts, params={"limit": 25}, headers=headers),
                lambda: episode.step("crm.contacts.list", limit=25),
            ),
            "update": (
                lambda: bare.patch(f"{contacts}/{one}", json=body, headers=headers),
                lambda: episode.step("crm.contacts.update", contactId=one, **body),
            ),
        }
        return {name: _compared(*pair, rounds, calls) for name, pair in pairs.items()}


def _compared(bare: Callable[[], object], ours: Callable[[], object], rounds: int, calls: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(rounds):
        for name, call in (("bare", bare), ("ours", ours)):
            for _ in range(calls):
                started = time.perf_counter()
                call()
                taken[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    return {**medians, "overhead": medians["ours"] / medians["bare"] - 1}


async def throughput(address: Address, world: str, episodes: int, seconds: float) -> float:
    """Steps per second of this many episodes that each read one contact over and over."""
    made = 0
    async with AsyncConnection(address, connections=64) as connection:
        opening = [dayshift.AsyncEpisode.open(None, world=world, connection=connection) for _ in range(episodes)]
        opened = await asyncio.gather(*opening)
        contact = str((await opened[0].step("crm.contacts.list", limit=1)).json()["results"][0]["id"])
        until = time.perf_counter() + seconds

        async def play(episode: dayshift.AsyncEpisode) -> None:
            nonlocal made
            while time.perf_counter() < until:
                await episode.step("crm.contacts.get", contactId=contact)
                made += 1

        started = time.perf_counter()
        await asyncio.gather(*(play(episode) for episode in opened))
        rate = made / (time.perf_counter() - started)
        await asyncio.gather(*(episode.close() for episode in opened))
    return rate


def locust_throughput(connection: Connection, world: str, users: int, seconds: float) -> float:
    episodes = [dayshift.Episode.open(None, world=world, connection=connection) for _ in range(users)]
    contact = episodes[0].step("crm.contacts.list", limit=1).json()["results"][0]["id"]
    seats = [one.dialogue.opened.products["crm"] for one in episodes]
    plan = {
        "seats": [{"base": seat.base_url, "credential": seat.credential} for seat in seats],
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
    """Requests per second over the second half of the run, when all users are there."""
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
    parser = argparse.ArgumentParser(description="What the client itself costs.")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=12.0)
    chosen = parser.parse_args()
    address = Address.find()
    print(f"import dayshift: {import_seconds():.3f} s")
    with Connection(address) as connection:
        for name, found in overhead(connection, chosen.world).items():
            bare, own = found["bare"] * 1e6, found["ours"] * 1e6
            print(f"{name}: bare httpx {bare:.0f} µs, step {own:.0f} µs, overhead {found['overhead']:+.1%}")
        ours = asyncio.run(throughput(address, chosen.world, chosen.episodes, chosen.seconds))
        locust = locust_throughput(connection, chosen.world, chosen.episodes, chosen.seconds)
    print(f"{chosen.episodes} episodes: {ours:.0f} steps/s; Locust with as many users: {locust:.0f} requests/s")
    print(f"ratio {ours / locust:.2f}")


if __name__ == "__main__":
    main()
