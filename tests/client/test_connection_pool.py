"""The connection pool: responses in any pieces, a bounded number of connections, no response to the wrong request."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from dayshift.connection_pool import IDLE_SECONDS, ConnectionPool, ResponseParser
from dayshift.errors import StepTimeout, Unreachable, WireMismatch
from dayshift.http_flow import HttpRequest, HttpResponse
from hypothesis import given
from hypothesis import strategies as st

COUNTED = b"HTTP/1.1 200 OK\r\nX-Data-Revision: 7\r\ncontent-length: 11\r\n\r\nhello there"
CHUNKED = b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n there\r\n0\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\nx-data-revision: 8\r\n\r\n"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def fed(pieces: list[bytes], method: str = "GET") -> ResponseParser:
    answer = ResponseParser(method)
    for piece in pieces:
        answer.feed(piece)
    return answer


@given(st.sampled_from([COUNTED, CHUNKED, INTERIM + COUNTED]), st.lists(st.integers(0, 130), max_size=6))
def test_a_response_parses_the_same_in_any_pieces(whole: bytes, cuts: list[int]) -> None:
    edges = sorted({0, *(min(cut, len(whole)) for cut in cuts), len(whole)})

    answer = fed([whole[start:end] for start, end in pairwise(edges)])

    assert answer.is_whole
    assert answer.build_response().content == b"hello there"


@given(st.sampled_from([COUNTED, CHUNKED]), st.data())
def test_a_response_is_not_complete_before_its_end(whole: bytes, data: st.DataObject) -> None:
    assert not fed([whole[: data.draw(st.integers(0, len(whole) - 1))]]).is_whole


def test_header_names_are_in_lower_case() -> None:
    assert fed([COUNTED]).build_response().headers["x-data-revision"] == "7"


def test_no_content_and_head_need_no_length() -> None:
    assert fed([EMPTY]).is_whole
    assert fed([b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n"], "HEAD").is_whole


@pytest.mark.parametrize(
    "nonsense",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        COUNTED + b"more",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"x" * 70_000,
    ],
)
def test_bytes_that_are_not_http_are_an_error(nonsense: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        fed([nonsense])


def served(talk: Talk, work: Callable[[str], Awaitable[None]]) -> None:
    async def run() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            await work(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x")
            # The other side notices the end a moment later.
            await asyncio.sleep(0.05)

    asyncio.run(run())


async def _quietly_read(reader: asyncio.StreamReader) -> bool:
    try:
        await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    return True


class Counting:
    """A server that answers, and counts who comes."""

    def __init__(self, content: bytes = COUNTED, pause: float = 0.0) -> None:
        self.content, self.pause = content, pause
        self.connections = self.now = self.most = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.now += 1
        self.most = max(self.most, self.now)
        while await _quietly_read(reader):
            await asyncio.sleep(self.pause)
            writer.write(self.content)
        self.now -= 1
        writer.close()


def test_a_connection_is_reused() -> None:
    server = Counting()

    async def work(url: str) -> None:
        pool = ConnectionPool(4, 5)
        for _ in range(10):
            assert (await pool.send(HttpRequest("GET", url, {}))).status == 200
        await pool.close()

    served(server, work)
    assert server.connections == 1


def test_the_pool_never_opens_too_many_connections_and_serves_every_request() -> None:
    server = Counting(pause=0.002)

    async def work(url: str) -> None:
        pool = ConnectionPool(8, 5)
        answers: list[HttpResponse] = await asyncio.gather(
            *(pool.send(HttpRequest("GET", url, {})) for _ in range(200))
        )
        assert [one.status for one in answers] == [200] * 200
        await pool.close()

    served(server, work)
    assert server.most <= 8


def test_a_connection_that_the_server_closes_is_not_reused() -> None:
    server = Counting(COUNTED.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))

    async def work(url: str) -> None:
        pool = ConnectionPool(2, 5)
        for _ in range(3):
            await pool.send(HttpRequest("GET", url, {}))
        await pool.close()

    served(server, work)
    assert server.connections == 3


def test_a_connection_that_was_idle_too_long_is_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Counting()
    monkeypatch.setattr("dayshift.connection_pool.IDLE_SECONDS", 0.01)
    assert IDLE_SECONDS < 5

    async def work(url: str) -> None:
        pool = ConnectionPool(2, 5)
        await pool.send(HttpRequest("GET", url, {}))
        await asyncio.sleep(0.05)
        await pool.send(HttpRequest("GET", url, {}))
        await pool.close()

    served(server, work)
    assert server.connections == 2


def test_a_late_response_is_not_read_as_the_next_one() -> None:
    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = True
        while await _quietly_read(reader):
            await asyncio.sleep(0.3 if first else 0)
            writer.write(COUNTED.replace(b"hello there", b"late answer" if first else b"right thing"))
            first = False
        writer.close()

    async def work(url: str) -> None:
        pool = ConnectionPool(1, 0.1)
        with pytest.raises(StepTimeout):
            await pool.send(HttpRequest("GET", url, {}))
        again = await pool.send(HttpRequest("GET", url, {}, timeout=2))
        # A new connection, whose own first answer this is.
        assert again.content == b"late answer"
        await pool.close()

    served(late, work)


def test_a_cancelled_request_discards_its_connection() -> None:
    server = Counting(pause=0.2)

    async def work(url: str) -> None:
        pool = ConnectionPool(1, 5)
        with_answer_schema = asyncio.create_task(pool.send(HttpRequest("GET", url, {})))
        await asyncio.sleep(0.05)
        with_answer_schema.cancel()
        with pytest.raises(asyncio.CancelledError):
            await with_answer_schema
        assert (await pool.send(HttpRequest("GET", url, {}))).content == b"hello there"
        await pool.close()

    served(server, work)
    assert server.connections == 2


def test_an_incomplete_response_is_a_fault() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _quietly_read(reader)
        writer.write(COUNTED[:-3])
        writer.close()

    async def work(url: str) -> None:
        pool = ConnectionPool(1, 5)
        with pytest.raises(Unreachable, match="before its answer was whole"):
            await pool.send(HttpRequest("GET", url, {}))
        await pool.close()

    served(half, work)


def test_a_response_without_a_length_ends_with_its_connection() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _quietly_read(reader)
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        writer.close()

    async def work(url: str) -> None:
        pool = ConnectionPool(1, 5)
        assert (await pool.send(HttpRequest("GET", url, {}))).content == b"all of it"
        await pool.close()

    served(plain, work)


def test_a_missing_server_is_unreachable_and_bad_bytes_are_a_mismatch() -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _quietly_read(reader)
        writer.write(b"220 mail.harrowgate ESMTP\r\n\r\n")
        writer.close()

    async def work(url: str) -> None:
        pool = ConnectionPool(1, 5)
        with pytest.raises(WireMismatch):
            await pool.send(HttpRequest("GET", url, {}))
        with pytest.raises(Unreachable):
            await pool.send(HttpRequest("GET", "http://127.0.0.1:1/", {}))
        with pytest.raises(Unreachable):
            await pool.send(HttpRequest("GET", "ftp://somewhere/", {}))
        with pytest.raises(Unreachable, match="line break"):
            await pool.send(HttpRequest("GET", url, {"x": "a\r\nb: c"}))
        await pool.close()

    served(nonsense, work)


def test_a_policy_that_blocks_the_loop_does_not_make_a_closed_connection_look_fresh(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer is noticed only after the block; by then the server has long hung up."""
    monkeypatch.setattr("dayshift.connection_pool.IDLE_SECONDS", 0.1)
    patience = 0.2
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(2):
            taken, _ = listening.accept()
            with taken:
                taken.recv(4096)
                time.sleep(0.05)
                taken.sendall(COUNTED)
                time.sleep(patience)

    threading.Thread(target=serve, daemon=True).start()

    async def work() -> None:
        pool = ConnectionPool(1, 5)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x"

        async def ask_twice() -> list[int]:
            return [(await pool.send(HttpRequest("GET", url, {}))).status for _ in range(2)]

        with_answer_schema = asyncio.create_task(ask_twice())
        await asyncio.sleep(0.02)
        time.sleep(2 * patience)  # noqa: ASYNC251 - the blocking is what is tested
        assert await with_answer_schema == [200, 200]
        await pool.close()

    asyncio.run(work())
    listening.close()
