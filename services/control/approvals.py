"""Approvals: what waits for a person. The gate, the person and the time go into the audit log."""

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from dayshift import wire

from services.control.ledger import Ledger, wall_ms
from services.control.problems import Conflict, NotFound
from services.kernel.clock import iso

_MOST_PENDING = 1000


@dataclass(frozen=True, slots=True)
class PersonDecision:
    """What a person decided."""

    person: str
    decision: Literal["approve", "decline"]
    note: str


@dataclass(eq=False)
class PendingApproval:
    """One request for a decision; the future has it once somebody decides, or None if nobody can any more."""

    approval: wire.Approval
    decided: "asyncio.Future[PersonDecision | None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def is_decided(self) -> bool:
        """Whether somebody decided; False also where the episode ends and nobody will."""
        return self.decided.done() and self.decided.result() is not None


class Approvals:
    """All requests that wait for a person, by id."""

    def __init__(self, ledger: Ledger, wait_seconds: float) -> None:
        self.wait_seconds = wait_seconds
        self._ledger = ledger
        self._pending: dict[str, PendingApproval] = {}

    def list(self) -> wire.Approvals:
        return wire.Approvals(approvals=[pending.approval for pending in self._pending.values()])

    async def ask(self, approval: wire.Approval) -> PendingApproval:
        if len(self._pending) >= _MOST_PENDING:
            raise Conflict(f"{_MOST_PENDING} approvals wait already")
        pending = PendingApproval(approval)
        self._pending[approval.approval_id] = pending
        gates = ", ".join(approval.gates) or "nothing by name"
        await self._ledger.record_event("approval asked", f"gate: {gates}; note: {approval.note}", approval.episode_id)
        return pending

    async def decide(self, approval_id: str, request: wire.DecisionRequest) -> wire.Approval:
        pending = self._pending.pop(approval_id, None)
        if pending is None:
            raise NotFound(f"no approval {approval_id[:60]!r} waits: it was decided, or its episode ended")
        approval = pending.approval
        kind = "approved" if request.decision == "approve" else "declined"
        gates = ", ".join(approval.gates) or "nothing by name"
        try:
            # Before it takes effect: no decision without a record.
            await self._ledger.record_event(
                kind, f"gate: {gates}; {request.note or 'no note'}", approval.episode_id, person=request.person
            )
        except BaseException:
            self._pending[approval_id] = pending
            raise
        if not pending.decided.done():
            pending.decided.set_result(PersonDecision(request.person, request.decision, request.note))
        return approval

    def withdraw(self, episode_id: str) -> None:
        """The episode ends: nobody waits any more."""
        for approval_id, pending in tuple(self._pending.items()):
            if pending.approval.episode_id == episode_id:
                del self._pending[approval_id]
                if not pending.decided.done():
                    pending.decided.set_result(None)


def wall_time() -> str:
    return iso(wall_ms())
