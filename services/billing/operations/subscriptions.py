"""Subscriptions: begin and change."""

from typing import Any

from services.billing.due_dates import DAY, ENDED
from services.billing.errors import Declined, DeclinedAltogether, InvalidRequest
from services.billing.operations import (
    coupons,
    customers,
    cycles,
    drafts,
    invoices,
    items,
    listing,
    periods,
    records,
)
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import subscriptions as shapes
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import subscription_items, subscriptions
from services.kernel.world import World

Given = dict[str, Any]

_ALWAYS_EDITABLE = frozenset({"metadata", "cancellation_details"})
_LONGEST_TRIAL = 730 * DAY


# --- begin ----------------------------------------------------------------------------------------------------------


def create(world: World, given: Given) -> Body:
    customer = records.refer(world, customer_rows, drafts.named(given, "customer"), "customer")
    if not given.get("items"):
        raise InvalidRequest("Missing required param: items.", "items", "parameter_missing")
    wanted = [items.wanted(world, one, f"items[{at}]") for at, one in enumerate(given["items"])]
    repeated = items.one_rhythm([price for price, _ in wanted])
    currency = customers.currency_for(world, customer, wanted[0][0]["currency"])
    trial_end = _trial_end(world, given)
    start = now(world)
    anchor = trial_end or start
    end = trial_end or periods.next_end(start, repeated["interval"], repeated["interval_count"], start)
    body = shapes.subscription(created=start, customer=customer["id"], currency=currency, start=start, end=end)
    body |= {"billing_cycle_anchor": anchor, "trial_end": trial_end, "trial_start": start if trial_end else None}
    body |= {"status": "trialing" if trial_end else "incomplete"}
    body = records.add(world, subscriptions, body)
    for (price, quantity), one in zip(wanted, given["items"], strict=True):
        item = shapes.item(created=start, subscription=body["id"], price=price, quantity=quantity)
        records.add(world, subscription_items, item | {"metadata": merged({}, one.get("metadata"))})
    body = records.change(world, subscriptions, body, _settings(world, body, given))
    return _first_bill(world, body, given.get("payment_behavior") or "allow_incomplete")


def _first_bill(world: World, body: Body, behavior: str) -> Body:
    bill = cycles.bill_period(world, body, "subscription_create")
    if body["status"] == "trialing":
        invoices.made_final(world, bill)
        return _begun(world, body, "trialing")
    if body["collection_method"] == "charge_automatically" and behavior == "default_incomplete":
        bill = invoices.made_final(world, bill)
        return _begun(world, body, "active" if bill["status"] == "paid" else "incomplete")
    tried = cycles.collect(world, bill)
    if tried.decline is not None and behavior == "error_if_incomplete":
        raise _altogether(tried.decline)
    return _begun(world, body, "active" if tried.decline is None else "incomplete")


def _begun(world: World, body: Body, status: str) -> Body:
    body = records.change(world, subscriptions, records.known(world, subscriptions, body["id"]), {"status": status})
    records.tell(world, "customer.subscription.created", body)
    return body


def _altogether(decline: Declined) -> DeclinedAltogether:
    return DeclinedAltogether(decline.message, decline.code, decline.decline_code, None, None)


def _trial_end(world: World, given: Given) -> int | None:
    if given.get("trial_period_days") and given.get("trial_end"):
        raise InvalidRequest("You may only specify one of these parameters: trial_end, trial_period_days.", "trial_end")
    if days := given.get("trial_period_days"):
        return now(world) + int(days) * DAY
    at = given.get("trial_end")
    if at in (None, "now"):
        return None
    return _trial_at(world, int(at))


def _trial_at(world: World, at: int) -> int:
    if not now(world) < at <= now(world) + _LONGEST_TRIAL:
        raise InvalidRequest("trial_end must be in the future and at most two years away.", "trial_end")
    return at


# --- change ---------------------------------------------------------------------------------------------------------


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, subscriptions, key)
    if body["status"] in ENDED and (set(given) - _ALWAYS_EDITABLE):
        raise InvalidRequest(
            "A canceled subscription can only update its cancellation_details and metadata.",
            None,
            "invalid_canceled_subscription_fields",
        )
    body = records.change(world, subscriptions, body, _settings(world, body, given), "customer.subscription.updated")
    if "trial_end" in given:
        body = _move_trial(world, body, given["trial_end"])
    anew = kind_of(given.get("billing_cycle_anchor")) == "now"
    if given.get("items") or anew:
        before = cycles.items_of(world, key)
        items.apply(world, body, given.get("items") or [])
        items.settle_change(world, body, before, given, anew=anew)
    return records.known(world, subscriptions, key)


def kind_of(anchor: Any) -> str | None:
    """`now`, or as the newer API writes it, `{type: now}`."""
    return anchor.get("type") if isinstance(anchor, dict) else anchor


