"""The relay manager: agents outside the products' network reach each replica at a port of control."""

import asyncio
import json
import logging
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from services.control.problems import Unavailable
from services.kernel.config import Settings
from services.kernel.product import Product
from services.kernel.registry import Replica

_log = logging.getLogger("dayshift.relay")
_ANSWER_SECONDS = 10.0
_RESTART_DELAY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Front:
    """A port of control and the replica behind it."""

    port: int
    to: tuple[str, int]


class RelayManager:
    """Decides which replica is behind which port; `relay_process` passes the bytes in a process of its own."""

    def __init__(self, products: dict[str, Product], settings: Settings) -> None:
        self._host = settings.host
        self._usual_ports = {name: settings.port(name, product.port) for name, product in products.items()}
        self._extra_ports = settings.relay
        self._fronts: dict[str, _Front] = {}
        self._command_lock = asyncio.Lock()
        self._process: Process | None = None
        self._restarting: asyncio.Task[None] | None = None

    async def front(self, replica: Replica) -> str:
        """Return where agents reach this replica: at a port of control, or at its own address where no relay is set."""
        if not self._extra_ports:
            return replica.url
        async with self._command_lock:
            return await self._open(replica)

    async def release(self, replica: Replica) -> None:
        if (front := self._fronts.pop(replica.instance, None)) is not None:
            async with self._command_lock:
                # A relay process that is being restarted does not listen there again.
                with suppress(Unavailable):
                    await self._command({"leave": front.port})

    async def close(self) -> None:
        self._fronts.clear()
        if self._restarting is not None:
            self._restarting.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()

    async def _open(self, replica: Replica) -> str:
        taken = {front.port for front in self._fronts.values()}
        port = next(
            (port for port in (self._usual_ports[replica.product], *self._extra_ports) if port not in taken), None
        )
        if port is None:
            _log.warning("no relay port left", extra={"fields": {"product": replica.product, "served_at": replica.url}})
            return replica.url
        if self._restarting is None:
            self._process = await _start_process()
            self._restarting = asyncio.create_task(self._restart_when_dead())
        behind = urlsplit(replica.url)
        front = _Front(port, (behind.hostname or "", behind.port or 80))
        await self._command(self._listen_command(front))
        self._fronts[replica.instance] = front
        return f"http://127.0.0.1:{port}"

    async def _restart_when_dead(self) -> None:
        """Start the relay process again when it dies; agents find their replicas at the same ports."""
        while self._process is not None:
            _log.error("relay process died", extra={"fields": {"status": await self._process.wait()}})
            await asyncio.sleep(_RESTART_DELAY_SECONDS)
            async with self._command_lock:
                self._process = await _start_process()
                for front in self._fronts.values():
                    with suppress(Unavailable):
                        await self._command(self._listen_command(front))

    def _listen_command(self, front: _Front) -> dict[str, Any]:
        return {"host": self._host, "listen": front.port, "to": front.to}

    async def _command(self, command: dict[str, Any]) -> None:
        process = self._process
        assert process is not None, "started with the first front"
        assert process.stdin is not None, "asked for"
        assert process.stdout is not None, "asked for"
        try:
            process.stdin.write(json.dumps(command).encode() + b"\n")
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = json.loads(await process.stdout.readline() or '"it ended"')
        except (OSError, TimeoutError) as error:
            raise Unavailable(f"the relay does not answer: {error}") from error
        if answer != "ok":
            raise Unavailable(f"the relay cannot do {command}: {answer}")


async def _start_process() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.control.relay_process", stdin=PIPE, stdout=PIPE
    )
