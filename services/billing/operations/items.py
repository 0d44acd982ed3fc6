"""Subscription items, and what it costs to change them in the middle of a period."""

from typing import Any

from services.billing.errors import DeclinedAltogether, InvalidRequest
from services.billing.operations import cycles, periods, prorations, records
from services.billing.operations.records import Body, merged, now
from services.billing.shapes import catalogue
from services.billing.shapes import subscriptions as shapes
from services.billing.tables import prices, subscription_items, subscriptions
from services.kernel.world import World

Given = dict[str, Any]

_MOST_ITEMS = 20
_CHANGEABLE = frozenset({"active", "trialing", "past_due", "unpaid", "incomplete"})


def wanted(world: World, given: Given, param: str) -> tuple[Body, int]:
    """A recurring price and how many of it."""
    if not given.get("price"):
        raise InvalidRequest("Missing required param.", f"{param}[price]", "parameter_missing")
    price = records.refer(world, prices, given["price"], f"{param}[price]")
    if price["recurring"] is None:
        raise InvalidRequest(
            f"The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`: "
            f"{price['id']}",
            f"{param}[price]",
        )
    if not price["active"]:
        raise InvalidRequest(f"The price specified is inactive: {price['id']}", f"{param}[price]")
    quantity = given.get("quantity")
    return price, 1 if quantity is None else int(quantity)


def one_rhythm(priced: list[Body]) -> Body:
    """All items of a subscription share a currency and an interval."""
    if len({price["currency"] for price in priced}) > 1:
        raise InvalidRequest("All prices on a subscription must use the same currency.", "items")
    rhythms = {(price["recurring"]["interval"], price["recurring"]["interval_count"]) for price in priced}
    if len(rhythms) > 1:
        raise InvalidRequest("All prices on a subscription must have the same interval.", "items")
    if len({price["id"] for price in priced}) < len(priced):
        raise InvalidRequest("You cannot add multiple subscription items with the same price.", "items")
    repeated: Body = priced[0]["recurring"]
    return repeated


# --- through their own endpoint ---------------------------------------------------------------------------------------


def create(world: World, given: Given) -> Body:
    subscription = records.refer(world, subscriptions, given["subscription"], "subscription")
    before = cycles.items_of(world, subscription["id"])
    apply(world, subscription, [{name: given[name] for name in ("price", "quantity", "metadata") if name in given}])
    settle_change(world, subscription, before, given)
    return cycles.items_of(world, subscription["id"])[-1]


def update(world: World, key: str, given: Given) -> Body:
    item = records.need(world, subscription_items, key)
    subscription = records.known(world, subscriptions, item["subscription"])
    before = cycles.items_of(world, subscription["id"])
    change: Given = {name: given[name] for name in ("price", "quantity", "metadata") if name in given}
    apply(world, subscription, [{"id": key, **change}])
    settle_change(world, subscription, before, given)
    return records.known(world, subscription_items, key)


def delete(world: World, key: str, given: Given) -> Body:
    item = records.need(world, subscription_items, key)
    subscription = records.known(world, subscriptions, item["subscription"])
    before = cycles.items_of(world, subscription["id"])
    apply(world, subscription, [{"id": key, "deleted": True}])
    settle_change(world, subscription, before, given)
    return {"id": key, "object": "subscription_item", "deleted": True}


# --- the change itself ------------------------------------------------------------------------------------------------


def apply(world: World, subscription: Body, given: list[Given]) -> None:
    """With an id an item changes; without one it is added."""
    if subscription["status"] not in _CHANGEABLE:
        raise InvalidRequest(f"The items of a {subscription['status']} subscription can't change.", "items")
    for at, one in enumerate(given):
        if one.get("id"):
            _alter(world, subscription, one, f"items[{at}]")
        else:
            _append(world, subscription, one, f"items[{at}]")
    left = cycles.items_of(world, subscription["id"])
    if not left:
        raise InvalidRequest("A subscription must have at least one item; cancel it instead.", "items")
    if len(left) > _MOST_ITEMS:
        raise InvalidRequest(f"A subscription can have at most {_MOST_ITEMS} items.", "items")
    one_rhythm([item["price"] for item in left])
    if left[0]["price"]["currency"] != subscription["currency"]:
        raise InvalidRequest("The currency of a subscription can't change.", "items")


def _append(world: World, subscription: Body, given: Given, param: str) -> None:
    price, quantity = wanted(world, given, param)
    item = shapes.item(created=now(world), subscription=subscription["id"], price=price, quantity=quantity)
    records.add(world, subscription_items, item | {"metadata": merged({}, given.get("metadata"))})


