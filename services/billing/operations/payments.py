"""Payment intents and the charges they make."""

from dataclasses import dataclass
from typing import Any

from services.billing.errors import Declined, InvalidRequest
from services.billing.operations import customers, journal, records
from services.billing.operations.catalogue import need_currency
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import payments as shapes
from services.billing.tables import (
    balance_transactions,
    charges,
    payment_intents,
    payment_methods,
)
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.kernel.clock import moment
from services.kernel.world import World

Given = dict[str, Any]

_WORDS = {
    "insufficient_funds": "Your card has insufficient funds.",
    "expired_card": "Your card has expired.",
    "incorrect_cvc": "Your card's security code is incorrect.",
    "processing_error": "An error occurred while processing your card. Try again in a little bit.",
    "lost_card": "Your card was declined.",
    "live_mode_test_card": "Your card was declined. Your request was in live mode, but used a known test card.",
}
# Refusals that are codes of their own; all others are a card_declined with a reason.
_OWN_CODES = frozenset({"expired_card", "incorrect_cvc", "processing_error"})
_OPEN = frozenset({"requires_payment_method", "requires_confirmation", "requires_action"})
_SMALLEST = 50


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt to charge."""

    intent: Body
    charge: Body
    decline: Declined | None


def create(world: World, given: Given) -> Body:
    need_currency(given["currency"])
    if given["amount"] <= 0:
        raise InvalidRequest("This value must be greater than or equal to 1.", "amount", "parameter_invalid_integer")
    if given["currency"] in ("usd", "eur", "gbp") and given["amount"] < _SMALLEST:
        raise InvalidRequest("Amount must be at least 50 cents.", "amount", "amount_too_small")
    customer = given.get("customer")
    if customer is not None:
        records.refer(world, customer_rows, customer, "customer")
    intent = open_intent(world, given["amount"], given["currency"], customer, given.get("description"))
    changes = _settings(intent, given)
    if method := given.get("payment_method"):
        _usable(world, intent, method)
        changes |= {"payment_method": method, "status": "requires_confirmation"}
    intent = records.change(world, payment_intents, intent, changes)
    return _confirmed(world, intent, None) if given.get("confirm") else intent


def open_intent(
    world: World, amount: int, currency: str, customer: str | None, description: str | None, invoice: str | None = None
) -> Body:
    body = shapes.intent(created=now(world), amount=amount, currency=currency, customer=customer)
    body |= {"description": description, "_invoice": invoice}
    number = records.upcoming(world, payment_intents)
    body["id"] = records.new_id("pi", number)
    body["client_secret"] = f"{body['id']}_secret_{records.new_id('', number)[1:]}"
    return records.add(world, payment_intents, body, "payment_intent.created")


def update(world: World, key: str, given: Given) -> Body:
    intent = records.need(world, payment_intents, key)
    changes = _settings(intent, given)
    if set(given) - {"metadata", "description", "receipt_email"}:
        _require_open(intent, "update")
    if given.get("amount") is not None:
        _not_an_invoices(intent, "amount")
        changes["amount"] = given["amount"]
    if method := given.get("payment_method"):
        _usable(world, intent, method)
        changes |= {"payment_method": method, "status": "requires_confirmation"}
    return records.change(world, payment_intents, intent, changes)


def confirm_by_hand(world: World, key: str, given: Given) -> Body:
    return _confirmed(world, records.need(world, payment_intents, key), given.get("payment_method"))


def cancel(world: World, key: str, reason: str | None) -> Body:
    intent = records.need(world, payment_intents, key)
    _require_open(intent, "cancel")
    _not_an_invoices(intent, "intent")
    return give_up(world, intent, reason)


def give_up(world: World, intent: Body, reason: str | None) -> Body:
    if intent["status"] not in _OPEN:
        return intent
    changes = {"status": "canceled", "canceled_at": now(world), "cancellation_reason": reason}
    return records.change(world, payment_intents, intent, changes, "payment_intent.canceled")


def _confirmed(world: World, intent: Body, wanted: str | None) -> Body:
    _require_open(intent, "confirm")
    key = wanted or intent["payment_method"]
    if key is None:
        raise InvalidRequest(
            "You cannot confirm this PaymentIntent because it's missing a payment method.",
            "payment_method",
            "payment_intent_unexpected_state",
        )
    method = _usable(world, intent, key)
    if intent["_invoice"] is not None:
        return _through_invoice(world, intent, method)
    outcome = confirm(world, intent, method)
    if outcome.decline is not None:
        raise outcome.decline
    return outcome.intent


def _through_invoice(world: World, intent: Body, method: Body) -> Body:
    """Money for an invoice is booked by the invoice."""
    from services.billing.operations import invoices  # each knows the other

    tried = invoices.attempt(world, records.known(world, invoice_rows, intent["_invoice"]), method)
    if tried.decline is not None:
        raise tried.decline
    return records.known(world, payment_intents, intent["id"])


def confirm(world: World, intent: Body, method: Body) -> Outcome:
    """Ask the bank. Its answer is a fact of the payment method, not of chance."""
    refusal = _refusal(world, method)
    charge = shapes.charge(created=now(world), intent=intent, method=method)
    if refusal is not None:
        return _refused(world, intent, method, charge, refusal)
    charge |= {
        "status": "succeeded",
        "paid": True,
        "captured": True,
        "amount_captured": charge["amount"],
        "outcome": shapes.APPROVED,
        "calculated_statement_descriptor": "TALLYPORT",
    }
    charge = records.add(world, charges, charge)
    charge = _booked(world, charge, intent)
    records.tell(world, "charge.succeeded", charge)
    changes = {
        "status": "succeeded",
        "amount_received": charge["amount"],
        "latest_charge": charge["id"],
        "payment_method": method["id"],
        "last_payment_error": None,
    }
    intent = records.change(world, payment_intents, intent, changes, "payment_intent.succeeded")
    return Outcome(intent, charge, None)


def _booked(world: World, charge: Body, intent: Body) -> Body:
    amount, fee = charge["amount"], shapes.fee_of(charge)
    kind = "charge" if charge["payment_method_details"]["type"] == "card" else "payment"
    entry = book(world, amount, charge["currency"], kind, charge["id"], fee)
    against = journal.REVENUE if intent["_invoice"] is None else journal.receivable(intent["customer"])
    amounts = {journal.CASH: amount - fee, journal.FEES: fee, against: -amount}
    journal.post(world, charge["id"], charge["currency"], amounts)
    page = f"https://pay.stripe.com/receipts/{charge['id'][3:]}"
    return records.change(world, charges, charge, {"balance_transaction": entry["id"], "receipt_url": page})


def book(world: World, amount: int, currency: str, kind: str, source: str, fee: int = 0) -> Body:
    """A line on the account's own balance."""
    entry = shapes.balance_transaction(
        created=now(world), amount=amount, currency=currency, kind=kind, source=source, fee=fee
    )
    return records.add(world, balance_transactions, entry)


