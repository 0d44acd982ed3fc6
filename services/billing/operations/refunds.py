"""Refunds: never more than was charged and has not gone back yet."""

from services.billing import money
from services.billing.due_dates import DAY
from services.billing.errors import InvalidRequest
from services.billing.objects.payments import ChargeBody, RefundBody, RefundStatus, new_refund
from services.billing.operations import charges as charging
from services.billing.operations import journal, records
from services.billing.operations.params import Params, merge_metadata, pick_changes
from services.billing.operations.records import now
from services.billing.rows import RefundId
from services.billing.tables import charges, disputes, payment_intents, refunds
from services.kernel.world import World

# The status of a new refund by type of payment method; debits settle days later, transfers wait for bank details.
_FIRST_STATUS: dict[str, RefundStatus] = {"sepa_debit": "pending", "customer_balance": "requires_action"}
_DEBIT_SETTLES_AFTER = 3 * DAY


def create(world: World, params: Params) -> RefundBody:
    charge = _charge(world, params)
    if params.get("amount") is not None and params["amount"] <= 0:
        raise InvalidRequest("Invalid positive integer", "amount", "parameter_invalid_integer")
    rest = _refundable(world, charge)
    amount = rest if params.get("amount") is None else params["amount"]
    if amount > rest:
        wanted, left = (money.format_amount(value, charge["currency"]) for value in (amount, rest))
        raise InvalidRequest(f"Refund amount ({wanted}) is greater than unrefunded amount on charge ({left})", "amount")
    return refund_charge(world, charge, amount, params.get("reason"), merge_metadata({}, params.get("metadata")))


def refund_charge(
    world: World, charge: ChargeBody, amount: int, reason: str | None, metadata: dict[str, str]
) -> RefundBody:
    kind = charge["payment_method_details"]["type"]
    body = new_refund(created=now(world), charge=charge, amount=amount)
    body |= {"reason": reason, "metadata": metadata, "status": _FIRST_STATUS.get(kind, "succeeded")}
    if body["status"] == "pending":
        body["_settles_at"] = now(world) + _DEBIT_SETTLES_AFTER
    body = records.add(world, refunds, body)
    label = "refund" if kind == "card" else "payment_refund"
    entry = charging.record_balance_transaction(world, -amount, charge["currency"], label, body["id"])
    body = records.change(world, refunds, body, {"balance_transaction": entry["id"]})
    journal.post(world, body["id"], charge["currency"], {journal.CASH: -amount, journal.REFUNDED: amount})
    records.record_event(world, "refund.created", body)
    _count_refunded(world, charge, amount, "charge.refunded")
    return body


def update(world: World, key: RefundId, params: Params) -> RefundBody:
    body = records.need(world, refunds, key)
    changes: RefundBody = pick_changes(body, params)
    return records.change(world, refunds, body, changes, "refund.updated")


def cancel(world: World, key: RefundId) -> RefundBody:
    body = records.need(world, refunds, key)
    if body["status"] != "requires_action":
        raise InvalidRequest(f"A refund with a status of {body['status']} can't be canceled.", "id")
    amount = body["amount"]
    entry = charging.record_balance_transaction(world, amount, body["currency"], "payment_reversal", body["id"])
    journal.post(world, body["id"], body["currency"], {journal.CASH: amount, journal.REFUNDED: -amount})
    _count_refunded(world, records.must_exist(world, charges, body["charge"]), -amount, "charge.updated")
    changes: RefundBody = {"status": "canceled", "failure_balance_transaction": entry["id"]}
    return records.change(world, refunds, body, changes, "refund.updated")


def settle(world: World, body: RefundBody) -> None:
    records.change(world, refunds, body, {"status": "succeeded", "_settles_at": None}, "refund.updated")


def _count_refunded(world: World, charge: ChargeBody, amount: int, event: str) -> None:
    refunded = charge["amount_refunded"] + amount
    changes: ChargeBody = {"amount_refunded": refunded, "refunded": refunded == charge["amount"]}
    records.change(world, charges, charge, changes, event)


def _charge(world: World, params: Params) -> ChargeBody:
    if bool(params.get("charge")) == bool(params.get("payment_intent")):
        raise InvalidRequest(
            "One of the following params should be provided for this request: payment_intent or charge.",
            "charge",
            "parameter_missing",
        )
    if key := params.get("charge"):
        return records.refer(world, charges, key, "charge")
    intent = records.refer(world, payment_intents, params["payment_intent"], "payment_intent")
    if intent["latest_charge"] is None or intent["status"] != "succeeded":
        raise InvalidRequest(
            f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund.", "payment_intent"
        )
    return records.must_exist(world, charges, intent["latest_charge"])


def _refundable(world: World, charge: ChargeBody) -> int:
    if charge["status"] != "succeeded":
        raise InvalidRequest(f"Charge {charge['id']} has not succeeded and can't be refunded.", "charge")
    if charge["disputed"] and not _is_refundable_despite_dispute(world, charge):
        raise InvalidRequest(
            f"Charge {charge['id']} has been charged back; cannot issue a refund.", "charge", "charge_disputed"
        )
    rest = charge["amount"] - charge["amount_refunded"]
    if rest == 0:
        raise InvalidRequest(f"Charge {charge['id']} has already been refunded.", "charge", "charge_already_refunded")
    return rest


def _is_refundable_despite_dispute(world: World, charge: ChargeBody) -> bool:
    return all(dispute["is_charge_refundable"] for dispute in records.find_by(world, disputes, charge=charge["id"]))
