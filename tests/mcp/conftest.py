"""A stack that speaks MCP: two products, the endpoint for both of them, and control."""

from collections.abc import Iterator

import pytest
from dayshift.connection import Address, Connection

from tests.control.stack import TOKEN, Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(tmp_path_factory.mktemp("mcp"), {"DAYSHIFT_WITHOUT": "desk,ide"}).start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def address(stack: Stack) -> Address:
    return Address(f"http://127.0.0.1:{stack.base}", TOKEN)


@pytest.fixture
def connection(address: Address) -> Iterator[Connection]:
    with Connection(address) as connected:
        yield connected
