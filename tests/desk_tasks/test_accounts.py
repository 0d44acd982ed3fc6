"""Tasks are planted on accounts without troubles of their own: a second right answer would be punished."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.tasks.desk.shared.cases import suits
from fixtures.tasks.desk.shared.records import accounts
from services.billing.operations import records
from services.billing.tables import charges
from services.kernel import catalog
from services.kernel.episodes import Worlds
from services.kernel.world import World
from tests.company import WORLD


@pytest.fixture
def billing(company: Path) -> Iterator[World]:
    worlds = Worlds(catalog.product("billing"), company / "worlds")
    forks = worlds.forks_of(WORLD)
    fork = forks.take()
    yield World(fork, 7)
    forks.give_back(fork)
    worlds.close()


def test_an_account_that_was_charged_twice_unnoticed_gets_no_second_such_task(desk: World, billing: World) -> None:
    paying = next(account for account in accounts(desk, billing) if account.charges and not account.charged_twice)
    charge_id, _, created, _ = paying.charges[0]
    again = {**records.must_exist(billing, charges, charge_id), "id": "ch_again", "created": created + 47}

    records.add(billing, charges, again)

    (found,) = (account for account in accounts(desk, billing) if account.customer == paying.customer)
    assert found.charged_twice
    assert not suits(found, charged_once=True)
