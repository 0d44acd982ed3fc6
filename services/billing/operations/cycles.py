"""A subscription's bills: for its first period, for the next, and for what changed in between."""

from typing import Any

from services.billing import money
from services.billing.due_dates import DAY, HOUR
from services.billing.errors import InvalidRequest
from services.billing.operations import (
    accounts,
    coupons,
    drafts,
    invoices,
    listing,
    periods,
    prorations,
    records,
    totals,
)
from services.billing.operations.records import Body, now
from services.billing.shapes import invoices as shapes
from services.billing.tables import customers, discounts, invoice_lines, subscription_items, subscriptions
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World

Given = dict[str, Any]


def items_of(world: World, subscription: str) -> list[Body]:
    return listing.of(world, subscription_items, subscription=subscription)


def bill_period(world: World, subscription: Body, reason: str) -> Body:
    """A draft with a line per item for the period that the subscription is in, and whatever was pending."""
    body = _draft(world, subscription, reason)
    trial = subscription["status"] == "trialing"
    for item in items_of(world, subscription["id"]):
        records.add(world, invoice_lines, _line(world, body, subscription, item, trial=trial))
    if not trial:
        drafts.gather(world, body, subscription["id"])
    return _counted(world, body, subscription)


def bill_pending(world: World, subscription: Body, reason: str) -> Body | None:
    """A draft of only what is pending for this subscription; None where nothing is."""
    if not drafts.pending(world, subscription["customer"], subscription["currency"], subscription["id"]):
        return None
    body = _draft(world, subscription, reason)
    drafts.gather(world, body, subscription["id"])
    return _counted(world, body, subscription)


def _draft(world: World, subscription: Body, reason: str) -> Body:
    customer = records.known(world, customers, subscription["customer"])
    parent = shapes.of_subscription(subscription["id"], subscription["metadata"])
    body = drafts.draft(world, customer, subscription["currency"], reason, parent)
    changes: Body = {
        "collection_method": subscription["collection_method"],
        "automatic_tax": drafts.tax_setting(enabled=subscription["automatic_tax"]["enabled"]),
        "discounts": _running(world, subscription, customer),
        "period_start": subscription["_period_start"],
        "period_end": max(subscription["_period_start"], now(world)),
    }
    if subscription["collection_method"] == "send_invoice":
        changes["due_date"] = now(world) + (subscription["days_until_due"] or 30) * DAY
    return records.change(world, invoice_rows, body, changes)


def _running(world: World, subscription: Body, customer: Body) -> list[str]:
    keys = subscription["discounts"] or ([customer["discount"]["id"]] if customer["discount"] else [])
    found = [records.known(world, discounts, key) for key in keys]
    return [one["id"] for one in found if one["end"] is None or one["end"] > now(world)]


def _counted(world: World, body: Body, subscription: Body) -> Body:
    body = totals.recount(world, body)
    subscription = records.known(world, subscriptions, subscription["id"])
    used = {one["discount"] for one in body["total_discount_amounts"] if one["amount"]}
    spent = {key for key in used if coupons.is_once(world, records.known(world, discounts, key))}
    left = [key for key in subscription["discounts"] if key not in spent]
    records.change(world, subscriptions, subscription, {"latest_invoice": body["id"], "discounts": left})
    return body


def _line(world: World, invoice: Body, subscription: Body, item: Body, *, trial: bool) -> Body:
    price, quantity = item["price"], item["quantity"]
    amount = 0 if trial else price["unit_amount"] * quantity
    line = shapes.line(
        created=now(world),
        invoice=invoice["id"],
        amount=amount,
        currency=price["currency"],
        description=_described(world, item, trial=trial),
        period={"start": subscription["_period_start"], "end": subscription["_period_end"]},
    )
    return line | {
        "parent": shapes.from_subscription(subscription["id"], item["id"], proration=False),
        "pricing": shapes.priced(price),
        "quantity": quantity,
        "quantity_decimal": str(quantity),
        "subscription": subscription["id"],
        "_subscription_item": item["id"],
    }


def _described(world: World, item: Body, *, trial: bool) -> str:
    name = prorations.titled(world, {**item, "quantity": 1})
    if trial:
        return f"Trial period for {name}"
    repeated = item["price"]["recurring"]
    every = (
        repeated["interval"]
        if repeated["interval_count"] == 1
        else f"{repeated['interval_count']} {repeated['interval']}s"
    )
    each = money.spelt(item["price"]["unit_amount"], item["price"]["currency"])
    return f"{item['quantity']} × {name} (at {each} / {every})"


