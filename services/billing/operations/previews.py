"""Previews of invoices and credit notes: each is written for real in a dry run, and undone."""

from services.billing.errors import InvalidRequest
from services.billing.objects.invoices import InvoiceBody
from services.billing.objects.subscriptions import SubscriptionBody
from services.billing.operations import (
    billing_cycles,
    cancellation,
    credit_notes,
    drafts,
    invoice_items,
    records,
    rendering,
    schedules,
    subscriptions,
)
from services.billing.operations.params import Params
from services.billing.operations.records import now
from services.billing.operations.rendering import WireObject
from services.billing.rows import InvoiceId, SubscriptionId
from services.billing.tables import customers, invoice_lines
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import schedules as schedule_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World


def preview_invoice(world: World, params: Params) -> WireObject:
    """Returns the next invoice of a customer or subscription, as it would be with changes that were not made yet."""
    with world.dry_run():
        draft = _write_draft(world, params)
        invoice = records.must_exist(world, invoice_rows, draft["id"])
        return _as_preview(rendering.render(world, invoice), invoice["id"])


def _write_draft(world: World, params: Params) -> InvoiceBody:
    key = params.get("subscription")
    if key is None and not params.get("customer"):
        raise InvalidRequest("Pass a customer or a subscription.", "customer", "parameter_missing")
    if key is None and not (params.get("subscription_details") or {}).get("items"):
        return _pending_only(world, params)
    subscription = _subscription(world, params)
    for item in params.get("invoice_items") or []:
        invoice_items.create(world, {**item, "customer": subscription["customer"], "subscription": subscription["id"]})
    return _next_invoice(world, subscription, params.get("subscription_details") or {})


def _pending_only(world: World, params: Params) -> InvoiceBody:
    customer = records.refer(world, customers, params["customer"], "customer")
    for item in params.get("invoice_items") or []:
        invoice_items.create(world, {**item, "customer": customer["id"]})
    draft = drafts.create(
        world, {"customer": customer["id"], "pending_invoice_items_behavior": "include", **_invoice_params(params)}
    )
    if not records.find_by(world, invoice_lines, invoice=draft["id"]):
        raise InvalidRequest(
            f"No upcoming invoices for customer: {customer['id']}", "customer", "invoice_upcoming_none"
        )
    return draft


def _subscription(world: World, params: Params) -> SubscriptionBody:
    key = params.get("subscription")
    if key is None:
        details = params["subscription_details"]
        wanted = {"customer": params["customer"], "items": details["items"], "payment_behavior": "default_incomplete"}
        return subscriptions.create(world, wanted)
    subscription = records.refer(world, subscription_rows, key, "subscription")
    if params.get("customer") not in (None, subscription["customer"]):
        raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
    if changes := _invoice_params(params):
        subscription = subscriptions.update(world, key, changes)
    return subscription


def _invoice_params(params: Params) -> Params:
    return {name: params[name] for name in ("discounts", "automatic_tax") if name in params}


def _next_invoice(world: World, subscription: SubscriptionBody, details: Params) -> InvoiceBody:
    """Returns the invoice that the change itself would write; else the one at the end of the period."""
    before = {invoice["id"] for invoice in records.find_by(world, invoice_rows, subscription=subscription["id"])}
    if subscription["status"] == "incomplete" and subscription["created"] == now(world):
        before = set()
    changes = {name: value for name, value in details.items() if name != "start_date"}
    if changes and before:
        _apply_changes(world, subscription["id"], changes)
    if (invoice := _find_new(world, subscription["id"], before)) is not None:
        return invoice
    _begin_phases(world, subscription["id"])
    if (invoice := _find_new(world, subscription["id"], before)) is not None:
        return invoice
    subscription = records.must_exist(world, subscription_rows, subscription["id"])
    ends = subscription["cancel_at"]
    if subscription["status"] not in ("active", "trialing", "past_due", "unpaid") or (
        ends is not None and ends <= subscription["_period_end"]
    ):
        raise InvalidRequest(
            f"No upcoming invoices for customer: {subscription['customer']}", "subscription", "invoice_upcoming_none"
        )
    world.clock.advance_to(max(world.clock.now_ms(), subscription["_period_end"] * 1000))
    billing_cycles.renew(world, records.change(world, subscription_rows, subscription, {"pause_collection": None}))
    latest = records.must_exist(world, subscription_rows, subscription["id"])["latest_invoice"]
    if latest is None:
        raise LookupError(f"{subscription['id']} was renewed without an invoice")
    return records.must_exist(world, invoice_rows, latest)


def _find_new(world: World, key: SubscriptionId, before: set[InvoiceId]) -> InvoiceBody | None:
    invoices = records.find_by(world, invoice_rows, subscription=key)
    return next((invoice for invoice in invoices if invoice["id"] not in before), None)


def _begin_phases(world: World, key: SubscriptionId) -> None:
    """Lets every phase of the subscription's schedule begin that is due by the next renewal, each at its moment."""
    while True:
        subscription = records.must_exist(world, subscription_rows, key)
        if subscription["schedule"] is None:
            return
        schedule = records.must_exist(world, schedule_rows, subscription["schedule"])
        if schedule["current_phase"] is None or schedule["current_phase"]["end_date"] > subscription["_period_end"]:
            return
        world.clock.advance_to(max(world.clock.now_ms(), schedule["current_phase"]["end_date"] * 1000))
        schedules.fall_due(world, schedule)


def _apply_changes(world: World, key: SubscriptionId, changes: Params) -> None:
    """Does what an update would do, but collects nothing."""
    if changes.get("cancel_now"):
        cancellation.cancel(world, key, {"prorate": True})
        draft = billing_cycles.bill_pending(
            world, records.must_exist(world, subscription_rows, key), "subscription_update"
        )
        if draft is None:
            raise InvalidRequest("No upcoming invoices for this subscription.", "subscription", "invoice_upcoming_none")
        return
    without_cancel = {name: value for name, value in changes.items() if name != "cancel_now"}
    subscriptions.update(world, key, {**without_cancel, "collection_method": "send_invoice", "days_until_due": 30})


def _as_preview(wire: WireObject, key: str) -> WireObject:
    """Gives an invoice that does not exist yet an id that says so, and takes away its number and its page."""
    preview = f"upcoming_{key}"
    lines = [{**line, "invoice": preview} for line in wire["lines"]["data"]]
    return {
        **wire,
        "id": preview,
        "number": None,
        "status": "draft",
        "hosted_invoice_url": None,
        "invoice_pdf": None,
        "collection_method": "charge_automatically",
        "due_date": None,
        "lines": {**wire["lines"], "data": lines, "url": f"/v1/invoices/{preview}/lines"},
    }


def preview_credit_note(world: World, params: Params) -> WireObject:
    with world.dry_run():
        return rendering.render(world, credit_notes.create(world, params))
