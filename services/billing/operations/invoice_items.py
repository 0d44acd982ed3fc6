"""Invoice items: what goes onto a draft, or waits for the next one."""

from typing import Any

from services.billing.errors import InvalidRequest
from services.billing.operations import customers, drafts, listing, records, totals
from services.billing.operations.records import Body, cleared, merged, now
from services.billing.shapes import invoices as shapes
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoice_items, invoice_lines, prices, products, subscriptions
from services.billing.tables import invoices as invoice_rows
from services.kernel.world import World

Given = dict[str, Any]


def create(world: World, given: Given) -> Body:
    customer = records.refer(world, customer_rows, drafts.named(given, "customer"), "customer")
    invoice = _open_draft(world, given.get("invoice"), customer["id"])
    price = _price(world, given)
    currency = customers.currency_for(world, customer, price["currency"] if price else given.get("currency"))
    if invoice is not None and invoice["currency"] != currency:
        raise InvalidRequest("The currency differs from the invoice's.", "currency")
    body = shapes.invoice_item(
        date=now(world),
        customer=customer["id"],
        amount=_amount(given, price),
        currency=currency,
        description=given.get("description") or _name(world, price),
    )
    body |= _about(world, given, price, customer["id"])
    if customer["currency"] is None:
        records.change(world, customer_rows, customer, {"currency": currency}, "customer.updated")
    body = records.add(world, invoice_items, body, "invoiceitem.created")
    if invoice is not None:
        drafts.put_on(world, invoice, body)
        totals.recount(world, invoice)
    return records.known(world, invoice_items, body["id"])


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, invoice_items, key)
    if set(given) - {"metadata"}:
        _need_draft(world, body)
    changes: Body = {name: cleared(given[name]) for name in ("description", "discountable") if name in given}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    price = _price(world, given)
    if price is not None or {"amount", "quantity", "unit_amount_decimal"} & set(given):
        changes |= _revalued(body, given, price)
    body = records.change(world, invoice_items, body, changes, "invoiceitem.updated")
    for line in listing.of(world, invoice_lines, invoice=body["invoice"]) if body["invoice"] else []:
        if line["_invoice_item"] == key and set(given) - {"metadata"}:
            copied = ("amount", "description", "discountable", "pricing", "quantity", "quantity_decimal")
            changed = {name: body[name] for name in copied} | {"subtotal": body["amount"]}
            records.change(world, invoice_lines, line, changed)
            totals.recount(world, records.known(world, invoice_rows, body["invoice"]))
    return body


def delete(world: World, key: str) -> Body:
    body = records.need(world, invoice_items, key)
    _need_draft(world, body)
    if body["invoice"] is not None:
        for line in listing.of(world, invoice_lines, invoice=body["invoice"]):
            if line["_invoice_item"] == key:
                records.remove(world, invoice_lines, line)
        totals.recount(world, records.known(world, invoice_rows, body["invoice"]))
    return records.remove(world, invoice_items, body, "invoiceitem.deleted")


def _revalued(body: Body, given: Given, price: Body | None) -> Body:
    quantity = given.get("quantity") or body["quantity"]
    if price is None and body["pricing"] is None and "amount" in given:
        return {"amount": given["amount"], "net_amount": given["amount"]}
    unit = price["unit_amount"] if price else body["amount"] // (body["quantity"] or 1)
    amount = unit * quantity
    changes = {"amount": amount, "net_amount": amount, "quantity": quantity, "quantity_decimal": str(quantity)}
    return changes | ({"pricing": shapes.priced(price)} if price else {})


def _about(world: World, given: Given, price: Body | None, customer: str) -> Body:
    quantity = given.get("quantity") or 1
    about: Body = {
        "metadata": merged({}, given.get("metadata")),
        "discountable": given.get("discountable", given.get("amount", 0) >= 0),
        "pricing": shapes.priced(price),
        "quantity": quantity,
        "quantity_decimal": str(quantity),
    }
    if period := given.get("period"):
        if period["end"] < period["start"]:
            raise InvalidRequest("The period ends before it starts.", "period[end]")
        about["period"] = period
    if key := given.get("subscription"):
        subscription = records.refer(world, subscriptions, key, "subscription")
        if subscription["customer"] != customer:
            raise InvalidRequest("The subscription does not belong to the customer.", "subscription")
        details = {"subscription": key, "subscription_item": None}
        about["parent"] = {"subscription_details": details, "type": "subscription_details"}
    return about


def _price(world: World, given: Given) -> Body | None:
    key = (given.get("pricing") or {}).get("price")
    if key is None:
        return None
    price = records.refer(world, prices, key, "pricing[price]")
    if price["recurring"] is not None:
        raise InvalidRequest(
            "The price specified is set to `type=recurring` but this field only accepts prices with `type=one_time`.",
            "pricing[price]",
        )
    return price


def _amount(given: Given, price: Body | None) -> int:
    if price is not None:
        if given.get("amount") is not None:
            raise InvalidRequest("You may only specify one of these parameters: amount, pricing.", "amount")
        return int(price["unit_amount"] * (given.get("quantity") or 1))
    if given.get("amount") is None:
        raise InvalidRequest("Missing required param: amount.", "amount", "parameter_missing")
    return int(given["amount"])


def _name(world: World, price: Body | None) -> str | None:
    product = records.get(world, products, price["product"]) if price else None
    return product["name"] if product else None


def _open_draft(world: World, key: str | None, customer: str) -> Body | None:
    if key is None:
        return None
    invoice = records.refer(world, invoice_rows, key, "invoice")
    if invoice["customer"] != customer:
        raise InvalidRequest("The invoice belongs to another customer.", "invoice")
    if invoice["status"] != "draft":
        raise InvalidRequest("Only draft invoices can be changed.", "invoice", "invoice_not_editable")
    return invoice


def _need_draft(world: World, body: Body) -> None:
    if body["invoice"] is None:
        return
    if records.known(world, invoice_rows, body["invoice"])["status"] != "draft":
        raise InvalidRequest("This item is on a finalized invoice and can't be changed.", "id", "invoice_not_editable")
