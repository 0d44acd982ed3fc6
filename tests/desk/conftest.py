"""What desk tests stand on: an office in a world file, and a real server in front of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from zdesk import Zendesk
from zenpy import Zenpy

from services.desk.product import product
from services.kernel.actor_requests import ActorRequest
from services.kernel.answers import Answer
from services.kernel.changes import CUSTOMER
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.contract import running as contract
from tests.contract.running import Running, forks_of, opened
from tests.desk.office import MARA, STAFF, build_office


class Account(contract.Account):
    """One key on the running desk, and the customers who write to it."""

    def as_customer(
        self, user: int, method: str, path: str, body: dict[str, Any] | None = None, **query: str
    ) -> tuple[int, Any]:
        """What a customer asks in their own name, and the desk's answer."""
        actor_request = ActorRequest(user, CUSTOMER, method, f"/api/v2/{path}", query, body)
        answer = self.running.there(self._served(actor_request))
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

    async def _served(self, actor_request: ActorRequest) -> Answer:
        async with self.episode.lock:
            return await self.running.service.host.actor_requests.serve(self.world, actor_request)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("desk")
    build_office(place / "worlds")
    return place


@pytest.fixture(scope="session")
def running(folder: Path) -> Iterator[Running[Account]]:
    with Running(product, folder, Account) as started:
        yield started


@pytest.fixture
def account(running: Running[Account]) -> Iterator[Account]:
    with opened(running) as account:
        yield account


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
    with forks_of(product, folder) as pool:
        yield pool


@pytest.fixture
def world(forks: Forks) -> Iterator[World]:
    """A world without HTTP around it."""
    fork = forks.take()
    yield World(fork, seed=7)
    forks.give_back(fork)
