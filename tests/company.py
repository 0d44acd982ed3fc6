"""The small company, built once per test run wherever it is asked for."""

import fcntl
import os
from pathlib import Path

import pytest

from fixtures.build import Outcome, build

WORLD = "small"


def small_company(factory: pytest.TempPathFactory) -> Path:
    """A `var` folder with its worlds; whoever comes second finds them there."""
    return build_company(factory, WORLD)


def build_company(factory: pytest.TempPathFactory, world: str) -> Path:
    """A `var` folder with the worlds of any size: its own for each worker of a run, while all share the worlds."""
    var = factory.getbasetemp() / f"{world}-company"
    var.mkdir(exist_ok=True)
    built_worlds(factory, world)
    worlds = var / "worlds"
    if not worlds.exists():
        worlds.symlink_to(shared_worlds(factory, world))
    return var


def built_worlds(factory: pytest.TempPathFactory, world: str) -> Outcome:
    """Builds the worlds of one size unless a worker of this run has done so: the standard ones take many seconds."""
    folder = shared_worlds(factory, world)
    folder.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build(world, folder)


def shared_worlds(factory: pytest.TempPathFactory, world: str) -> Path:
    """Where they are. Nobody writes there; whoever wants to takes a copy."""
    base = factory.getbasetemp()
    whole_run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return whole_run / f"{world}-worlds"
