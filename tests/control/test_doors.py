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
