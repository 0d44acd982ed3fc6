"""Subscription schedules: what a subscription becomes, and when."""

from services.billing.errors import InvalidRequest
from services.billing.objects.subscriptions import (
    CurrentPhase,
    Phase,
    PhaseDiscount,
    PhaseItem,
    ScheduleBody,
    SubscriptionBody,
    new_phase,
    new_phase_item,
    new_schedule,
)
from services.billing.operations import billing_cycles, cancellation, periods, records
from services.billing.operations import subscription_items as items
from services.billing.operations.params import Params, merge_metadata
from services.billing.operations.records import now
from services.billing.rows import ScheduleId, SubscriptionId
from services.billing.tables import prices, schedules
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World

_OPEN = frozenset({"not_started", "active"})


def create(world: World, params: Params) -> ScheduleBody:
    """Puts a subscription under a schedule: its first phase is the subscription until its period ends."""
    subscription = records.refer(world, subscription_rows, params["from_subscription"], "from_subscription")
    if subscription["schedule"] is not None:
        raise InvalidRequest("The subscription is already managed by a schedule.", "from_subscription")
    if subscription["status"] in ("canceled", "incomplete_expired", "incomplete"):
        raise InvalidRequest(
            f"A schedule can't manage a subscription that is {subscription['status']}.", "from_subscription"
        )
    current_items = [
        new_phase_item(item["price"]["id"], item["quantity"])
        for item in billing_cycles.items_of(world, subscription["id"])
    ]
    start, end = subscription["_period_start"], subscription["_period_end"]
    discounts: list[PhaseDiscount] = [
        {"coupon": None, "discount": discount, "promotion_code": None} for discount in subscription["discounts"]
    ]
    phase = new_phase(items=current_items, start=start, end=end, currency=subscription["currency"], discounts=discounts)
    body = new_schedule(
        created=now(world), customer=subscription["customer"], subscription=subscription["id"], phases=[phase]
    )
    settings = body["default_settings"]
    settings["collection_method"] = subscription["collection_method"]
    settings["default_payment_method"] = subscription["default_payment_method"]
    settings["description"] = subscription["description"]
    settings["invoice_settings"]["days_until_due"] = subscription["days_until_due"]
    body |= {
        "status": "active",
        "current_phase": {"start_date": start, "end_date": end},
        "end_behavior": params.get("end_behavior") or "release",
        "metadata": merge_metadata({}, params.get("metadata")),
    }
    body = records.add(world, schedules, body, "subscription_schedule.created")
    records.change(world, subscription_rows, subscription, {"schedule": body["id"]}, "customer.subscription.updated")
    return body


def update(world: World, key: ScheduleId, params: Params) -> ScheduleBody:
    body = _need_open(world, key)
    changes: ScheduleBody = {"end_behavior": params["end_behavior"]} if params.get("end_behavior") else {}
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    if params.get("phases"):
        phases = _phases(world, body, params["phases"])
        changes["phases"] = phases
        current = next((phase for phase in phases if phase["start_date"] <= now(world) < phase["end_date"]), None)
        if current is None:
            raise InvalidRequest("The current phase must be among the phases.", "phases")
        changes["current_phase"] = {"start_date": current["start_date"], "end_date": current["end_date"]}
    return records.change(world, schedules, body, changes, "subscription_schedule.updated")


def release(world: World, key: ScheduleId) -> ScheduleBody:
    return _release(world, _need_open(world, key))


def cancel(world: World, key: ScheduleId, params: Params) -> ScheduleBody:
    """Cancels the schedule together with its subscription."""
    body = _need_open(world, key)
    cancellation.cancel(
        world, _subscription_of(body), {"invoice_now": params.get("invoice_now"), "prorate": params.get("prorate")}
    )
    changes: ScheduleBody = {"status": "canceled", "canceled_at": now(world), "current_phase": None}
    return records.change(world, schedules, body, changes, "subscription_schedule.canceled")


def fall_due(world: World, body: ScheduleBody) -> None:
    """Begins the next phase, or completes the schedule after the last one."""
    current_end = body["current_phase"]["end_date"] if body["current_phase"] is not None else 0
    upcoming = next((phase for phase in body["phases"] if phase["start_date"] >= current_end), None)
    if upcoming is None:
        _complete(world, body)
        return
    current: CurrentPhase = {"start_date": upcoming["start_date"], "end_date": upcoming["end_date"]}
    records.change(world, schedules, body, {"current_phase": current}, "subscription_schedule.updated")
    subscription = records.must_exist(world, subscription_rows, _subscription_of(body))
    if subscription["status"] in ("active", "trialing", "past_due"):
        _apply_phase(world, subscription, upcoming)


