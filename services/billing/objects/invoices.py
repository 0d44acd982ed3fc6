"""Invoices and their payments."""

from typing import Literal, TypedDict

from services.billing.objects.catalogue import Metadata
from services.billing.objects.customers import Address, CustomerBody, Shipping, TaxExempt, TaxIdBody
from services.billing.objects.invoice_lines import DiscountAmount, InvoiceItemBody, TaxAmount
from services.billing.objects.subscriptions import CollectionMethod, SelfReference
from services.billing.rows import (
    AccountBody,
    CustomerId,
    DiscountId,
    InvoiceId,
    InvoicePaymentId,
    PaymentIntentId,
    PaymentMethodId,
    SubscriptionId,
)
from services.kernel.documents import with_nulls

InvoiceStatus = Literal["draft", "open", "paid", "uncollectible", "void"]
BillingReason = Literal["manual", "subscription_create", "subscription_cycle", "subscription_update"]


class InvoiceTax(TypedDict):
    """Whether tax is computed for an invoice."""

    disabled_reason: None
    enabled: bool
    liability: SelfReference | None
    provider: None
    status: Literal["complete"] | None


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


def subscription_of(body: InvoiceBody | InvoiceItemBody) -> SubscriptionId | None:
    """Returns the subscription that an invoice or an invoice item was written for."""
    return body["parent"]["subscription_details"]["subscription"] if body["parent"] is not None else None
