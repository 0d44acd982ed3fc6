"""Subscription items, and what it costs to change them in the middle of a period."""

from typing import NamedTuple

from services.billing.errors import DeclinedAndUndone, InvalidRequest
from services.billing.objects.catalogue import PriceBody, Recurring, plan_of
from services.billing.objects.invoices import InvoiceBody, subscription_of
from services.billing.objects.subscriptions import SubscriptionBody, SubscriptionItemBody, new_subscription_item
from services.billing.operations import billing_cycles, periods, prorations, records
from services.billing.operations.params import Params, merge_metadata
from services.billing.operations.records import DeletedObject, now
from services.billing.rows import SubscriptionItemId
from services.billing.tables import prices, subscription_items, subscriptions
from services.kernel.world import World

_MOST_ITEMS = 20
_CHANGEABLE = frozenset({"active", "trialing", "past_due", "unpaid", "incomplete"})


class PriceAndQuantity(NamedTuple):
    """A recurring price and how many of it."""

    price: PriceBody
    quantity: int


def price_and_quantity(world: World, params: Params, param: str) -> PriceAndQuantity:
    if not params.get("price"):
        raise InvalidRequest("Missing required param.", f"{param}[price]", "parameter_missing")
    price = records.refer(world, prices, params["price"], f"{param}[price]")
    if price["recurring"] is None:
        raise InvalidRequest(
            f"The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`: "
            f"{price['id']}",
            f"{param}[price]",
        )
    if not price["active"]:
        raise InvalidRequest(f"The price specified is inactive: {price['id']}", f"{param}[price]")
    quantity = params.get("quantity")
    return PriceAndQuantity(price, 1 if quantity is None else int(quantity))


def require_one_interval(prices_of_items: list[PriceBody]) -> Recurring:
    """All items of a subscription share a currency and an interval, which is returned."""
    if len({price["currency"] for price in prices_of_items}) > 1:
        raise InvalidRequest("All prices on a subscription must use the same currency.", "items")
    recurring = [price["recurring"] for price in prices_of_items if price["recurring"] is not None]
    if len({_interval(how_often) for how_often in recurring}) > 1:
        raise InvalidRequest("All prices on a subscription must have the same interval.", "items")
    if len({price["id"] for price in prices_of_items}) < len(prices_of_items):
        raise InvalidRequest("You cannot add multiple subscription items with the same price.", "items")
    return recurring[0]


# --- operations of the API ------------------------------------------------------------------------------------------


def create(world: World, params: Params) -> SubscriptionItemBody:
    subscription = records.refer(world, subscriptions, params["subscription"], "subscription")
    before = billing_cycles.items_of(world, subscription["id"])
    apply_changes(
        world, subscription, [{name: params[name] for name in ("price", "quantity", "metadata") if name in params}]
    )
    bill_change(world, subscription, before, params)
    return billing_cycles.items_of(world, subscription["id"])[-1]


def update(world: World, key: SubscriptionItemId, params: Params) -> SubscriptionItemBody:
    item = records.need(world, subscription_items, key)
    subscription = records.must_exist(world, subscriptions, item["subscription"])
    before = billing_cycles.items_of(world, subscription["id"])
    change: Params = {name: params[name] for name in ("price", "quantity", "metadata") if name in params}
    apply_changes(world, subscription, [{"id": key, **change}])
    bill_change(world, subscription, before, params)
    return records.must_exist(world, subscription_items, key)


def delete(world: World, key: SubscriptionItemId, params: Params) -> DeletedObject:
    item = records.need(world, subscription_items, key)
    subscription = records.must_exist(world, subscriptions, item["subscription"])
    before = billing_cycles.items_of(world, subscription["id"])
    apply_changes(world, subscription, [{"id": key, "deleted": True}])
    bill_change(world, subscription, before, params)
    return {"id": key, "object": "subscription_item", "deleted": True}


# --- the change itself ----------------------------------------------------------------------------------------------


def apply_changes(world: World, subscription: SubscriptionBody, params: list[Params]) -> None:
    """Changes items that have an id and adds those without one."""
    if subscription["status"] not in _CHANGEABLE:
        raise InvalidRequest(f"The items of a {subscription['status']} subscription can't change.", "items")
    for index, item in enumerate(params):
        if item.get("id"):
            _change_item(world, subscription, item, f"items[{index}]")
        else:
            _add_item(world, subscription, item, f"items[{index}]")
    remaining = billing_cycles.items_of(world, subscription["id"])
    if not remaining:
        raise InvalidRequest("A subscription must have at least one item; cancel it instead.", "items")
    if len(remaining) > _MOST_ITEMS:
        raise InvalidRequest(f"A subscription can have at most {_MOST_ITEMS} items.", "items")
    require_one_interval([item["price"] for item in remaining])
    if remaining[0]["price"]["currency"] != subscription["currency"]:
        raise InvalidRequest("The currency of a subscription can't change.", "items")


def _add_item(world: World, subscription: SubscriptionBody, params: Params, param: str) -> None:
    price, quantity = price_and_quantity(world, params, param)
    item = new_subscription_item(created=now(world), subscription=subscription["id"], price=price, quantity=quantity)
    records.add(world, subscription_items, item | {"metadata": merge_metadata({}, params.get("metadata"))})


