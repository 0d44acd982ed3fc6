"""The trainer's client against the stack as its users run it."""

from collections.abc import Iterator

import pytest
from dayshift.connection import Address, Connection

from tests.client.bad_house import BadHouse
from tests.control.stack import TOKEN, Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(tmp_path_factory.mktemp("client")).start()
    yield started
    started.stop()


@pytest.fixture
def address(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Address:
    """The stack's address, also where the client looks for it by itself."""
    found = Address(f"http://127.0.0.1:{stack.base}", TOKEN)
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", found.url)
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", found.token)
    return found


@pytest.fixture
def connection(address: Address) -> Iterator[Connection]:
    with Connection(address) as connected:
        yield connected


@pytest.fixture
def bad_house() -> Iterator[BadHouse]:
    house = BadHouse()
    house.start()
    yield house
    house.stop()
