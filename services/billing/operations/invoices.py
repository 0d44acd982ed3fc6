"""Invoices from the moment they are final: open, paid, void, uncollectible."""

from dataclasses import dataclass
from typing import assert_never

from services.billing.errors import Declined, InvalidRequest
from services.billing.objects.customers import CustomerBody, PaymentMethodBody
from services.billing.objects.invoices import (
    InvoiceBody,
    InvoicePaymentBody,
    customer_snapshot,
    new_invoice_payment,
    subscription_of,
)
from services.billing.operations import charges, customers, journal, records, totals
from services.billing.operations.params import Params
from services.billing.operations.records import now
from services.billing.rows import InvoiceId, PaymentMethodId
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

_NOT_OPEN = "You can only pass in open invoices. This invoice isn't open."


# --- final ----------------------------------------------------------------------------------------------------------


def finalize(world: World, key: InvoiceId, params: Params | None = None) -> InvoiceBody:
    body = records.need(world, invoices, key)
    if body["status"] != "draft":
        raise InvalidRequest("This invoice is already finalized, you can't re-finalize a non-draft invoice.")
    if params and "auto_advance" in params:
        body = records.change(world, invoices, body, {"auto_advance": params["auto_advance"]})
    return finalize_draft(world, body)


def finalize_draft(world: World, body: InvoiceBody) -> InvoiceBody:
    """Numbers a draft, freezes whom it is made out to, lets the balance pay what it can, and opens it."""
    body = totals.recompute(world, body)
    customer = records.must_exist(world, customer_rows, body["customer"])
    settled = totals.settle(body["total"], customer["balance"])
    number = f"{customer['invoice_prefix']}-{customer['next_invoice_sequence']:04d}"
    sequence = {"next_invoice_sequence": customer["next_invoice_sequence"] + 1}
    customer = records.change(world, customer_rows, customer, sequence)
    _post_final(world, body, customer, settled)
    changes = _final_fields(world, body, customer, number, settled)
    body = records.change(world, invoices, body, changes, "invoice.finalized")
    if settled.due == 0:
        return mark_paid(world, body, 0)
    _expect_payment(world, body)
    return body


def _final_fields(
    world: World, body: InvoiceBody, customer: CustomerBody, number: str, settled: totals.Settlement
) -> InvoiceBody:
    finalized_at = now(world)
    page = f"https://invoice.stripe.com/i/acct_1M7tp/live_{body['id'][3:]}"
    changes: InvoiceBody = {
        "number": number,
        "status": "open",
        "effective_at": finalized_at,
        "automatically_finalizes_at": None,
        "status_transitions": {**body["status_transitions"], "finalized_at": finalized_at},
        "ending_balance": settled.ending_balance,
        "amount_due": settled.due,
        "amount_remaining": settled.due,
        "hosted_invoice_url": page,
        "invoice_pdf": f"{page}/pdf",
        "_balance_applied": settled.ending_balance - customer["balance"],
    }
    changes |= customer_snapshot(customer, records.find_by(world, tax_ids, customer=customer["id"]))
    return changes


def _post_final(world: World, body: InvoiceBody, customer: CustomerBody, settled: totals.Settlement) -> None:
    owed, credit = journal.receivable(customer["id"]), journal.credit(customer["id"])
    total, tax = body["total"], body["_tax"]
    amounts = {owed: total, journal.REVENUE: tax - total, journal.TAX: -tax}
    journal.post(world, body["id"], body["currency"], amounts)
    moved = settled.ending_balance - customer["balance"]
    if moved:
        customers.move_balance(world, customer, moved, body["currency"], "applied_to_invoice", invoice=body["id"])
        journal.post(world, body["id"], body["currency"], {credit: moved, owed: -moved})


def _expect_payment(world: World, body: InvoiceBody) -> None:
    intent = charges.open_intent(
        world, body["amount_due"], body["currency"], body["customer"], body["description"], invoice=body["id"]
    )
    payment = new_invoice_payment(
        created=now(world),
        invoice=body["id"],
        intent=intent["id"],
        amount=body["amount_due"],
        currency=body["currency"],
    )
    records.add(world, invoice_payments, payment)


# --- money ----------------------------------------------------------------------------------------------------------


