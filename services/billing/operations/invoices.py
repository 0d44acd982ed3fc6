"""Invoices from the moment they are final: open, paid, void, uncollectible."""

from typing import Any

from services.billing.errors import Declined, InvalidRequest
from services.billing.operations import customers, journal, listing, payments, records, totals
from services.billing.operations.records import Body, now
from services.billing.shapes import invoices as shapes
from services.billing.tables import (
    customers as customer_rows,
)
from services.billing.tables import (
    invoice_payments,
    invoices,
    payment_intents,
    payment_methods,
    subscriptions,
    tax_ids,
)
from services.kernel.world import World

Given = dict[str, Any]

_NOT_OPEN = "You can only pass in open invoices. This invoice isn't open."


# --- final ----------------------------------------------------------------------------------------------------------


def finalize(world: World, key: str, given: Given | None = None) -> Body:
    body = records.need(world, invoices, key)
    if body["status"] != "draft":
        raise InvalidRequest("This invoice is already finalized, you can't re-finalize a non-draft invoice.")
    if given and "auto_advance" in given:
        body = records.change(world, invoices, body, {"auto_advance": given["auto_advance"]})
    return made_final(world, body)


def made_final(world: World, body: Body) -> Body:
    """Number it, freeze whom it is made out to, let the balance pay what it can, and open it."""
    body = totals.recount(world, body)
    customer = records.known(world, customer_rows, body["customer"])
    settled = totals.settle(body["total"], customer["balance"])
    number = f"{customer['invoice_prefix']}-{customer['next_invoice_sequence']:04d}"
    sequence = {"next_invoice_sequence": customer["next_invoice_sequence"] + 1}
    customer = records.change(world, customer_rows, customer, sequence)
    _post_final(world, body, customer, settled)
    body = records.change(world, invoices, body, _final(world, body, customer, number, settled), "invoice.finalized")
    if settled.due == 0:
        return mark_paid(world, body, 0)
    _expect_payment(world, body)
    return body


def _final(world: World, body: Body, customer: Body, number: str, settled: totals.Settlement) -> Body:
    at = now(world)
    page = f"https://invoice.stripe.com/i/acct_1M7tp/live_{body['id'][3:]}"
    return {
        **shapes.addressed(customer, listing.of(world, tax_ids, customer=customer["id"])),
        "number": number,
        "status": "open",
        "effective_at": at,
        "automatically_finalizes_at": None,
        "status_transitions": {**body["status_transitions"], "finalized_at": at},
        "ending_balance": settled.ending_balance,
        "amount_due": settled.due,
        "amount_remaining": settled.due,
        "hosted_invoice_url": page,
        "invoice_pdf": f"{page}/pdf",
        "_balance_applied": settled.ending_balance - customer["balance"],
    }


def _post_final(world: World, body: Body, customer: Body, settled: totals.Settlement) -> None:
    owed, credit = journal.receivable(customer["id"]), journal.credit(customer["id"])
    total, tax = body["total"], body["_tax"]
    amounts = {owed: total, journal.REVENUE: tax - total, journal.TAX: -tax}
    journal.post(world, body["id"], body["currency"], amounts)
    moved = settled.ending_balance - customer["balance"]
    if moved:
        customers.enter(world, customer, moved, body["currency"], "applied_to_invoice", invoice=body["id"])
        journal.post(world, body["id"], body["currency"], {credit: moved, owed: -moved})


def _expect_payment(world: World, body: Body) -> None:
    intent = payments.open_intent(
        world, body["amount_due"], body["currency"], body["customer"], body["description"], invoice=body["id"]
    )
    payment = shapes.payment(
        created=now(world),
        invoice=body["id"],
        intent=intent["id"],
        amount=body["amount_due"],
        currency=body["currency"],
    )
    records.add(world, invoice_payments, payment)


# --- money ----------------------------------------------------------------------------------------------------------


