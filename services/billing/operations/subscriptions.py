"""Subscriptions: create and update."""

from typing import Any

from services.billing.due_dates import DAY, ENDED
from services.billing.errors import DeclinedAndUndone, InvalidRequest
from services.billing.objects.subscriptions import (
    CancellationDetails,
    PauseCollection,
    SubscriptionBody,
    SubscriptionStatus,
    new_subscription,
    new_subscription_item,
)
from services.billing.operations import (
    billing_cycles,
    coupons,
    customers,
    invoices,
    periods,
    records,
)
from services.billing.operations import subscription_items as items
from services.billing.operations.params import Params, merge_metadata, none_if_empty, pick, require
from services.billing.operations.records import now
from services.billing.rows import CustomerId, DiscountId, PriceId, SubscriptionId
from services.billing.tables import customers as customer_rows
from services.billing.tables import subscription_items, subscriptions
from services.kernel.world import World

_ALWAYS_EDITABLE = frozenset({"metadata", "cancellation_details"})
_LONGEST_TRIAL = 730 * DAY


# --- create ---------------------------------------------------------------------------------------------------------


def create(world: World, params: Params) -> SubscriptionBody:
    customer = records.refer(world, customer_rows, CustomerId(require(params, "customer")), "customer")
    if not params.get("items"):
        raise InvalidRequest("Missing required param: items.", "items", "parameter_missing")
    positions = [items.price_and_quantity(world, item, f"items[{index}]") for index, item in enumerate(params["items"])]
    recurring = items.require_one_interval([item.price for item in positions])
    currency = customers.currency_for(world, customer, positions[0].price["currency"])
    trial_end = _trial_end(world, params)
    start = now(world)
    end = trial_end or periods.next_period_end(start, recurring, start)
    body = new_subscription(created=start, customer=customer["id"], currency=currency, start=start, end=end)
    body |= {
        "billing_cycle_anchor": trial_end or start,
        "trial_end": trial_end,
        "trial_start": start if trial_end else None,
        "status": "trialing" if trial_end else "incomplete",
    }
    body = records.add(world, subscriptions, body)
    for (price, quantity), sent in zip(positions, params["items"], strict=True):
        item = new_subscription_item(created=start, subscription=body["id"], price=price, quantity=quantity)
        records.add(world, subscription_items, item | {"metadata": merge_metadata({}, sent.get("metadata"))})
    body = records.change(world, subscriptions, body, _changes(world, body, params))
    return _bill_first_period(world, body, params.get("payment_behavior") or "allow_incomplete")


def _bill_first_period(world: World, body: SubscriptionBody, behavior: str) -> SubscriptionBody:
    invoice = billing_cycles.bill_period(world, body, "subscription_create")
    if body["status"] == "trialing":
        invoices.finalize_draft(world, invoice)
        return _start(world, body, "trialing")
    if body["collection_method"] == "charge_automatically" and behavior == "default_incomplete":
        invoice = invoices.finalize_draft(world, invoice)
        return _start(world, body, "active" if invoice["status"] == "paid" else "incomplete")
    attempt = billing_cycles.collect(world, invoice)
    if attempt.decline is not None and behavior == "error_if_incomplete":
        raise DeclinedAndUndone(attempt.decline.message, attempt.decline.code, attempt.decline.decline_code)
    return _start(world, body, "active" if attempt.decline is None else "incomplete")


def _start(world: World, body: SubscriptionBody, status: SubscriptionStatus) -> SubscriptionBody:
    body = records.change(world, subscriptions, body, {"status": status})
    records.record_event(world, "customer.subscription.created", body)
    return body


def _trial_end(world: World, params: Params) -> int | None:
    if params.get("trial_period_days") and params.get("trial_end"):
        raise InvalidRequest("You may only specify one of these parameters: trial_end, trial_period_days.", "trial_end")
    if days := params.get("trial_period_days"):
        return now(world) + int(days) * DAY
    end = params.get("trial_end")
    if end in (None, "now"):
        return None
    return _require_trial_end(world, int(end))


def _require_trial_end(world: World, end: int) -> int:
    if not now(world) < end <= now(world) + _LONGEST_TRIAL:
        raise InvalidRequest("trial_end must be in the future and at most two years away.", "trial_end")
    return end


# --- update ---------------------------------------------------------------------------------------------------------


def update(world: World, key: SubscriptionId, params: Params) -> SubscriptionBody:
    body = records.need(world, subscriptions, key)
    if body["status"] in ENDED and (set(params) - _ALWAYS_EDITABLE):
        raise InvalidRequest(
            "A canceled subscription can only update its cancellation_details and metadata.",
            None,
            "invalid_canceled_subscription_fields",
        )
    body = records.change(world, subscriptions, body, _changes(world, body, params), "customer.subscription.updated")
    if "trial_end" in params:
        body = _move_trial(world, body, params["trial_end"])
    restart = anchor_type(params.get("billing_cycle_anchor")) == "now"
    if params.get("items") or restart:
        before = billing_cycles.items_of(world, key)
        items.apply_changes(world, body, params.get("items") or [])
        items.bill_change(world, body, before, params, restart=restart)
    return records.must_exist(world, subscriptions, key)


