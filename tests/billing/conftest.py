"""What billing tests stand on: a company in a world file, and a real server in front of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import stripe

from services.billing.product import product
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.billing.company import build_company
from tests.contract.running import Account, Running, forks_of, opened

stripe.enable_telemetry = False


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("billing")
    build_company(place / "worlds")
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
def v1(account: Account):
    """The vendor's own client, unmodified, pointed at our port."""
    base = account.running.url
    addresses = {"api": base, "files": base, "connect": base, "meter_events": base}
    return stripe.StripeClient(account.key, base_addresses=addresses).v1


@pytest.fixture(scope="session")
def forks(folder: Path) -> Iterator[Forks]:
    with forks_of(product, folder) as pool:
        yield pool


@pytest.fixture
def world(forks: Forks) -> Iterator[World]:
    """A world without HTTP around it."""
    fork = forks.take()
    yield World(fork, seed=7)
    forks.give_back(fork)
