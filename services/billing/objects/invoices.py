"""Invoices, their lines and payments, invoice items and credit notes."""

from typing import Literal, TypedDict

from services.billing.objects.catalogue import Metadata, PriceBody
from services.billing.objects.customers import Address, CustomerBody, Shipping, TaxExempt, TaxIdBody
from services.billing.objects.subscriptions import CollectionMethod, SelfReference
from services.billing.rows import (
    AccountBody,
    BalanceEntryId,
    CreditNoteId,
    CreditNoteLineId,
    CustomerId,
    DiscountId,
    InvoiceId,
    InvoiceItemId,
    InvoiceLineId,
    InvoicePaymentId,
    PaymentIntentId,
    PaymentMethodId,
    PriceId,
    ProductId,
    RefundId,
    SubscriptionId,
    SubscriptionItemId,
)
from services.kernel.documents import with_nulls

InvoiceStatus = Literal["draft", "open", "paid", "uncollectible", "void"]
BillingReason = Literal["manual", "subscription_create", "subscription_cycle", "subscription_update"]
CreditNoteType = Literal["pre_payment", "post_payment", "mixed"]
CreditLineType = Literal["custom_line_item", "invoice_line_item"]


class InvoiceTax(TypedDict):
    """Whether tax is computed for an invoice."""

    disabled_reason: None
    enabled: bool
    liability: SelfReference | None
    provider: None
    status: Literal["complete"] | None


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


class TaxIdEntry(TypedDict):
    """A tax id as an invoice names it."""

    type: str
    value: str


class CustomField(TypedDict):
    """A pair that is printed on an invoice."""

    name: str
    value: str


class InvoicePaymentSettings(TypedDict):
    """How an invoice is paid."""

    default_mandate: None
    payment_method_options: None
    payment_method_types: None


class InvoiceTransitions(TypedDict):
    """When an invoice reached each status."""

    finalized_at: int | None
    marked_uncollectible_at: int | None
    paid_at: int | None
    voided_at: int | None


class ParentSubscription(TypedDict):
    """The subscription that wrote an invoice."""

    metadata: Metadata
    subscription: SubscriptionId
    subscription_proration_date: None


class InvoiceParent(TypedDict):
    """What an invoice was written for."""

    quote_details: None
    subscription_details: ParentSubscription
    type: Literal["subscription_details"]


class InvoiceBody(TypedDict, total=False):
    """An invoice; its lines are rows of their own."""

    object: Literal["invoice"]
    account_country: str
    account_name: str
    account_tax_ids: None
    amount_due: int
    amount_overpaid: int
    amount_paid: int
    amount_remaining: int
    amount_shipping: int
    application: None
    attempt_count: int
    attempted: bool
    auto_advance: bool
    automatic_tax: InvoiceTax
    automatically_finalizes_at: int | None
    billing_reason: BillingReason
    collection_method: CollectionMethod
    created: int
    currency: str
    custom_fields: list[CustomField] | None
    customer: CustomerId
    customer_account: None
    customer_address: Address | None
    customer_email: str | None
    customer_name: str | None
    customer_phone: str | None
    customer_shipping: Shipping | None
    customer_tax_exempt: TaxExempt
    customer_tax_ids: list[TaxIdEntry]
    default_payment_method: PaymentMethodId | None
    default_source: None
    default_tax_rates: list[None]
    description: str | None
    discounts: list[DiscountId]
    due_date: int | None
    effective_at: int | None
    ending_balance: int | None
    footer: str | None
    from_invoice: None
    hosted_invoice_url: str | None
    invoice_pdf: str | None
    issuer: SelfReference
    last_finalization_error: None
    latest_revision: None
    livemode: bool
    metadata: Metadata
    next_payment_attempt: int | None
    number: str | None
    on_behalf_of: None
    parent: InvoiceParent | None
    payment_settings: InvoicePaymentSettings
    period_end: int
    period_start: int
    post_payment_credit_notes_amount: int
    pre_payment_credit_notes_amount: int
    receipt_number: None
    rendering: None
    shipping_cost: None
    shipping_details: None
    starting_balance: int
    statement_descriptor: str | None
    status: InvoiceStatus
    status_transitions: InvoiceTransitions
    subtotal: int
    subtotal_excluding_tax: int
    test_clock: None
    total: int
    total_discount_amounts: list[DiscountAmount]
    total_excluding_tax: int
    total_pretax_credit_amounts: list[None]
    total_taxes: list[TaxAmount]
    webhooks_delivered_at: int
    # Whether it was called overdue.
    _overdue: bool
    # The tax in the total.
    _tax: int
    # By how much it moved the customer's balance when it became final.
    _balance_applied: int
    # How often it was sent to the customer.
    _sent: int
    id: InvoiceId


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


