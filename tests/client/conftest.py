"""Fixtures of the client's tests: a real stack, and a faulty server."""

from collections.abc import Iterator

import pytest
from dayshift.connection import Address, Connection

from tests.client.faulty_server import FaultyServer
from tests.control.stack import TOKEN, Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(tmp_path_factory.mktemp("client")).start()
    yield started
    started.stop()


@pytest.fixture
def address(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Address:
    """The stack's address, also where the client looks for it by itself."""
    address_of_stack = Address(f"http://127.0.0.1:{stack.base}", TOKEN)
    monkeypatch.setenv("DAYSHIFT_CONTROL_URL", address_of_stack.url)
    monkeypatch.setenv("DAYSHIFT_CONTROL_TOKEN", address_of_stack.token)
    return address_of_stack


@pytest.fixture
def connection(address: Address) -> Iterator[Connection]:
    with Connection(address) as connected:
        yield connected


@pytest.fixture
def faulty_server() -> Iterator[FaultyServer]:
    server = FaultyServer()
    server.start()
    yield server
    server.stop()
