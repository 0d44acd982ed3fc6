"""The passage: a process that passes bytes between agents and replicas, as control orders it on its standard input.

It is a process of its own because control plants and judges for tens of milliseconds at a time: agents must not wait.
"""

import asyncio
import json
import signal
import sys
from contextlib import suppress
from typing import Any, cast

import uvloop

_BACKLOG = 2048


class Passage:
    """One port per replica; bytes pass untouched, so an agent speaks with the product itself."""

    def __init__(self) -> None:
        self._fronts: dict[int, asyncio.Server] = {}

    async def obey(self, order: dict[str, Any]) -> None:
        if "leave" in order:
            self._leave(order["leave"])
        else:
            await self._listen(order["host"], order["listen"], *order["to"])

    async def _listen(self, host: str, port: int, to_host: str, to_port: int) -> None:
        self._fronts[port] = await asyncio.get_running_loop().create_server(
            lambda: _Caller(to_host, to_port), host, port, backlog=_BACKLOG
        )

    def _leave(self, port: int) -> None:
        if (front := self._fronts.pop(port, None)) is not None:
            front.close()


class _Side(asyncio.Protocol):
    """One end of a conversation: what it hears, the other end says."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's streams are not asyncio's by class, only by what they do.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()


class _Caller(_Side):
    """The agent's end, which brings the other one about."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._host = host
        self._port = port
        self._early: list[bytes] = []
        self._reaching: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._reaching = asyncio.get_running_loop().create_task(self._reach())

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            # A request may come before the replica is reached; it is one at most, for its answer has not come.
            self._early.append(data)
        else:
            super().data_received(data)

    async def _reach(self) -> None:
        assert self.transport is not None, "made before it reaches out"
        try:
            _, side = await asyncio.get_running_loop().create_connection(_Side, self._host, self._port)
        except OSError:
            self.transport.abort()
            return
        side.other, self.other = self, side
        for data in self._early:
            super().data_received(data)
        self._early.clear()
        if self.transport.is_closing():
            self.connection_lost(None)


async def obey_orders() -> None:
    """One order and one answer per line, until whoever orders is gone."""
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    passage = Passage()
    while line := await orders.readline():
        try:
            await passage.obey(json.loads(line))
            said = "ok"
        except OSError as error:
            said = str(error)
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    # Ctrl-C reaches everybody at a terminal; this process ends when control does, after its last answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        uvloop.run(obey_orders())
