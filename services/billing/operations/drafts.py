"""Drafts: what a bill is before it is final, and what goes onto it."""

from typing import Any

from services.billing.due_dates import DAY, HOUR
from services.billing.errors import InvalidRequest
from services.billing.operations import coupons, customers, listing, records, totals
from services.billing.operations.accounts import billing_account
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import invoices as shapes
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoice_items, invoice_lines, invoices, subscriptions, tax_ids
from services.kernel.world import World

Given = dict[str, Any]

_EDITABLE_WHEN_FINAL = frozenset({"metadata", "auto_advance"})
_EDITABLE_WHEN_OPEN = _EDITABLE_WHEN_FINAL | {"description", "footer", "default_payment_method", "due_date"}


def create(world: World, given: Given) -> Body:
    customer = records.refer(world, customer_rows, named(given, "customer"), "customer")
    parent = None
    if key := given.get("subscription"):
        subscription = records.refer(world, subscriptions, key, "subscription")
        if subscription["customer"] != customer["id"]:
            raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
        parent = shapes.of_subscription(key, subscription["metadata"])
    currency = customers.currency_for(world, customer, given.get("currency"))
    body = draft(world, customer, currency, "manual", parent)
    body = records.change(world, invoices, body, _settings(world, body, given))
    if given.get("pending_invoice_items_behavior") == "include":
        gather(world, body, key)
    return totals.recount(world, body)


def draft(world: World, customer: Body, currency: str, reason: str, parent: Body | None = None) -> Body:
    body = shapes.invoice(
        created=now(world), customer=customer, currency=currency, reason=reason, account=billing_account(world)
    )
    body["parent"] = parent
    body |= shapes.addressed(customer, listing.of(world, tax_ids, customer=customer["id"]))
    if customer["currency"] is None:
        records.change(world, customer_rows, customer, {"currency": currency}, "customer.updated")
    return records.add(world, invoices, body, "invoice.created")


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, invoices, key)
    allowed = {"draft": None, "open": _EDITABLE_WHEN_OPEN}.get(body["status"], _EDITABLE_WHEN_FINAL)
    if allowed is not None and (wrong := sorted(set(given) - allowed)):
        raise InvalidRequest(
            f"Finalized invoices can't be updated in this way: {wrong[0]} is final.", wrong[0], "invoice_not_editable"
        )
    body = records.change(world, invoices, body, _settings(world, body, given), "invoice.updated")
    return totals.recount(world, body) if body["status"] == "draft" else body


def delete(world: World, key: str) -> Body:
    body = records.need(world, invoices, key)
    if body["status"] != "draft":
        raise InvalidRequest("You can only delete draft invoices.", "id", "invoice_not_editable")
    if body["parent"] is not None and body["billing_reason"] != "manual":
        raise InvalidRequest("Invoices of a subscription can't be deleted; void them once they are final.", "id")
    for line in listing.of(world, invoice_lines, invoice=key):
        records.remove(world, invoice_lines, line)
    for item in listing.of(world, invoice_items, invoice=key):
        records.remove(world, invoice_items, item, "invoiceitem.deleted")
    return records.remove(world, invoices, body, "invoice.deleted")


def _settings(world: World, body: Body, given: Given) -> Body:
    plain = ("description", "footer", "default_payment_method", "custom_fields", "statement_descriptor")
    changes: Body = {name: cleared(given[name]) for name in plain if name in given}
    if method := changes.get("default_payment_method"):
        customers.own_method(world, body["customer"], method, "default_payment_method")
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    if "automatic_tax" in given:
        changes["automatic_tax"] = tax_setting(enabled=given["automatic_tax"]["enabled"])
    if "discounts" in given:
        changes["discounts"] = _discounts(world, body, given["discounts"] or [])
    return {**changes, **_collection(world, body, given), **_advancing(world, body, given)}


def tax_setting(*, enabled: bool) -> Body:
    liability, status = ({"type": "self"}, "complete") if enabled else (None, None)
    return {"disabled_reason": None, "enabled": enabled, "liability": liability, "provider": None, "status": status}


def _discounts(world: World, body: Body, given: list[Given]) -> list[str]:
    about = {"invoice": body["id"]}
    return [
        coupons.redeem(world, one, body["customer"], f"discounts[{at}]", **about)["id"] for at, one in enumerate(given)
    ]


def _collection(world: World, body: Body, given: Given) -> Body:
    changes: Body = {}
    method = given.get("collection_method", body["collection_method"])
    if "collection_method" in given:
        changes["collection_method"] = method
    if "due_date" in given and "days_until_due" in given:
        raise InvalidRequest("You may only specify one of these parameters: due_date, days_until_due.", "due_date")
    if method == "charge_automatically" and ("due_date" in given or "days_until_due" in given):
        raise InvalidRequest("A due date belongs to collection_method=send_invoice.", "collection_method")
    if given.get("days_until_due") is not None:
        changes["due_date"] = now(world) + given["days_until_due"] * DAY
    elif given.get("due_date") is not None:
        if given["due_date"] <= now(world):
            raise InvalidRequest("due_date must be in the future.", "due_date")
        changes["due_date"] = given["due_date"]
    elif method == "send_invoice" and body["due_date"] is None:
        raise InvalidRequest(
            "If invoice is collected by send_invoice, pass days_until_due or due_date.",
            "days_until_due",
            "parameter_missing",
        )
    return changes


def _advancing(world: World, body: Body, given: Given) -> Body:
    if given.get("auto_advance") is None:
        return {}
    at = now(world) + HOUR if given["auto_advance"] and body["status"] == "draft" else None
    return {"auto_advance": given["auto_advance"], "automatically_finalizes_at": at}


# --- lines ----------------------------------------------------------------------------------------------------------


def gather(world: World, invoice: Body, subscription: str | None = None) -> None:
    """Take the customer's pending items onto the draft."""
    for item in pending(world, invoice["customer"], invoice["currency"], subscription):
        put_on(world, invoice, item)


def pending(world: World, customer: str, currency: str, subscription: str | None) -> list[Body]:
    """Items that wait for the next invoice; those of another subscription wait for that one's."""
    where = listing.Where(equal={"customer": customer}, empty=("invoice",))
    found = listing.every(world, invoice_items, where)
    return [item for item in found if item["currency"] == currency and _owner(item) in (None, subscription)]


def _owner(item: Body) -> str | None:
    return ((item["parent"] or {}).get("subscription_details") or {}).get("subscription")


def put_on(world: World, invoice: Body, item: Body) -> Body:
    records.change(world, invoice_items, item, {"invoice": invoice["id"]}, "invoiceitem.updated")
    line = shapes.line(
        created=now(world),
        invoice=invoice["id"],
        amount=item["amount"],
        currency=item["currency"],
        description=item["description"],
        period=item["period"],
    )
    for name in ("discountable", "metadata", "pricing", "quantity", "quantity_decimal"):
        line[name] = item[name]
    line |= {
        "parent": shapes.from_invoice_item(item),
        "subscription": _owner(item),
        "_invoice_item": item["id"],
        "_subscription_item": item["_subscription_item"],
    }
    return records.add(world, invoice_lines, line)


def named(given: Given, name: str) -> str:
    if not given.get(name):
        raise InvalidRequest(f"Missing required param: {name}.", name, "parameter_missing")
    return str(given[name])
