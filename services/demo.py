"""make demo: the embedded stack, three policies, a table and a page; nothing is left running."""

import argparse
import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import dayshift
import numpy as np
from dayshift.connection import Address, AsyncConnection, Connection
from dayshift.recordings import load
from dayshift.report import summarise
from dayshift.report_html import as_html
from dayshift.report_text import as_text
from dayshift.rollout import Policy, Situation, do_nothing
from dayshift.sampling import sample_arguments

from fixtures.tasks.family import Call, Oracle
from fixtures.tasks.registry import family
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.episodes import Worlds
from services.kernel.world import World

_START_SECONDS = 300.0
_PORTS_NEEDED = 20


def main(arguments: list[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    settings = Settings.from_environment()
    home = settings.var / "demo"
    recordings = _prepared(settings, home)
    with _stack(home) as address:
        world = chosen.world or _preferred_world(address)
        print(f"\n{address.url}, world {world}, {chosen.episodes} episodes per policy and family")
        with dayshift.Recorder(recordings) as recorder:
            asyncio.run(_play(address, settings, world, chosen.episodes, recorder))
    summary = summarise(load(recordings, quarantined=True))
    page = home / "report.html"
    page.write_text(as_html(summary, "Dayshift demo"), encoding="utf-8")
    print(as_text(summary))
    print(f"report:     {page.resolve()}\nrecordings: {recordings.resolve()}")
    print("the stack has stopped; nothing is left running")
    return 0 if summary.episodes and summary.trustworthy else 1


async def _play(address: Address, settings: Settings, world: str, episodes: int, recorder: dayshift.Recorder) -> None:
    async with AsyncConnection(address) as connection:
        offered = (await connection.run(address.control.families())).families
        families = [one.id for one in offered if "train" in one.split]
        tasks = list(dayshift.tasks(*families, seeds=range(episodes), world=world))
        with Oracles(settings, world) as oracles:
            policies: dict[str, Policy] = {"oracle": oracles, "random": choose_at_random, "do nothing": do_nothing}
            for name, policy in policies.items():
                print(f"{name}: {len(tasks)} episodes", flush=True)
                running = dayshift.rollouts(policy, tasks, concurrency=16, recorder=recorder, connection=connection)
                async for _ in running:
                    pass


def choose_at_random(situation: Situation) -> dayshift.Call:
    """Calls that the schemas allow, and now and then the end."""
    # By the task as well: else every family of a product would meet the same calls, and pay the same for them.
    chance = np.random.default_rng(
        [zlib.crc32((situation.task or "").encode()), situation.seed, len(situation.history)]
    )
    name = situation.operations.names[int(chance.integers(len(situation.operations)))]
    return dayshift.Call(name, sample_arguments(situation.operations[name].schema, chance))


class Script:
    """One oracle, a call at a time; calls that it leaves unordered are made in the order it names them."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._asked: Call | tuple[Call, ...] = ()
        self._waiting: list[Call] = []
        self._answers: list[Any] = []

    def begin(self) -> dayshift.Call:
        return self._turn(None)

    def go_on(self, answer: Any) -> dayshift.Call:
        self._answers.append(answer)
        if self._waiting:
            return _sent(self._waiting.pop(0))
        return self._turn(answer if isinstance(self._asked, Call) else self._answers)

    def _turn(self, told: Any) -> dayshift.Call:
        try:
            self._asked = self._oracle.send(told)
        except StopIteration as done:
            return dayshift.call("submit", **({} if done.value is None else {"answer": done.value}))
        self._waiting = [self._asked] if isinstance(self._asked, Call) else list(self._asked)
        self._answers = []
        return _sent(self._waiting.pop(0))


def _sent(call: Call) -> dayshift.Call:
    return dayshift.Call(call.operation, call.arguments)


class Oracles:
    """The families' scripted solutions, worked out on local forks of the same worlds; no agent can ask for them."""

    name = "oracle"
    version = "scripted"

    def __init__(self, settings: Settings, world: str) -> None:
        self._world = world
        self._worlds = {
            name: Worlds(product, settings.worlds_folder, (world,)) for name, product in catalog.products().items()
        }
        self._solving: dict[tuple[str, int], Script] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worlds in self._worlds.values():
            worlds.close()

    def __call__(self, situation: Situation) -> dayshift.Call:
        assert situation.task is not None, "free play has no solution"
        key = (situation.task, situation.seed)
        if situation.last is None:
            self._solving[key] = Script(self._solution(*key))
            return self._solving[key].begin()
        return self._solving[key].go_on(situation.last.json())

    def _solution(self, task: str, seed: int) -> Oracle:
        found = family(task)
        with self._forks(found.products, seed) as worlds:
            _, trouble = found.instance(worlds, seed, "train")
        return found.oracle(trouble)

    @contextmanager
    def _forks(self, products: tuple[str, ...], seed: int) -> Iterator[Mapping[str, World]]:
        taken = {name: self._worlds[name].named(self._world).take() for name in products}
        try:
            yield {name: World(fork, seed) for name, fork in taken.items()}
        finally:
            for name, fork in taken.items():
                self._worlds[name].named(self._world).give_back(fork)


@contextmanager
def _stack(home: Path) -> Iterator[Address]:
    """`python -m services up` on free ports, with a ledger of its own: another stack may be running beside it."""
    base, log = _free_base(), home / "stack.log"
    settings = Settings.from_environment({**os.environ, "DAYSHIFT_VAR": str(home)})
    address = Address(f"http://127.0.0.1:{base}", settings.control_token)
    with log.open("w") as out:
        running = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "services", "up", "--port-base", str(base)],
            env={**os.environ, "DAYSHIFT_VAR": str(home), "DAYSHIFT_LOG": "warning"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            _await_health(running, address, log)
            yield address
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(60)


def _await_health(running: "subprocess.Popen[bytes]", address: Address, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    with Connection(address) as connection:
        while time.monotonic() < deadline and running.poll() is None:
            try:
                if connection.run(address.control.health()).status == "ok":
                    return
            except dayshift.HarnessFault:
                pass
            time.sleep(0.1)
    raise SystemExit(f"the stack did not start; the end of {log}:\n{log.read_text()[-2000:]}")


def _prepared(settings: Settings, home: Path) -> Path:
    """A home of its own, beside the worlds that everybody shares."""
    recordings = home / "recordings"
    shutil.rmtree(recordings, ignore_errors=True)
    recordings.mkdir(parents=True)
    _built(settings)
    shared = home / "worlds"
    if not shared.is_symlink():
        shared.symlink_to(settings.worlds_folder.resolve(), target_is_directory=True)
    return recordings


def _built(settings: Settings) -> None:
    if all(any(settings.worlds_folder.glob(f"{name}-*.sqlite")) for name in catalog.names()):
        return
    building = [sys.executable, "-m", "fixtures", "--var", str(settings.var), "build", "small", "standard"]
    subprocess.run(building, check=True)  # noqa: S603 - our own program


def _preferred_world(address: Address) -> str:
    with Connection(address) as connection:
        built = connection.run(address.control.health()).worlds
    everywhere = set.intersection(*(set(worlds) for worlds in built.values()))
    return "standard" if "standard" in everywhere else min(everywhere)


def _free_base() -> int:
    """A port with room above it for every service and its door."""
    for base in range(20_000 + os.getpid() % 20_000, 60_000, _PORTS_NEEDED):
        if all(_is_free(base + offset) for offset in range(_PORTS_NEEDED)):
            return base
    raise SystemExit("no free ports were found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.demo", description="Three policies on the real stack.")
    parser.add_argument("--episodes", type=int, default=2, help="per policy and task family")
    parser.add_argument("--world", help="which world (else standard)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
