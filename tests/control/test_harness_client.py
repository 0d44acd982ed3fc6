"""The harness client: what it does when a product is gone, closes a connection, or is quiet again."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest
import uvloop

from services.control import harness_client
from services.control.harness_client import HarnessClient, Unreachable

_EMPTY_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port that accepts no connection and refuses none, like an address from which a host was removed."""
    with socket.socket() as listening, contextlib.ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            caller = waiting.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


def test_a_host_that_is_gone_without_a_word_is_unreachable_long_before_an_answer_is_due(
    full_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness_client, "_CONNECT_SECONDS", 0.3)

    with pytest.raises(Unreachable, match="nobody listens"):
        uvloop.run(_get_health(HarnessClient(f"http://127.0.0.1:{full_port}", "secret", timeout=20)))


async def _get_health(client: HarnessClient) -> object:
    async with asyncio.timeout(10):
        return await client.get("/health")


def test_the_kernel_watches_an_open_connection() -> None:
    assert uvloop.run(_socket_options()) == {
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE): 1,
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE): 3,
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT): 11_000,
    }


async def _socket_options() -> dict[tuple[int, int], int]:
    options = (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = HarnessClient(f"http://127.0.0.1:{listening.getsockname()[1]}", "secret")
        connection = await client._connect()
        connected = connection._writer.get_extra_info("socket")
        values = {option: connected.getsockopt(*option) for option in options}
        connection.close()
        await connection._writer.wait_closed()
    return values


def test_connections_of_a_busy_moment_are_closed_when_it_is_quiet_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness_client, "_MAX_IDLE_SECONDS", 0.3)

    assert uvloop.run(_count_connections()) == (8, 1)


async def _count_connections() -> tuple[int, int]:
    """Return how many were open after eight calls at once, and how many after single calls for a while."""
    connections: set[asyncio.StreamWriter] = set()
    all_arrived = asyncio.Barrier(8)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            if not quiet.is_set():
                await all_arrived.wait()
            writer.write(_EMPTY_ANSWER)
        connections.discard(writer)
        writer.close()

    quiet = asyncio.Event()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        client = HarnessClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "secret", timeout=5)
        await asyncio.gather(*(client.get("/health") for _ in range(8)))
        busy = len(connections)
        quiet.set()
        for _ in range(5):
            await asyncio.sleep(0.1)
            await client.get("/health")
        await asyncio.sleep(0.1)
        left = len(connections)
        client.close()
        await asyncio.sleep(0.05)
    return busy, left


def test_a_post_that_may_have_been_received_is_not_sent_again() -> None:
    requests = uvloop.run(_requests_seen("POST", is_repeatable=False))

    assert requests == ["GET /health", "POST /control/episodes/x/visit"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_may_be_received_twice_is_sent_again_over_a_new_connection(method: str) -> None:
    requests = uvloop.run(_requests_seen(method, is_repeatable=True))

    assert requests == ["GET /health", *[f"{method} /control/episodes/x/visit"] * 2]


async def _requests_seen(method: str, *, is_repeatable: bool) -> list[str]:
    """A product answers the first request, reads the second one on the same connection, and closes without an answer."""
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                seen.append(" ".join(head.decode().split()[:2]))
                if len(seen) == 2:
                    break
                writer.write(_EMPTY_ANSWER)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        client = HarnessClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "secret", timeout=5)
        await client.get("/health")
        path = "/control/episodes/x/visit"
        with contextlib.suppress(Unreachable):
            await (client.get(path) if method == "GET" else client.post(path, is_repeatable=is_repeatable))
        client.close()
        await asyncio.sleep(0.05)
    return seen
