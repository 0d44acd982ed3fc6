"""What CRM tests stand on: an account in a world file, and a real server in front of it."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvloop
from hubspot import HubSpot

from services.crm.product import product
from services.kernel.config import Settings
from services.kernel.door_messages import AdvanceMessage
from services.kernel.episodes import Episode, Opening
from services.kernel.forks import Forks
from services.kernel.serve import Service, listener
from services.kernel.template import Template
from services.kernel.world import World
from tests.crm.account import build_account

_NUMBERS = itertools.count(1)


class Running:
    """The CRM behind a socket, in a thread of its own."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self.service = service
        self._loop = loop
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def open(self, faults: str = "none", seed: int = 7) -> "Account":
        number = next(_NUMBERS)
        opening = Opening(f"e{number}", f"pat-na1-{number:08d}", seed, "standard", faults)
        return Account(self, self.service.episodes.open(opening))

    def advance(self, episode: Episode, hours: float) -> None:
        to_ms = episode.world.clock.now_ms() + round(hours * 3_600_000)
        message = AdvanceMessage(to_ms=to_ms)
        asyncio.run_coroutine_threadsafe(self.service.house.advance(episode, message.to_ms), self._loop).result(10)


class Account:
    """One credential on the running CRM."""

    def __init__(self, running: Running, episode: Episode) -> None:
        self.running = running
        self.episode = episode
        self.token = episode.opening.credential
        self.http = httpx.Client(base_url=running.url, headers={"authorization": f"Bearer {self.token}"}, timeout=30)

    def wait(self, hours: float) -> None:
        self.running.advance(self.episode, hours)

    def close(self) -> None:
        self.http.close()
        self.running.service.episodes.close(self.episode)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("crm")
    build_account(place / "worlds")
    return place


@pytest.fixture(scope="session")
def running(folder: Path) -> Iterator[Running]:
    service = Service(product, Settings(var=folder, door_token="door"))
    loop = uvloop.new_event_loop()
    server = listener(service.agent_app(), "127.0.0.1", 0)
    thread = threading.Thread(target=loop.run_until_complete, args=(server.serve(),), daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield Running(service, loop, server.servers[0].sockets[0].getsockname()[1])
    server.should_exit = True
    thread.join(10)
    loop.close()
    service.episodes.worlds.close()


@pytest.fixture
def account(running: Running) -> Iterator[Account]:
    opened = running.open()
    yield opened
    opened.close()


@pytest.fixture
def world(folder: Path) -> Iterator[World]:
    """A world without HTTP around it."""
    template = Template(folder / "worlds" / "crm-standard.sqlite", product.schema)
    forks = Forks(template)
    seen = World(forks.take(), seed=7)
    seen.begin()
    yield seen
    forks.close()
    template.close()


@pytest.fixture
def sdk(account: Account) -> HubSpot:
    """The vendor's own client, unmodified, pointed at our port."""
    return HubSpot(access_token=account.token, host=account.running.url)
