"""One process, two sockets: the agent's door and the harness's door."""

import asyncio
import logging
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
import uvloop
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.kernel.app import create_app
from services.kernel.config import Settings
from services.kernel.control_door import House, create_control_door
from services.kernel.episodes import Episodes, Worlds
from services.kernel.product import Product
from services.kernel.registry import Registry, RegistryDown, Replica, registry_for
from services.kernel.telemetry import Telemetry, start_logging
from services.kernel.tidying import settle_in

_REAP_EVERY_SECONDS = 5.0
_ANNOUNCE_EVERY_SECONDS = 2.0
# Agents think between calls: a connection closed meanwhile may meet the next request on its way, and lose an episode.
THINKING_SECONDS = 300
# A replica that neither the registry nor control has confirmed for this long serves nobody until one of them does.
LEASE_SECONDS = 15.0
_log = logging.getLogger("dayshift.serve")


class PortTaken(RuntimeError):
    """Somebody else listens there."""


class CuttableProtocol(HttpToolsProtocol):
    """Lets a fault plan end a connection without a byte of answer."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"dayshift.cut": {"now": self._cut}}

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


def listener(app: ASGIApp, host: str, port: int, **options: Any) -> Listener:
    return Listener(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=CuttableProtocol,
            loop="uvloop",
            ws="none",
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
    """Serve until SIGINT or SIGTERM, or until one of them fails."""
    for one in listeners:
        _check_port(one)
    loop = asyncio.get_running_loop()

    def leave() -> None:
        for one in listeners:
            one.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    settle_in()
    await asyncio.gather(*(one.serve() for one in listeners))


def _check_port(one: Listener) -> None:
    """By a socket of our own: uvicorn's would tell that it runs, and end the process if it does not."""
    config = one.config
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

    def __init__(self, product: Product, settings: Settings) -> None:
        self.product = product
        self.settings = settings
        self.telemetry = Telemetry(product.name)
        worlds = Worlds(product, settings.worlds_folder, settings.worlds)
        # Twice the lease: control ends an idle episode after one and records it; this catches what it missed.
        self.episodes = Episodes(product, worlds, 2 * settings.lease_seconds)
        self.house = House(product, self.episodes, self.telemetry)

    def agent_app(self) -> ASGIApp:
        door = create_app(self.product, self.episodes, self.telemetry, self.settings.body_limit)
        self.house.visitors.share(door.dispatch)
        # Before the first request, not during it.
        door.document()
        return door

    def door_app(self) -> ASGIApp:
        return create_control_door(self.house, self.settings.door_token)

    async def run(self) -> None:
        name, own = self.product.name, self.product.port
        doors = (
            listener(
                self.agent_app(),
                self.settings.host,
                self.settings.port(name, own),
                timeout_keep_alive=THINKING_SECONDS,
            ),
            listener(self.door_app(), self.settings.door_host, self.settings.door_port(name, own)),
        )
        beside = [asyncio.create_task(self._reap(doors))]
        if self.settings.redis_url:
            beside.append(asyncio.create_task(self._announce(registry_for(self.settings.redis_url))))
        try:
            await self.product.started()
            await serve_all(*doors)
        finally:
            for task in beside:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self.product.stopped()
            self.episodes.worlds.close()
            self.telemetry.close()

    async def _announce(self, registry: Registry) -> None:
        """Say every other second that this process lives, where, and how busy it is; say goodbye at the end."""
        self.house.lease_seconds = LEASE_SECONDS
        self.episodes.stay_registered(LEASE_SECONDS)
        try:
            while True:
                try:
                    if await registry.announce(self._here(), LEASE_SECONDS):
                        self.episodes.stay_registered(LEASE_SECONDS)
                    else:
                        await self._start_over()
                        continue
                except RegistryDown as error:
                    _log.warning("not announced", extra={"fields": {"because": str(error)}})
                await asyncio.sleep(_ANNOUNCE_EVERY_SECONDS)
        finally:
            with suppress(RegistryDown):
                await registry.withdraw(self._here())
            await registry.close()

    def _here(self) -> Replica:
        name, own = self.product.name, self.product.port
        url, door_url = self.settings.url(name, own), self.settings.door_url(name, own)
        return Replica(name, self.house.instance, url, door_url, len(self.episodes))

    async def _start_over(self) -> None:
        """Control gave this process up and ended its episodes: let them go, and come back as another."""
        _log.warning("fenced", extra={"fields": {"episodes": len(self.episodes), "instance": self.house.instance}})
        for episode in self.episodes:
            async with episode.lock:
                self.episodes.close(episode)
        self.house.start_over()

    async def _reap(self, doors: tuple[Listener, ...]) -> None:
        """Control ends idle episodes and records why; this is for when control is not there to do it."""
        while self.house.fatal is None:
            await asyncio.sleep(_REAP_EVERY_SECONDS)
            for episode in self.episodes.overdue():
                async with episode.lock:
                    self.episodes.close(episode)
                _log.warning("abandoned", extra={"fields": {"episode": episode.id}})
        _log.critical("stopping", extra={"fields": {"because": self.house.fatal}})
        for door in doors:
            door.should_exit = True


def run_product(product: Product, settings: Settings) -> None:
    start_logging(settings.log_level)
    uvloop.run(Service(product, settings).run())
