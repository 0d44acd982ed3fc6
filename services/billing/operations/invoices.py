"""Invoices through their life: draft, open, paid, void, uncollectible."""

from typing import Any

from services.billing.due_dates import DAY, HOUR
from services.billing.errors import Declined, InvalidRequest
from services.billing.operations import coupons, customers, journal, listing, payments, records, totals
from services.billing.operations.accounts import billing_account
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import invoices as shapes
from services.billing.tables import (
    customers as customer_rows,
)
from services.billing.tables import (
    invoice_items,
    invoice_lines,
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
_EDITABLE_WHEN_FINAL = frozenset({"metadata", "auto_advance"})
_EDITABLE_WHEN_OPEN = _EDITABLE_WHEN_FINAL | {"description", "footer", "default_payment_method", "due_date"}


# --- drafts ---------------------------------------------------------------------------------------------------------


def create(world: World, given: Given) -> Body:
    customer = records.refer(world, customer_rows, named(given, "customer"), "customer")
    parent = None
    if key := given.get("subscription"):
        subscription = records.refer(world, subscriptions, key, "subscription")
        if subscription["customer"] != customer["id"]:
            raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
        parent = shapes.of_subscription(key, subscription["metadata"])
    currency = customers.currency_for(world, customer, given.get("currency"))
    body = draft(world, customer, currency, "manual", parent)
    body = records.change(world, invoices, body, _settings(world, body, given))
    if given.get("pending_invoice_items_behavior") == "include":
        gather(world, body, key)
    return totals.recount(world, body)


def draft(world: World, customer: Body, currency: str, reason: str, parent: Body | None = None) -> Body:
    body = shapes.invoice(
        created=now(world), customer=customer, currency=currency, reason=reason, account=billing_account(world)
    )
    body["parent"] = parent
    body |= shapes.addressed(customer, listing.of(world, tax_ids, customer=customer["id"]))
    if customer["currency"] is None:
        records.change(world, customer_rows, customer, {"currency": currency}, "customer.updated")
    return records.add(world, invoices, body, "invoice.created")


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, invoices, key)
    allowed = {"draft": None, "open": _EDITABLE_WHEN_OPEN}.get(body["status"], _EDITABLE_WHEN_FINAL)
    if allowed is not None and (wrong := sorted(set(given) - allowed)):
        raise InvalidRequest(
            f"Finalized invoices can't be updated in this way: {wrong[0]} is final.", wrong[0], "invoice_not_editable"
        )
    body = records.change(world, invoices, body, _settings(world, body, given), "invoice.updated")
    return totals.recount(world, body) if body["status"] == "draft" else body


def delete(world: World, key: str) -> Body:
    body = records.need(world, invoices, key)
    if body["status"] != "draft":
        raise InvalidRequest("You can only delete draft invoices.", "id", "invoice_not_editable")
    if body["parent"] is not None and body["billing_reason"] != "manual":
        raise InvalidRequest("Invoices of a subscription can't be deleted; void them once they are final.", "id")
    for line in listing.of(world, invoice_lines, invoice=key):
        records.remove(world, invoice_lines, line)
    for item in listing.of(world, invoice_items, invoice=key):
        records.remove(world, invoice_items, item, "invoiceitem.deleted")
    return records.remove(world, invoices, body, "invoice.deleted")


def _settings(world: World, body: Body, given: Given) -> Body:
    plain = ("description", "footer", "default_payment_method", "custom_fields", "statement_descriptor")
    changes: Body = {name: cleared(given[name]) for name in plain if name in given}
    if method := changes.get("default_payment_method"):
        customers.own_method(world, body["customer"], method, "default_payment_method")
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if "automatic_tax" in given:
        changes["automatic_tax"] = tax_setting(enabled=given["automatic_tax"]["enabled"])
    if "discounts" in given:
        changes["discounts"] = _discounts(world, body, given["discounts"] or [])
    return {**changes, **_collection(world, body, given), **_advancing(world, body, given)}


def tax_setting(*, enabled: bool) -> Body:
    liability, status = ({"type": "self"}, "complete") if enabled else (None, None)
    return {"disabled_reason": None, "enabled": enabled, "liability": liability, "provider": None, "status": status}


def _discounts(world: World, body: Body, given: list[Given]) -> list[str]:
    about = {"invoice": body["id"]}
    return [
        coupons.redeem(world, one, body["customer"], f"discounts[{at}]", **about)["id"] for at, one in enumerate(given)
    ]


def _collection(world: World, body: Body, given: Given) -> Body:
    changes: Body = {}
    method = given.get("collection_method", body["collection_method"])
    if "collection_method" in given:
        changes["collection_method"] = method
    if "due_date" in given and "days_until_due" in given:
        raise InvalidRequest("You may only specify one of these parameters: due_date, days_until_due.", "due_date")
    if method == "charge_automatically" and ("due_date" in given or "days_until_due" in given):
        raise InvalidRequest("A due date belongs to collection_method=send_invoice.", "collection_method")
    if given.get("days_until_due") is not None:
        changes["due_date"] = now(world) + given["days_until_due"] * DAY
    elif given.get("due_date") is not None:
        if given["due_date"] <= now(world):
            raise InvalidRequest("due_date must be in the future.", "due_date")
        changes["due_date"] = given["due_date"]
    elif method == "send_invoice" and body["due_date"] is None:
        raise InvalidRequest(
            "If invoice is collected by send_invoice, pass days_until_due or due_date.",
            "days_until_due",
            "parameter_missing",
        )
    return changes


def _advancing(world: World, body: Body, given: Given) -> Body:
    if given.get("auto_advance") is None:
        return {}
    at = now(world) + HOUR if given["auto_advance"] and body["status"] == "draft" else None
    return {"auto_advance": given["auto_advance"], "automatically_finalizes_at": at}


# --- lines ----------------------------------------------------------------------------------------------------------


def gather(world: World, invoice: Body, subscription: str | None = None) -> None:
    """Take the customer's pending items onto the draft."""
    for item in pending(world, invoice["customer"], invoice["currency"], subscription):
        put_on(world, invoice, item)


def pending(world: World, customer: str, currency: str, subscription: str | None) -> list[Body]:
    """Items that wait for the next invoice; those of another subscription wait for that one's."""
    where = listing.Where(equal={"customer": customer}, empty=("invoice",))
    found = listing.every(world, invoice_items, where)
    return [item for item in found if item["currency"] == currency and _owner(item) in (None, subscription)]


def _owner(item: Body) -> str | None:
    return ((item["parent"] or {}).get("subscription_details") or {}).get("subscription")


def put_on(world: World, invoice: Body, item: Body) -> Body:
    records.change(world, invoice_items, item, {"invoice": invoice["id"]}, "invoiceitem.updated")
    line = shapes.line(
        created=now(world),
        invoice=invoice["id"],
        amount=item["amount"],
        currency=item["currency"],
        description=item["description"],
        period=item["period"],
    )
    for name in ("discountable", "metadata", "pricing", "quantity", "quantity_decimal"):
        line[name] = item[name]
    line |= {
        "parent": shapes.from_invoice_item(item),
        "subscription": _owner(item),
        "_invoice_item": item["id"],
        "_subscription_item": item["_subscription_item"],
    }
    return records.add(world, invoice_lines, line)


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


def named(given: Given, name: str) -> str:
    if not given.get(name):
        raise InvalidRequest(f"Missing required param: {name}.", name, "parameter_missing")
    return str(given[name])
