"""The desk and billing in one process, and a small company to work in."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.kernel import catalog
from services.kernel.episodes import Worlds
from services.kernel.world import World
from services.validate.attempt import TrialContext
from services.validate.in_process_stack import InProcessStack
from tests.company import WORLD, small_company


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_company(tmp_path_factory)


@pytest.fixture(scope="session")
def context(company: Path) -> Iterator[TrialContext]:
    with InProcessStack(company, ("billing", "desk"), WORLD) as stack:
        yield TrialContext(stack, WORLD, "train")


@pytest.fixture(scope="session")
def seeds() -> range:
    return range(int(os.environ.get("DAYSHIFT_REDTEAM_SEEDS", "1")))


@pytest.fixture(scope="session")
def desk_worlds(company: Path) -> Iterator[Worlds]:
    worlds = Worlds(catalog.product("desk"), company / "worlds")
    yield worlds
    worlds.close()


@pytest.fixture
def desk(desk_worlds: Worlds) -> Iterator[World]:
    forks = desk_worlds.forks_of(WORLD)
    fork = forks.take()
    yield World(fork, 7)
    forks.give_back(fork)