def pay(world: World, key: InvoiceId, params: Params) -> InvoiceBody:
    """Collects now; a decline is refused as such and leaves the invoice open."""
    body = _payable(world, records.need(world, invoices, key))
    if body["status"] == "paid":
        return body
    if params.get("paid_out_of_band"):
        return mark_paid_out_of_band(world, body)
    method = _paying_method(world, body, params.get("payment_method"))
    if method is None:
        raise InvalidRequest(
            "There is no `default_payment_method` set on this Customer or Invoice. Please set a "
            "`default_payment_method` or pass `payment_method`.",
            "payment_method",
            "missing",
        )
    attempt = attempt_payment(world, body, method)
    if attempt.decline is not None:
        raise attempt.decline
    return attempt.invoice


def _payable(world: World, body: InvoiceBody) -> InvoiceBody:
    status = body["status"]
    match status:
        case "draft":
            return finalize_draft(world, body)
        case "open" | "uncollectible":
            return body
        case "paid":
            raise InvalidRequest("Invoice is already paid", None, "invoice_already_paid")
        case "void":
            raise InvalidRequest("This invoice is voided and can't be paid.")
        case _:
            assert_never(status)


@dataclass(frozen=True, slots=True)
class PaymentAttempt:
    """One attempt to collect: the invoice after it, and the bank's refusal if there was one."""

    invoice: InvoiceBody
    decline: Declined | None


def attempt_payment(world: World, body: InvoiceBody, method: PaymentMethodBody) -> PaymentAttempt:
    payment = records.find_by(world, invoice_payments, invoice=body["id"])[-1]
    intent = records.must_exist(world, payment_intents, payment["payment"]["payment_intent"])
    intent = records.change(world, payment_intents, intent, {"amount": body["amount_remaining"]})
    restored = _reverse_write_off(world, body)
    result = charges.charge_intent(world, intent, method)
    counted: InvoiceBody = {"attempted": True, "attempt_count": body["attempt_count"] + 1}
    if result.decline is not None:
        if restored:
            _post_write_off(world, body)
        body = records.change(world, invoices, body, counted)
        records.record_event(world, "invoice.payment_failed", body)
        _set_delinquent(world, body, delinquent=True)
        return PaymentAttempt(body, result.decline)
    body = records.change(world, invoices, body, counted)
    return PaymentAttempt(mark_paid(world, body, body["amount_remaining"]), None)


def default_method(world: World, body: InvoiceBody) -> PaymentMethodBody | None:
    """Returns the invoice's own payment method, else its subscription's, else the customer's."""
    customer = records.must_exist(world, customer_rows, body["customer"])
    subscription = subscription_of(body)
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


def _paying_method(world: World, body: InvoiceBody, requested: PaymentMethodId | None) -> PaymentMethodBody | None:
    if requested is not None:
        return customers.own_method(world, body["customer"], requested, "payment_method")
    return default_method(world, body)


def mark_paid_out_of_band(world: World, body: InvoiceBody) -> InvoiceBody:
    """Marks an invoice as paid by other means and cancels its open payment intent."""
    amount = body["amount_remaining"]
    _reverse_write_off(world, body)
    amounts = {journal.OUT_OF_BAND: amount, journal.receivable(body["customer"]): -amount}
    journal.post(world, body["id"], body["currency"], amounts)
    _cancel_payments(world, body)
    return mark_paid(world, body, amount)


def mark_paid_by_credit(world: World, body: InvoiceBody) -> InvoiceBody:
    """Marks an invoice as paid whose whole remaining amount credit notes have taken back."""
    _cancel_payments(world, body)
    return mark_paid(world, body, 0)


def mark_paid(world: World, body: InvoiceBody, amount: int) -> InvoiceBody:
    changes: InvoiceBody = {
        "status": "paid",
        "amount_paid": body["amount_paid"] + amount,
        "amount_remaining": 0,
        "next_payment_attempt": None,
        "auto_advance": False,
        "status_transitions": {**body["status_transitions"], "paid_at": now(world)},
    }
    body = records.change(world, invoices, body, changes, "invoice.paid")
    for payment in records.find_by(world, invoice_payments, invoice=body["id"], status="open"):
        settled: InvoicePaymentBody = {
            "status": "paid",
            "amount_paid": amount,
            "status_transitions": {**payment["status_transitions"], "paid_at": now(world)},
        }
        records.change(world, invoice_payments, payment, settled, "invoice_payment.paid")
    if amount:
        records.record_event(world, "invoice.payment_succeeded", body)
        _set_delinquent(world, body, delinquent=False)
    _reactivate_subscription(world, body)
    return records.must_exist(world, invoices, body["id"])


