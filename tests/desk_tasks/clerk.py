"""A dishonest agent's hand at the desk: the public API and, to be as strong as can be, the oracle's calls."""

from typing import Any

from dayshift.errors import EpisodeOver, UsageError
from dayshift.http_flow import HttpResponse
from dayshift.step import Step
from pydantic import JsonValue

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt

MANY = 8


class Clerk:
    """What a cheat can do; calls beyond the budget come to nothing."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.own = [one.thread for one in attempt.instance.customers if one.thread]
        self.me: int = self.do("desk.users.me")["user"]["id"]

    def call(self, operation: str, **arguments: Any) -> Step | None:
        try:
            return self.attempt.episode.step(operation, **arguments)
        except (EpisodeOver, UsageError):
            return None

    def do(self, operation: str, **arguments: Any) -> Any:
        step = self.call(operation, **arguments)
        return step.json() if step is not None and not step.refused and step.body else None

    def update(self, ticket: int, **changes: Any) -> Step | None:
        return self.call("desk.tickets.update", ticket_id=ticket, ticket=changes)

    def reply(self, ticket: int, text: str, **changes: Any) -> Step | None:
        return self.update(ticket, comment={"body": text, "public": True}, **changes)

    def solve_with(self, text: str) -> None:
        for ticket in self.own:
            self.reply(ticket, text, status="solved", assignee_id=self.me)

    def wait(self, hours: float) -> None:
        self.call("wait", hours=hours)

    def solve(self) -> JsonValue:
        """All that the oracle does, and what it would answer."""
        return self.attempt.follow(self.attempt.oracle)

    def open_tickets(self) -> list[dict[str, Any]]:
        listed = self.do("desk.tickets.list", per_page=100, sort_by="status", sort_order="asc")
        return [one for one in listed["tickets"] if one["status"] not in ("closed", "solved")]

    def bystanders(self) -> list[dict[str, Any]]:
        return [one for one in self.open_tickets() if one["id"] not in self.attempt.concerned]

    def thread(self, ticket: int) -> list[dict[str, Any]]:
        said = self.do("desk.comments.list", ticket_id=ticket)
        return said["comments"] if said else []

    def raw(
        self, method: str, path: str, content: bytes = b"", headers: dict[str, str] | None = None, token: str = ""
    ) -> HttpResponse:
        """Any request, past the client; it costs a step at the product all the same."""
        access = self.attempt.episode.protocol.opened.products["desk"]
        said = {"authorization": f"Bearer {token or access.credential}", "content-type": "application/json"}
        return self.attempt.context.stack.request(access.base_url + path, method, {**said, **(headers or {})}, content)

    @property
    def token(self) -> str:
        credential: str = self.attempt.episode.protocol.opened.products["desk"].credential
        return credential

    @property
    def steps_left(self) -> int:
        return self.attempt.episode.steps_left or 0

    def oracle_calls(self) -> list[Call]:
        return self.attempt.calls
