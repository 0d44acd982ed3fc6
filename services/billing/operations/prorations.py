"""What a change in the middle of a period costs, to the second."""

from dataclasses import dataclass

from services.billing import money
from services.billing.objects.invoice_lines import new_invoice_item, pricing_of
from services.billing.objects.subscriptions import SubscriptionBody, SubscriptionItemBody
from services.billing.operations import periods, records
from services.billing.tables import invoice_items, invoice_lines, products
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class Remainder:
    """The rest of a period, from the moment of a change."""

    changed_at: int
    start: int
    end: int

    @property
    def left(self) -> int:
        return self.end - self.changed_at

    @property
    def whole(self) -> int:
        return self.end - self.start

    def share_of(self, amount: int) -> int:
        return money.share(amount, self.left, self.whole)


def remainder_of(subscription: SubscriptionBody, changed_at: int) -> Remainder:
    return Remainder(changed_at, subscription["_period_start"], subscription["_period_end"])


def credit_unused(
    world: World, subscription: SubscriptionBody, item: SubscriptionItemBody, remainder: Remainder
) -> None:
    """Credits what was billed for the time that is left; discounts that lowered the invoice lower the credit too."""
    billed = _amount_billed(world, subscription, item)
    if billed:
        name = f"Unused time on {describe_item(world, item)} after {periods.format_day(remainder.changed_at)}"
        _add(world, subscription, item, remainder, remainder.share_of(-billed), name, discountable=False)


def charge_remaining(
    world: World, subscription: SubscriptionBody, item: SubscriptionItemBody, remainder: Remainder
) -> None:
    amount = remainder.share_of(item["price"]["unit_amount"] * item["quantity"])
    if amount:
        name = f"Remaining time on {describe_item(world, item)} after {periods.format_day(remainder.changed_at)}"
        _add(world, subscription, item, remainder, amount, name, discountable=True)


def describe_item(world: World, item: SubscriptionItemBody) -> str:
    product = records.get(world, products, item["price"]["product"])
    name = product["name"] if product else item["price"]["product"]
    return f"{item['quantity']} × {name}" if item["quantity"] != 1 else name


def _amount_billed(world: World, subscription: SubscriptionBody, item: SubscriptionItemBody) -> int:
    """Returns the net of this period's line, if it still is what the item says; else the list price."""
    for line in reversed(records.find_by(world, invoice_lines, subscription_item=item["id"])):
        details = line["parent"]["subscription_item_details"] if line["parent"] is not None else None
        price = line["pricing"]["price_details"]["price"] if line["pricing"] is not None else None
        is_same = (price, line["quantity"]) == (item["price"]["id"], item["quantity"])
        is_whole = details is not None and not details["proration"]
        if is_same and is_whole and line["period"]["end"] == subscription["_period_end"]:
            return line["amount"] - sum(off["amount"] for off in line["discount_amounts"])
    return item["price"]["unit_amount"] * item["quantity"]


def _add(
    world: World,
    subscription: SubscriptionBody,
    item: SubscriptionItemBody,
    remainder: Remainder,
    amount: int,
    name: str,
    *,
    discountable: bool,
) -> None:
    body = new_invoice_item(
        date=remainder.changed_at,
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
        "period": {"start": remainder.changed_at, "end": remainder.end},
        "pricing": pricing_of(item["price"]),
        "proration": True,
        "quantity": item["quantity"],
        "quantity_decimal": str(item["quantity"]),
        "_subscription_item": item["id"],
    }
    records.add(world, invoice_items, body, "invoiceitem.created")