def _settings(world: World, body: Body, given: Given) -> Body:
    changes: Body = {}
    for name in ("description", "default_payment_method"):
        if name in given:
            changes[name] = cleared(given[name])
    if method := changes.get("default_payment_method"):
        customers.own_method(world, body["customer"], method, "default_payment_method")
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if "automatic_tax" in given:
        liability = {"type": "self"} if given["automatic_tax"]["enabled"] else None
        changes["automatic_tax"] = {**body["automatic_tax"], **given["automatic_tax"], "liability": liability}
    if "discounts" in given:
        changes["discounts"] = _discounts(world, body, given["discounts"] or [])
    if "pause_collection" in given:
        changes["pause_collection"] = _pausing(world, given["pause_collection"])
    if details := given.get("cancellation_details"):
        told = {name: cleared(value) for name, value in details.items()}
        changes["cancellation_details"] = {**body["cancellation_details"], **told}
    return {**changes, **_collection(body, given), **_ending(world, body, given, changes)}


def _collection(body: Body, given: Given) -> Body:
    method = given.get("collection_method", body["collection_method"])
    days = given.get("days_until_due", body["days_until_due"])
    if method == "send_invoice" and days is None:
        raise InvalidRequest(
            "Pass days_until_due when collection_method is send_invoice.", "days_until_due", "parameter_missing"
        )
    return {"collection_method": method, "days_until_due": days if method == "send_invoice" else None}


def _discounts(world: World, body: Body, given: list[Given]) -> list[str]:
    about = {"subscription": body["id"]}
    return [
        coupons.redeem(world, one, body["customer"], f"discounts[{at}]", **about)["id"] for at, one in enumerate(given)
    ]


def _pausing(world: World, given: Given | str) -> Body | None:
    if isinstance(given, str):
        return None
    resumes = given.get("resumes_at")
    if resumes is not None and resumes <= now(world):
        raise InvalidRequest("resumes_at must be in the future.", "pause_collection[resumes_at]")
    return {"behavior": given["behavior"], "resumes_at": resumes}


def _ending(world: World, body: Body, given: Given, changes: Body) -> Body:
    """When it is to end, and that somebody asked for it now."""
    if given.get("cancel_at") and given.get("cancel_at_period_end"):
        raise InvalidRequest(
            "You may only specify one of these parameters: cancel_at, cancel_at_period_end.", "cancel_at"
        )
    details: Body = changes.get("cancellation_details") or body["cancellation_details"]
    if given.get("cancel_at_period_end") or given.get("cancel_at"):
        at = given.get("cancel_at") or "max_period_end"
        at = body["_period_end"] if isinstance(at, str) else at
        if at <= now(world):
            raise InvalidRequest("cancel_at must be in the future.", "cancel_at")
        return {
            "cancel_at": at,
            "cancel_at_period_end": bool(given.get("cancel_at_period_end")),
            "canceled_at": now(world),
            "cancellation_details": {**details, "reason": "cancellation_requested"},
        }
    if given.get("cancel_at_period_end") is False or given.get("cancel_at") == "":
        undone = {**details, "reason": None}
        if body["status"] not in ENDED:
            return {
                "cancel_at": None,
                "cancel_at_period_end": False,
                "canceled_at": None,
                "cancellation_details": undone,
            }
    return {}


def _move_trial(world: World, body: Body, at: int | str) -> Body:
    """A trial that ends now is billed now; any other end moves the cycle with it."""
    if at == "now":
        if body["status"] != "trialing":
            return body
        ended = {"trial_end": now(world), "billing_cycle_anchor": now(world), "_period_end": now(world)}
        cycles.renew(world, records.change(world, subscriptions, body, ended))
        return records.known(world, subscriptions, body["id"])
    end = _trial_at(world, int(at))
    changes = {
        "status": "trialing",
        "trial_start": body["trial_start"] or now(world),
        "trial_end": end,
        "billing_cycle_anchor": end,
        "_period_end": end,
        "_trial_notice": False,
    }
    return records.change(world, subscriptions, body, changes, "customer.subscription.updated")


def having(world: World, price: str) -> list[str]:
    """The subscriptions with an item of this price."""
    return sorted({item["subscription"] for item in listing.of(world, subscription_items, price=price)})


def was_paid(world: World, bill: Body) -> None:
    """A paid bill brings its subscription back, unless another one is still overdue."""
    key = ((bill["parent"] or {}).get("subscription_details") or {}).get("subscription")
    body = records.get(world, subscriptions, key) if key else None
    if body is None or body["status"] not in ("incomplete", "past_due", "unpaid"):
        return
    if body["status"] != "incomplete" and listing.of(world, invoice_rows, subscription=key, status="open"):
        return
    records.change(world, subscriptions, body, {"status": "active"}, "customer.subscription.updated")
