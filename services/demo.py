"""make demo: the embedded stack, three policies, a table and a page; nothing is left running."""

import argparse
import asyncio
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import dayshift
import numpy as np
from dayshift.argument_sampling import sample_arguments
from dayshift.connection import Address, AsyncConnection, Connection
from dayshift.recordings import load
from dayshift.report import summarise
from dayshift.report_html import render_html
from dayshift.report_text import render_standings, render_text
from dayshift.rollout import Policy, PolicyInput, do_nothing

from fixtures.tasks.family import Call, Oracle
from fixtures.tasks.registry import family
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.episodes import Worlds
from services.kernel.world import World
from services.temporary_stack import share_worlds, start_stack


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    settings = Settings.from_environment()
    home = settings.var / "demo"
    recordings = _prepare(settings, home)
    with start_stack(home) as address:
        world = options.world or _choose_world(address)
        with dayshift.Recorder(recordings) as recorder:
            asyncio.run(_play(address, settings, world, options, recorder))
    summary = summarise(load(recordings, quarantined=True))
    page = home / "report.html"
    page.write_text(render_html(summary, "Dayshift demo"), encoding="utf-8")
    print(f"\n{render_text(summary) if options.families else render_standings(summary)}")
    print(f"report, with every episode step by step: {page.resolve()}")
    print(f"recordings: {recordings.resolve()}; the stack has stopped")
    return 0 if summary.episodes and summary.trustworthy else 1


async def _play(
    address: Address, settings: Settings, world: str, options: argparse.Namespace, recorder: dayshift.Recorder
) -> None:
    async with AsyncConnection(address) as connection:
        offered = (await connection.run(address.control.families())).families
        families = options.task or [one.id for one in offered if "train" in one.split]
        tasks = list(dayshift.tasks(*families, seeds=range(options.episodes), world=world))
        print(f"{len(families)} task families, {options.episodes} episodes of each per policy, {world}, {address.url}")
        with Oracles(settings, world) as oracles:
            policies: dict[str, Policy] = {"oracle": oracles, "random": choose_at_random, "do nothing": do_nothing}
            for name, policy in policies.items():
                print(f"  {name}: {len(tasks)} episodes", flush=True)
                running = dayshift.rollouts(
                    policy, tasks, concurrency=16, recorder=recorder, connection=connection, progress=False
                )
                async for _ in running:
                    pass


def choose_at_random(situation: PolicyInput) -> dayshift.Call:
    """Draw calls that the schemas allow, and now and then `submit`."""
    # Seeded by the task as well: otherwise all families of a product would get the same calls.
    chance = np.random.default_rng(
        [zlib.crc32((situation.task or "").encode()), situation.seed, len(situation.history)]
    )
    name = situation.operations.names[int(chance.integers(len(situation.operations)))]
    return dayshift.Call(name, sample_arguments(situation.operations[name].schema, chance))


class Script:
    """Follows one oracle, a call at a time; calls without a set order are made in the order in which it names them."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._requested: Call | tuple[Call, ...] = ()
        self._pending: list[Call] = []
        self._answers: list[Any] = []

    def begin(self) -> dayshift.Call:
        return self._advance(None)

    def resume(self, answer: Any) -> dayshift.Call:
        self._answers.append(answer)
        if self._pending:
            return _as_client_call(self._pending.pop(0))
        return self._advance(answer if isinstance(self._requested, Call) else self._answers)

    def _advance(self, answer: Any) -> dayshift.Call:
        try:
            self._requested = self._oracle.send(answer)
        except StopIteration as done:
            return dayshift.call("submit", **({} if done.value is None else {"answer": done.value}))
        self._pending = [self._requested] if isinstance(self._requested, Call) else list(self._requested)
        self._answers = []
        return _as_client_call(self._pending.pop(0))


def _as_client_call(call: Call) -> dayshift.Call:
    return dayshift.Call(call.operation, call.arguments)


class Oracles:
    """The scripted solutions of the families, computed on local forks of the same worlds; no agent can see them."""

    name = "oracle"
    version = "scripted"

    def __init__(self, settings: Settings, world: str) -> None:
        self._world = world
        self._salt = settings.salt
        self._worlds = {
            name: Worlds(product, settings.worlds_folder, (world,)) for name, product in catalog.products().items()
        }
        self._scripts: dict[tuple[str, int], Script] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worlds in self._worlds.values():
            worlds.close()

    def __call__(self, situation: PolicyInput) -> dayshift.Call:
        assert situation.task is not None, "free play has no solution"
        key = (situation.task, situation.seed)
        if situation.last is None:
            self._scripts[key] = Script(self._solution(*key))
            return self._scripts[key].begin()
        return self._scripts[key].resume(situation.last.json())

    def _solution(self, task: str, seed: int) -> Oracle:
        task_family = family(task)
        with self._forks(task_family.products, seed) as worlds:
            _, trouble = task_family.instance(worlds, task_family.draw(seed, "train", self._salt))
        return task_family.oracle(trouble)

    @contextmanager
    def _forks(self, products: tuple[str, ...], seed: int) -> Iterator[Mapping[str, World]]:
        worlds = {name: self._worlds[name].forks_of(self._world).take() for name in products}
        try:
            yield {name: World(fork, self._salt.mix_seed(seed)) for name, fork in worlds.items()}
        finally:
            for name, fork in worlds.items():
                self._worlds[name].forks_of(self._world).give_back(fork)


def _prepare(settings: Settings, home: Path) -> Path:
    """Make an empty folder for the recordings, and build the worlds where they are missing."""
    recordings = home / "recordings"
    shutil.rmtree(recordings, ignore_errors=True)
    recordings.mkdir(parents=True)
    _build_worlds(settings)
    share_worlds(settings, home)
    return recordings


def _build_worlds(settings: Settings) -> None:
    if all(any(settings.worlds_folder.glob(f"{name}-*.sqlite")) for name in catalog.names()):
        return
    building = [
        sys.executable,
        "-m",
        "fixtures",
        "--var",
        str(settings.var),
        "build",
        "--no-table",
        "small",
        "standard",
    ]
    subprocess.run(building, check=True)  # noqa: S603 - our own program


def _choose_world(address: Address) -> str:
    with Connection(address) as connection:
        built = connection.run(address.control.health()).worlds
    everywhere = set.intersection(*(set(worlds) for worlds in built.values()))
    return "standard" if "standard" in everywhere else min(everywhere)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.demo", description="Three policies on the real stack.")
    parser.add_argument("--episodes", type=int, default=2, help="per policy and task family")
    parser.add_argument("--world", help="which world (else standard)")
    parser.add_argument("--families", action="store_true", help="print the results of each family, too")
    parser.add_argument("--task", action="append", help="a task family; several may be given (else all of training)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