class IntentReference(TypedDict):
    """The payment intent that pays an invoice."""

    payment_intent: PaymentIntentId
    type: Literal["payment_intent"]


class PaymentTransitions(TypedDict):
    """When an invoice payment ended."""

    canceled_at: int | None
    paid_at: int | None


class InvoicePaymentBody(TypedDict, total=False):
    """How an invoice is paid."""

    object: Literal["invoice_payment"]
    amount_paid: int | None
    amount_requested: int
    created: int
    currency: str
    invoice: InvoiceId
    is_default: bool
    livemode: bool
    payment: IntentReference
    status: Literal["canceled", "open", "paid"]
    status_transitions: PaymentTransitions
    id: InvoicePaymentId


class LinkedRefund(TypedDict):
    """A refund that a credit note names."""

    amount_refunded: int
    payment_record_refund: None
    refund: RefundId
    type: Literal["refund"]


class CreditNoteBody(TypedDict, total=False):
    """What is taken back of an invoice; its lines are rows of their own."""

    object: Literal["credit_note"]
    amount: int
    amount_shipping: int
    created: int
    currency: str
    customer: CustomerId
    customer_account: None
    customer_balance_transaction: BalanceEntryId | None
    discount_amount: int
    discount_amounts: list[None]
    effective_at: int
    invoice: InvoiceId
    livemode: bool
    memo: str | None
    metadata: Metadata
    number: str
    out_of_band_amount: int | None
    pdf: str
    post_payment_amount: int
    pre_payment_amount: int
    pretax_credit_amounts: list[None]
    reason: str | None
    refunds: list[LinkedRefund]
    shipping_cost: None
    status: Literal["issued", "void"]
    subtotal: int
    subtotal_excluding_tax: int
    total: int
    total_excluding_tax: int
    total_taxes: list[None]
    type: CreditNoteType
    voided_at: int | None
    id: CreditNoteId


class CreditNoteLineBody(TypedDict, total=False):
    """A line of a credit note."""

    object: Literal["credit_note_line_item"]
    amount: int
    description: str | None
    discount_amount: int
    discount_amounts: list[None]
    invoice_line_item: InvoiceLineId | None
    livemode: bool
    metadata: Metadata
    pretax_credit_amounts: list[None]
    quantity: int | None
    tax_rates: list[None]
    taxes: list[None]
    type: CreditLineType
    unit_amount: int | None
    unit_amount_decimal: str | None
    _created: int
    _credit_note: CreditNoteId
    id: CreditNoteLineId


def new_invoice(
    *, created: int, customer: CustomerBody, currency: str, reason: BillingReason, account: AccountBody
) -> InvoiceBody:
    body: InvoiceBody = {
        "object": "invoice",
        "account_country": account["country"],
        "account_name": account["name"],
        "amount_due": 0,
        "amount_overpaid": 0,
        "amount_paid": 0,
        "amount_remaining": 0,
        "amount_shipping": 0,
        "attempt_count": 0,
        "attempted": False,
        "auto_advance": False,
        "automatic_tax": new_invoice_tax(enabled=False),
        "billing_reason": reason,
        "collection_method": "charge_automatically",
        "created": created,
        "currency": currency,
        "customer": customer["id"],
        **customer_snapshot(customer, []),
        "default_tax_rates": [],
        "discounts": [],
        "issuer": {"type": "self"},
        "livemode": True,
        "metadata": {},
        "payment_settings": {
            "default_mandate": None,
            "payment_method_options": None,
            "payment_method_types": None,
        },
        "period_end": created,
        "period_start": created,
        "post_payment_credit_notes_amount": 0,
        "pre_payment_credit_notes_amount": 0,
        "starting_balance": 0,
        "status": "draft",
        "status_transitions": {
            "finalized_at": None,
            "marked_uncollectible_at": None,
            "paid_at": None,
            "voided_at": None,
        },
        "subtotal": 0,
        "subtotal_excluding_tax": 0,
        "total": 0,
        "total_discount_amounts": [],
        "total_excluding_tax": 0,
        "total_pretax_credit_amounts": [],
        "total_taxes": [],
        "webhooks_delivered_at": created,
        "_overdue": False,
        "_tax": 0,
        "_balance_applied": 0,
    }
    return with_nulls(InvoiceBody, body)


