"""A product behind a real socket, in a thread of its own, and the accounts that a test opens on it."""

import asyncio
import itertools
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import httpx
import uvloop

from services.kernel.config import Settings
from services.kernel.episodes import Episode, Opening
from services.kernel.forks import Forks
from services.kernel.product import Product
from services.kernel.serve import Service, listener
from services.kernel.template import Template
from services.kernel.world import World

HOURS_A_DAY = 24
_HOUR_MS = 3_600_000
_NUMBERS = itertools.count(1)
Opened = TypeVar("Opened", bound="Account")
Answer = TypeVar("Answer")


class Running(Generic[Opened]):
    """One product as its process has it, less the process."""

    def __init__(self, product: Product, folder: Path, account: type[Opened]) -> None:
        self.product = product
        self.service = Service(product, Settings(var=folder, harness_token="harness"))
        self._account = account
        self._loop = uvloop.new_event_loop()
        self._server = listener(self.service.agent_app(), "127.0.0.1", 0)
        serving = (self._server.serve(),)
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=serving, daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._loop.close()
        self.service.episodes.worlds.close()

    def open(self, faults: str = "none", seed: int = 7) -> Opened:
        number = next(_NUMBERS)
        opening = Opening(f"e{number}", self.product.create_credential(f"{number:08d}"), seed, "standard", faults)
        return self._account(self, self.service.episodes.open(opening))

    def there(self, asked: Coroutine[Any, Any, Answer]) -> Answer:
        """In the service's own thread, as its requests are."""
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result(60)


class Account:
    """One credential on the running service."""

    def __init__(self, running: "Running[Any]", episode: Episode) -> None:
        self.running = running
        self.episode = episode
        self.key = episode.opening.credential
        self.http = httpx.Client(base_url=running.url, headers={"authorization": f"Bearer {self.key}"}, timeout=120)

    @property
    def world(self) -> World:
        return self.episode.world

    def wait(self, days: float) -> None:
        to_ms = self.world.clock.now_ms() + round(days * HOURS_A_DAY * _HOUR_MS)
        self.running.there(self.running.service.host.advance(self.episode, to_ms))

    def close(self) -> None:
        self.http.close()
        self.running.service.episodes.close(self.episode)


@contextmanager
def opened(running: Running[Opened]) -> Iterator[Opened]:
    """An account for one test, in which nothing of ours may break."""
    account = running.open()
    yield account
    assert account.episode.broken is None
    account.close()


@contextmanager
def forks_of(product: Product, folder: Path) -> Iterator[Forks]:
    """Worlds without HTTP around them."""
    template = Template(folder / "worlds" / f"{product.name}-standard.sqlite", product.schema)
    pool = Forks(template)
    yield pool
    pool.close()
    template.close()
