"""HumanApprover: a colleague whom a person plays from the console."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from dayshift import wire

from fixtures.customers.customer import Colleague
from services.control.approvals import Approvals, PendingApproval, PersonDecision, wall_time
from services.control.customers import reading
from services.control.customers.actors import ApproverActor, Surroundings
from services.kernel.clock import iso
from services.kernel.conversation import ActorAnswer, Conversation, Message

DECLINED = "I do not approve this. Please do not go ahead."


@dataclass(frozen=True, slots=True)
class ApprovalContext:
    """The episode that a person decides in."""

    approvals: Approvals
    episode_id: str
    task: str | None


class HumanApprover(ApproverActor):
    """Reads as the simulated colleague does, and lets a person decide.

    While time passes, the episode waits some minutes of real time for the person. Where nobody decides, the colleague
    has not answered yet, and whatever time passes next waits again.
    """

    def __init__(self, colleague: Colleague, conversation: Conversation, context: ApprovalContext) -> None:
        super().__init__(colleague, conversation)
        self.declined_by: str | None = None
        self._context = context
        self._pending: PendingApproval | None = None
        self._has_waited = False

    def begin_waiting(self) -> None:
        """Time passes anew: it may be waited for the person again."""
        self._has_waited = False

    def look(self, answers: Sequence[ActorAnswer], *, holds: bool) -> int | None:
        at_ms = super().look(answers, holds=holds)
        if self._pending is None or not self._has_waited:
            return at_ms
        # Undecided or withdrawn, there is nothing to do: asked again at once, time would never pass.
        return at_ms if self._pending.is_decided else None

    async def act(self, around: Surroundings) -> None:
        if self._note is None:
            return
        if self._pending is None:
            self._pending = await self._context.approvals.ask(self._describe(self._note))
        decision = await self._await_decision(self._pending)
        if decision is None:
            return
        self._last_read, self._pending = self._note.id, None
        approves = decision.decision == "approve"
        reply = decision.note or (self.colleague.decides if approves else DECLINED)
        call = self._conversation.write_note(self.colleague.thread, reply)
        (answer,) = await around.send([self._request(call)])
        written_ms = self._conversation.parse_written(answer)
        if approves:
            self.decided_ms = written_ms
        else:
            self.declined_by = decision.person

    async def _await_decision(self, pending: PendingApproval) -> PersonDecision | None:
        self._has_waited = True
        await asyncio.wait({pending.decided}, timeout=self._context.approvals.wait_seconds)
        return pending.decided.result() if pending.decided.done() else None

    def _describe(self, note: Message) -> wire.Approval:
        return wire.Approval(
            approval_id=secrets.token_hex(12),
            episode_id=self._context.episode_id,
            task=self._context.task,
            colleague=self.colleague.user,
            thread=self.colleague.thread,
            note=reading.strip_quotes(note.text)[:5000],
            gates=[f"{gate.product} {gate.table}" for gate in self.colleague.gates],
            reply=self.colleague.decides,
            clock=iso(note.at_ms),
            asked_at=wall_time(),
        )