# --- collecting -----------------------------------------------------------------------------------------------------


def collect(world: World, body: Body) -> invoices.Attempt:
    """Make it final and take the money, where money is taken without asking."""
    if body["status"] == "draft":
        body = invoices.made_final(world, body)
    if body["status"] != "open":
        return invoices.Attempt(body, None)
    if body["collection_method"] == "send_invoice":
        records.tell(world, "invoice.sent", body)
        return invoices.Attempt(body, None)
    method = invoices.default_method(world, body)
    if method is None:
        raise InvalidRequest(
            "This customer has no attached payment source or default payment method. Please consider adding a default "
            "payment method.",
            "customer",
            "resource_missing",
        )
    return invoices.attempt(world, body, method)


# --- time -----------------------------------------------------------------------------------------------------------


def renew(world: World, subscription: Body) -> None:
    """The next period begins where the last one ended; its bill stays a draft for an hour."""
    start = subscription["_period_end"]
    repeated = items_of(world, subscription["id"])[0]["price"]["recurring"]
    end = periods.next_end(
        subscription["billing_cycle_anchor"], repeated["interval"], repeated["interval_count"], start
    )
    status = "active" if subscription["status"] == "trialing" else subscription["status"]
    changes = {"_period_start": start, "_period_end": end, "status": status}
    subscription = records.change(world, subscriptions, subscription, changes, "customer.subscription.updated")
    body = bill_period(world, subscription, "subscription_cycle")
    if subscription["pause_collection"] is not None:
        _set_aside(world, body, subscription["pause_collection"]["behavior"])
    elif status != "unpaid":
        records.change(
            world, invoice_rows, body, {"auto_advance": True, "automatically_finalizes_at": now(world) + HOUR}
        )


def _set_aside(world: World, body: Body, behavior: str) -> None:
    """While collection is paused, bills are written and not collected."""
    if behavior == "keep_as_draft":
        return
    body = invoices.made_final(world, body)
    if body["status"] == "open":
        (invoices.made_void if behavior == "void" else invoices.given_up)(world, body)


def invoice_due(world: World, body: Body) -> None:
    if body["status"] == "draft" or (body["next_payment_attempt"] or now(world) + 1) <= now(world):
        _try(world, body)
        return
    records.change(world, invoice_rows, body, {"_overdue": True}, "invoice.overdue")
    _owner_is(world, body, "past_due")


def _try(world: World, body: Body) -> None:
    if body["status"] == "draft":
        body = invoices.made_final(world, body)
    if body["status"] != "open" or body["collection_method"] == "send_invoice":
        if body["status"] == "open":
            records.tell(world, "invoice.sent", body)
        return
    method = invoices.default_method(world, body)
    if method is None:
        counted = {"attempted": True, "attempt_count": body["attempt_count"] + 1}
        body = records.change(world, invoice_rows, body, counted)
        records.tell(world, "invoice.payment_failed", body)
    else:
        tried = invoices.attempt(world, body, method)
        if tried.decline is None:
            return
        body = tried.invoice
    _after_failure(world, body)


def _after_failure(world: World, body: Body) -> None:
    """Another try in some days; after the last one the subscription bears the consequence."""
    account = accounts.billing_account(world)
    days = account["retry_days"]
    if body["attempt_count"] <= len(days):
        at = now(world) + days[body["attempt_count"] - 1] * DAY
        records.change(world, invoice_rows, body, {"next_payment_attempt": at}, "invoice.updated")
        _owner_is(world, body, "past_due")
        return
    records.change(world, invoice_rows, body, {"next_payment_attempt": None, "auto_advance": False}, "invoice.updated")
    _owner_is(world, body, account["after_retries"])


def _owner_is(world: World, body: Body, status: str) -> None:
    key = ((body["parent"] or {}).get("subscription_details") or {}).get("subscription")
    subscription = records.get(world, subscriptions, key) if key else None
    if subscription is None or subscription["status"] not in ("active", "past_due", "trialing"):
        return
    if status == "canceled":
        from services.billing.operations import endings  # each knows the other

        endings.end(world, subscription, "payment_failed")
        return
    records.change(world, subscriptions, subscription, {"status": status}, "customer.subscription.updated")