def _reactivate_subscription(world: World, invoice: InvoiceBody) -> None:
    """Makes the subscription of a paid invoice active again, unless another invoice is still overdue."""
    key = subscription_of(invoice)
    body = records.get(world, subscriptions, key) if key else None
    if body is None or body["status"] not in ("incomplete", "past_due", "unpaid"):
        return
    if body["status"] != "incomplete" and records.find_by(world, invoices, subscription=key, status="open"):
        return
    records.change(world, subscriptions, body, {"status": "active"}, "customer.subscription.updated")


def void(world: World, key: InvoiceId) -> InvoiceBody:
    body = records.need(world, invoices, key)
    if body["status"] not in ("open", "uncollectible"):
        raise InvalidRequest(_NOT_OPEN)
    return void_invoice(world, body)


def void_invoice(world: World, body: InvoiceBody) -> InvoiceBody:
    """Voids the invoice: nothing is owed any more, and the customer gets back the balance that it used up."""
    owed = journal.receivable(body["customer"])
    side = owed if body["status"] == "open" else journal.WRITTEN_OFF
    remaining = body["amount_remaining"]
    journal.post(world, body["id"], body["currency"], {journal.VOIDED: remaining, side: -remaining})
    if used := body["_balance_applied"]:
        customer = records.must_exist(world, customer_rows, body["customer"])
        customers.move_balance(world, customer, -used, body["currency"], "unapplied_from_invoice", invoice=body["id"])
        amounts = {journal.credit(customer["id"]): -used, journal.VOIDED: used}
        journal.post(world, body["id"], body["currency"], amounts)
    _cancel_payments(world, body)
    changes: InvoiceBody = {
        "status": "void",
        "next_payment_attempt": None,
        "auto_advance": False,
        "status_transitions": {**body["status_transitions"], "voided_at": now(world)},
    }
    return records.change(world, invoices, body, changes, "invoice.voided")


def mark_uncollectible(world: World, key: InvoiceId) -> InvoiceBody:
    body = records.need(world, invoices, key)
    if body["status"] != "open":
        raise InvalidRequest(_NOT_OPEN)
    return write_off(world, body)


def write_off(world: World, body: InvoiceBody) -> InvoiceBody:
    _post_write_off(world, body)
    changes: InvoiceBody = {
        "status": "uncollectible",
        "next_payment_attempt": None,
        "auto_advance": False,
        "status_transitions": {**body["status_transitions"], "marked_uncollectible_at": now(world)},
    }
    return records.change(world, invoices, body, changes, "invoice.marked_uncollectible")


def send(world: World, key: InvoiceId) -> InvoiceBody:
    body = records.need(world, invoices, key)
    if body["status"] == "draft":
        body = finalize_draft(world, body)
    if body["status"] not in ("open", "paid"):
        raise InvalidRequest("You can only send open invoices.")
    if body["customer_email"] is None:
        raise InvalidRequest("The customer has no email address to send the invoice to.", "customer")
    records.record_event(world, "invoice.sent", body)
    return records.change(world, invoices, body, {"_sent": body.get("_sent", 0) + 1})


def _post_write_off(world: World, body: InvoiceBody) -> None:
    amount = body["amount_remaining"]
    amounts = {journal.WRITTEN_OFF: amount, journal.receivable(body["customer"]): -amount}
    journal.post(world, body["id"], body["currency"], amounts)


def _reverse_write_off(world: World, body: InvoiceBody) -> bool:
    """Makes an amount that was written off owed again before it is paid; returns whether it was written off."""
    if body["status"] != "uncollectible":
        return False
    amount = body["amount_remaining"]
    amounts = {journal.receivable(body["customer"]): amount, journal.WRITTEN_OFF: -amount}
    journal.post(world, body["id"], body["currency"], amounts)
    return True


def _cancel_payments(world: World, body: InvoiceBody) -> None:
    for payment in records.find_by(world, invoice_payments, invoice=body["id"], status="open"):
        intent = records.must_exist(world, payment_intents, payment["payment"]["payment_intent"])
        charges.cancel_intent(world, intent, "void_invoice")
        changes: InvoicePaymentBody = {
            "status": "canceled",
            "status_transitions": {**payment["status_transitions"], "canceled_at": now(world)},
        }
        records.change(world, invoice_payments, payment, changes)


def _set_delinquent(world: World, body: InvoiceBody, *, delinquent: bool) -> None:
    customer = records.must_exist(world, customer_rows, body["customer"])
    records.change(world, customer_rows, customer, {"delinquent": delinquent}, "customer.updated")
