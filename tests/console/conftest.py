"""A whole stack with its console, a real PostgreSQL as its ledger, and somebody who has signed in."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from dayshift.connection import Address, Connection
from dayshift.episode import Episode

from tests import live_servers
from tests.company import WORLD, small_company
from tests.control.stack import TOKEN, Stack, eventually

CONSOLE_TOKEN = "console-token-of-this-test"
APPROVED_TASK = "desk/refund-above-limit"


@dataclass
class Console:
    """The console as one person's browser sees it, without the browser."""

    stack: Stack
    person: str = "Ada"
    csrf: str = ""
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.url, timeout=120)
        self.stack.clients.append(self.client)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.stack.base + 5}"

    def sign_in(self) -> "Console":
        answer = self.client.post("/login", data={"token": CONSOLE_TOKEN, "person": self.person})
        assert answer.status_code == 303, answer.text
        self.csrf = self.client.get("/api/session").json()["csrf"]
        return self

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(f"/api/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.client.post(f"/api/{path}", json=body or {}, headers={"x-csrf-token": self.csrf})

    def do(self, path: str, body: Any = None) -> Any:
        answer = self.post(path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def await_recorded(self, episode_id: str) -> dict[str, Any]:
        """The episode's page, as soon as the console has read the ledger."""
        eventually(lambda: self.client.get(f"/api/episodes/{episode_id}").status_code == 200)
        detail: dict[str, Any] = self.get(f"episodes/{episode_id}")
        return detail

    def await_approval(self, episode_id: str) -> dict[str, Any]:
        def waiting() -> list[dict[str, Any]]:
            return [each for each in self.get("approvals")["approvals"] if each["episode_id"] == episode_id]

        eventually(waiting)
        return waiting()[0]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("console")
    (var / "worlds").symlink_to(small_company(tmp_path_factory) / "worlds", target_is_directory=True)
    with live_servers.postgres() as ledger:
        running = Stack(
            var,
            {
                "DAYSHIFT_WITHOUT": "ide",
                "DAYSHIFT_LEDGER_URL": ledger,
                "DAYSHIFT_CONSOLE_TOKEN": CONSOLE_TOKEN,
                "DAYSHIFT_HUMAN_APPROVALS": APPROVED_TASK,
                "DAYSHIFT_APPROVAL_SECONDS": "30",
            },
        ).start()
        yield running
        running.stop()


@pytest.fixture(scope="session")
def console(stack: Stack) -> Console:
    return Console(stack).sign_in()


@pytest.fixture(scope="session")
def connection(stack: Stack) -> Iterator[Connection]:
    with Connection(Address(f"http://127.0.0.1:{stack.base}", TOKEN)) as connected:
        yield connected


@pytest.fixture
def open_episode(connection: Connection) -> Iterator[Callable[..., Episode]]:
    opened: list[Episode] = []

    def open_(task: str | None = "crm/correct-contact", seed: int = 0) -> Episode:
        opened.append(Episode.open(task, seed=seed, world=WORLD, connection=connection))
        return opened[-1]

    yield open_
    for episode in opened:
        episode.close()


def find_ticket(episode: Episode) -> int:
    found = re.search(r"\d{3,}", episode.brief)
    assert found is not None, episode.brief
    return int(found[0])


def ask_for_refund(episode: Episode) -> int:
    """Writes the internal note that calls the colleague who decides; returns the ticket."""
    ticket = find_ticket(episode)
    note = {"body": "Do you approve the refund that the customer asks for?", "public": False}
    step = episode.step("desk.tickets.update", ticket_id=ticket, ticket={"comment": note})
    assert step.status == 200, step.text
    return ticket


def written_notes(episode: Episode, ticket: int) -> str:
    return episode.step("desk.comments.list", ticket_id=ticket).text