def _change_item(world: World, subscription: SubscriptionBody, params: Params, param: str) -> None:
    item = records.refer(world, subscription_items, params["id"], f"{param}[id]")
    if item["subscription"] != subscription["id"]:
        raise InvalidRequest("This item belongs to another subscription.", f"{param}[id]")
    if params.get("deleted"):
        records.remove(world, subscription_items, item)
        return
    changes: SubscriptionItemBody = {}
    if params.get("price"):
        price, quantity = price_and_quantity(world, params, param)
        changes |= {"price": price, "plan": plan_of(price), "quantity": quantity}
    if params.get("quantity") is not None:
        changes["quantity"] = params["quantity"]
    if "metadata" in params:
        changes["metadata"] = merge_metadata(item["metadata"], params["metadata"])
    records.change(world, subscription_items, item, changes)


def bill_change(
    world: World,
    subscription: SubscriptionBody,
    before: list[SubscriptionItemBody],
    params: Params,
    *,
    restart: bool = False,
) -> None:
    """Bills the difference now, with the next invoice, or not at all; `restart` begins a new period in any case."""
    after = billing_cycles.items_of(world, subscription["id"])
    changed = _differences(before, after)
    if not changed.were and not changed.are and not restart:
        return
    records.record_event(world, "customer.subscription.updated", subscription)
    if subscription["status"] in ("trialing", "incomplete"):
        return
    behavior = params.get("proration_behavior") or "create_prorations"
    remainder = prorations.remainder_of(subscription, _proration_date(world, subscription, params))
    has_new_interval = _interval(billing_cycles.recurring_of(before[0])) != _interval(
        billing_cycles.recurring_of(after[0])
    )
    if restart or has_new_interval or (_cost(before) == 0 < _cost(after)):
        _bill_new_period(world, subscription, before, remainder, behavior, params)
        return
    if behavior == "none":
        return
    for item in changed.were:
        prorations.credit_unused(world, subscription, item, remainder)
    for item in changed.are:
        prorations.charge_remaining(world, subscription, item, remainder)
    if behavior == "always_invoice" and (
        invoice := billing_cycles.bill_pending(world, subscription, "subscription_update")
    ):
        collect_change(world, invoice, params)


def _bill_new_period(
    world: World,
    subscription: SubscriptionBody,
    before: list[SubscriptionItemBody],
    remainder: prorations.Remainder,
    behavior: str,
    params: Params,
) -> None:
    """Starts a period now, and bills it at once."""
    if behavior != "none":
        for item in before:
            prorations.credit_unused(world, subscription, item, remainder)
    subscription = restart_period(world, subscription)
    collect_change(world, billing_cycles.bill_period(world, subscription, "subscription_update"), params)


def restart_period(world: World, subscription: SubscriptionBody) -> SubscriptionBody:
    recurring = billing_cycles.recurring_of(billing_cycles.items_of(world, subscription["id"])[0])
    start = now(world)
    end = periods.next_period_end(start, recurring, start)
    changes: SubscriptionBody = {"billing_cycle_anchor": start, "_period_start": start, "_period_end": end}
    if subscription["cancel_at_period_end"]:
        changes["cancel_at"] = end
    return records.change(world, subscriptions, subscription, changes)


def collect_change(world: World, invoice: InvoiceBody, params: Params) -> None:
    """A change that could not be paid stands, and the subscription is past due, unless the caller says otherwise."""
    attempt = billing_cycles.collect(world, invoice)
    if attempt.decline is None:
        return
    if params.get("payment_behavior") == "error_if_incomplete":
        raise DeclinedAndUndone(attempt.decline.message, attempt.decline.code, attempt.decline.decline_code)
    key = subscription_of(invoice)
    subscription = records.get(world, subscriptions, key) if key is not None else None
    if subscription is not None and subscription["status"] == "active":
        records.change(world, subscriptions, subscription, {"status": "past_due"}, "customer.subscription.updated")


def _proration_date(world: World, subscription: SubscriptionBody, params: Params) -> int:
    date = params.get("proration_date")
    if date is None:
        return min(max(now(world), subscription["_period_start"]), subscription["_period_end"])
    if not subscription["_period_start"] <= date <= subscription["_period_end"]:
        raise InvalidRequest("proration_date must lie within the current period.", "proration_date")
    return int(date)


class Differences(NamedTuple):
    """Items as they were and as they are, where they differ in what they cost."""

    were: list[SubscriptionItemBody]
    are: list[SubscriptionItemBody]


def _differences(before: list[SubscriptionItemBody], after: list[SubscriptionItemBody]) -> Differences:
    was = {item["id"]: (item["price"]["id"], item["quantity"]) for item in before}
    are = {item["id"]: (item["price"]["id"], item["quantity"]) for item in after}
    return Differences(
        [item for item in before if are.get(item["id"]) != was[item["id"]]],
        [item for item in after if was.get(item["id"]) != are[item["id"]]],
    )


def _interval(recurring: Recurring) -> tuple[str, int]:
    return recurring["interval"], recurring["interval_count"]


def _cost(items: list[SubscriptionItemBody]) -> int:
    return sum(item["price"]["unit_amount"] * item["quantity"] for item in items)
