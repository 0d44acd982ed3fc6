"""The relay process: passes bytes between agents and replicas, as control commands it on its standard input.

It is a process of its own because control builds task setups and judges for tens of milliseconds at a time, and agents
must not wait for that.
"""

import asyncio
import json
import signal
import sys
from contextlib import suppress
from typing import Any, cast

import uvloop

_BACKLOG = 2048


class RelayProcess:
    """One port per replica; bytes pass untouched, so an agent speaks with the product itself."""

    def __init__(self) -> None:
        self._fronts: dict[int, asyncio.Server] = {}

    async def execute(self, command: dict[str, Any]) -> None:
        if "leave" in command:
            self._leave(command["leave"])
        else:
            await self._listen(command["host"], command["listen"], *command["to"])

    async def _listen(self, host: str, port: int, to_host: str, to_port: int) -> None:
        self._fronts[port] = await asyncio.get_running_loop().create_server(
            lambda: _Caller(to_host, to_port), host, port, backlog=_BACKLOG
        )

    def _leave(self, port: int) -> None:
        if (front := self._fronts.pop(port, None)) is not None:
            front.close()


class _Side(asyncio.Protocol):
    """One end of a connection: it sends what the other end receives."""

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
    """The agent's end, which opens the other one."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._host = host
        self._port = port
        self._early: list[bytes] = []
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            # A request may arrive before the replica is connected: one at most, because its answer has not come.
            self._early.append(data)
        else:
            super().data_received(data)

    async def _connect(self) -> None:
        assert self.transport is not None, "connected before"
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


async def execute_commands() -> None:
    """Read one command and write one answer per line, until control is gone."""
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    process = RelayProcess()
    while line := await commands.readline():
        try:
            await process.execute(json.loads(line))
            answer = "ok"
        except OSError as error:
            answer = str(error)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    # Ctrl-C reaches every process of a terminal; this one ends when control does, after its last answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        uvloop.run(execute_commands())
