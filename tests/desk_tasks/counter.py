"""A counter to stand at: one customer at a real desk, an agent who writes to them, and a problem that is there or not."""

from collections.abc import Sequence
from typing import Any

from fixtures.customers.customer import Customer, Fact, Saying
from fixtures.tasks.desk.shared.records import Opening, end_users, own_agent, plant_ticket, user_row
from fixtures.tasks.family import CheckQuestion
from services.control.customers import actors
from services.control.customers.actors import CustomerActor
from services.desk import tables
from services.desk.judging import DeskConversation
from services.desk.operations.tickets import update_ticket
from services.desk.records.ticket_changes import API, SYSTEM, change_ticket
from services.desk.rows import TicketId
from services.kernel import catalog
from services.kernel.actor_requests import ActorRequest, ActorRequests
from services.kernel.conversation import ActorAnswer
from services.kernel.world import World

INVOICE = Fact("invoice", ("invoice", "invoice number", "rechnung"), "The invoice is ROSE-0042")
COLOUR = Fact("colour", ("colour",), "It is green")
DONE = "We have refunded 120.00 to your card."


class Counter:
    """Both sides of one ticket."""

    def __init__(
        self,
        desk: World,
        persona: str,
        language: str = "en",
        seed: int = 3,
        facts: tuple[Fact, ...] = (INVOICE, COLOUR),
    ) -> None:
        self.desk = desk
        self.product = catalog.product("desk")
        self.agent = own_agent(desk)
        self.user = end_users(desk)[0]
        self.ticket = plant_ticket(desk, self.user, Opening("Charged twice", "You charged us twice.", hours_ago=1))
        self.is_fixed = False
        customer = Customer(
            user=self.user,
            thread=self.ticket,
            name="Robin",
            persona=persona,
            language=language,
            facts=facts,
            wants=(CheckQuestion("billing", "ChargeRefunded", {}),),
            tells=(Saying(("120.00", "120,00")),),
        )
        self.actor = CustomerActor(customer, DeskConversation(), seed, desk.clock.now_ms())
        self._actor_requests = ActorRequests(self.product)

    async def send(self, requests: Sequence[actors.ActorRequest]) -> list[ActorAnswer]:
        answers: list[ActorAnswer] = []
        for sent in requests:
            request = ActorRequest(sent["user"], sent["actor"], sent["method"], sent["path"], {}, sent["body"])
            answer = await self._actor_requests.serve(self.desk, request)
            answers.append({"status": answer.status, "body": answer.body.decode()})
        return answers

    def says(self, text: str = "", **changes: Any) -> None:
        """The agent replies, or changes the ticket without a word."""
        self.desk.actor = "agent"
        comment = {"comment": {"body": text, "public": True}} if text else {}
        payload = {**comment, "assignee_id": self.agent, **changes}
        update_ticket(self.desk, TicketId(self.ticket), payload, user_row(self.desk, self.agent))
        self.desk.actor = "system"

    def closes(self) -> None:
        row = tables.tickets.must_exist(self.desk, TicketId(self.ticket))
        change_ticket(self.desk, row, {"status": "closed"}, SYSTEM, API)

    async def passes(self, hours: float) -> None:
        """Time, with whatever the customer does in it."""
        end = self.desk.clock.now_ms() + round(hours * 3_600_000)
        while (due := await self._due()) is not None and due <= end:
            self.product.advance(self.desk, max(due, self.desk.clock.now_ms()))
            await self.actor.act(self)
        self.product.advance(self.desk, end)

    async def _due(self) -> int | None:
        return self.actor.look(await self.send(self.actor.requests()), holds=self.is_fixed)

    @property
    def status(self) -> str:
        return tables.tickets.must_exist(self.desk, TicketId(self.ticket))["body"]["status"]

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
