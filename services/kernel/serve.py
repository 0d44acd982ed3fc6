"""One process with two sockets: a product's agent API and its harness API."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
import uvloop
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.kernel.agent_api import AgentApi, Extension
from services.kernel.app import create_app
from services.kernel.config import Settings
from services.kernel.episodes import Episodes, Worlds
from services.kernel.file_limit import raise_file_limit
from services.kernel.garbage_collection import tune_garbage_collector
from services.kernel.harness_api import create_harness_api
from services.kernel.logs import start_logging
from services.kernel.product import Product
from services.kernel.product_host import ProductHost
from services.kernel.registry import Registry, RegistryDown, Replica, registry_for
from services.kernel.telemetry import Telemetry

_REAP_EVERY_SECONDS = 5.0
_ANNOUNCE_EVERY_SECONDS = 2.0
# Agents think between calls. A connection that is closed meanwhile may cross the next request and lose an episode.
KEEP_ALIVE_SECONDS = 300
# A replica that neither the registry nor control has confirmed for this long serves nobody until one of them does.
LEASE_SECONDS = 15.0
# Control sends a POST once: a connection that it still uses must not be closed as idle, however late control is.
_HARNESS_IDLE_SECONDS = 60
# As much as common proxies take.
_MOST_HEAD_BYTES = 64 * 1024
_MOST_HEADERS = 200
_HEAD_TOO_LARGE = b"431 Request Header Fields Too Large"
_LONGEST_SILENCE_SECONDS = 30.0
# Of a WebSocket.
_LARGEST_MESSAGE = 1 << 20
_log = logging.getLogger("dayshift.serve")
# Adds a further protocol to the agent API of a product.
Extend = Callable[[AgentApi, Settings], Extension]


class PortTaken(RuntimeError):
    """Another process listens on the port."""


class HeadTooLarge(Exception):
    """The request's headers are more, or longer, than anybody needs."""


