"""What a change in the middle of a period costs, to the second."""

from dataclasses import dataclass
from typing import Any

from services.billing import money
from services.billing.operations import listing, periods, records
from services.billing.shapes import invoices as shapes
from services.billing.tables import invoice_items, invoice_lines, products
from services.kernel.world import World

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """The rest of a period, from the moment of a change."""

    at: int
    start: int
    end: int

    @property
    def left(self) -> int:
        return self.end - self.at

    @property
    def whole(self) -> int:
        return self.end - self.start

    def of(self, amount: int) -> int:
        return money.share(amount, self.left, self.whole)


def span_of(subscription: Body, at: int) -> Span:
    return Span(at, subscription["_period_start"], subscription["_period_end"])


def credit_unused(world: World, subscription: Body, item: Body, span: Span) -> None:
    """What was billed for the time that is left; discounts that lowered the bill lower the credit too."""
    billed = _billed(world, subscription, item)
    if billed:
        name = f"Unused time on {titled(world, item)} after {periods.day(span.at)}"
        _add(world, subscription, item, span, span.of(-billed), name, discountable=False)


def charge_remaining(world: World, subscription: Body, item: Body, span: Span) -> None:
    amount = span.of(item["price"]["unit_amount"] * item["quantity"])
    if amount:
        name = f"Remaining time on {titled(world, item)} after {periods.day(span.at)}"
        _add(world, subscription, item, span, amount, name, discountable=True)


def titled(world: World, item: Body) -> str:
    product = records.get(world, products, item["price"]["product"])
    name = product["name"] if product else item["price"]["product"]
    return f"{item['quantity']} × {name}" if item["quantity"] != 1 else str(name)


def _billed(world: World, subscription: Body, item: Body) -> int:
    """The net of this period's line, if it still is what the item says; else the list price."""
    for line in reversed(listing.of(world, invoice_lines, subscription_item=item["id"])):
        about = (line["parent"] or {}).get("subscription_item_details") or {}
        price = ((line["pricing"] or {}).get("price_details") or {}).get("price")
        same = (price, line["quantity"]) == (item["price"]["id"], item["quantity"])
        if same and not about.get("proration", True) and line["period"]["end"] == subscription["_period_end"]:
            return int(line["amount"] - sum(one["amount"] for one in line["discount_amounts"]))
    return int(item["price"]["unit_amount"] * item["quantity"])


def _add(
    world: World, subscription: Body, item: Body, span: Span, amount: int, name: str, *, discountable: bool
) -> None:
    body = shapes.invoice_item(
        date=span.at,
        customer=subscription["customer"],
        amount=amount,
        currency=subscription["currency"],
        description=name,
    )
    body |= {
        "discountable": discountable,
        "parent": {
            "subscription_details": {"subscription": subscription["id"], "subscription_item": item["id"]},
            "type": "subscription_details",
        },
        "period": {"start": span.at, "end": span.end},
        "pricing": shapes.priced(item["price"]),
        "proration": True,
        "quantity": item["quantity"],
        "quantity_decimal": str(item["quantity"]),
        "_subscription_item": item["id"],
    }
    records.add(world, invoice_items, body, "invoiceitem.created")
