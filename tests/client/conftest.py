"""The trainer's client against the stack as its users run it."""

from collections.abc import Iterator

import httpx
import pytest
from dayshift.connection import Address, Connection

from services.kernel import catalog
from tests.client.bad_house import BadHouse
from tests.client.worlds import build_small_worlds
from tests.control.stack import TOKEN, Stack, eventually


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    started = Stack(build_small_worlds(tmp_path_factory.mktemp("client"))).start()
    # A product writes its OpenAPI document when first asked, and answers nobody meanwhile: let it get that done.
    for product in catalog.products().values():
        httpx.get(f"http://127.0.0.1:{started.base + product.port - 8700}/openapi.json", timeout=60)
    eventually(lambda: started.control.get("/health").status_code == 200, seconds=60)
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
