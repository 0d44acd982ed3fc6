"""Draft invoices and their lines."""

from services.billing.due_dates import DAY, HOUR
from services.billing.errors import InvalidRequest
from services.billing.objects.customers import CustomerBody
from services.billing.objects.invoice_lines import InvoiceItemBody, InvoiceLineBody, item_line_parent, new_invoice_line
from services.billing.objects.invoices import (
    BillingReason,
    InvoiceBody,
    InvoiceParent,
    customer_snapshot,
    new_invoice,
    new_invoice_tax,
    subscription_of,
    subscription_parent,
)
from services.billing.operations import coupons, customers, records, totals
from services.billing.operations.accounts import billing_account
from services.billing.operations.params import Params, merge_metadata, pick, require
from services.billing.operations.records import DeletedObject, now
from services.billing.rows import CustomerId, DiscountId, InvoiceId, SubscriptionId
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoice_items, invoice_lines, invoices, subscriptions, tax_ids
from services.kernel.documents import equal, is_null
from services.kernel.world import World

_EDITABLE_WHEN_FINAL = frozenset({"metadata", "auto_advance"})
_EDITABLE_WHEN_OPEN = _EDITABLE_WHEN_FINAL | {"description", "footer", "default_payment_method", "due_date"}


def create(world: World, params: Params) -> InvoiceBody:
    customer = records.refer(world, customer_rows, CustomerId(require(params, "customer")), "customer")
    parent = None
    if key := params.get("subscription"):
        subscription = records.refer(world, subscriptions, key, "subscription")
        if subscription["customer"] != customer["id"]:
            raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
        parent = subscription_parent(key, subscription["metadata"])
    currency = customers.currency_for(world, customer, params.get("currency"))
    body = create_draft(world, customer, currency, "manual", parent)
    body = records.change(world, invoices, body, _changes(world, body, params))
    if params.get("pending_invoice_items_behavior") == "include":
        add_pending_items(world, body, key)
    return totals.recompute(world, body)


def create_draft(
    world: World,
    customer: CustomerBody,
    currency: str,
    reason: BillingReason,
    parent: InvoiceParent | None = None,
) -> InvoiceBody:
    body = new_invoice(
        created=now(world), customer=customer, currency=currency, reason=reason, account=billing_account(world)
    )
    body["parent"] = parent
    body |= customer_snapshot(customer, records.find_by(world, tax_ids, customer=customer["id"]))
    if customer["currency"] is None:
        records.change(world, customer_rows, customer, {"currency": currency}, "customer.updated")
    return records.add(world, invoices, body, "invoice.created")


def update(world: World, key: InvoiceId, params: Params) -> InvoiceBody:
    body = records.need(world, invoices, key)
    allowed = {"draft": None, "open": _EDITABLE_WHEN_OPEN}.get(body["status"], _EDITABLE_WHEN_FINAL)
    if allowed is not None and (wrong := sorted(set(params) - allowed)):
        raise InvalidRequest(
            f"Finalized invoices can't be updated in this way: {wrong[0]} is final.", wrong[0], "invoice_not_editable"
        )
    body = records.change(world, invoices, body, _changes(world, body, params), "invoice.updated")
    return totals.recompute(world, body) if body["status"] == "draft" else body


def delete(world: World, key: InvoiceId) -> DeletedObject:
    body = records.need(world, invoices, key)
    if body["status"] != "draft":
        raise InvalidRequest("You can only delete draft invoices.", "id", "invoice_not_editable")
    if body["parent"] is not None and body["billing_reason"] != "manual":
        raise InvalidRequest("Invoices of a subscription can't be deleted; void them once they are final.", "id")
    for line in records.find_by(world, invoice_lines, invoice=key):
        records.remove(world, invoice_lines, line)
    for item in records.find_by(world, invoice_items, invoice=key):
        records.remove(world, invoice_items, item, "invoiceitem.deleted")
    return records.remove(world, invoices, body, "invoice.deleted")


