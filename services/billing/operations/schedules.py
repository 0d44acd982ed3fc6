"""Subscription schedules: what a subscription becomes, and when."""

from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.operations import cycles, endings, items, periods, records
from services.billing.operations.records import Body, merged, now
from services.billing.shapes import subscriptions as shapes
from services.billing.tables import prices, schedules
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World

Given = dict[str, Any]

_OPEN = frozenset({"not_started", "active"})


def create(world: World, given: Given) -> Body:
    """From a subscription: its first phase is what the subscription is until its period ends."""
    subscription = records.refer(world, subscription_rows, given["from_subscription"], "from_subscription")
    if subscription["schedule"] is not None:
        raise InvalidRequest("The subscription is already managed by a schedule.", "from_subscription")
    if subscription["status"] in ("canceled", "incomplete_expired", "incomplete"):
        raise InvalidRequest(
            f"A schedule can't manage a subscription that is {subscription['status']}.", "from_subscription"
        )
    now_items = [
        _phase_item(item["price"]["id"], item["quantity"]) for item in cycles.items_of(world, subscription["id"])
    ]
    start, end = subscription["_period_start"], subscription["_period_end"]
    phase = shapes.phase(items=now_items, start=start, end=end, currency=subscription["currency"])
    body = shapes.schedule(
        created=now(world), customer=subscription["customer"], subscription=subscription["id"], phases=[phase]
    )
    body |= {
        "status": "active",
        "current_phase": {"start_date": start, "end_date": end},
        "end_behavior": given.get("end_behavior") or "release",
        "metadata": merged({}, given.get("metadata")),
    }
    body = records.add(world, schedules, body, "subscription_schedule.created")
    records.change(world, subscription_rows, subscription, {"schedule": body["id"]}, "customer.subscription.updated")
    return body


def update(world: World, key: str, given: Given) -> Body:
    body = _open(world, key)
    changes: Body = {"end_behavior": given["end_behavior"]} if given.get("end_behavior") else {}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if given.get("phases"):
        phases = _phases(world, body, given["phases"])
        changes["phases"] = phases
        current = next((one for one in phases if one["start_date"] <= now(world) < one["end_date"]), None)
        if current is None:
            raise InvalidRequest("The current phase must be among the phases.", "phases")
        changes["current_phase"] = {"start_date": current["start_date"], "end_date": current["end_date"]}
    return records.change(world, schedules, body, changes, "subscription_schedule.updated")


def release(world: World, key: str) -> Body:
    return _released(world, _open(world, key), "released")


def cancel(world: World, key: str, given: Given) -> Body:
    """The subscription ends with its schedule."""
    body = _open(world, key)
    endings.cancel(
        world, body["subscription"], {"invoice_now": given.get("invoice_now"), "prorate": given.get("prorate")}
    )
    changes = {"status": "canceled", "canceled_at": now(world), "current_phase": None}
    return records.change(world, schedules, body, changes, "subscription_schedule.canceled")


def fall_due(world: World, body: Body) -> None:
    """The next phase begins, or the last one has ended."""
    upcoming = next((one for one in body["phases"] if one["start_date"] >= body["current_phase"]["end_date"]), None)
    if upcoming is None:
        _complete(world, body)
        return
    current = {"start_date": upcoming["start_date"], "end_date": upcoming["end_date"]}
    records.change(world, schedules, body, {"current_phase": current}, "subscription_schedule.updated")
    subscription = records.known(world, subscription_rows, body["subscription"])
    if subscription["status"] in ("active", "trialing", "past_due"):
        _become(world, subscription, upcoming)


def _become(world: World, subscription: Body, phase: Body) -> None:
    """Items keep their place where they can: the first is changed, the others come and go."""
    before = cycles.items_of(world, subscription["id"])
    given: list[Given] = [
        {"price": item["price"], "quantity": item["quantity"], **({"id": before[at]["id"]} if at < len(before) else {})}
        for at, item in enumerate(phase["items"])
    ]
    given += [{"id": item["id"], "deleted": True} for item in before[len(phase["items"]) :]]
    items.apply(world, subscription, given)
    at_boundary = subscription["_period_end"] <= now(world)
    behavior = "none" if at_boundary else phase["proration_behavior"]
    items.settle_change(world, subscription, before, {"proration_behavior": behavior})


def _complete(world: World, body: Body) -> None:
    if body["end_behavior"] == "cancel":
        subscription = records.known(world, subscription_rows, body["subscription"])
        if subscription["status"] not in ("canceled", "incomplete_expired"):
            endings.end(world, subscription, "cancellation_requested")
        changes = {"status": "completed", "completed_at": now(world), "current_phase": None}
        records.change(world, schedules, body, changes, "subscription_schedule.completed")
        return
    _released(world, body, "released")


def _released(world: World, body: Body, status: str) -> Body:
    subscription = records.known(world, subscription_rows, body["subscription"])
    records.change(world, subscription_rows, subscription, {"schedule": None}, "customer.subscription.updated")
    changes = {
        "status": status,
        "released_at": now(world),
        "released_subscription": body["subscription"],
        "subscription": None,
        "current_phase": None,
    }
    return records.change(world, schedules, body, changes, "subscription_schedule.released")


def _open(world: World, key: str) -> Body:
    body = records.need(world, schedules, key)
    if body["status"] not in _OPEN:
        raise InvalidRequest(f"A schedule that is {body['status']} can't be changed.", "id")
    return body


def _phases(world: World, body: Body, given: list[Given]) -> list[Body]:
    phases: list[Body] = []
    start = body["phases"][0]["start_date"]
    for at, one in enumerate(given):
        begin = start if one.get("start_date") in (None, "now") else one["start_date"]
        if phases and begin != phases[-1]["end_date"]:
            raise InvalidRequest("Phases must follow each other without a gap.", f"phases[{at}][start_date]")
        lines = [_wanted(world, item, f"phases[{at}][items][{n}]") for n, item in enumerate(one["items"])]
        end = one.get("end_date") or _natural_end(world, lines, begin, one.get("iterations") or 1)
        if end <= begin:
            raise InvalidRequest("A phase ends after it starts.", f"phases[{at}][end_date]")
        phase = shapes.phase(items=lines, start=begin, end=end, currency=body["phases"][0]["currency"])
        phase["proration_behavior"] = one.get("proration_behavior") or "create_prorations"
        phases.append(phase)
        start = end
    return phases


def _wanted(world: World, given: Given, param: str) -> Body:
    price, quantity = items.wanted(world, given, param)
    return _phase_item(price["id"], quantity)


def _natural_end(world: World, lines: list[Body], start: int, count: int) -> int:
    repeated = records.known(world, prices, lines[0]["price"])["recurring"]
    end = start
    for _ in range(count):
        end = periods.next_end(start, repeated["interval"], repeated["interval_count"], end)
    return end


def _phase_item(price: str, quantity: int) -> Body:
    return {
        "billing_thresholds": None,
        "discounts": [],
        "metadata": {},
        "plan": price,
        "price": price,
        "quantity": quantity,
        "tax_rates": [],
    }