def _refused(world: World, intent: Body, method: Body, charge: Body, refusal: str) -> Outcome:
    code = refusal if refusal in _OWN_CODES else "card_declined"
    reason = refusal if refusal != "card_declined" else "generic_decline"
    message = _WORDS.get(refusal, "Your card was declined.")
    charge |= {"failure_code": code, "failure_message": message, "outcome": shapes.refused(reason)}
    charge = records.add(world, charges, charge, "charge.failed")
    told = {
        "charge": charge["id"],
        "code": code,
        "decline_code": reason,
        "message": message,
        "payment_method": records.public(method),
        "type": "card_error",
    }
    changes = {
        "status": "requires_payment_method",
        "latest_charge": charge["id"],
        "payment_method": None,
        "last_payment_error": told,
    }
    intent = records.change(world, payment_intents, intent, changes, "payment_intent.payment_failed")
    return Outcome(intent, charge, Declined(message, code, reason, charge["id"], records.public(intent)))


def _refusal(world: World, method: Body) -> str | None:
    card = method.get("card")
    at = moment(world.clock.now_ms())
    if card is not None and (card["exp_year"], card["exp_month"]) < (at.year, at.month):
        return "expired_card"
    refusal: str | None = method["_refuses_with"]
    return refusal


def _settings(intent: Body, given: Given) -> Body:
    plain = ("description", "receipt_email", "statement_descriptor", "setup_future_usage")
    changes: Body = {name: cleared(given[name]) for name in plain if name in given}
    if "metadata" in given:
        changes["metadata"] = merged(intent["metadata"], given["metadata"])
    return changes


def _usable(world: World, intent: Body, key: str) -> Body:
    method = records.refer(world, payment_methods, key, "payment_method")
    if method["customer"] is not None and method["customer"] != intent["customer"]:
        raise InvalidRequest(
            "The provided PaymentMethod belongs to a customer other than the one of this PaymentIntent.",
            "payment_method",
        )
    return customers.own_method(world, intent["customer"], key, "payment_method") if method["customer"] else method


def _require_open(intent: Body, verb: str) -> None:
    if intent["status"] not in _OPEN:
        raise InvalidRequest(
            f"You cannot {verb} this PaymentIntent because it has a status of {intent['status']}.",
            None,
            "payment_intent_unexpected_state",
        )


def _not_an_invoices(intent: Body, param: str) -> None:
    if intent["_invoice"] is not None:
        raise InvalidRequest(
            "This PaymentIntent belongs to an invoice; change or void the invoice instead.",
            param,
            "payment_intent_unexpected_state",
        )


def update_charge(world: World, key: str, given: Given) -> Body:
    charge = records.need(world, charges, key)
    changes: Body = {name: cleared(given[name]) for name in ("description", "receipt_email") if name in given}
    if "metadata" in given:
        changes["metadata"] = merged(charge["metadata"], given["metadata"])
    if report := given.get("fraud_details"):
        changes["fraud_details"] = {**charge["fraud_details"], **report}
    if "customer" in given:
        if charge["customer"] not in (None, given["customer"]):
            raise InvalidRequest("This charge already belongs to a customer.", "customer")
        changes["customer"] = records.refer(world, customer_rows, given["customer"], "customer")["id"]
    return records.change(world, charges, charge, changes, "charge.updated")
