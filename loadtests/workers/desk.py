"""Work at the support desk: tickets are read, answered, tagged and searched; each write is read again in three ways."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from loadtests.calls import Response
from loadtests.workers.worker import PAGE, Activity, Exchanges, Worker

_TICKETS = "/api/v2/tickets"
_PRIORITIES = ("low", "normal", "high", "urgent")
_WORDS = ("invoice", "login", "refund", "export")


class DeskWorker(Worker):
    """One support agent."""

    product = "desk"
    watched: ClassVar = ("subject", "priority", "external_id")

    def _activities(self) -> Mapping[Activity, int]:
        return {
            self._read_one: 5,
            self._read_comments: 3,
            self._search: 2,
            self._update: 3,
            self._create: 1,
        }

    # --- reads ---

    def _browse(self) -> Exchanges:
        page = self._chance.randint(1, 3) if self._listed else 1
        query = quote("type:ticket status<solved")
        response = yield self._get("queue", f"/api/v2/search.json?query={query}&per_page={PAGE}&page={page}")
        self._check_tickets(response, response.json()["results"])
        self._list([str(ticket["id"]) for ticket in response.json()["results"]])

    def _read_one(self) -> Exchanges:
        yield from self._read_by_id(self._pick())

    def _read_comments(self) -> Exchanges:
        response = yield self._get("comments", f"{_TICKETS}/{self._pick()}/comments.json?page[size]={PAGE}")
        self._check_revision(response)

    def _search(self) -> Exchanges:
        query = quote(self._chance.choice(_WORDS) + " type:ticket")
        response = yield self._get("search", f"/api/v2/search.json?query={query}&per_page={PAGE}")
        self._check_tickets(response, response.json()["results"])

    def _read_by_id(self, ticket: str) -> Exchanges:
        response = yield self._get("get", f"{_TICKETS}/{ticket}.json")
        self._check_tickets(response, [response.json()["ticket"]], ticket)

    def _read_among_others(self, ticket: str) -> Exchanges:
        ids = ",".join(sorted({ticket, *self._chance.sample(self._listed, min(5, len(self._listed)))}))
        response = yield self._get("show many", f"{_TICKETS}/show_many.json?ids={ids}")
        self._check_tickets(response, response.json()["tickets"], ticket)

    def _read_by_search(self, ticket: str) -> Exchanges:
        """By the value just written: an index that lags would not find it."""
        query = quote(f"type:ticket external_id:{self._observations.known[ticket]['external_id']}")
        response = yield self._get("search", f"/api/v2/search.json?query={query}")
        self._check_tickets(response, response.json()["results"], ticket)

    # --- writes ---

    def _update(self) -> Exchanges:
        ticket, values = self._pick(), self._new_values()
        comment = {"body": f"Looked into it, note {self._writes}", "public": False}
        body = {"ticket": {**values, "comment": comment}}
        response = yield self._call("update", "PUT", f"{_TICKETS}/{ticket}.json", body)
        yield from self._read_again(response)

    def _create(self) -> Exchanges:
        values = self._new_values()
        ticket = {**values, "subject": f"Question {self._writes}", "comment": {"body": "Where do I find it?"}}
        response = yield self._call("create", "POST", f"{_TICKETS}.json", {"ticket": ticket}, 201)
        yield from self._read_again(response)

    def _read_again(self, response: Response) -> Exchanges:
        """Rules may change a ticket's priority: what the desk answered to the write is what must stand."""
        ticket = response.json()["ticket"]
        ticket_id = str(ticket["id"])
        self._record_write(response, {ticket_id: {name: ticket[name] for name in self.watched}})
        for read in (self._read_by_id, self._read_among_others, self._read_by_search):
            yield from read(ticket_id)

    def _new_values(self) -> dict[str, str]:
        key = f"{self._episode[-8:]}{self._count_write()}".replace("-", "")
        return {"priority": self._chance.choice(_PRIORITIES), "external_id": f"load{key}"}

    def _check_tickets(
        self, response: Response, tickets: list[Mapping[str, Any]], expected_id: str | None = None
    ) -> None:
        self._check(response, {str(ticket["id"]): ticket for ticket in tickets}, expected_id)
