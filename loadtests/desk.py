"""A shift at the support desk: tickets read, answered, tagged and found again, each write looked at in three ways."""

import json
import random  # noqa: TID251 - a load generator, not a world; seeded
from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import quote

from dayshift.wire import ProductAccess

from loadtests.asking import Answer, Ask
from loadtests.memory import Memory

Look = Generator[Ask, Answer, None]
_TICKETS = "/api/v2/tickets"
_WATCHED = ("subject", "priority", "external_id")
_PAGE = 25
_PRIORITIES = ("low", "normal", "high", "urgent")


def desk_shift(access: ProductAccess, chance: random.Random, episode: str) -> Look:
    yield from _Desk(access, chance, episode).work()


class _Desk:
    """One support agent."""

    def __init__(self, access: ProductAccess, chance: random.Random, episode: str) -> None:
        self._base = access.base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {access.credential}", "content-type": "application/json"}
        self._chance = chance
        self._episode = episode
        self._memory = Memory(_WATCHED)
        self._open: list[str] = []
        self._written = 0

    def work(self) -> Look:
        while True:
            yield from self._browse()
            for _ in range(3):
                yield from self._chance.choices(
                    (self._read_one, self._thread, self._search, self._change, self._add), (5, 3, 2, 3, 1)
                )[0]()

    # --- reads ---

    def _browse(self) -> Look:
        page = self._chance.randint(1, 3) if self._open else 1
        query = quote("type:ticket status<solved")
        answer = yield self._get("queue", f"/api/v2/search.json?query={query}&per_page={_PAGE}&page={page}")
        self._look_at(answer, answer.json()["results"])
        self._open = [str(found["id"]) for found in answer.json()["results"]] or self._open

    def _read_one(self) -> Look:
        yield from self._by_id(self._chance.choice(self._open))

    def _thread(self) -> Look:
        ticket = self._chance.choice(self._open)
        answer = yield self._get("comments", f"{_TICKETS}/{ticket}/comments.json?page[size]={_PAGE}")
        self._memory.saw(answer.revision)

    def _search(self) -> Look:
        words = quote(self._chance.choice(("invoice", "login", "refund", "export")) + " type:ticket")
        answer = yield self._get("search", f"/api/v2/search.json?query={words}&per_page={_PAGE}")
        self._look_at(answer, answer.json()["results"])

    def _by_id(self, ticket: str) -> Look:
        answer = yield self._get("get", f"{_TICKETS}/{ticket}.json")
        self._look_at(answer, [answer.json()["ticket"]], ticket)

    def _among_others(self, ticket: str) -> Look:
        ids = ",".join(sorted({ticket, *self._chance.sample(self._open, min(5, len(self._open)))}))
        answer = yield self._get("show many", f"{_TICKETS}/show_many.json?ids={ids}")
        self._look_at(answer, answer.json()["tickets"], ticket)

    def _by_search(self, ticket: str) -> Look:
        """By the value just written: an index that lags would not find it."""
        query = quote(f"type:ticket external_id:{self._memory.known[ticket]['external_id']}")
        answer = yield self._get("search", f"/api/v2/search.json?query={query}")
        self._look_at(answer, answer.json()["results"], ticket)

    # --- writes ---

    def _change(self) -> Look:
        ticket = self._chance.choice(self._open)
        values = self._values()
        body = {**values, "comment": {"body": f"Looked into it, note {self._written}", "public": False}}
        answer = yield self._send("update", "PUT", f"{_TICKETS}/{ticket}.json", {"ticket": body}, 200)
        # Rules may have a say in a ticket's priority: what the desk answers is what must stand.
        self._memory.wrote(answer.revision, {ticket: self._watched(answer.json()["ticket"])})
        yield from self._look_again(ticket)

    def _add(self) -> Look:
        body = {**self._values(), "subject": f"Question {self._written}", "comment": {"body": "Where do I find it?"}}
        answer = yield self._send("create", "POST", f"{_TICKETS}.json", {"ticket": body}, 201)
        made = answer.json()["ticket"]
        self._memory.wrote(answer.revision, {str(made["id"]): self._watched(made)})
        yield from self._look_again(str(made["id"]))

    def _look_again(self, ticket: str) -> Look:
        for way in (self._by_id, self._among_others, self._by_search):
            yield from way(ticket)

    def _values(self) -> dict[str, str]:
        self._written += 1
        key = f"{self._episode[-8:]}{self._written}".replace("-", "")
        return {"priority": self._chance.choice(_PRIORITIES), "external_id": f"load{key}"}

    def _watched(self, ticket: Mapping[str, Any]) -> dict[str, Any]:
        return {name: ticket[name] for name in _WATCHED}

    def _look_at(self, answer: Answer, found: list[Mapping[str, Any]], ticket: str | None = None) -> None:
        self._memory.look_at(answer.revision, {str(one["id"]): one for one in found}, ticket)

    def _get(self, name: str, path: str) -> Ask:
        return Ask(f"desk {name}", "GET", self._base + path, self._headers, None, episode=self._episode)

    def _send(self, name: str, method: str, path: str, body: Mapping[str, Any], status: int) -> Ask:
        content = json.dumps(body).encode()
        return Ask(
            f"desk {name}", method, self._base + path, self._headers, content, frozenset({status}), self._episode
        )