def pay(world: World, key: str, given: Given) -> Body:
    """Collect now; a decline is told as such and leaves the invoice open."""
    body = payable(world, records.need(world, invoices, key))
    if body["status"] == "paid":
        return body
    if given.get("paid_out_of_band"):
        return settle_outside(world, body)
    method = _paying_method(world, body, given.get("payment_method"))
    if method is None:
        raise InvalidRequest(
            "There is no `default_payment_method` set on this Customer or Invoice. Please set a "
            "`default_payment_method` or pass `payment_method`.",
            "payment_method",
            "missing",
        )
    tried = attempt(world, body, method)
    if tried.decline is not None:
        raise tried.decline
    return tried.invoice


def payable(world: World, body: Body) -> Body:
    if body["status"] == "draft":
        return made_final(world, body)
    if body["status"] == "paid":
        raise InvalidRequest("Invoice is already paid", None, "invoice_already_paid")
    if body["status"] == "void":
        raise InvalidRequest("This invoice is voided and can't be paid.")
    return body


class Attempt:
    """One try to collect: the invoice after it, and the bank's refusal if there was one."""

    __slots__ = ("decline", "invoice")

    def __init__(self, invoice: Body, decline: Declined | None) -> None:
        self.invoice = invoice
        self.decline = decline


def attempt(world: World, body: Body, method: Body) -> Attempt:
    intent = records.known(world, payment_intents, payment_of(world, body)["payment"]["payment_intent"])
    intent = records.change(world, payment_intents, intent, {"amount": body["amount_remaining"]})
    restored = _owed_again(world, body)
    outcome = payments.confirm(world, intent, method)
    counted = {"attempted": True, "attempt_count": body["attempt_count"] + 1}
    if outcome.decline is not None:
        if restored:
            _written_off(world, body)
        body = records.change(world, invoices, body, counted)
        records.tell(world, "invoice.payment_failed", body)
        _delinquent(world, body, owes=True)
        return Attempt(body, outcome.decline)
    body = records.change(world, invoices, body, counted)
    return Attempt(mark_paid(world, body, body["amount_remaining"]), None)


def payment_of(world: World, body: Body) -> Body:
    return listing.of(world, invoice_payments, invoice=body["id"])[-1]


def default_method(world: World, body: Body) -> Body | None:
    """The invoice's own, then its subscription's, then the customer's."""
    customer = records.known(world, customer_rows, body["customer"])
    subscription = ((body["parent"] or {}).get("subscription_details") or {}).get("subscription")
    owner = records.get(world, subscriptions, subscription) if subscription else None
    candidates = (
        body["default_payment_method"],
        owner["default_payment_method"] if owner else None,
        customer["invoice_settings"]["default_payment_method"],
    )
    for key in candidates:
        method = records.get(world, payment_methods, key) if key else None
        if method is not None and method["customer"] == customer["id"]:
            return method
    return None


def _paying_method(world: World, body: Body, wanted: str | None) -> Body | None:
    if wanted is not None:
        return customers.own_method(world, body["customer"], wanted, "payment_method")
    return default_method(world, body)


def settle_outside(world: World, body: Body) -> Body:
    """Paid by other means; the open intent is of no use any more."""
    amount = body["amount_remaining"]
    _owed_again(world, body)
    amounts = {journal.OUT_OF_BAND: amount, journal.receivable(body["customer"]): -amount}
    journal.post(world, body["id"], body["currency"], amounts)
    _stop_expecting(world, body)
    return mark_paid(world, body, amount)


def paid_without_money(world: World, body: Body) -> Body:
    """Nothing is left to pay: credit notes have taken it all back."""
    _stop_expecting(world, body)
    return mark_paid(world, body, 0)


def mark_paid(world: World, body: Body, amount: int) -> Body:
    changes = {
        "status": "paid",
        "amount_paid": body["amount_paid"] + amount,
        "amount_remaining": 0,
        "next_payment_attempt": None,
        "auto_advance": False,
        "status_transitions": {**body["status_transitions"], "paid_at": now(world)},
    }
    body = records.change(world, invoices, body, changes, "invoice.paid")
    for payment in listing.of(world, invoice_payments, invoice=body["id"], status="open"):
        paid = {**payment["status_transitions"], "paid_at": now(world)}
        settled = {"status": "paid", "amount_paid": amount, "status_transitions": paid}
        records.change(world, invoice_payments, payment, settled, "invoice_payment.paid")
    if amount:
        records.tell(world, "invoice.payment_succeeded", body)
        _delinquent(world, body, owes=False)
    from services.billing.operations import subscriptions as subscribed  # each knows the other

    subscribed.was_paid(world, body)
    return records.known(world, invoices, body["id"])


