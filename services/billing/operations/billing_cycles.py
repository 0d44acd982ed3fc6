"""A subscription's invoices: for each period and for changes in between; how they are collected, and what follows."""

from typing import assert_never

from services.billing import money
from services.billing.due_dates import DAY, HOUR
from services.billing.errors import InvalidRequest
from services.billing.objects.catalogue import Recurring
from services.billing.objects.customers import CustomerBody
from services.billing.objects.invoice_lines import (
    InvoiceLineBody,
    new_invoice_line,
    pricing_of,
    subscription_line_parent,
)
from services.billing.objects.invoices import (
    BillingReason,
    InvoiceBody,
    new_invoice_tax,
    subscription_of,
    subscription_parent,
)
from services.billing.objects.subscriptions import (
    CancellationReason,
    PauseBehavior,
    SubscriptionBody,
    SubscriptionItemBody,
    SubscriptionStatus,
)
from services.billing.operations import accounts, coupons, drafts, invoices, periods, prorations, records, totals
from services.billing.operations.records import now
from services.billing.rows import DiscountId, SubscriptionId
from services.billing.tables import customers, discounts, invoice_lines, subscription_items, subscriptions
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World


def items_of(world: World, subscription: SubscriptionId) -> list[SubscriptionItemBody]:
    return records.find_by(world, subscription_items, subscription=subscription)


def recurring_of(item: SubscriptionItemBody) -> Recurring:
    """Returns how often an item is charged; only recurring prices can be subscribed to."""
    recurring = item["price"]["recurring"]
    if recurring is None:
        raise LookupError(f"{item['id']} has a price that does not recur")
    return recurring


def bill_period(world: World, subscription: SubscriptionBody, reason: BillingReason) -> InvoiceBody:
    """Drafts an invoice with a line per item for the present period, and with the pending items."""
    body = _create_draft(world, subscription, reason)
    trial = subscription["status"] == "trialing"
    for item in items_of(world, subscription["id"]):
        records.add(world, invoice_lines, _line(world, body, subscription, item, trial=trial))
    if not trial:
        drafts.add_pending_items(world, body, subscription["id"])
    return _finish_draft(world, body, subscription)


def bill_pending(world: World, subscription: SubscriptionBody, reason: BillingReason) -> InvoiceBody | None:
    """Drafts an invoice of only the pending items of a subscription; None where there are none."""
    if not drafts.pending_items(world, subscription["customer"], subscription["currency"], subscription["id"]):
        return None
    body = _create_draft(world, subscription, reason)
    drafts.add_pending_items(world, body, subscription["id"])
    return _finish_draft(world, body, subscription)


def _create_draft(world: World, subscription: SubscriptionBody, reason: BillingReason) -> InvoiceBody:
    customer = records.must_exist(world, customers, subscription["customer"])
    parent = subscription_parent(subscription["id"], subscription["metadata"])
    body = drafts.create_draft(world, customer, subscription["currency"], reason, parent)
    changes: InvoiceBody = {
        "collection_method": subscription["collection_method"],
        "automatic_tax": new_invoice_tax(enabled=subscription["automatic_tax"]["enabled"]),
        "discounts": _running_discounts(world, subscription, customer),
        "period_start": subscription["_period_start"],
        "period_end": max(subscription["_period_start"], now(world)),
    }
    if subscription["collection_method"] == "send_invoice":
        changes["due_date"] = now(world) + (subscription["days_until_due"] or 30) * DAY
    return records.change(world, invoice_rows, body, changes)


def _running_discounts(world: World, subscription: SubscriptionBody, customer: CustomerBody) -> list[DiscountId]:
    keys = subscription["discounts"] or ([customer["discount"]["id"]] if customer["discount"] else [])
    bodies = [records.must_exist(world, discounts, key) for key in keys]
    return [discount["id"] for discount in bodies if discount["end"] is None or discount["end"] > now(world)]


def _finish_draft(world: World, body: InvoiceBody, subscription: SubscriptionBody) -> InvoiceBody:
    """Computes the totals, and takes coupons that count once off the subscription."""
    body = totals.recompute(world, body)
    subscription = records.must_exist(world, subscriptions, subscription["id"])
    used = {off["discount"] for off in body["total_discount_amounts"] if off["amount"]}
    spent = {key for key in used if coupons.is_once(world, records.must_exist(world, discounts, key))}
    left = [key for key in subscription["discounts"] if key not in spent]
    records.change(world, subscriptions, subscription, {"latest_invoice": body["id"], "discounts": left})
    return body


def _line(
    world: World, invoice: InvoiceBody, subscription: SubscriptionBody, item: SubscriptionItemBody, *, trial: bool
) -> InvoiceLineBody:
    price, quantity = item["price"], item["quantity"]
    amount = 0 if trial else price["unit_amount"] * quantity
    line = new_invoice_line(
        created=now(world),
        invoice=invoice["id"],
        amount=amount,
        currency=price["currency"],
        description=_describe_line(world, item, trial=trial),
        period={"start": subscription["_period_start"], "end": subscription["_period_end"]},
    )
    return line | {
        "parent": subscription_line_parent(subscription["id"], item["id"], proration=False),
        "pricing": pricing_of(price),
        "quantity": quantity,
        "quantity_decimal": str(quantity),
        "subscription": subscription["id"],
        "_subscription_item": item["id"],
    }