def _changes(world: World, body: InvoiceBody, params: Params) -> InvoiceBody:
    plain = ("description", "footer", "default_payment_method", "custom_fields", "statement_descriptor")
    changes: InvoiceBody = pick(params, plain)
    if method := changes.get("default_payment_method"):
        customers.own_method(world, body["customer"], method, "default_payment_method")
    if "metadata" in params:
        changes["metadata"] = merge_metadata(body["metadata"], params["metadata"])
    if "automatic_tax" in params:
        changes["automatic_tax"] = new_invoice_tax(enabled=params["automatic_tax"]["enabled"])
    if "discounts" in params:
        changes["discounts"] = _discounts(world, body, params["discounts"] or [])
    return changes | _collection_changes(world, body, params) | _advance_changes(world, body, params)


def _discounts(world: World, body: InvoiceBody, params: list[Params]) -> list[DiscountId]:
    return [
        coupons.redeem(world, discount, body["customer"], f"discounts[{index}]", invoice=body["id"])["id"]
        for index, discount in enumerate(params)
    ]


def _collection_changes(world: World, body: InvoiceBody, params: Params) -> InvoiceBody:
    changes: InvoiceBody = {}
    method = params.get("collection_method", body["collection_method"])
    if "collection_method" in params:
        changes["collection_method"] = method
    if "due_date" in params and "days_until_due" in params:
        raise InvalidRequest("You may only specify one of these parameters: due_date, days_until_due.", "due_date")
    if method == "charge_automatically" and ("due_date" in params or "days_until_due" in params):
        raise InvalidRequest("A due date belongs to collection_method=send_invoice.", "collection_method")
    if params.get("days_until_due") is not None:
        changes["due_date"] = now(world) + params["days_until_due"] * DAY
    elif params.get("due_date") is not None:
        if params["due_date"] <= now(world):
            raise InvalidRequest("due_date must be in the future.", "due_date")
        changes["due_date"] = params["due_date"]
    elif method == "send_invoice" and body["due_date"] is None:
        raise InvalidRequest(
            "If invoice is collected by send_invoice, pass days_until_due or due_date.",
            "days_until_due",
            "parameter_missing",
        )
    return changes


def _advance_changes(world: World, body: InvoiceBody, params: Params) -> InvoiceBody:
    if params.get("auto_advance") is None:
        return {}
    finalizes_at = now(world) + HOUR if params["auto_advance"] and body["status"] == "draft" else None
    return {"auto_advance": params["auto_advance"], "automatically_finalizes_at": finalizes_at}


# --- lines ----------------------------------------------------------------------------------------------------------


def add_pending_items(world: World, invoice: InvoiceBody, subscription: SubscriptionId | None = None) -> None:
    """Puts the customer's pending items on the draft."""
    for item in pending_items(world, invoice["customer"], invoice["currency"], subscription):
        add_item(world, invoice, item)


def pending_items(
    world: World, customer: CustomerId, currency: str, subscription: SubscriptionId | None
) -> list[InvoiceItemBody]:
    """Returns items that wait for the next invoice; those of another subscription wait for that one's."""
    waiting = records.select(world, invoice_items, equal(customer=customer) & is_null("invoice"))
    return [item for item in waiting if item["currency"] == currency and subscription_of(item) in (None, subscription)]


def add_item(world: World, invoice: InvoiceBody, item: InvoiceItemBody) -> InvoiceLineBody:
    """Puts an invoice item on a draft, as a line."""
    records.change(world, invoice_items, item, {"invoice": invoice["id"]}, "invoiceitem.updated")
    line = new_invoice_line(
        created=now(world),
        invoice=invoice["id"],
        amount=item["amount"],
        currency=item["currency"],
        description=item["description"],
        period=item["period"],
    )
    line |= {
        "discountable": item["discountable"],
        "metadata": item["metadata"],
        "pricing": item["pricing"],
        "quantity": item["quantity"],
        "quantity_decimal": item["quantity_decimal"],
        "parent": item_line_parent(item),
        "subscription": subscription_of(item),
        "_invoice_item": item["id"],
        "_subscription_item": item["_subscription_item"],
    }
    return records.add(world, invoice_lines, line)
