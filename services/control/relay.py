"""The relay: agents outside the products' network reach each replica at a port of control's."""

import asyncio
import json
import logging
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from services.control.problems import NotNow
from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Replica

_log = logging.getLogger("dayshift.relay")
_PATIENCE_SECONDS = 10.0
_BREATH_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Front:
    """A port of ours and the replica behind it."""

    port: int
    to: tuple[str, int]


class Relay:
    """Which replica stands behind which port; the bytes pass through a process of their own, `passage`."""

    def __init__(self, products: dict[str, Product], settings: Settings) -> None:
        self._host = settings.host
        self._first = {name: settings.port(name, product.port) for name, product in products.items()}
        self._further = settings.relay
        self._fronts: dict[str, _Front] = {}
        self._ordering = asyncio.Lock()
        self._passage: Process | None = None
        self._minding: asyncio.Task[None] | None = None

    async def front(self, replica: Replica) -> str:
        """Where agents reach this replica; at its own address where no relay was asked for."""
        if not self._further:
            return replica.url
        async with self._ordering:
            return await self._opened(replica)

    async def release(self, replica: Replica) -> None:
        if (front := self._fronts.pop(replica.instance, None)) is not None:
            async with self._ordering:
                # One that is being replaced leaves by not listening there again.
                with suppress(NotNow):
                    await self._order({"leave": front.port})

    async def close(self) -> None:
        self._fronts.clear()
        if self._minding is not None:
            self._minding.cancel()
        if self._passage is not None and self._passage.stdin is not None:
            self._passage.stdin.close()
            await self._passage.wait()

    async def _opened(self, replica: Replica) -> str:
        taken = {front.port for front in self._fronts.values()}
        port = next((port for port in (self._first[replica.product], *self._further) if port not in taken), None)
        if port is None:
            _log.warning("no port left", extra={"fields": {"product": replica.product, "served_at": replica.url}})
            return replica.url
        if self._minding is None:
            self._passage = await _started()
            self._minding = asyncio.create_task(self._mind())
        behind = urlsplit(replica.url)
        front = _Front(port, (behind.hostname or "", behind.port or 80))
        await self._order(self._listening(front))
        self._fronts[replica.instance] = front
        return f"http://127.0.0.1:{port}"

    async def _mind(self) -> None:
        """A passage that died is replaced, and listens where it did: agents find their replicas at the same ports."""
        while self._passage is not None:
            _log.error("relay lost", extra={"fields": {"status": await self._passage.wait()}})
            await asyncio.sleep(_BREATH_SECONDS)
            async with self._ordering:
                self._passage = await _started()
                for front in self._fronts.values():
                    with suppress(NotNow):
                        await self._order(self._listening(front))

    def _listening(self, front: _Front) -> dict[str, Any]:
        return {"host": self._host, "listen": front.port, "to": front.to}

    async def _order(self, order: dict[str, Any]) -> None:
        passage = self._passage
        assert passage is not None, "started with the first front"
        assert passage.stdin is not None, "asked for"
        assert passage.stdout is not None, "asked for"
        try:
            passage.stdin.write(json.dumps(order).encode() + b"\n")
            async with asyncio.timeout(_PATIENCE_SECONDS):
                said = json.loads(await passage.stdout.readline() or '"it ended"')
        except (OSError, TimeoutError) as error:
            raise NotNow(f"the relay does not answer: {error}") from error
        if said != "ok":
            raise NotNow(f"the relay cannot do {order}: {said}")


async def _started() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.control.passage", stdin=PIPE, stdout=PIPE
    )