class CuttableProtocol(HttpToolsProtocol):
    """Bounds what a connection may hold, and lets a fault plan end it without a byte of answer.

    Headers are refused with 431 beyond a size or number, and a request that stays unfinished in silence with 408.
    """

    _silence: asyncio.TimerHandle | None = None
    _is_unfinished = False
    _is_in_head = False
    _chunk_bytes = 0
    # What has come since the head began. The last chunk may hold more than the head, so this is never too little.
    _head_bytes = 0
    _status = b"400 Bad Request"

    def data_received(self, data: bytes) -> None:
        self._chunk_bytes = len(data)
        self._head_bytes += len(data)
        super().data_received(data)
        # Most requests come whole, and need no timer.
        if self._is_unfinished:
            if self._is_in_head and self._is_over_bounds(self._head_bytes):
                self._refuse(_HEAD_TOO_LARGE)
            else:
                self._await_more()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"dayshift.cut": {"now": self._cut}}
        self._is_unfinished = self._is_in_head = True
        self._head_bytes = self._chunk_bytes

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        if self._is_over_bounds(self._head_bytes) and self._is_over_bounds(self._size_of_head()):
            self._status = _HEAD_TOO_LARGE
            raise HeadTooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_waiting()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the status says it
        self._refuse(self._status)

    def _is_over_bounds(self, head_bytes: int) -> bool:
        return head_bytes > _MOST_HEAD_BYTES or len(self.headers) > _MOST_HEADERS

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse(self, status: bytes) -> None:
        self._stop_waiting()
        self.transport.write(b"HTTP/1.1 %s\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
        self.transport.close()

    def _await_more(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._silence = self.loop.call_later(_LONGEST_SILENCE_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        self._is_unfinished = False
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self._refuse(b"408 Request Timeout")

    def _cut(self) -> None:
        # A finished cycle, as far as uvicorn cares: it must not write a 500 of its own into the closing socket.
        self.cycle.response_complete = True
        self.cycle.response_started = True
        self.transport.abort()


class Listener(uvicorn.Server):
    """A uvicorn server that leaves signals to the process it is one of two in."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def listener(app: ASGIApp, host: str, port: int, *, has_sockets: bool = False, **options: Any) -> Listener:
    return Listener(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=CuttableProtocol,
            loop="uvloop",
            ws="websockets-sansio" if has_sockets else "none",
            ws_max_size=_LARGEST_MESSAGE,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            backlog=2048,
            **options,
        )
    )


async def serve_all(*listeners: Listener) -> None:
    """Serves until SIGINT or SIGTERM, or until one of them fails."""
    for each in listeners:
        _check_port(each)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for each in listeners:
            each.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    tune_garbage_collector()
    await asyncio.gather(*(each.serve() for each in listeners))


def _check_port(listener: Listener) -> None:
    """Binds a socket of our own first: where uvicorn cannot bind, it ends the process."""
    config = listener.config
    try:
        with socket.socket(socket.AF_INET6 if ":" in config.host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((config.host, config.port))
    except OSError as error:
        raise PortTaken(
            f"port {config.port} on {config.host} is in use; stop what listens there or choose another"
        ) from error


class Service:
    """A product as a process."""

    def __init__(self, product: Product, settings: Settings, extend: Extend | None = None) -> None:
        self.product = product
        self._extend = extend
        self._extension: Extension | None = None
        self.settings = settings
        self.telemetry = Telemetry(product.name)
        worlds = Worlds(product, settings.worlds_folder, settings.worlds)
        # Twice the lease: control ends an idle episode after one and records it; this catches what it missed.
        self.episodes = Episodes(product, worlds, 2 * settings.lease_seconds)
        self.host = ProductHost(product, self.episodes, self.telemetry)

    def agent_app(self) -> ASGIApp:
        api = create_app(self.product, self.episodes, self.telemetry, self.settings.body_limit)
        self.host.actor_requests.share(api.dispatch)
        if self._extend is not None:
            self._extension = api.extension = self._extend(api, self.settings)
        # Before the first request, not during it.
        api.document()
        return api

    def harness_app(self) -> ASGIApp:
        return create_harness_api(self.host, self.settings.harness_token)

    async def run(self) -> None:
        name, own = self.product.name, self.product.port
        listeners = (
            listener(
                self.agent_app(),
                self.settings.host,
                self.settings.port(name, own),
                has_sockets=self.product.has_sockets,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            ),
            listener(
                self.harness_app(),
                self.settings.harness_host,
                self.settings.harness_port(name, own),
                timeout_keep_alive=_HARNESS_IDLE_SECONDS,
            ),
        )
        background_tasks = [asyncio.create_task(self._reap(listeners))]
        if self.settings.redis_url:
            background_tasks.append(asyncio.create_task(self._announce(registry_for(self.settings.redis_url))))
        try:
            await self.product.on_start(self.settings)
            await serve_all(*listeners)
        finally:
            for task in background_tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            if self._extension is not None:
                await self._extension.close()
            await self.product.on_stop()
            self.episodes.worlds.close()
            self.telemetry.close()

    async def _announce(self, registry: Registry) -> None:
        """Announces every other second where this process is and how busy it is; withdraws it at the end."""
        self.host.lease_seconds = LEASE_SECONDS
        self.episodes.stay_registered(LEASE_SECONDS)
        try:
            while True:
                try:
                    if await registry.announce(self._as_replica(), LEASE_SECONDS):
                        self.episodes.stay_registered(LEASE_SECONDS)
                    else:
                        await self._start_over()
                        continue
                except RegistryDown as error:
                    _log.warning("not announced", extra={"fields": {"because": str(error)}})
                await asyncio.sleep(_ANNOUNCE_EVERY_SECONDS)
        finally:
            with suppress(RegistryDown):
                await registry.withdraw(self._as_replica())
            await registry.close()

    def _as_replica(self) -> Replica:
        name, own = self.product.name, self.product.port
        url, harness_url = self.settings.url(name, own), self.settings.harness_url(name, own)
        return Replica(name, self.host.instance, url, harness_url, len(self.episodes))

    async def _start_over(self) -> None:
        """Control gave this process up and ended its episodes: it closes them and continues as a new instance."""
        _log.warning("fenced", extra={"fields": {"episodes": len(self.episodes), "instance": self.host.instance}})
        for episode in self.episodes:
            async with episode.lock:
                self.episodes.close(episode)
        self.host.start_over()

    async def _reap(self, listeners: tuple[Listener, ...]) -> None:
        """Closes idle episodes where control, which normally ends and records them, is not there."""
        while self.host.fatal is None:
            await asyncio.sleep(_REAP_EVERY_SECONDS)
            for episode in self.episodes.overdue():
                async with episode.lock:
                    self.episodes.close(episode)
                _log.warning("abandoned", extra={"fields": {"episode": episode.id}})
        _log.critical("stopping", extra={"fields": {"because": self.host.fatal}})
        for each in listeners:
            each.should_exit = True


def run_product(product: Product, settings: Settings, extend: Extend | None = None) -> None:
    start_logging(settings.log_level)
    raise_file_limit()
    uvloop.run(Service(product, settings, extend).run())
