"""What desk tests stand on: an office in a world file, and a real server in front of it."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import uvloop
from zdesk import Zendesk
from zenpy import Zenpy

from services.desk.product import product
from services.kernel.answers import Answer
from services.kernel.config import Settings
from services.kernel.episodes import Episode, Opening
from services.kernel.forks import Forks
from services.kernel.serve import Service, listener
from services.kernel.template import Template
from services.kernel.visitors import CUSTOMER, Visit, Visitors
from services.kernel.world import World
from tests.desk.office import MARA, STAFF, build_office

_NUMBERS = itertools.count(1)


class Running:
    """The desk behind a socket, in a thread of its own."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self.service = service
        self._loop = loop
        self._visitors = Visitors(product)
        self.url = f"http://127.0.0.1:{port}"

    def open(self, faults: str = "none", seed: int = 7) -> "Account":
        number = next(_NUMBERS)
        opening = Opening(f"e{number}", f"zd_{number:08d}", seed, "standard", faults)
        return Account(self, self.service.episodes.open(opening))

    def advance(self, episode: Episode, days: float) -> None:
        to_ms = episode.world.clock.now_ms() + round(days * 86_400_000)
        asyncio.run_coroutine_threadsafe(self.service.house.advance(episode, to_ms), self._loop).result(60)

    def visit(self, episode: Episode, visit: Visit) -> Answer:
        async def served() -> Answer:
            async with episode.lock:
                return await self._visitors.serve(episode.world, visit)

        return asyncio.run_coroutine_threadsafe(served(), self._loop).result(60)


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

    def as_customer(
        self, user: int, method: str, path: str, body: dict[str, Any] | None = None, **query: str
    ) -> tuple[int, Any]:
        """What a customer asks in their own name, and the desk's answer."""
        visit = Visit(user, CUSTOMER, method, f"/api/v2/{path}", query, body)
        answer = self.running.visit(self.episode, visit)
        return answer.status, orjson.loads(answer.body)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(f"/api/v2/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def put(self, path: str, **body: Any) -> httpx.Response:
        return self.http.put(f"/api/v2/{path}", json=body)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(f"/api/v2/{path}", json=body)

    def finished(self, answer: httpx.Response) -> Any:
        """The job that an answer announced, when it is done."""
        job = answer.json()["job_status"]
        assert job["status"] == "queued"
        return self.finished_id(job["id"])

    def finished_id(self, job_id: str) -> Any:
        for _ in range(10):
            job = self.get(f"job_statuses/{job_id}")["job_status"]
            if job["status"] == "completed":
                return job
        raise AssertionError(f"the job does not end: {job}")

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


@pytest.fixture
def zenpy(account: Account, monkeypatch: pytest.MonkeyPatch) -> Zenpy:
    """One of the vendor's clients, unmodified, pointed at our port."""
    monkeypatch.setenv("ZENPY_FORCE_NETLOC", account.running.url.removeprefix("http://"))
    monkeypatch.setenv("ZENPY_FORCE_SCHEME", "http")
    return Zenpy(subdomain="tessavik", email=STAFF[MARA][1], token=account.key, disable_cache=True)


@pytest.fixture
def zdesk(account: Account) -> Zendesk:
    """Another of them."""
    return Zendesk(account.running.url, zdesk_email=STAFF[MARA][1], zdesk_api=account.key)


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
