"""Disputes: stage evidence, submit it, or concede; the bank decides later."""

from services.billing.due_dates import DAY
from services.billing.errors import InvalidRequest
from services.billing.objects.payments import ChargeBody, DisputeBody, DisputeOutcome, EvidenceDetails, new_dispute
from services.billing.operations import charges as charging
from services.billing.operations import journal, records
from services.billing.operations.params import Params, none_if_empty, pick_changes
from services.billing.operations.records import now
from services.billing.rows import DisputeId
from services.billing.tables import charges, disputes
from services.kernel.world import World

_REVIEW_TAKES = 60 * DAY
_LONGEST_EVIDENCE = 150_000


def open_dispute(world: World, charge: ChargeBody, reason: str, outcome: DisputeOutcome, due_by: int) -> DisputeBody:
    """Opens a dispute and takes the money back until the bank decides. No operation of the API does this."""
    body = new_dispute(created=now(world), charge=charge, reason=reason, outcome=outcome, due_by=due_by)
    body = records.add(world, disputes, body)
    entry = charging.record_balance_transaction(world, -body["amount"], body["currency"], "adjustment", body["id"])
    amounts = {journal.CASH: -body["amount"], journal.DISPUTED: body["amount"]}
    journal.post(world, body["id"], body["currency"], amounts)
    body = records.change(world, disputes, body, {"balance_transactions": [records.without_private(entry)]})
    records.change(world, charges, charge, {"disputed": True}, "charge.updated")
    records.record_event(world, "charge.dispute.created", body)
    return body


def update(world: World, key: DisputeId, params: Params) -> DisputeBody:
    body = records.need(world, disputes, key)
    changes: DisputeBody = pick_changes(body, params)
    if "evidence" in params:
        changes |= _stage(body, params["evidence"])
    body = records.change(world, disputes, body, changes, "charge.dispute.updated")
    return _submit(world, body) if "evidence" in params and params.get("submit", True) else body


def close(world: World, key: DisputeId) -> DisputeBody:
    body = records.need(world, disputes, key)
    if body["status"] != "needs_response":
        raise InvalidRequest("This dispute is already closed", "id")
    return decide(world, body, "lost")


def decide(world: World, body: DisputeBody, outcome: DisputeOutcome) -> DisputeBody:
    """Closes a dispute; if it is won, the money comes back."""
    changes: DisputeBody = {"status": outcome, "_decided_at": None}
    if outcome == "won":
        entry = charging.record_balance_transaction(world, body["amount"], body["currency"], "adjustment", body["id"])
        amounts = {journal.CASH: body["amount"], journal.DISPUTED: -body["amount"]}
        journal.post(world, body["id"], body["currency"], amounts)
        changes["balance_transactions"] = [*body["balance_transactions"], records.without_private(entry)]
    return records.change(world, disputes, body, changes, "charge.dispute.closed")


def fall_due(world: World, body: DisputeBody) -> None:
    """Closes the time for evidence, or applies the bank's decision."""
    if body["status"] == "under_review":
        decide(world, body, body["_outcome"])
        return
    if body["evidence_details"]["has_evidence"]:
        _submit(world, body)
        return
    details: EvidenceDetails = {**body["evidence_details"], "past_due": True}
    decide(world, records.change(world, disputes, body, {"evidence_details": details}), "lost")


def _stage(body: DisputeBody, params: Params) -> DisputeBody:
    if body["status"] != "needs_response":
        raise InvalidRequest("This dispute is already closed", "evidence")
    evidence = {**body["evidence"], **{name: none_if_empty(value) for name, value in params.items()}}
    if sum(len(value) for value in evidence.values() if isinstance(value, str)) > _LONGEST_EVIDENCE:
        raise InvalidRequest(f"The evidence is longer than {_LONGEST_EVIDENCE} characters.", "evidence")
    present = any(value for value in evidence.values())
    return {"evidence": evidence, "evidence_details": {**body["evidence_details"], "has_evidence": present}}


def _submit(world: World, body: DisputeBody) -> DisputeBody:
    details = body["evidence_details"]
    changes: DisputeBody = {
        "status": "under_review",
        "evidence_details": {**details, "submission_count": details["submission_count"] + 1},
        "_decided_at": now(world) + _REVIEW_TAKES,
    }
    return records.change(world, disputes, body, changes, "charge.dispute.updated")