def _apply_phase(world: World, subscription: SubscriptionBody, phase: Phase) -> None:
    """Gives the subscription the items of a phase; items keep their place where they can."""
    before = billing_cycles.items_of(world, subscription["id"])
    params: list[Params] = [{"price": item["price"], "quantity": item["quantity"]} for item in phase["items"]]
    for item_params, item in zip(params, before, strict=False):
        item_params["id"] = item["id"]
    params += [{"id": item["id"], "deleted": True} for item in before[len(phase["items"]) :]]
    items.apply_changes(world, subscription, params)
    is_boundary = subscription["_period_end"] <= now(world)
    behavior = "none" if is_boundary else phase["proration_behavior"]
    items.bill_change(world, subscription, before, {"proration_behavior": behavior})


def _complete(world: World, body: ScheduleBody) -> None:
    if body["end_behavior"] == "cancel":
        subscription = records.must_exist(world, subscription_rows, _subscription_of(body))
        if subscription["status"] not in ("canceled", "incomplete_expired"):
            billing_cycles.end_subscription(world, subscription, "cancellation_requested")
        changes: ScheduleBody = {"status": "completed", "completed_at": now(world), "current_phase": None}
        records.change(world, schedules, body, changes, "subscription_schedule.completed")
        return
    _release(world, body)


def _release(world: World, body: ScheduleBody) -> ScheduleBody:
    subscription = records.must_exist(world, subscription_rows, _subscription_of(body))
    records.change(world, subscription_rows, subscription, {"schedule": None}, "customer.subscription.updated")
    changes: ScheduleBody = {
        "status": "released",
        "released_at": now(world),
        "released_subscription": body["subscription"],
        "subscription": None,
        "current_phase": None,
    }
    return records.change(world, schedules, body, changes, "subscription_schedule.released")


def _subscription_of(body: ScheduleBody) -> SubscriptionId:
    if body["subscription"] is None:
        raise LookupError(f"{body['id']} was released")
    return body["subscription"]


def _need_open(world: World, key: ScheduleId) -> ScheduleBody:
    body = records.need(world, schedules, key)
    if body["status"] not in _OPEN:
        raise InvalidRequest(f"A schedule that is {body['status']} can't be changed.", "id")
    return body


def _phases(world: World, body: ScheduleBody, params: list[Params]) -> list[Phase]:
    phases: list[Phase] = []
    next_start = body["phases"][0]["start_date"]
    for index, phase_params in enumerate(params):
        start = next_start if phase_params.get("start_date") in (None, "now") else phase_params["start_date"]
        if phases and start != phases[-1]["end_date"]:
            raise InvalidRequest("Phases must follow each other without a gap.", f"phases[{index}][start_date]")
        phase_items = [
            _phase_item(world, item, f"phases[{index}][items][{number}]")
            for number, item in enumerate(phase_params["items"])
        ]
        end = phase_params.get("end_date") or _natural_end(
            world, phase_items, start, phase_params.get("iterations") or 1
        )
        if end <= start:
            raise InvalidRequest("A phase ends after it starts.", f"phases[{index}][end_date]")
        # A phase changes what is subscribed to; the subscription keeps its discounts, so every phase shows them.
        first = body["phases"][0]
        phase = new_phase(
            items=phase_items, start=start, end=end, currency=first["currency"], discounts=first["discounts"]
        )
        phase["proration_behavior"] = phase_params.get("proration_behavior") or "create_prorations"
        phases.append(phase)
        next_start = end
    return phases


def _phase_item(world: World, params: Params, param: str) -> PhaseItem:
    price, quantity = items.price_and_quantity(world, params, param)
    return new_phase_item(price["id"], quantity)


def _natural_end(world: World, phase_items: list[PhaseItem], start: int, iterations: int) -> int:
    """Returns the end of a phase that lasts so many intervals of its first price."""
    recurring = records.must_exist(world, prices, phase_items[0]["price"])["recurring"]
    end = start
    if recurring is None:
        return end
    for _ in range(iterations):
        end = periods.next_period_end(start, recurring, end)
    return end
