"""Objects as clients see them: without our own fields, and with what the vendor shows along with them."""

from collections.abc import Callable, Mapping
from typing import Any

from services.billing.objects.subscriptions import SubscriptionBody
from services.billing.operations import coupons, records, test_mode
from services.billing.operations.records import Page, Window, must_exist, now, without_private
from services.billing.rows import BillingTable, BodyT, IdT
from services.billing.tables import coupons as coupon_rows
from services.billing.tables import (
    credit_note_lines,
    invoice_lines,
    invoice_payments,
    refunds,
    subscription_items,
    subscriptions,
    tax_ids,
)
from services.kernel.documents import equal
from services.kernel.world import World

# An object of ours, and an object as it goes over the wire.
Body = Mapping[str, Any]
WireObject = dict[str, Any]

_EMBEDDED = 10


def render(world: World, body: Body) -> WireObject:
    if body.get("deleted"):
        return {"id": body["id"], "object": body["object"], "deleted": True}
    complete = _COMPLETE.get(body["object"])
    wire = without_private(body)
    if "livemode" in wire and test_mode.is_on(world):
        wire["livemode"] = False
    return wire if complete is None else complete(world, wire, body)


def render_list(world: World, page: Page[BodyT], url: str) -> WireObject:
    return {
        "object": "list",
        "data": [render(world, body) for body in page.bodies],
        "has_more": page.has_more,
        "url": url,
    }


def render_search(world: World, page: Page[BodyT], url: str) -> WireObject:
    return {
        "object": "search_result",
        "data": [render(world, body) for body in page.bodies],
        "has_more": page.has_more,
        "next_page": page.next_page,
        "url": url,
    }


def _newest(world: World, table: BillingTable[IdT, BodyT], url: str, **values: Any) -> WireObject:
    return render_list(world, records.page(world, table, Window(_EMBEDDED), equal(**values)), url)


def _oldest(world: World, table: BillingTable[IdT, BodyT], url: str, **values: Any) -> WireObject:
    bodies = records.find_by(world, table, **values)
    return render_list(world, Page(bodies[:_EMBEDDED], len(bodies) > _EMBEDDED), url)


# --- objects with more than their row -------------------------------------------------------------------------------


def _complete_subscription(world: World, wire: WireObject, body: Any) -> WireObject:
    bodies = records.find_by(world, subscription_items, subscription=body["id"])
    url = f"/v1/subscription_items?subscription={body['id']}"
    items = [{**without_private(item), **_period(body)} for item in bodies]
    return {
        **wire,
        "items": {"object": "list", "data": items, "has_more": False, "total_count": len(items), "url": url},
    }


def _complete_item(world: World, wire: WireObject, body: Any) -> WireObject:
    return {**wire, **_period(must_exist(world, subscriptions, body["subscription"]))}


def _period(subscription: SubscriptionBody) -> WireObject:
    return {
        "current_period_start": subscription["_period_start"],
        "current_period_end": subscription["_period_end"],
    }


def _complete_invoice(world: World, wire: WireObject, body: Any) -> WireObject:
    url = f"/v1/invoices/{body['id']}/lines"
    return {**wire, "lines": _oldest(world, invoice_lines, url, invoice=body["id"])}


def _complete_credit_note(world: World, wire: WireObject, body: Any) -> WireObject:
    url = f"/v1/credit_notes/{body['id']}/lines"
    return {**wire, "lines": _oldest(world, credit_note_lines, url, credit_note=body["id"])}


def _complete_coupon(world: World, wire: WireObject, body: Any) -> WireObject:
    return {**wire, "valid": coupons.is_valid(body, now(world))}


def _complete_promotion_code(world: World, wire: WireObject, body: Any) -> WireObject:
    over = body["expires_at"] is not None and body["expires_at"] <= now(world)
    used_up = body["max_redemptions"] is not None and body["times_redeemed"] >= body["max_redemptions"]
    usable = coupons.is_valid(must_exist(world, coupon_rows, body["promotion"]["coupon"]), now(world))
    return {**wire, "active": body["active"] and usable and not over and not used_up}


def _complete_balance_transaction(world: World, wire: WireObject, body: Any) -> WireObject:
    return {**wire, "status": "available" if body["available_on"] <= now(world) else "pending"}


_COMPLETE: dict[str, Callable[[World, WireObject, Any], WireObject]] = {
    "subscription": _complete_subscription,
    "subscription_item": _complete_item,
    "invoice": _complete_invoice,
    "credit_note": _complete_credit_note,
    "coupon": _complete_coupon,
    "promotion_code": _complete_promotion_code,
    "balance_transaction": _complete_balance_transaction,
}

# Lists that an object carries only when a client expands them.
EXPANDABLE_LISTS: dict[tuple[str, str], Callable[[World, str], WireObject]] = {
    ("charge", "refunds"): lambda world, key: _newest(world, refunds, f"/v1/charges/{key}/refunds", charge=key),
    ("customer", "tax_ids"): lambda world, key: _newest(world, tax_ids, f"/v1/customers/{key}/tax_ids", customer=key),
    ("customer", "subscriptions"): lambda world, key: _newest(
        world, subscriptions, f"/v1/subscriptions?customer={key}", customer=key
    ),
    ("invoice", "payments"): lambda world, key: _oldest(
        world, invoice_payments, f"/v1/invoice_payments?invoice={key}", invoice=key
    ),
}
