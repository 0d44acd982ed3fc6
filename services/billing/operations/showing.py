"""Objects as the outside sees them: what is ours left out, what belongs with them put in."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from services.billing.operations import coupons, listing
from services.billing.operations.listing import Page, Where, Window
from services.billing.operations.records import Body, known, now, public
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
from services.kernel.world import World

_EMBEDDED = 10


def shown(world: World, body: Body) -> Body:
    if body.get("deleted"):
        return {"id": body["id"], "object": body["object"], "deleted": True}
    dressed = _DRESSED.get(body["object"])
    return public(body) if dressed is None else dressed(world, public(body), body)


def collection(world: World, page: Page, url: str) -> Body:
    return {
        "object": "list",
        "data": [shown(world, body) for body in page.bodies],
        "has_more": page.has_more,
        "url": url,
    }


def search_result(world: World, page: Page, url: str) -> Body:
    return {
        "object": "search_result",
        "data": [shown(world, body) for body in page.bodies],
        "has_more": page.has_more,
        "next_page": page.next_page,
        "url": url,
    }


def embedded(world: World, table: sa.Table, url: str, *, oldest_first: bool = False, **equal: Any) -> Body:
    if oldest_first:
        found = listing.of(world, table, **equal)
        page = Page(found[:_EMBEDDED], len(found) > _EMBEDDED)
    else:
        page = listing.page(world, table, Window(_EMBEDDED), Where(equal=equal))
    return collection(world, page, url)


def lines_of(world: World, invoice: str) -> list[Body]:
    return listing.of(world, invoice_lines, invoice=invoice)


# --- kinds that are more than their row -----------------------------------------------------------------------------


def _subscription(world: World, out: Body, body: Body) -> Body:
    found = listing.of(world, subscription_items, subscription=body["id"])
    url = f"/v1/subscription_items?subscription={body['id']}"
    items = [{**public(item), **_period(body)} for item in found]
    return {**out, "items": {"object": "list", "data": items, "has_more": False, "total_count": len(items), "url": url}}


def _item(world: World, out: Body, body: Body) -> Body:
    return {**out, **_period(known(world, subscriptions, body["subscription"]))}


def _period(subscription: Body) -> Body:
    return {
        "current_period_start": subscription["_period_start"],
        "current_period_end": subscription["_period_end"],
    }


def _invoice(world: World, out: Body, body: Body) -> Body:
    url = f"/v1/invoices/{body['id']}/lines"
    lines = embedded(world, invoice_lines, url, oldest_first=True, invoice=body["id"])
    return {**out, "lines": lines}


def _credit_note(world: World, out: Body, body: Body) -> Body:
    url = f"/v1/credit_notes/{body['id']}/lines"
    lines = embedded(world, credit_note_lines, url, oldest_first=True, credit_note=body["id"])
    return {**out, "lines": lines}


def _coupon(world: World, out: Body, body: Body) -> Body:
    return {**out, "valid": coupons.valid(body, now(world))}


def _promotion_code(world: World, out: Body, body: Body) -> Body:
    over = body["expires_at"] is not None and body["expires_at"] <= now(world)
    used_up = body["max_redemptions"] is not None and body["times_redeemed"] >= body["max_redemptions"]
    usable = coupons.valid(known(world, coupon_rows, body["promotion"]["coupon"]), now(world))
    return {**out, "active": body["active"] and usable and not over and not used_up}


def _balance_transaction(world: World, out: Body, body: Body) -> Body:
    return {**out, "status": "available" if body["available_on"] <= now(world) else "pending"}


_DRESSED: dict[str, Callable[[World, Body, Body], Body]] = {
    "subscription": _subscription,
    "subscription_item": _item,
    "invoice": _invoice,
    "credit_note": _credit_note,
    "coupon": _coupon,
    "promotion_code": _promotion_code,
    "balance_transaction": _balance_transaction,
}

# Lists that an object carries only where they are asked for.
INCLUDED: dict[tuple[str, str], Callable[[World, str], Body]] = {
    ("charge", "refunds"): lambda world, key: embedded(world, refunds, f"/v1/charges/{key}/refunds", charge=key),
    ("customer", "tax_ids"): lambda world, key: embedded(world, tax_ids, f"/v1/customers/{key}/tax_ids", customer=key),
    ("customer", "subscriptions"): lambda world, key: embedded(
        world, subscriptions, f"/v1/subscriptions?customer={key}", customer=key
    ),
    ("invoice", "payments"): lambda world, key: embedded(
        world, invoice_payments, f"/v1/invoice_payments?invoice={key}", oldest_first=True, invoice=key
    ),
}