def void(world: World, key: str) -> Body:
    body = records.need(world, invoices, key)
    if body["status"] not in ("open", "uncollectible"):
        raise InvalidRequest(_NOT_OPEN)
    return made_void(world, body)


def made_void(world: World, body: Body) -> Body:
    """As if it had never been asked for; balance that it used up comes back."""
    owed = journal.receivable(body["customer"])
    side = owed if body["status"] == "open" else journal.WRITTEN_OFF
    remaining = body["amount_remaining"]
    journal.post(world, body["id"], body["currency"], {journal.VOIDED: remaining, side: -remaining})
    if used := body["_balance_applied"]:
        customer = records.known(world, customer_rows, body["customer"])
        customers.enter(world, customer, -used, body["currency"], "unapplied_from_invoice", invoice=body["id"])
        amounts = {journal.credit(customer["id"]): -used, journal.VOIDED: used}
        journal.post(world, body["id"], body["currency"], amounts)
    _stop_expecting(world, body)
    changes = {
        "status": "void",
        "next_payment_attempt": None,
        "auto_advance": False,
        "status_transitions": {**body["status_transitions"], "voided_at": now(world)},
    }
    return records.change(world, invoices, body, changes, "invoice.voided")


def mark_uncollectible(world: World, key: str) -> Body:
    body = records.need(world, invoices, key)
    if body["status"] != "open":
        raise InvalidRequest(_NOT_OPEN)
    return given_up(world, body)


def given_up(world: World, body: Body) -> Body:
    _written_off(world, body)
    changes = {
        "status": "uncollectible",
        "next_payment_attempt": None,
        "auto_advance": False,
        "status_transitions": {**body["status_transitions"], "marked_uncollectible_at": now(world)},
    }
    return records.change(world, invoices, body, changes, "invoice.marked_uncollectible")


def send(world: World, key: str) -> Body:
    body = records.need(world, invoices, key)
    if body["status"] == "draft":
        body = made_final(world, body)
    if body["status"] not in ("open", "paid"):
        raise InvalidRequest("You can only send open invoices.")
    if body["customer_email"] is None:
        raise InvalidRequest("The customer has no email address to send the invoice to.", "customer")
    records.tell(world, "invoice.sent", body)
    return records.change(world, invoices, body, {"_sent": body.get("_sent", 0) + 1})


def _written_off(world: World, body: Body) -> None:
    amount = body["amount_remaining"]
    amounts = {journal.WRITTEN_OFF: amount, journal.receivable(body["customer"]): -amount}
    journal.post(world, body["id"], body["currency"], amounts)


def _owed_again(world: World, body: Body) -> bool:
    """What was given up is owed once more when somebody pays it after all."""
    if body["status"] != "uncollectible":
        return False
    amount = body["amount_remaining"]
    amounts = {journal.receivable(body["customer"]): amount, journal.WRITTEN_OFF: -amount}
    journal.post(world, body["id"], body["currency"], amounts)
    return True


def _stop_expecting(world: World, body: Body) -> None:
    for payment in listing.of(world, invoice_payments, invoice=body["id"], status="open"):
        intent = records.known(world, payment_intents, payment["payment"]["payment_intent"])
        payments.give_up(world, intent, "void_invoice")
        ended = {**payment["status_transitions"], "canceled_at": now(world)}
        records.change(world, invoice_payments, payment, {"status": "canceled", "status_transitions": ended})


def _delinquent(world: World, body: Body, *, owes: bool) -> None:
    customer = records.known(world, customer_rows, body["customer"])
    records.change(world, customer_rows, customer, {"delinquent": owes}, "customer.updated")
