"""Taking money: payment intents, the charges that they make, and the account's own balance."""

from dataclasses import dataclass

from services.billing.errors import Declined, InvalidRequest
from services.billing.objects.customers import PaymentMethodBody
from services.billing.objects.payments import (
    APPROVED,
    BalanceTransactionBody,
    ChargeBody,
    PaymentError,
    PaymentIntentBody,
    make_declined_outcome,
    new_balance_transaction,
    new_charge,
    new_payment_intent,
    processing_fee,
)
from services.billing.operations import journal, records
from services.billing.operations.params import Params, pick_changes
from services.billing.operations.records import now
from services.billing.rows import ChargeId, CustomerId, InvoiceId, PaymentIntentId
from services.billing.tables import balance_transactions, charges, customers, payment_intents
from services.kernel.clock import to_datetime
from services.kernel.world import World

_MESSAGES = {
    "insufficient_funds": "Your card has insufficient funds.",
    "expired_card": "Your card has expired.",
    "incorrect_cvc": "Your card's security code is incorrect.",
    "processing_error": "An error occurred while processing your card. Try again in a little bit.",
    "lost_card": "Your card was declined.",
    "live_mode_test_card": "Your card was declined. Your request was in live mode, but used a known test card.",
}
# Refusals that are codes of their own; all others are a card_declined with a reason.
_OWN_CODES = frozenset({"expired_card", "incorrect_cvc", "processing_error"})
OPEN_STATUSES = frozenset({"requires_payment_method", "requires_confirmation", "requires_action"})


@dataclass(frozen=True, slots=True)
class ChargeResult:
    """What came of an attempt to charge."""

    intent: PaymentIntentBody
    charge: ChargeBody
    decline: Declined | None


def open_intent(
    world: World,
    amount: int,
    currency: str,
    customer: CustomerId | None,
    description: str | None,
    invoice: InvoiceId | None = None,
) -> PaymentIntentBody:
    body = new_payment_intent(created=now(world), amount=amount, currency=currency, customer=customer)
    body |= {"description": description, "_invoice": invoice}
    number = records.next_number(world, payment_intents)
    body["id"] = PaymentIntentId(records.new_id(world.ids, "pi", number))
    body["client_secret"] = records.client_secret(body["id"])
    return records.add(world, payment_intents, body, "payment_intent.created")


def cancel_intent(world: World, intent: PaymentIntentBody, reason: str | None) -> PaymentIntentBody:
    if intent["status"] not in OPEN_STATUSES:
        return intent
    changes: PaymentIntentBody = {"status": "canceled", "canceled_at": now(world), "cancellation_reason": reason}
    return records.change(world, payment_intents, intent, changes, "payment_intent.canceled")


def charge_intent(world: World, intent: PaymentIntentBody, method: PaymentMethodBody) -> ChargeResult:
    """Asks the bank. Its answer depends on the payment method alone, not on chance."""
    refusal = "expired_card" if is_expired(world, method) else method["_refuses_with"]
    charge = new_charge(created=now(world), intent=intent, method=method)
    if refusal is not None:
        return _decline(world, intent, method, charge, refusal)
    charge |= {
        "status": "succeeded",
        "paid": True,
        "captured": True,
        "amount_captured": charge["amount"],
        "outcome": APPROVED,
        "calculated_statement_descriptor": "TALLYPORT",
    }
    charge = records.add(world, charges, charge)
    charge = _book_charge(world, charge, intent)
    records.record_event(world, "charge.succeeded", charge)
    changes: PaymentIntentBody = {
        "status": "succeeded",
        "amount_received": charge["amount"],
        "latest_charge": charge["id"],
        "payment_method": method["id"],
        "last_payment_error": None,
    }
    intent = records.change(world, payment_intents, intent, changes, "payment_intent.succeeded")
    return ChargeResult(intent, charge, None)


def is_expired(world: World, method: PaymentMethodBody) -> bool:
    today = to_datetime(world.clock.now_ms())
    return "card" in method and (method["card"]["exp_year"], method["card"]["exp_month"]) < (today.year, today.month)


def _book_charge(world: World, charge: ChargeBody, intent: PaymentIntentBody) -> ChargeBody:
    amount, fee = charge["amount"], processing_fee(charge)
    kind = "charge" if charge["payment_method_details"]["type"] == "card" else "payment"
    entry = record_balance_transaction(world, amount, charge["currency"], kind, charge["id"], fee)
    against = journal.REVENUE
    if intent["_invoice"] is not None and intent["customer"] is not None:
        against = journal.receivable(intent["customer"])
    amounts = {journal.CASH: amount - fee, journal.FEES: fee, against: -amount}
    journal.post(world, charge["id"], charge["currency"], amounts)
    page = f"https://pay.stripe.com/receipts/{charge['id'][3:]}"
    return records.change(world, charges, charge, {"balance_transaction": entry["id"], "receipt_url": page})


def record_balance_transaction(
    world: World, amount: int, currency: str, kind: str, source: str, fee: int = 0
) -> BalanceTransactionBody:
    """Adds a line to the account's own balance."""
    entry = new_balance_transaction(
        created=now(world), amount=amount, currency=currency, kind=kind, source=source, fee=fee
    )
    return records.add(world, balance_transactions, entry)


def _decline(
    world: World, intent: PaymentIntentBody, method: PaymentMethodBody, charge: ChargeBody, refusal: str
) -> ChargeResult:
    code = refusal if refusal in _OWN_CODES else "card_declined"
    reason = refusal if refusal != "card_declined" else "generic_decline"
    message = _MESSAGES.get(refusal, "Your card was declined.")
    charge |= {"failure_code": code, "failure_message": message, "outcome": make_declined_outcome(reason)}
    charge = records.add(world, charges, charge, "charge.failed")
    error: PaymentError = {
        "charge": charge["id"],
        "code": code,
        "decline_code": reason,
        "message": message,
        "payment_method": records.without_private(method),
        "type": "card_error",
    }
    changes: PaymentIntentBody = {
        "status": "requires_payment_method",
        "latest_charge": charge["id"],
        "payment_method": None,
        "last_payment_error": error,
    }
    intent = records.change(world, payment_intents, intent, changes, "payment_intent.payment_failed")
    decline = Declined(message, code, reason, charge["id"], records.without_private(intent))
    return ChargeResult(intent, charge, decline)


def update(world: World, key: ChargeId, params: Params) -> ChargeBody:
    charge = records.need(world, charges, key)
    changes: ChargeBody = pick_changes(charge, params, ("description", "receipt_email"))
    if report := params.get("fraud_details"):
        changes["fraud_details"] = {**charge["fraud_details"], **report}
    if "customer" in params:
        if charge["customer"] not in (None, params["customer"]):
            raise InvalidRequest("This charge already belongs to a customer.", "customer")
        changes["customer"] = records.refer(world, customers, params["customer"], "customer")["id"]
    return records.change(world, charges, charge, changes, "charge.updated")
