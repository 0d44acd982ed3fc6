"""The relay: agents outside the products' network reach each replica at a port of control's."""

import asyncio
import logging
from typing import cast
from urllib.parse import urlsplit

from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Replica

_log = logging.getLogger("dayshift.relay")
_BACKLOG = 2048


class Relay:
    """One port per replica; bytes pass untouched, so an agent speaks with the product itself."""

    def __init__(self, products: dict[str, Product], settings: Settings) -> None:
        self._host = settings.host
        self._first = {name: settings.port(name, product.port) for name, product in products.items()}
        self._further = settings.relay
        self._fronts: dict[str, tuple[int, asyncio.Server]] = {}
        self._opening = asyncio.Lock()

    async def front(self, replica: Replica) -> str:
        """Where agents reach this replica; at its own address where no relay was asked for."""
        if not self._further:
            return replica.url
        async with self._opening:
            return await self._opened(replica)

    def release(self, replica: Replica) -> None:
        if (front := self._fronts.pop(replica.instance, None)) is not None:
            front[1].close()

    def close(self) -> None:
        for _, server in self._fronts.values():
            server.close()
        self._fronts.clear()

    async def _opened(self, replica: Replica) -> str:
        taken = {port for port, _ in self._fronts.values()}
        port = next((port for port in (self._first[replica.product], *self._further) if port not in taken), None)
        if port is None:
            _log.warning("no port left", extra={"fields": {"product": replica.product, "served_at": replica.url}})
            return replica.url
        behind = urlsplit(replica.url)
        server = await asyncio.get_running_loop().create_server(
            lambda: _Caller(behind.hostname or "", behind.port or 80), self._host, port, backlog=_BACKLOG
        )
        self._fronts[replica.instance] = port, server
        return f"http://127.0.0.1:{port}"


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