def _alter(world: World, subscription: Body, given: Given, param: str) -> None:
    item = records.refer(world, subscription_items, given["id"], f"{param}[id]")
    if item["subscription"] != subscription["id"]:
        raise InvalidRequest("This item belongs to another subscription.", f"{param}[id]")
    if given.get("deleted"):
        records.remove(world, subscription_items, item)
        return
    changes: Body = {}
    if given.get("price"):
        price, quantity = wanted(world, given, param)
        changes |= {"price": price, "plan": catalogue.plan(price), "quantity": quantity}
    if given.get("quantity") is not None:
        changes["quantity"] = given["quantity"]
    if "metadata" in given:
        changes["metadata"] = merged(item["metadata"], given["metadata"])
    records.change(world, subscription_items, item, changes)


def settle_change(world: World, subscription: Body, before: list[Body], given: Given, *, anew: bool = False) -> None:
    """Bill the difference: now, with the next bill, or not at all."""
    after = cycles.items_of(world, subscription["id"])
    changed = _differences(before, after)
    if not changed[0] and not changed[1] and not anew:
        return
    records.tell(world, "customer.subscription.updated", subscription)
    if subscription["status"] in ("trialing", "incomplete"):
        return
    behavior = given.get("proration_behavior") or "create_prorations"
    span = prorations.span_of(subscription, _moment(world, subscription, given))
    if anew or _rhythm(before) != _rhythm(after) or (_cost(before) == 0 < _cost(after)):
        _new_cycle(world, subscription, before, span, behavior, given)
        return
    if behavior == "none":
        return
    for item in changed[0]:
        prorations.credit_unused(world, subscription, item, span)
    for item in changed[1]:
        prorations.charge_remaining(world, subscription, item, span)
    if behavior == "always_invoice" and (bill := cycles.bill_pending(world, subscription, "subscription_update")):
        collected(world, bill, given)


def _new_cycle(
    world: World, subscription: Body, before: list[Body], span: prorations.Span, behavior: str, given: Given
) -> None:
    """Another rhythm starts its period now, and is billed at once."""
    if behavior != "none":
        for item in before:
            prorations.credit_unused(world, subscription, item, span)
    subscription = start_anew(world, subscription)
    collected(world, cycles.bill_period(world, subscription, "subscription_update"), given)


def start_anew(world: World, subscription: Body) -> Body:
    repeated = cycles.items_of(world, subscription["id"])[0]["price"]["recurring"]
    start = now(world)
    end = periods.next_end(start, repeated["interval"], repeated["interval_count"], start)
    changes: Body = {"billing_cycle_anchor": start, "_period_start": start, "_period_end": end}
    if subscription["cancel_at_period_end"]:
        changes["cancel_at"] = end
    return records.change(world, subscriptions, subscription, changes)


def collected(world: World, bill: Body, given: Given) -> None:
    """A change that could not be paid stands, and the subscription is past due, unless the caller says otherwise."""
    tried = cycles.collect(world, bill)
    if tried.decline is None:
        return
    if given.get("payment_behavior") == "error_if_incomplete":
        raise DeclinedAltogether(tried.decline.message, tried.decline.code, tried.decline.decline_code)
    key = bill["parent"]["subscription_details"]["subscription"]
    subscription = records.known(world, subscriptions, key)
    if subscription["status"] == "active":
        records.change(world, subscriptions, subscription, {"status": "past_due"}, "customer.subscription.updated")


def _moment(world: World, subscription: Body, given: Given) -> int:
    at = given.get("proration_date")
    if at is None:
        return int(min(max(now(world), subscription["_period_start"]), subscription["_period_end"]))
    if not subscription["_period_start"] <= at <= subscription["_period_end"]:
        raise InvalidRequest("proration_date must lie within the current period.", "proration_date")
    return int(at)


def _differences(before: list[Body], after: list[Body]) -> tuple[list[Body], list[Body]]:
    """Items as they were and as they are, where they differ in what they cost."""
    was = {item["id"]: (item["price"]["id"], item["quantity"]) for item in before}
    are = {item["id"]: (item["price"]["id"], item["quantity"]) for item in after}
    gone = [item for item in before if are.get(item["id"]) != was[item["id"]]]
    come = [item for item in after if was.get(item["id"]) != are[item["id"]]]
    return gone, come


def _rhythm(items: list[Body]) -> tuple[str, int]:
    repeated = items[0]["price"]["recurring"]
    return repeated["interval"], repeated["interval_count"]


def _cost(items: list[Body]) -> int:
    return sum(int(item["price"]["unit_amount"] * item["quantity"]) for item in items)