def _describe_line(world: World, item: SubscriptionItemBody, *, trial: bool) -> str:
    name = prorations.describe_item(world, item | {"quantity": 1})
    if trial:
        return f"Trial period for {name}"
    recurring = recurring_of(item)
    interval: str = recurring["interval"]
    if recurring["interval_count"] != 1:
        interval = f"{recurring['interval_count']} {recurring['interval']}s"
    amount = money.format_amount(item["price"]["unit_amount"], item["price"]["currency"])
    return f"{item['quantity']} × {name} (at {amount} / {interval})"


# --- collecting -----------------------------------------------------------------------------------------------------


def collect(world: World, body: InvoiceBody) -> invoices.PaymentAttempt:
    """Finalizes an invoice and takes the money, where it is charged automatically."""
    if body["status"] == "draft":
        body = invoices.finalize_draft(world, body)
    if body["status"] != "open":
        return invoices.PaymentAttempt(body, None)
    if body["collection_method"] == "send_invoice":
        records.record_event(world, "invoice.sent", body)
        return invoices.PaymentAttempt(body, None)
    method = invoices.default_method(world, body)
    if method is None:
        raise InvalidRequest(
            "This customer has no attached payment source or default payment method. Please consider adding a default "
            "payment method.",
            "customer",
            "resource_missing",
        )
    return invoices.attempt_payment(world, body, method)


# --- time -----------------------------------------------------------------------------------------------------------


def renew(world: World, subscription: SubscriptionBody) -> None:
    """Begins the next period where the last one ended; its invoice stays a draft for an hour."""
    start = subscription["_period_end"]
    recurring = recurring_of(items_of(world, subscription["id"])[0])
    end = periods.next_period_end(subscription["billing_cycle_anchor"], recurring, start)
    status: SubscriptionStatus = "active" if subscription["status"] == "trialing" else subscription["status"]
    changes: SubscriptionBody = {"_period_start": start, "_period_end": end, "status": status}
    subscription = records.change(world, subscriptions, subscription, changes, "customer.subscription.updated")
    body = bill_period(world, subscription, "subscription_cycle")
    if subscription["pause_collection"] is not None:
        _set_aside(world, body, subscription["pause_collection"]["behavior"])
    elif status != "unpaid":
        advance: InvoiceBody = {"auto_advance": True, "automatically_finalizes_at": now(world) + HOUR}
        records.change(world, invoice_rows, body, advance)


def _set_aside(world: World, body: InvoiceBody, behavior: PauseBehavior) -> None:
    """Leaves an invoice uncollected, because collection is paused."""
    if behavior != "keep_as_draft":
        body = invoices.finalize_draft(world, body)
    if body["status"] != "open":
        return
    match behavior:
        case "keep_as_draft":
            pass
        case "void":
            invoices.void_invoice(world, body)
        case "mark_uncollectible":
            invoices.write_off(world, body)
        case _:
            assert_never(behavior)


def invoice_due(world: World, body: InvoiceBody) -> None:
    if body["status"] == "draft" or (body["next_payment_attempt"] or now(world) + 1) <= now(world):
        _try_to_collect(world, body)
        return
    records.change(world, invoice_rows, body, {"_overdue": True}, "invoice.overdue")
    _set_subscription_status(world, body, "past_due")


def _try_to_collect(world: World, body: InvoiceBody) -> None:
    if body["status"] == "draft":
        body = invoices.finalize_draft(world, body)
    if body["status"] != "open" or body["collection_method"] == "send_invoice":
        if body["status"] == "open":
            records.record_event(world, "invoice.sent", body)
        return
    method = invoices.default_method(world, body)
    if method is None:
        counted: InvoiceBody = {"attempted": True, "attempt_count": body["attempt_count"] + 1}
        body = records.change(world, invoice_rows, body, counted)
        records.record_event(world, "invoice.payment_failed", body)
    else:
        attempt = invoices.attempt_payment(world, body, method)
        if attempt.decline is None:
            return
        body = attempt.invoice
    _after_failure(world, body)


def _after_failure(world: World, body: InvoiceBody) -> None:
    """Plans another attempt in some days; after the last one the subscription's status changes."""
    account = accounts.billing_account(world)
    days = account["retry_days"]
    if body["attempt_count"] <= len(days):
        next_attempt = now(world) + days[body["attempt_count"] - 1] * DAY
        records.change(world, invoice_rows, body, {"next_payment_attempt": next_attempt}, "invoice.updated")
        _set_subscription_status(world, body, "past_due")
        return
    records.change(world, invoice_rows, body, {"next_payment_attempt": None, "auto_advance": False}, "invoice.updated")
    _set_subscription_status(world, body, account["after_retries"])


def _set_subscription_status(world: World, invoice: InvoiceBody, status: SubscriptionStatus) -> None:
    key = subscription_of(invoice)
    subscription = records.get(world, subscriptions, key) if key else None
    if subscription is None or subscription["status"] not in ("active", "past_due", "trialing"):
        return
    if status == "canceled":
        end_subscription(world, subscription, "payment_failed")
        return
    records.change(world, subscriptions, subscription, {"status": status}, "customer.subscription.updated")


def end_subscription(world: World, body: SubscriptionBody, reason: CancellationReason) -> SubscriptionBody:
    """Ends a subscription at once; its open invoices are not collected automatically any more."""
    changes: SubscriptionBody = {
        "status": "canceled",
        "canceled_at": body["canceled_at"] or now(world),
        "ended_at": now(world),
        "pause_collection": None,
        "cancellation_details": {**body["cancellation_details"], "reason": reason},
    }
    body = records.change(world, subscriptions, body, changes, "customer.subscription.deleted")
    for invoice in records.find_by(world, invoice_rows, subscription=body["id"], status="open"):
        records.change(world, invoice_rows, invoice, {"auto_advance": False, "next_payment_attempt": None})
    return body