def new_invoice_tax(*, enabled: bool) -> InvoiceTax:
    return {
        "disabled_reason": None,
        "enabled": enabled,
        "liability": {"type": "self"} if enabled else None,
        "provider": None,
        "status": "complete" if enabled else None,
    }


def customer_snapshot(customer: CustomerBody, tax_ids: list[TaxIdBody]) -> InvoiceBody:
    """Returns the fields that say to whom an invoice is made out: copied from the customer until it is final."""
    return {
        "customer_address": customer["address"],
        "customer_email": customer["email"],
        "customer_name": customer["name"],
        "customer_phone": customer["phone"],
        "customer_shipping": customer["shipping"],
        "customer_tax_exempt": customer["tax_exempt"],
        "customer_tax_ids": [{"type": tax_id["type"], "value": tax_id["value"]} for tax_id in tax_ids],
    }


def subscription_parent(subscription: SubscriptionId, metadata: Metadata) -> InvoiceParent:
    return {
        "quote_details": None,
        "subscription_details": {
            "metadata": metadata,
            "subscription": subscription,
            "subscription_proration_date": None,
        },
        "type": "subscription_details",
    }


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
    return {
        "invoice_item_details": {
            "invoice_item": item["id"],
            "proration": item["proration"],
            "proration_details": {"credited_items": None},
            "subscription": subscription_of(item),
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


def new_invoice_payment(
    *, created: int, invoice: InvoiceId, intent: PaymentIntentId, amount: int, currency: str
) -> InvoicePaymentBody:
    return {
        "object": "invoice_payment",
        "amount_paid": None,
        "amount_requested": amount,
        "created": created,
        "currency": currency,
        "invoice": invoice,
        "is_default": True,
        "livemode": True,
        "payment": {"payment_intent": intent, "type": "payment_intent"},
        "status": "open",
        "status_transitions": {"canceled_at": None, "paid_at": None},
    }


def new_credit_note(*, created: int, invoice: InvoiceBody, number: str) -> CreditNoteBody:
    body: CreditNoteBody = {
        "object": "credit_note",
        "amount": 0,
        "amount_shipping": 0,
        "created": created,
        "currency": invoice["currency"],
        "customer": invoice["customer"],
        "discount_amount": 0,
        "discount_amounts": [],
        "effective_at": created,
        "invoice": invoice["id"],
        "livemode": True,
        "metadata": {},
        "number": number,
        "pdf": f"https://pay.stripe.com/credit_notes/{number}/pdf",
        "post_payment_amount": 0,
        "pre_payment_amount": 0,
        "pretax_credit_amounts": [],
        "refunds": [],
        "status": "issued",
        "subtotal": 0,
        "subtotal_excluding_tax": 0,
        "total": 0,
        "total_excluding_tax": 0,
        "total_taxes": [],
        "type": "pre_payment",
    }
    return with_nulls(CreditNoteBody, body)


def new_credit_note_line(
    *, created: int, amount: int, description: str | None, kind: CreditLineType
) -> CreditNoteLineBody:
    body: CreditNoteLineBody = {
        "object": "credit_note_line_item",
        "amount": amount,
        "description": description,
        "discount_amount": 0,
        "discount_amounts": [],
        "livemode": True,
        "metadata": {},
        "pretax_credit_amounts": [],
        "tax_rates": [],
        "taxes": [],
        "type": kind,
        "_created": created,
    }
    return with_nulls(CreditNoteLineBody, body)


def subscription_of(body: InvoiceBody | InvoiceItemBody) -> SubscriptionId | None:
    """Returns the subscription that an invoice or an invoice item was written for."""
    return body["parent"]["subscription_details"]["subscription"] if body["parent"] is not None else None
