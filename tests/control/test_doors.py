"""Control's way to a product's door, where nobody says that nobody is there."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest
import uvloop

from services.control import doors
from services.control.doors import Door, Unreachable


@pytest.fixture
def crowded() -> Iterator[int]:
    """A port that takes no further connection and refuses none, as an address does from which a host was removed."""
    with socket.socket() as listening, contextlib.ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


def test_a_host_that_is_gone_without_a_word_is_unreachable_long_before_an_answer_is_due(
    crowded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "_CONNECT_SECONDS", 0.3)

    with pytest.raises(Unreachable, match="nobody listens"):
        uvloop.run(_get(Door(f"http://127.0.0.1:{crowded}", "secret", timeout=20)))


async def _get(door: Door) -> object:
    async with asyncio.timeout(10):
        return await door.get("/health")


def test_a_connection_that_is_open_is_watched_by_the_kernel() -> None:
    assert uvloop.run(_options()) == {
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE): 1,
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE): 3,
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT): 11_000,
    }


async def _options() -> dict[tuple[int, int], int]:
    asked = (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        door = Door(f"http://127.0.0.1:{listening.getsockname()[1]}", "secret")
        wire = await door._connected()
        connected = wire._writer.get_extra_info("socket")
        found = {option: connected.getsockopt(*option) for option in asked}
        wire.close()
        await wire._writer.wait_closed()
    return found


def test_what_a_busy_moment_opened_is_hung_up_when_it_is_quiet_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "_FRESH_SECONDS", 0.3)

    assert uvloop.run(_connections()) == (8, 1)


async def _connections() -> tuple[int, int]:
    """How many were open when eight asked at once, and how many after somebody asked alone for a while."""
    here: set[asyncio.StreamWriter] = set()
    together = asyncio.Barrier(8)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here.add(writer)
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            if not quiet.is_set():
                await together.wait()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        here.discard(writer)
        writer.close()

    quiet = asyncio.Event()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        door = Door(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "secret", timeout=5)
        await asyncio.gather(*(door.get("/health") for _ in range(8)))
        busy = len(here)
        quiet.set()
        for _ in range(5):
            await asyncio.sleep(0.1)
            await door.get("/health")
        await asyncio.sleep(0.1)
        left = len(here)
        door.close()
        await asyncio.sleep(0.05)
    return busy, left
