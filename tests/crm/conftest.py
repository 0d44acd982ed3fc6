"""What CRM tests stand on: an account in a world file, and a real server in front of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hubspot import HubSpot

from services.crm.product import product
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.contract.running import Account, Running, forks_of, opened
from tests.crm.account import build_account


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("crm")
    build_account(place / "worlds")
    return place


@pytest.fixture(scope="session")
def running(folder: Path) -> Iterator[Running[Account]]:
    with Running(product, folder, Account) as started:
        yield started


@pytest.fixture
def account(running: Running[Account]) -> Iterator[Account]:
    with opened(running) as account:
        yield account


@pytest.fixture
def sdk(account: Account) -> HubSpot:
    """The vendor's own client, unmodified, pointed at our port."""
    return HubSpot(access_token=account.key, host=account.running.url)


@pytest.fixture(scope="session")
def forks(folder: Path) -> Iterator[Forks]:
    with forks_of(product, folder) as pool:
        yield pool


@pytest.fixture
def world(forks: Forks) -> Iterator[World]:
    """A world without HTTP around it."""
    fork = forks.take()
    seen = World(fork, seed=7)
    seen.begin()
    yield seen
    forks.give_back(fork)
