"""What desk tests stand on: an office in a world file, and a real server in front of it."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvloop

from services.desk.declared import product
from services.kernel.config import Settings
from services.kernel.episodes import Episode, Opening
from services.kernel.forks import Forks
from services.kernel.serve import Service, listener
from services.kernel.template import Template
from services.kernel.world import World
from tests.desk.office import build_office

_NUMBERS = itertools.count(1)


class Running:
    """The desk behind a socket, in a thread of its own."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self.service = service
        self._loop = loop
        self.url = f"http://127.0.0.1:{port}"

    def open(self, faults: str = "none", seed: int = 7) -> "Account":
        number = next(_NUMBERS)
        opening = Opening(f"e{number}", f"zd_{number:08d}", seed, "standard", faults)
        return Account(self, self.service.episodes.open(opening))

    def advance(self, episode: Episode, days: float) -> None:
        to_ms = episode.world.clock.now_ms() + round(days * 86_400_000)
        asyncio.run_coroutine_threadsafe(self.service.house.advance(episode, to_ms), self._loop).result(60)


class Account:
    """One key on the running service."""

    def __init__(self, running: Running, episode: Episode) -> None:
        self.running = running
        self.episode = episode
        self.key = episode.opening.credential
        self.http = httpx.Client(base_url=running.url, headers={"authorization": f"Bearer {self.key}"}, timeout=30)

    @property
    def world(self) -> World:
        return self.episode.world

    def wait(self, days: float) -> None:
        self.running.advance(self.episode, days)

    def close(self) -> None:
        self.http.close()
        self.running.service.episodes.close(self.episode)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("desk")
    build_office(place / "worlds")
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
    assert opened.episode.broken is None
    opened.close()


@pytest.fixture(scope="session")
def forks(folder: Path) -> Iterator[Forks]:
    template = Template(folder / "worlds" / "desk-standard.sqlite", product.schema)
    pool = Forks(template)
    yield pool
    pool.close()
    template.close()


@pytest.fixture
def world(forks: Forks) -> Iterator[World]:
    """A world without HTTP around it."""
    fork = forks.take()
    yield World(fork, seed=7)
    forks.give_back(fork)