def anchor_type(anchor: Any) -> str | None:
    """Reads the type of an anchor, which is `now` or, in the newer API, `{type: now}`."""
    return anchor.get("type") if isinstance(anchor, dict) else anchor


def _changes(world: World, body: SubscriptionBody, params: Params) -> SubscriptionBody:
    changes: SubscriptionBody = pick(params, ("description", "default_payment_method"))
    if method := changes.get("default_payment_method"):
        customers.own_method(world, body["customer"], method, "default_payment_method")
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    if "automatic_tax" in params:
        enabled: bool = params["automatic_tax"]["enabled"]
        changes["automatic_tax"] = {
            **body["automatic_tax"],
            "enabled": enabled,
            "liability": {"type": "self"} if enabled else None,
        }
    if "discounts" in params:
        changes["discounts"] = _discounts(world, body, params["discounts"] or [])
    if "pause_collection" in params:
        changes["pause_collection"] = _pause_collection(world, params["pause_collection"])
    if details := params.get("cancellation_details"):
        changes["cancellation_details"] = merge_details(body, details)
    return changes | _collection_changes(body, params) | _cancellation_changes(world, body, params, changes)


def merge_details(body: SubscriptionBody, params: Params) -> CancellationDetails:
    changes: Any = {name: none_if_empty(value) for name, value in params.items()}
    return {**body["cancellation_details"], **changes}


def _collection_changes(body: SubscriptionBody, params: Params) -> SubscriptionBody:
    method = params.get("collection_method", body["collection_method"])
    days = params.get("days_until_due", body["days_until_due"])
    if method == "send_invoice" and days is None:
        raise InvalidRequest(
            "Pass days_until_due when collection_method is send_invoice.", "days_until_due", "parameter_missing"
        )
    return {"collection_method": method, "days_until_due": days if method == "send_invoice" else None}


def _discounts(world: World, body: SubscriptionBody, params: list[Params]) -> list[DiscountId]:
    return [
        coupons.redeem(world, discount, body["customer"], f"discounts[{index}]", subscription=body["id"])["id"]
        for index, discount in enumerate(params)
    ]


def _pause_collection(world: World, params: Params | str) -> PauseCollection | None:
    if isinstance(params, str):
        return None
    resumes = params.get("resumes_at")
    if resumes is not None and resumes <= now(world):
        raise InvalidRequest("resumes_at must be in the future.", "pause_collection[resumes_at]")
    return {"behavior": params["behavior"], "resumes_at": resumes}


def _cancellation_changes(
    world: World, body: SubscriptionBody, params: Params, changes: SubscriptionBody
) -> SubscriptionBody:
    """Plans the end of the subscription, or takes the plan back."""
    if params.get("cancel_at") and params.get("cancel_at_period_end"):
        raise InvalidRequest(
            "You may only specify one of these parameters: cancel_at, cancel_at_period_end.", "cancel_at"
        )
    details = changes.get("cancellation_details") or body["cancellation_details"]
    if params.get("cancel_at_period_end") or params.get("cancel_at"):
        cancel_at = params.get("cancel_at") or "max_period_end"
        if isinstance(cancel_at, str):
            cancel_at = body["_period_end"]
        if cancel_at <= now(world):
            raise InvalidRequest("cancel_at must be in the future.", "cancel_at")
        return {
            "cancel_at": cancel_at,
            "cancel_at_period_end": bool(params.get("cancel_at_period_end")),
            "canceled_at": now(world),
            "cancellation_details": {**details, "reason": "cancellation_requested"},
        }
    is_taken_back = params.get("cancel_at_period_end") is False or params.get("cancel_at") == ""
    if is_taken_back and body["status"] not in ENDED:
        return {
            "cancel_at": None,
            "cancel_at_period_end": False,
            "canceled_at": None,
            "cancellation_details": {**details, "reason": None},
        }
    return {}


def _move_trial(world: World, body: SubscriptionBody, trial_end: int | str) -> SubscriptionBody:
    """A trial that ends now is billed now; any other end moves the billing cycle with it."""
    if trial_end == "now":
        if body["status"] != "trialing":
            return body
        ended: SubscriptionBody = {
            "trial_end": now(world),
            "billing_cycle_anchor": now(world),
            "_period_end": now(world),
        }
        billing_cycles.renew(world, records.change(world, subscriptions, body, ended))
        return records.must_exist(world, subscriptions, body["id"])
    end = _require_trial_end(world, int(trial_end))
    changes: SubscriptionBody = {
        "status": "trialing",
        "trial_start": body["trial_start"] or now(world),
        "trial_end": end,
        "billing_cycle_anchor": end,
        "_period_end": end,
        "_trial_notice": False,
    }
    return records.change(world, subscriptions, body, changes, "customer.subscription.updated")


def subscriptions_with_price(world: World, price: PriceId) -> list[SubscriptionId]:
    """Returns the subscriptions with an item of this price."""
    return sorted({item["subscription"] for item in records.find_by(world, subscription_items, price=price)})
