"""How subscriptions pause and end, by hand and by the clock."""

from typing import Any

from services.billing.due_dates import ENDED, LIVE
from services.billing.errors import InvalidRequest, NoSuchObject
from services.billing.operations import coupons, customers, cycles, invoices, items, listing, prorations, records
from services.billing.operations.records import Body, cleared, now
from services.billing.operations.subscriptions import kind_of
from services.billing.tables import customers as customer_rows
from services.billing.tables import discounts, subscriptions
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World

Given = dict[str, Any]


# --- pause ----------------------------------------------------------------------------------------------------------


def pause(world: World, key: str, given: Given) -> Body:
    """Stop altogether: unused time is credited, no bill is written until it is resumed."""
    body = records.need(world, subscriptions, key)
    if body["status"] not in ("active", "trialing", "past_due"):
        raise InvalidRequest(f"A subscription that is {body['status']} can't be paused.", "id")
    unused = ((given.get("bill_for") or {}).get("unused_time_from") or {}).get("type", "now")
    if unused != "none" and body["status"] != "trialing":
        at = now(world) if unused == "now" else body["_period_start"]
        for item in cycles.items_of(world, key):
            prorations.credit_unused(world, body, item, prorations.span_of(body, at))
        if given.get("invoicing_behavior") == "invoice" and (
            bill := cycles.bill_pending(world, body, "subscription_update")
        ):
            cycles.collect(world, bill)
    body = records.known(world, subscriptions, key)
    return records.change(world, subscriptions, body, {"status": "paused"}, "customer.subscription.paused")


def resume(world: World, key: str, given: Given) -> Body:
    body = records.need(world, subscriptions, key)
    if body["status"] != "paused":
        raise InvalidRequest("You can only resume subscriptions that are paused.", "id")
    anew = kind_of(given.get("billing_cycle_anchor")) != "unchanged" or body["_period_end"] <= now(world)
    body = records.change(world, subscriptions, body, {"status": "active"}, "customer.subscription.resumed")
    if anew:
        items.start_anew(world, body)
        items.collected(
            world, cycles.bill_period(world, records.known(world, subscriptions, key), "subscription_update"), given
        )
    elif given.get("proration_behavior") != "none":
        for item in cycles.items_of(world, key):
            prorations.charge_remaining(world, body, item, prorations.span_of(body, now(world)))
    return records.known(world, subscriptions, key)


# --- end ------------------------------------------------------------------------------------------------------------


def cancel(world: World, key: str, given: Given) -> Body:
    """At once; nothing is refunded, and unused time is credited only where that is asked for."""
    body = records.need(world, subscriptions, key)
    if body["status"] in ENDED:
        raise NoSuchObject("subscription", key)
    if details := given.get("cancellation_details"):
        told = {name: cleared(value) for name, value in details.items()}
        changes = {"cancellation_details": {**body["cancellation_details"], **told}}
        body = records.change(world, subscriptions, body, changes)
    if given.get("prorate") and body["status"] in LIVE - {"trialing"}:
        for item in cycles.items_of(world, key):
            prorations.credit_unused(world, body, item, prorations.span_of(body, now(world)))
    if given.get("invoice_now") and (bill := cycles.bill_pending(world, body, "subscription_update")):
        items.collected(world, bill, {})
    return end(world, records.known(world, subscriptions, key), "cancellation_requested")


def end(world: World, body: Body, reason: str) -> Body:
    changes = {
        "status": "canceled",
        "canceled_at": body["canceled_at"] or now(world),
        "ended_at": now(world),
        "pause_collection": None,
        "cancellation_details": {**body["cancellation_details"], "reason": reason},
    }
    body = records.change(world, subscriptions, body, changes, "customer.subscription.deleted")
    for bill in listing.of(world, invoice_rows, subscription=body["id"], status="open"):
        records.change(world, invoice_rows, bill, {"auto_advance": False, "next_payment_attempt": None})
    return body


def end_all(world: World, customer: str) -> None:
    for body in listing.of(world, subscriptions, customer=customer):
        if body["status"] not in ENDED:
            end(world, body, "cancellation_requested")


def delete_discount(world: World, key: str) -> Body:
    body = records.need(world, subscriptions, key)
    if not body["discounts"]:
        raise InvalidRequest(f"No active discount for subscription: {key}", "id", "resource_missing")
    return coupons.drop(world, records.known(world, discounts, body["discounts"][-1]))


def delete_customer_discount(world: World, key: str) -> Body:
    customer = customers.living(world, key)
    if customer["discount"] is None:
        raise InvalidRequest(f"No active discount for customer: {key}", "id", "resource_missing")
    records.change(world, customer_rows, customer, {"discount": None}, "customer.updated")
    return coupons.drop(world, records.known(world, discounts, customer["discount"]["id"]))


# --- time ----------------------------------------------------------------------------------------------------------


def fall_due(world: World, body: Body) -> None:
    at = now(world)
    if body["status"] == "incomplete":
        _expire(world, body)
    elif body["cancel_at"] is not None and body["cancel_at"] <= at:
        end(world, body, "cancellation_requested")
    elif (body["pause_collection"] or {}).get("resumes_at") is not None and body["pause_collection"][
        "resumes_at"
    ] <= at:
        records.change(world, subscriptions, body, {"pause_collection": None}, "customer.subscription.updated")
    elif body["_period_end"] <= at:
        cycles.renew(world, body)
    else:
        records.change(world, subscriptions, body, {"_trial_notice": True}, "customer.subscription.trial_will_end")


def _expire(world: World, body: Body) -> None:
    changes = {"status": "incomplete_expired", "ended_at": now(world)}
    records.change(world, subscriptions, body, changes, "customer.subscription.updated")
    for bill in listing.of(world, invoice_rows, subscription=body["id"], status="open"):
        invoices.made_void(world, bill)
