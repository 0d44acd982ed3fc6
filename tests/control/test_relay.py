"""Agents outside the network reach each replica at a port of control's, and at no other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.control.relay import Relay
from services.kernel import catalog
from services.kernel.config import BadSetting, Settings
from services.kernel.registry import Replica
from tests.control.stack import free_base

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Control runs on uvloop, whose transports are another kind."""
    return "asyncio", {"use_uvloop": request.param}


@asynccontextmanager
async def replica(name: str) -> AsyncIterator[Replica]:
    """Somebody who says who they are to whoever asks."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readline()
        writer.write(asked.strip() + b" from " + name.encode() + b"\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield Replica("crm", name, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "")


async def ask(url: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(b"hello\n")
    answer = await reader.read()
    writer.close()
    return answer


def relay_at(base: int) -> Relay:
    settings = Settings(addresses={("crm", "PORT"): str(base)}, relay=(base + 1, base + 2))
    return Relay({"crm": catalog.product("crm")}, settings)


async def test_the_first_replica_stands_at_the_products_own_port_and_the_next_beside_it() -> None:
    base = free_base()
    relay = relay_at(base)

    async with replica("one") as first, replica("two") as second:
        one, two = await relay.front(first), await relay.front(second)

        assert (one, two) == (f"http://127.0.0.1:{base}", f"http://127.0.0.1:{base + 1}")
        assert (await ask(one), await ask(two)) == (b"hello from one\n", b"hello from two\n")
    relay.close()


async def test_a_replica_that_is_gone_leaves_its_port_to_the_next() -> None:
    base = free_base()
    relay = relay_at(base)
    async with replica("gone") as gone, replica("next") as following:
        await relay.front(gone)

        relay.release(gone)

        with pytest.raises(ConnectionRefusedError):
            await ask(f"http://127.0.0.1:{base}")
        assert await ask(await relay.front(following)) == b"hello from next\n"
    relay.close()


async def test_a_caller_of_a_replica_that_does_not_listen_is_hung_up_on() -> None:
    relay = relay_at(free_base())
    deaf = Replica("crm", "deaf", f"http://127.0.0.1:{free_base() + 5}", "")

    with pytest.raises((ConnectionResetError, AssertionError)):
        assert await ask(await relay.front(deaf)) != b""
    relay.close()


async def test_without_ports_for_it_there_is_no_relay() -> None:
    one = Replica("crm", "one", "http://127.0.0.1:9", "")

    assert await Relay({"crm": catalog.product("crm")}, Settings()).front(one) == one.url


def test_ports_of_the_relay_are_a_range() -> None:
    assert Settings.from_environment({"DAYSHIFT_RELAY": "8721-8723", **_SECRETS}).relay == (8721, 8722, 8723)
    with pytest.raises(BadSetting):
        Settings.from_environment({"DAYSHIFT_RELAY": "many", **_SECRETS})


_SECRETS = {"DAYSHIFT_CONTROL_TOKEN": "x", "DAYSHIFT_DOOR_TOKEN": "y"}
