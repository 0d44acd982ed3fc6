"""How subscriptions pause and end, by request and when time passes."""

from services.billing.due_dates import ENDED, LIVE
from services.billing.errors import InvalidRequest, NoSuchObject
from services.billing.objects.catalogue import DiscountBody
from services.billing.objects.subscriptions import SubscriptionBody
from services.billing.operations import billing_cycles, coupons, customers, invoices, prorations, records
from services.billing.operations import subscription_items as items
from services.billing.operations.params import Params
from services.billing.operations.records import now
from services.billing.operations.subscriptions import anchor_type, merge_details
from services.billing.rows import CustomerId, SubscriptionId
from services.billing.tables import customers as customer_rows
from services.billing.tables import discounts, subscriptions
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World

# --- pause ----------------------------------------------------------------------------------------------------------


def pause(world: World, key: SubscriptionId, params: Params) -> SubscriptionBody:
    """Stops a subscription: unused time is credited, and nothing is billed until it is resumed."""
    body = records.need(world, subscriptions, key)
    if body["status"] not in ("active", "trialing", "past_due"):
        raise InvalidRequest(f"A subscription that is {body['status']} can't be paused.", "id")
    unused = ((params.get("bill_for") or {}).get("unused_time_from") or {}).get("type", "now")
    if unused != "none" and body["status"] != "trialing":
        unused_from = now(world) if unused == "now" else body["_period_start"]
        for item in billing_cycles.items_of(world, key):
            prorations.credit_unused(world, body, item, prorations.remainder_of(body, unused_from))
        if params.get("invoicing_behavior") == "invoice" and (
            invoice := billing_cycles.bill_pending(world, body, "subscription_update")
        ):
            billing_cycles.collect(world, invoice)
    body = records.must_exist(world, subscriptions, key)
    return records.change(world, subscriptions, body, {"status": "paused"}, "customer.subscription.paused")


def resume(world: World, key: SubscriptionId, params: Params) -> SubscriptionBody:
    body = records.need(world, subscriptions, key)
    if body["status"] != "paused":
        raise InvalidRequest("You can only resume subscriptions that are paused.", "id")
    restart = anchor_type(params.get("billing_cycle_anchor")) != "unchanged" or body["_period_end"] <= now(world)
    body = records.change(world, subscriptions, body, {"status": "active"}, "customer.subscription.resumed")
    if restart:
        items.restart_period(world, body)
        body = records.must_exist(world, subscriptions, key)
        items.collect_change(world, billing_cycles.bill_period(world, body, "subscription_update"), params)
    elif params.get("proration_behavior") != "none":
        for item in billing_cycles.items_of(world, key):
            prorations.charge_remaining(world, body, item, prorations.remainder_of(body, now(world)))
    return records.must_exist(world, subscriptions, key)


# --- end ------------------------------------------------------------------------------------------------------------


def cancel(world: World, key: SubscriptionId, params: Params) -> SubscriptionBody:
    """Cancels at once; nothing is refunded, and unused time is credited only with `prorate`."""
    body = records.need(world, subscriptions, key)
    if body["status"] in ENDED:
        raise NoSuchObject("subscription", key)
    if details := params.get("cancellation_details"):
        body = records.change(world, subscriptions, body, {"cancellation_details": merge_details(body, details)})
    if params.get("prorate") and body["status"] in LIVE - {"trialing"}:
        for item in billing_cycles.items_of(world, key):
            prorations.credit_unused(world, body, item, prorations.remainder_of(body, now(world)))
    if params.get("invoice_now") and (invoice := billing_cycles.bill_pending(world, body, "subscription_update")):
        items.collect_change(world, invoice, {})
    return billing_cycles.end_subscription(
        world, records.must_exist(world, subscriptions, key), "cancellation_requested"
    )


def end_all(world: World, customer: CustomerId) -> None:
    """Ends all subscriptions of a customer."""
    for body in records.find_by(world, subscriptions, customer=customer):
        if body["status"] not in ENDED:
            billing_cycles.end_subscription(world, body, "cancellation_requested")


def delete_discount(world: World, key: SubscriptionId) -> DiscountBody:
    body = records.need(world, subscriptions, key)
    if not body["discounts"]:
        raise InvalidRequest(f"No active discount for subscription: {key}", "id", "resource_missing")
    return coupons.remove_discount(world, records.must_exist(world, discounts, body["discounts"][-1]))


def delete_customer_discount(world: World, key: CustomerId) -> DiscountBody:
    customer = customers.need_customer(world, key)
    if customer["discount"] is None:
        raise InvalidRequest(f"No active discount for customer: {key}", "id", "resource_missing")
    records.change(world, customer_rows, customer, {"discount": None}, "customer.updated")
    return coupons.remove_discount(world, records.must_exist(world, discounts, customer["discount"]["id"]))


# --- time ----------------------------------------------------------------------------------------------------------


def fall_due(world: World, body: SubscriptionBody) -> None:
    """Does what is due: expire, end, resume collection, renew, or announce the end of a trial."""
    pause = body["pause_collection"]
    resumes_at = pause["resumes_at"] if pause is not None else None
    if body["status"] == "incomplete":
        _expire(world, body)
    elif body["cancel_at"] is not None and body["cancel_at"] <= now(world):
        billing_cycles.end_subscription(world, body, "cancellation_requested")
    elif resumes_at is not None and resumes_at <= now(world):
        records.change(world, subscriptions, body, {"pause_collection": None}, "customer.subscription.updated")
    elif body["_period_end"] <= now(world):
        billing_cycles.renew(world, body)
    else:
        records.change(world, subscriptions, body, {"_trial_notice": True}, "customer.subscription.trial_will_end")


def _expire(world: World, body: SubscriptionBody) -> None:
    changes: SubscriptionBody = {"status": "incomplete_expired", "ended_at": now(world)}
    records.change(world, subscriptions, body, changes, "customer.subscription.updated")
    for invoice in records.find_by(world, invoice_rows, subscription=body["id"], status="open"):
        invoices.void_invoice(world, invoice)
