"""Disputes: stage evidence, submit it, or give in. The bank decides later."""

from typing import Any

from services.billing.due_dates import DAY
from services.billing.errors import InvalidRequest
from services.billing.operations import journal, payments, records
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import payments as shapes
from services.billing.tables import charges, disputes
from services.kernel.world import World

Given = dict[str, Any]

_REVIEW_TAKES = 60 * DAY
_LONGEST_EVIDENCE = 150_000


def raise_dispute(world: World, charge: Body, reason: str, outcome: str, due_by: int) -> Body:
    """The cardholder went to the bank: the money is gone until it is decided. Nobody can ask for this over the API."""
    body = shapes.dispute(created=now(world), charge=charge, reason=reason, due_by=due_by)
    body = records.add(world, disputes, {**body, "_outcome": outcome})
    entry = payments.book(world, -body["amount"], body["currency"], "adjustment", body["id"])
    amounts = {journal.CASH: -body["amount"], journal.DISPUTED: body["amount"]}
    journal.post(world, body["id"], body["currency"], amounts)
    body = records.change(world, disputes, body, {"balance_transactions": [records.public(entry)]})
    records.change(world, charges, charge, {"disputed": True}, "charge.updated")
    records.tell(world, "charge.dispute.created", body)
    return body


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, disputes, key)
    changes: Body = {}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if "evidence" in given:
        changes |= _staged(body, given["evidence"])
    body = records.change(world, disputes, body, changes, "charge.dispute.updated")
    return _submitted(world, body) if "evidence" in given and given.get("submit", True) else body


def close(world: World, key: str) -> Body:
    body = records.need(world, disputes, key)
    if body["status"] != "needs_response":
        raise InvalidRequest("This dispute is already closed", "id")
    return decide(world, body, "lost")


def decide(world: World, body: Body, outcome: str) -> Body:
    """A dispute that is won brings the money back."""
    changes: Body = {"status": outcome, "_decided_at": None}
    if outcome == "won":
        entry = payments.book(world, body["amount"], body["currency"], "adjustment", body["id"])
        amounts = {journal.CASH: body["amount"], journal.DISPUTED: -body["amount"]}
        journal.post(world, body["id"], body["currency"], amounts)
        changes["balance_transactions"] = [*body["balance_transactions"], records.public(entry)]
    return records.change(world, disputes, body, changes, "charge.dispute.closed")


def fall_due(world: World, body: Body) -> None:
    """Nobody answered in time, or the bank has made up its mind."""
    if body["status"] == "under_review":
        decide(world, body, body["_outcome"])
        return
    if body["evidence_details"]["has_evidence"]:
        _submitted(world, body)
        return
    details = {**body["evidence_details"], "past_due": True}
    decide(world, records.change(world, disputes, body, {"evidence_details": details}), "lost")


def _staged(body: Body, given: Given) -> Body:
    if body["status"] != "needs_response":
        raise InvalidRequest("This dispute is already closed", "evidence")
    evidence = {**body["evidence"], **{name: cleared(value) for name, value in given.items()}}
    if sum(len(value) for value in evidence.values() if isinstance(value, str)) > _LONGEST_EVIDENCE:
        raise InvalidRequest(f"The evidence is longer than {_LONGEST_EVIDENCE} characters.", "evidence")
    present = any(value for value in evidence.values())
    return {"evidence": evidence, "evidence_details": {**body["evidence_details"], "has_evidence": present}}


def _submitted(world: World, body: Body) -> Body:
    details = body["evidence_details"]
    changes = {
        "status": "under_review",
        "evidence_details": {**details, "submission_count": details["submission_count"] + 1},
        "_decided_at": now(world) + _REVIEW_TAKES,
    }
    return records.change(world, disputes, body, changes, "charge.dispute.updated")
