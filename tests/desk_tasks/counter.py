"""A counter to stand at: one customer at a real desk, an agent who writes to them, and a problem that is there or not."""

from collections.abc import Mapping, Sequence
from typing import Any

from fixtures.customers.customer import Customer, Fact, Saying
from fixtures.tasks.desk_rows import Opening, end_users, own_agent, plant_ticket, row_of
from fixtures.tasks.family import Asked
from services.control.customers.people import Patron
from services.desk import tables
from services.desk.operations import tickets
from services.desk.operations.changing import API, SYSTEM, change_ticket
from services.kernel import catalog
from services.kernel.visitors import Visit, Visitors
from services.kernel.world import World

INVOICE = Fact("invoice", ("invoice", "invoice number", "rechnung"), "The invoice is ROSE-0042")
COLOUR = Fact("colour", ("colour",), "It is green")
DONE = "We have refunded 120.00 to your card."


class Counter:
    """Both sides of one ticket."""

    def __init__(self, desk: World, persona: str, language: str = "en", seed: int = 3) -> None:
        self.desk = desk
        self.product = catalog.product("desk")
        self.agent = own_agent(desk)
        self.user = end_users(desk)[0]
        self.ticket = plant_ticket(desk, self.user, Opening("Charged twice", "You charged us twice.", hours_ago=1))
        self.is_fixed = False
        customer = Customer(
            user=self.user,
            ticket=self.ticket,
            name="Robin",
            persona=persona,
            language=language,
            facts=(INVOICE, COLOUR),
            wants=(Asked("billing", "ChargeRefunded", {}),),
            tells=(Saying(("120.00", "120,00")),),
        )
        self.patron = Patron(customer, seed, desk.clock.now_ms())
        self._visitors = Visitors(self.product)

    async def visit(self, visits: Sequence[dict[str, Any]]) -> list[Mapping[str, Any]]:
        answers = []
        for one in visits:
            visit = Visit(one["user"], one["actor"], one["method"], one["path"], {}, one["body"])
            answer = await self._visitors.serve(self.desk, visit)
            answers.append({"status": answer.status, "body": answer.body.decode()})
        return answers

    def says(self, text: str = "", **changes: Any) -> None:
        """The agent replies, or changes the ticket without a word."""
        self.desk.actor = "agent"
        comment = {"comment": {"body": text, "public": True}} if text else {}
        given = {**comment, "assignee_id": self.agent, **changes}
        tickets.update(self.desk, self.ticket, given, row_of(self.desk, self.agent))
        self.desk.actor = "house"

    def closes(self) -> None:
        row = self.desk.get(tables.tickets, self.ticket)
        assert row is not None
        change_ticket(self.desk, row, {"status": "closed"}, SYSTEM, API)

    async def passes(self, hours: float) -> None:
        """Time, with whatever the customer does in it."""
        end = self.desk.clock.now_ms() + round(hours * 3_600_000)
        while (due := await self._due()) is not None and due <= end:
            self.product.advance(self.desk, max(due, self.desk.clock.now_ms()))
            await self.patron.act(self)
        self.product.advance(self.desk, end)

    async def _due(self) -> int | None:
        return self.patron.look(await self.visit(self.patron.visits()), is_so=self.is_fixed)

    @property
    def status(self) -> str:
        row = self.desk.get(tables.tickets, self.ticket)
        assert row is not None
        return str(row["body"]["status"])

    @property
    def rating(self) -> str | None:
        found = self.desk.rows(
            "SELECT score FROM satisfaction_ratings WHERE ticket_id = ? ORDER BY id DESC", (self.ticket,)
        )
        return found[0][0] if found else None

    @property
    def heard(self) -> list[str]:
        """What the customer wrote after the first message."""
        said = self.desk.rows(
            "SELECT comment_text FROM comments WHERE ticket_id = ? AND author_id = ? ORDER BY id",
            (self.ticket, self.user),
        )
        return [text for (text,) in said][1:]
