"""A connection holds no more than it may: headers have a size and a number, and an unfinished request an end."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest
import uvloop
from starlette.types import Receive, Scope, Send

from services.kernel import serve
from services.kernel.asgi import read_body
from services.kernel.serve import listener


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(scope, receive)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(serve, "_LONGEST_SILENCE_SECONDS", 0.5)
    server, loop = listener(echo, "127.0.0.1", 0), uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(server.serve(),), daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(10)
    loop.close()


def send(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """Everything that comes back until the other side closes or falls silent."""

    async def exchange() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in parts:
            writer.write(part)
            await asyncio.sleep(pause)
        answer = b""
        try:
            while chunk := await asyncio.wait_for(reader.read(65536), 5):
                answer += chunk
        except (TimeoutError, ConnectionResetError):
            answer += b"(open)"
        writer.close()
        return answer

    return asyncio.run(exchange())


def request(*headers: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    size = b"content-length: %d" % (len(body) if length is None else length)
    return b"\r\n".join((b"POST / HTTP/1.1", b"host: a", b"connection: close", size, *headers, b"", body))


def test_an_ordinary_request_is_answered(port: int) -> None:
    answer = send(port, request(b"x-long: " + b"a" * 8000, body=b"b" * 500_000))

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"b" * 1000)


@pytest.mark.parametrize(
    "headers",
    [
        (b"x-long: " + b"a" * 100_000,),
        (b"x-endless: " + b"a" * 1_000_000,),
        tuple(b"x-%d: a" % number for number in range(5000)),
        tuple(b"x-%d: " % number + b"a" * 4000 for number in range(100)),
    ],
)
def test_headers_beyond_the_bounds_are_refused(port: int, headers: tuple[bytes, ...]) -> None:
    answer = send(port, request(*headers))

    assert b"200" not in answer
    assert answer.startswith(b"HTTP/1.1 431") or answer == b"(open)"


def test_a_header_that_never_ends_is_refused(port: int) -> None:
    assert send(port, b"GET / HTTP/1.1\r\nx-endless: ", *[b"a" * 20_000] * 5, pause=0.05).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    "unfinished",
    [b"GET / HT", b"GET / HTTP/1.1\r\nhost: a\r\n", request(length=100), request(body=b"half", length=100)],
)
def test_a_request_that_never_ends_is_given_up(port: int, unfinished: bytes) -> None:
    answer = send(port, unfinished)

    assert answer.startswith(b"HTTP/1.1 408")


def test_a_slow_body_is_waited_for_while_it_moves(port: int) -> None:
    halves = [request(length=40), *[b"0123456789"] * 4]

    assert send(port, *halves, pause=0.25).endswith(b"0123456789")


def test_nothing_is_said_of_what_was_malformed(port: int) -> None:
    answer = send(port, b"\x16\x03\x01 nonsense\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.endswith(b"\r\n\r\n")


def test_the_port_is_served_again_after_a_refusal(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as rude:
        rude.sendall(b"GET / HTTP/1.1\r\n" + b"x: a\r\n" * 1000)
        rude.recv(1000)

    assert send(port, request(body=b"fine")).endswith(b"fine")
