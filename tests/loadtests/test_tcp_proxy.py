"""A TCP proxy forwards all bytes until it is frozen or cut."""

import socket
import threading
from collections.abc import Iterator

import pytest

from loadtests.tcp_proxy import TcpProxy


@pytest.fixture
def echo() -> Iterator[int]:
    server = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = [server]

    def serve() -> None:
        while True:
            try:
                end, _ = server.accept()
            except OSError:
                return
            ends.append(end)
            threading.Thread(target=answer, args=(end,), daemon=True).start()

    def answer(end: socket.socket) -> None:
        try:
            while said := end.recv(1000):
                end.sendall(said)
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    for end in ends:
        end.close()


def echoed(caller: socket.socket, what: bytes) -> bytes:
    caller.sendall(what)
    return caller.recv(1000)


def test_it_carries_both_ways(echo: int) -> None:
    with TcpProxy(echo) as proxy, socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as caller:
        assert echoed(caller, b"hello") == b"hello"


def test_what_is_said_while_it_is_frozen_arrives_when_it_thaws(echo: int) -> None:
    with TcpProxy(echo) as proxy, socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as caller:
        assert echoed(caller, b"one") == b"one"
        proxy.freeze()
        caller.sendall(b"two")
        caller.settimeout(0.3)
        with pytest.raises(TimeoutError):
            caller.recv(1000)
        proxy.restore()
        caller.settimeout(5)

        assert caller.recv(1000) == b"two"


def test_a_cut_ends_what_was_said_and_refuses_what_is_new(echo: int) -> None:
    with TcpProxy(echo) as proxy, socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as caller:
        assert echoed(caller, b"one") == b"one"
        proxy.cut()
        assert caller.recv(1000) == b""
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as late:
            assert late.recv(1000) == b""
        proxy.restore()
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as again:
            assert echoed(again, b"three") == b"three"
