"""What a bill or a credit note would be: done for real in an imagined world, and forgotten."""

from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.operations import (
    credit_notes,
    cycles,
    drafts,
    endings,
    invoice_items,
    listing,
    records,
    showing,
    subscriptions,
)
from services.billing.operations.records import Body, now
from services.billing.tables import customers
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World

Given = dict[str, Any]


def invoice(world: World, given: Given) -> Body:
    """The next invoice of a customer or subscription, with changes that were not made yet."""
    with world.imagined():
        draft = _drafted(world, given)
        shown = showing.shown(world, records.known(world, invoice_rows, draft["id"]))
        return _renamed(shown, draft["id"])


def _drafted(world: World, given: Given) -> Body:
    key = given.get("subscription")
    if key is None and not given.get("customer"):
        raise InvalidRequest("Pass a customer or a subscription.", "customer", "parameter_missing")
    if key is None and not (given.get("subscription_details") or {}).get("items"):
        return _pending_only(world, given)
    subscription = _subscription(world, given)
    for item in given.get("invoice_items") or []:
        invoice_items.create(world, {**item, "customer": subscription["customer"], "subscription": subscription["id"]})
    return _next_bill(world, subscription, given.get("subscription_details") or {})


def _pending_only(world: World, given: Given) -> Body:
    customer = records.refer(world, customers, given["customer"], "customer")
    for item in given.get("invoice_items") or []:
        invoice_items.create(world, {**item, "customer": customer["id"]})
    draft = drafts.create(
        world, {"customer": customer["id"], "pending_invoice_items_behavior": "include", **_wishes(given)}
    )
    if not showing.lines_of(world, draft["id"]):
        raise InvalidRequest(
            f"No upcoming invoices for customer: {customer['id']}", "customer", "invoice_upcoming_none"
        )
    return draft


def _subscription(world: World, given: Given) -> Body:
    key = given.get("subscription")
    if key is None:
        details = given["subscription_details"]
        wanted = {"customer": given["customer"], "items": details["items"], "payment_behavior": "default_incomplete"}
        return subscriptions.create(world, wanted)
    subscription = records.refer(world, subscription_rows, key, "subscription")
    if given.get("customer") not in (None, subscription["customer"]):
        raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
    if wishes := _wishes(given):
        subscription = subscriptions.update(world, key, wishes)
    return subscription


def _wishes(given: Given) -> Given:
    return {name: given[name] for name in ("discounts", "automatic_tax") if name in given}


def _next_bill(world: World, subscription: Body, details: Given) -> Body:
    """The bill that the change itself would write; else the one at the end of the period."""
    known = {one["id"] for one in listing.of(world, invoice_rows, subscription=subscription["id"])}
    if subscription["status"] == "incomplete" and subscription["created"] == now(world):
        known = set()
    changes = {name: value for name, value in details.items() if name != "start_date"}
    if changes and known:
        _change(world, subscription["id"], changes)
    written = [
        one for one in listing.of(world, invoice_rows, subscription=subscription["id"]) if one["id"] not in known
    ]
    if written:
        return written[0]
    subscription = records.known(world, subscription_rows, subscription["id"])
    ends = subscription["cancel_at"]
    if subscription["status"] not in ("active", "trialing", "past_due", "unpaid") or (
        ends is not None and ends <= subscription["_period_end"]
    ):
        raise InvalidRequest(
            f"No upcoming invoices for customer: {subscription['customer']}", "subscription", "invoice_upcoming_none"
        )
    world.clock.advance_to(max(world.clock.now_ms(), subscription["_period_end"] * 1000))
    cycles.renew(world, records.change(world, subscription_rows, subscription, {"pause_collection": None}))
    latest = records.known(world, subscription_rows, subscription["id"])["latest_invoice"]
    return records.known(world, invoice_rows, latest)


def _change(world: World, key: str, changes: Given) -> None:
    """As an update would do it, but stopped before money moves."""
    if changes.get("cancel_now"):
        endings.cancel(world, key, {"prorate": True})
        draft = cycles.bill_pending(world, records.known(world, subscription_rows, key), "subscription_update")
        if draft is None:
            raise InvalidRequest("No upcoming invoices for this subscription.", "subscription", "invoice_upcoming_none")
        return
    plain = {name: value for name, value in changes.items() if name != "cancel_now"}
    subscriptions.update(world, key, {**plain, "collection_method": "send_invoice", "days_until_due": 30})


def _renamed(shown: Body, key: str) -> Body:
    """A bill that does not exist yet: no number, no page, an id that says so."""
    preview = f"upcoming_{key}"
    lines = [{**line, "invoice": preview} for line in shown["lines"]["data"]]
    return {
        **shown,
        "id": preview,
        "number": None,
        "status": "draft",
        "hosted_invoice_url": None,
        "invoice_pdf": None,
        "collection_method": "charge_automatically",
        "due_date": None,
        "lines": {**shown["lines"], "data": lines, "url": f"/v1/invoices/{preview}/lines"},
    }


def credit_note(world: World, given: Given) -> Body:
    with world.imagined():
        return showing.shown(world, credit_notes.create(world, given))


def credit_note_lines(world: World, given: Given) -> list[Body]:
    with world.imagined():
        return list(showing.shown(world, credit_notes.create(world, given))["lines"]["data"])
