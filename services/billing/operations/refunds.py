"""Money back: never more than came in and has not gone back yet."""

from typing import Any

from services.billing import money
from services.billing.due_dates import DAY
from services.billing.errors import InvalidRequest
from services.billing.operations import journal, listing, payments, records
from services.billing.operations.records import Body, merged, now
from services.billing.shapes import payments as shapes
from services.billing.tables import charges, disputes, payment_intents, refunds
from services.kernel.world import World

Given = dict[str, Any]

# How a refund by each way of payment begins; debits settle days later, transfers wait for bank details.
_FIRST_STATUS = {"sepa_debit": "pending", "customer_balance": "requires_action"}
_DEBIT_SETTLES_AFTER = 3 * DAY


def create(world: World, given: Given) -> Body:
    charge = _charge(world, given)
    if given.get("amount") is not None and given["amount"] <= 0:
        raise InvalidRequest("Invalid positive integer", "amount", "parameter_invalid_integer")
    rest = _refundable(world, charge)
    amount = rest if given.get("amount") is None else given["amount"]
    if amount > rest:
        asked, left = money.spelt(amount, charge["currency"]), money.spelt(rest, charge["currency"])
        raise InvalidRequest(f"Refund amount ({asked}) is greater than unrefunded amount on charge ({left})", "amount")
    return give_back(world, charge, amount, given.get("reason"), merged({}, given.get("metadata")))


def give_back(world: World, charge: Body, amount: int, reason: str | None, metadata: dict[str, str]) -> Body:
    kind = charge["payment_method_details"]["type"]
    body = shapes.refund(created=now(world), charge=charge, amount=amount)
    body |= {"reason": reason, "metadata": metadata, "status": _FIRST_STATUS.get(kind, "succeeded")}
    if body["status"] == "pending":
        body["_settles_at"] = now(world) + _DEBIT_SETTLES_AFTER
    body = records.add(world, refunds, body)
    label = "refund" if kind == "card" else "payment_refund"
    entry = payments.book(world, -amount, charge["currency"], label, body["id"])
    body = records.change(world, refunds, body, {"balance_transaction": entry["id"]})
    journal.post(world, body["id"], charge["currency"], {journal.CASH: -amount, journal.REFUNDED: amount})
    records.tell(world, "refund.created", body)
    _count(world, charge, amount, "charge.refunded")
    return body


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, refunds, key)
    changes = {"metadata": merged(body["metadata"], given["metadata"])} if "metadata" in given else {}
    return records.change(world, refunds, body, changes, "refund.updated")


def cancel(world: World, key: str) -> Body:
    body = records.need(world, refunds, key)
    if body["status"] != "requires_action":
        raise InvalidRequest(f"A refund with a status of {body['status']} can't be canceled.", "id")
    amount = body["amount"]
    kind = "payment_reversal"
    entry = payments.book(world, amount, body["currency"], kind, body["id"])
    journal.post(world, body["id"], body["currency"], {journal.CASH: amount, journal.REFUNDED: -amount})
    _count(world, records.known(world, charges, body["charge"]), -amount, "charge.updated")
    changes = {"status": "canceled", "failure_balance_transaction": entry["id"]}
    return records.change(world, refunds, body, changes, "refund.updated")


def settle(world: World, body: Body) -> None:
    records.change(world, refunds, body, {"status": "succeeded", "_settles_at": None}, "refund.updated")


def _count(world: World, charge: Body, amount: int, event: str) -> None:
    refunded = charge["amount_refunded"] + amount
    changes = {"amount_refunded": refunded, "refunded": refunded == charge["amount"]}
    records.change(world, charges, charge, changes, event)


def _charge(world: World, given: Given) -> Body:
    if bool(given.get("charge")) == bool(given.get("payment_intent")):
        raise InvalidRequest(
            "One of the following params should be provided for this request: payment_intent or charge.",
            "charge",
            "parameter_missing",
        )
    if key := given.get("charge"):
        return records.refer(world, charges, key, "charge")
    intent = records.refer(world, payment_intents, given["payment_intent"], "payment_intent")
    if intent["latest_charge"] is None or intent["status"] != "succeeded":
        raise InvalidRequest(
            f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund.", "payment_intent"
        )
    return records.known(world, charges, intent["latest_charge"])


def _refundable(world: World, charge: Body) -> int:
    if charge["status"] != "succeeded":
        raise InvalidRequest(f"Charge {charge['id']} has not succeeded and can't be refunded.", "charge")
    if charge["disputed"] and not _despite_dispute(world, charge):
        raise InvalidRequest(
            f"Charge {charge['id']} has been charged back; cannot issue a refund.", "charge", "charge_disputed"
        )
    rest = int(charge["amount"] - charge["amount_refunded"])
    if rest == 0:
        raise InvalidRequest(f"Charge {charge['id']} has already been refunded.", "charge", "charge_already_refunded")
    return rest


def _despite_dispute(world: World, charge: Body) -> bool:
    return all(one["is_charge_refundable"] for one in listing.of(world, disputes, charge=charge["id"]))
