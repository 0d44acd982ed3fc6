"""Checks for what a subscription renews with, whether it was changed today or by a schedule."""

from collections.abc import Iterable
from typing import Any

from services.billing.objects.subscriptions import Phase, SubscriptionBody
from services.billing.operations import records
from services.billing.rows import AnyBillingTable, CustomerId, SubscriptionId
from services.billing.tables import invoice_items, invoices, schedules, subscription_items, subscriptions
from services.kernel.changes import AGENTS
from services.kernel.checks import Check, Finding
from services.kernel.world import World


class RenewsWith(Check):
    """At the end of its period the subscription goes on with exactly these prices; nothing is billed before or beside.

    `items` maps prices to quantities.
    """

    subscription: SubscriptionId
    customer: CustomerId
    period_end: int
    items: dict[str, int]

    def run(self, world: World) -> Finding:
        body = records.get(world, subscriptions, self.subscription)
        if body is None or body["customer"] != self.customer or body["status"] != "active":
            return self.fails(f"{self.subscription} is no running subscription of {self.customer}")
        if body["cancel_at"] is not None or body["_period_end"] != self.period_end:
            return self.fails(f"{self.subscription} does not renew when it would have")
        upcoming = _upcoming_items(world, body)
        if upcoming != self.items:
            return self.fails(f"{self.subscription} renews with {upcoming}, not {self.items}")
        if billed := _list_billed_by_agents(world, self.customer):
            return self.fails(f"{billed[0]} bills {self.customer} for the change")
        return self.holds(f"{self.subscription} renews with {self.items}")


def _upcoming_items(world: World, body: SubscriptionBody) -> dict[str, int] | None:
    """Returns the items of the next period; None where a schedule ends the subscription with this one."""
    schedule = records.must_exist(world, schedules, body["schedule"]) if body["schedule"] else None
    if schedule is not None:
        next_start = body["_period_end"]
        phase = next((phase for phase in schedule["phases"] if _covers(phase, next_start)), None)
        if phase is not None:
            return _sum_items((item["price"], item["quantity"]) for item in phase["items"])
        if schedule["end_behavior"] == "cancel":
            return None
    bodies = records.find_by(world, subscription_items, subscription=body["id"])
    return _sum_items((item["price"]["id"], item["quantity"]) for item in bodies)


def _covers(phase: Phase, time: int) -> bool:
    return phase["start_date"] <= time < phase["end_date"]


def _sum_items(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    items: dict[str, int] = {}
    for price, quantity in pairs:
        items[price] = items.get(price, 0) + quantity
    return items


def _list_billed_by_agents(world: World, customer: CustomerId) -> list[str]:
    """Returns the customer's invoices and invoice items that agents created and that still exist."""
    created = [
        (table, change.row_id)
        for table in (invoices, invoice_items)
        for change in world.changes(table=table)
        if change.before is None and change.actor in AGENTS
    ]
    return [str(key) for table, key in created if _is_of(world, table, key, customer)]


def _is_of(world: World, table: AnyBillingTable, key: Any, customer: CustomerId) -> bool:
    body = records.get(world, table, key)
    return body is not None and body["customer"] == customer and body.get("status") != "void"
