"""Invoice items: they are on an invoice, or wait for the next one."""

from services.billing.errors import InvalidRequest
from services.billing.objects.catalogue import PriceBody
from services.billing.objects.invoice_lines import InvoiceItemBody, InvoiceLineBody, new_invoice_item, pricing_of
from services.billing.objects.invoices import InvoiceBody
from services.billing.operations import customers, drafts, records, totals
from services.billing.operations.params import Params, merge_metadata, pick_changes, require
from services.billing.operations.records import DeletedObject, now
from services.billing.rows import CustomerId, InvoiceId, InvoiceItemId
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoice_items, invoice_lines, prices, products, subscriptions
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World


def create(world: World, params: Params) -> InvoiceItemBody:
    customer = records.refer(world, customer_rows, CustomerId(require(params, "customer")), "customer")
    invoice = _open_draft(world, params.get("invoice"), customer["id"])
    price = _price(world, params)
    currency = customers.currency_for(world, customer, price["currency"] if price else params.get("currency"))
    if invoice is not None and invoice["currency"] != currency:
        raise InvalidRequest("The currency differs from the invoice's.", "currency")
    body = new_invoice_item(
        date=now(world),
        customer=customer["id"],
        amount=_amount(params, price),
        currency=currency,
        description=params.get("description") or _name(world, price),
    )
    body |= _details(world, params, price, customer["id"])
    if customer["currency"] is None:
        records.change(world, customer_rows, customer, {"currency": currency}, "customer.updated")
    body = records.add(world, invoice_items, body, "invoiceitem.created")
    if invoice is not None:
        drafts.add_item(world, invoice, body)
        totals.recompute(world, invoice)
    return records.must_exist(world, invoice_items, body["id"])


def update(world: World, key: InvoiceItemId, params: Params) -> InvoiceItemBody:
    body = records.need(world, invoice_items, key)
    if set(params) - {"metadata"}:
        _require_draft(world, body)
    changes: InvoiceItemBody = pick_changes(body, params, ("description", "discountable"))
    price = _price(world, params)
    if price is not None or {"amount", "quantity", "unit_amount_decimal"} & set(params):
        changes |= _amount_changes(body, params, price)
    body = records.change(world, invoice_items, body, changes, "invoiceitem.updated")
    for line in records.find_by(world, invoice_lines, invoice=body["invoice"]) if body["invoice"] else []:
        if line["_invoice_item"] == key and set(params) - {"metadata"}:
            line_changes: InvoiceLineBody = {
                "amount": body["amount"],
                "description": body["description"],
                "discountable": body["discountable"],
                "pricing": body["pricing"],
                "quantity": body["quantity"],
                "quantity_decimal": body["quantity_decimal"],
                "subtotal": body["amount"],
            }
            records.change(world, invoice_lines, line, line_changes)
            totals.recompute(world, records.must_exist(world, invoice_rows, line["invoice"]))
    return body


def delete(world: World, key: InvoiceItemId) -> DeletedObject:
    body = records.need(world, invoice_items, key)
    _require_draft(world, body)
    if body["invoice"] is not None:
        for line in records.find_by(world, invoice_lines, invoice=body["invoice"]):
            if line["_invoice_item"] == key:
                records.remove(world, invoice_lines, line)
        totals.recompute(world, records.must_exist(world, invoice_rows, body["invoice"]))
    return records.remove(world, invoice_items, body, "invoiceitem.deleted")


def _amount_changes(body: InvoiceItemBody, params: Params, price: PriceBody | None) -> InvoiceItemBody:
    quantity = params.get("quantity") or body["quantity"]
    if price is None and body["pricing"] is None and "amount" in params:
        return {"amount": params["amount"], "net_amount": params["amount"]}
    unit = price["unit_amount"] if price else body["amount"] // (body["quantity"] or 1)
    amount = unit * quantity
    changes: InvoiceItemBody = {
        "amount": amount,
        "net_amount": amount,
        "quantity": quantity,
        "quantity_decimal": str(quantity),
    }
    if price is not None:
        changes["pricing"] = pricing_of(price)
    return changes


def _details(world: World, params: Params, price: PriceBody | None, customer: CustomerId) -> InvoiceItemBody:
    quantity = params.get("quantity") or 1
    details: InvoiceItemBody = {
        "metadata": merge_metadata({}, params.get("metadata")),
        "discountable": params.get("discountable", params.get("amount", 0) >= 0),
        "pricing": pricing_of(price) if price is not None else None,
        "quantity": quantity,
        "quantity_decimal": str(quantity),
    }
    if period := params.get("period"):
        if period["end"] < period["start"]:
            raise InvalidRequest("The period ends before it starts.", "period[end]")
        details["period"] = period
    if key := params.get("subscription"):
        subscription = records.refer(world, subscriptions, key, "subscription")
        if subscription["customer"] != customer:
            raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
        details["parent"] = {
            "subscription_details": {"subscription": key, "subscription_item": None},
            "type": "subscription_details",
        }
    return details


def _price(world: World, params: Params) -> PriceBody | None:
    key = (params.get("pricing") or {}).get("price")
    if key is None:
        return None
    price = records.refer(world, prices, key, "pricing[price]")
    if price["recurring"] is not None:
        raise InvalidRequest(
            "The price specified is set to `type=recurring` but this field only accepts prices with `type=one_time`.",
            "pricing[price]",
        )
    return price


def _amount(params: Params, price: PriceBody | None) -> int:
    if price is not None:
        if params.get("amount") is not None:
            raise InvalidRequest("You may only specify one of these parameters: amount, pricing.", "amount")
        return int(price["unit_amount"] * (params.get("quantity") or 1))
    if params.get("amount") is None:
        raise InvalidRequest("Missing required param: amount.", "amount", "parameter_missing")
    return int(params["amount"])


def _name(world: World, price: PriceBody | None) -> str | None:
    product = records.get(world, products, price["product"]) if price else None
    return product["name"] if product else None


def _open_draft(world: World, key: InvoiceId | None, customer: CustomerId) -> InvoiceBody | None:
    if key is None:
        return None
    invoice = records.refer(world, invoice_rows, key, "invoice")
    if invoice["customer"] != customer:
        raise InvalidRequest("The invoice belongs to another customer.", "invoice")
    if invoice["status"] != "draft":
        raise InvalidRequest("Only draft invoices can be changed.", "invoice", "invoice_not_editable")
    return invoice


def _require_draft(world: World, body: InvoiceItemBody) -> None:
    if body["invoice"] is None:
        return
    if records.must_exist(world, invoice_rows, body["invoice"])["status"] != "draft":
        raise InvalidRequest("This item is on a finalized invoice and can't be changed.", "id", "invoice_not_editable")
