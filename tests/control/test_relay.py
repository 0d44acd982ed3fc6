"""Agents outside the network reach each replica at a port of control's, and at no other."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from services.control.relay import RelayManager
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


async def answered(url: str, died: int) -> bytes:
    """The first answer after this process was followed by another; meanwhile nobody may listen."""
    async with asyncio.timeout(20):
        while True:
            with suppress(OSError):
                answer = await ask(url)
                if died not in relay_processes():
                    return answer
            await asyncio.sleep(0.05)


def relay_processes() -> list[int]:
    """The processes of this kind that this one started."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if "control.relay_process" in Path(f"/proc/{pid}/cmdline").read_text()]


def relay_at(base: int) -> RelayManager:
    settings = Settings(addresses={("crm", "PORT"): str(base)}, relay=(base + 1, base + 2))
    return RelayManager({"crm": catalog.product("crm")}, settings)


async def test_the_first_replica_stands_at_the_products_own_port_and_the_next_beside_it() -> None:
    base = free_base()
    relay = relay_at(base)

    async with replica("one") as first, replica("two") as second:
        one, two = await relay.front(first), await relay.front(second)

        assert (one, two) == (f"http://127.0.0.1:{base}", f"http://127.0.0.1:{base + 1}")
        assert (await ask(one), await ask(two)) == (b"hello from one\n", b"hello from two\n")
    await relay.close()


async def test_a_replica_that_is_gone_leaves_its_port_to_the_next() -> None:
    base = free_base()
    relay = relay_at(base)
    async with replica("gone") as gone, replica("next") as following:
        await relay.front(gone)

        await relay.release(gone)

        with pytest.raises(ConnectionRefusedError):
            await ask(f"http://127.0.0.1:{base}")
        assert await ask(await relay.front(following)) == b"hello from next\n"
    await relay.close()


async def test_a_caller_of_a_replica_that_does_not_listen_is_hung_up_on() -> None:
    relay = relay_at(free_base())
    deaf = Replica("crm", "deaf", f"http://127.0.0.1:{free_base() + 5}", "")

    with pytest.raises((ConnectionResetError, AssertionError)):
        assert await ask(await relay.front(deaf)) != b""
    await relay.close()


async def test_a_relay_whose_process_died_is_back_at_the_same_ports() -> None:
    relay = relay_at(free_base())
    async with replica("one") as one:
        url = await relay.front(one)
        (died,) = relay_processes()
        os.kill(died, signal.SIGKILL)

        assert await answered(url, died) == b"hello from one\n"
    await relay.close()
    assert relay_processes() == []


async def test_no_relay_outlives_its_control() -> None:
    ended = await asyncio.create_subprocess_exec(sys.executable, "-m", "services.control.relay_process", stdin=PIPE)
    assert ended.stdin is not None

    ended.stdin.close()

    assert await ended.wait() == 0


async def test_without_ports_for_it_there_is_no_relay() -> None:
    one = Replica("crm", "one", "http://127.0.0.1:9", "")

    assert await RelayManager({"crm": catalog.product("crm")}, Settings()).front(one) == one.url


def test_ports_of_the_relay_are_a_range() -> None:
    assert Settings.from_environment({"DAYSHIFT_RELAY": "8721-8723", **_SECRETS}).relay == (8721, 8722, 8723)
    with pytest.raises(BadSetting):
        Settings.from_environment({"DAYSHIFT_RELAY": "many", **_SECRETS})


_SECRETS = {"DAYSHIFT_CONTROL_TOKEN": "x", "DAYSHIFT_HARNESS_TOKEN": "y"}
