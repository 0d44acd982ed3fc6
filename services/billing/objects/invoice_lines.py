"""Lines of invoices, and the items that become lines."""

from typing import Literal, TypedDict

from services.billing.objects.catalogue import Metadata, PriceBody
from services.billing.rows import (
    CustomerId,
    DiscountId,
    InvoiceId,
    InvoiceItemId,
    InvoiceLineId,
    PriceId,
    ProductId,
    SubscriptionId,
    SubscriptionItemId,
)
from services.kernel.documents import with_nulls


class DiscountAmount(TypedDict):
    """What one discount takes off."""

    amount: int
    discount: DiscountId


class TaxRateReference(TypedDict):
    """The rate by which a tax was computed."""

    tax_rate: str


class TaxAmount(TypedDict):
    """One tax on an amount."""

    amount: int
    tax_behavior: Literal["exclusive"]
    tax_rate_details: TaxRateReference
    taxability_reason: str
    taxable_amount: int
    type: Literal["tax_rate_details"]


class Period(TypedDict):
    """From when to when."""

    start: int
    end: int


class PriceDetails(TypedDict):
    """A price and its product."""

    price: PriceId
    product: ProductId


class Pricing(TypedDict):
    """Which price a line follows."""

    price_details: PriceDetails
    type: Literal["price_details"]
    unit_amount_decimal: str


class ProrationDetails(TypedDict):
    """Which lines a proration credits."""

    credited_items: None


class InvoiceItemDetails(TypedDict):
    """The invoice item behind a line."""

    invoice_item: InvoiceItemId
    proration: bool
    proration_details: ProrationDetails
    subscription: SubscriptionId | None


class SubscriptionItemDetails(TypedDict):
    """The subscription item behind a line."""

    invoice_item: None
    proration: bool
    proration_details: ProrationDetails
    subscription: SubscriptionId
    subscription_item: SubscriptionItemId


class LineParent(TypedDict):
    """Where a line comes from: one of the two details is set."""

    invoice_item_details: InvoiceItemDetails | None
    subscription_item_details: SubscriptionItemDetails | None
    type: Literal["invoice_item_details", "subscription_item_details"]


class InvoiceLineBody(TypedDict, total=False):
    """A line of an invoice."""

    object: Literal["line_item"]
    amount: int
    currency: str
    description: str | None
    discount_amounts: list[DiscountAmount]
    discountable: bool
    discounts: list[DiscountId]
    invoice: InvoiceId
    livemode: bool
    metadata: Metadata
    parent: LineParent | None
    period: Period
    pretax_credit_amounts: list[None]
    pricing: Pricing | None
    quantity: int
    quantity_decimal: str
    subscription: SubscriptionId | None
    subtotal: int
    taxes: list[TaxAmount]
    _created: int
    _subscription_item: SubscriptionItemId | None
    _invoice_item: InvoiceItemId | None
    id: InvoiceLineId


class ItemSubscription(TypedDict):
    """The subscription that an invoice item belongs to."""

    subscription: SubscriptionId
    subscription_item: SubscriptionItemId | None


class InvoiceItemParent(TypedDict):
    """What an invoice item was written for."""

    subscription_details: ItemSubscription
    type: Literal["subscription_details"]


class InvoiceItemBody(TypedDict, total=False):
    """Something on an invoice, or waiting for the next one."""

    object: Literal["invoiceitem"]
    amount: int
    currency: str
    customer: CustomerId
    customer_account: None
    date: int
    description: str | None
    discountable: bool
    discounts: list[DiscountId]
    invoice: InvoiceId | None
    livemode: bool
    metadata: Metadata
    net_amount: int
    parent: InvoiceItemParent | None
    period: Period
    pricing: Pricing | None
    proration: bool
    proration_details: None
    quantity: int
    quantity_decimal: str
    tax_rates: list[None]
    test_clock: None
    _subscription_item: SubscriptionItemId | None
    id: InvoiceItemId


def pricing_of(price: PriceBody) -> Pricing:
    details: PriceDetails = {"price": price["id"], "product": price["product"]}
    return {"price_details": details, "type": "price_details", "unit_amount_decimal": str(price["unit_amount"])}


def new_invoice_line(
    *, created: int, invoice: InvoiceId, amount: int, currency: str, description: str | None, period: Period
) -> InvoiceLineBody:
    body: InvoiceLineBody = {
        "object": "line_item",
        "amount": amount,
        "currency": currency,
        "description": description,
        "discount_amounts": [],
        "discountable": True,
        "discounts": [],
        "invoice": invoice,
        "livemode": True,
        "metadata": {},
        "period": period,
        "pretax_credit_amounts": [],
        "quantity": 1,
        "quantity_decimal": "1",
        "subtotal": amount,
        "taxes": [],
        "_created": created,
    }
    return with_nulls(InvoiceLineBody, body)


def subscription_line_parent(subscription: SubscriptionId, item: SubscriptionItemId, *, proration: bool) -> LineParent:
    return {
        "invoice_item_details": None,
        "subscription_item_details": {
            "invoice_item": None,
            "proration": proration,
            "proration_details": {"credited_items": None},
            "subscription": subscription,
            "subscription_item": item,
        },
        "type": "subscription_item_details",
    }


def item_line_parent(item: InvoiceItemBody) -> LineParent:
    parent = item["parent"]
    return {
        "invoice_item_details": {
            "invoice_item": item["id"],
            "proration": item["proration"],
            "proration_details": {"credited_items": None},
            "subscription": None if parent is None else parent["subscription_details"]["subscription"],
        },
        "subscription_item_details": None,
        "type": "invoice_item_details",
    }


def new_invoice_item(
    *, date: int, customer: CustomerId, amount: int, currency: str, description: str | None
) -> InvoiceItemBody:
    body: InvoiceItemBody = {
        "object": "invoiceitem",
        "amount": amount,
        "currency": currency,
        "customer": customer,
        "date": date,
        "description": description,
        "discountable": True,
        "discounts": [],
        "livemode": True,
        "metadata": {},
        "net_amount": amount,
        "period": {"end": date, "start": date},
        "proration": False,
        "quantity": 1,
        "quantity_decimal": "1",
        "tax_rates": [],
    }
    return with_nulls(InvoiceItemBody, body)
