"""Invoices, invoice items, credit notes."""

from typing import Annotated, Literal

from pydantic import Field

from services.billing.objects.credit_notes import CreditLineType
from services.billing.objects.invoices import InvoiceStatus
from services.billing.objects.subscriptions import CollectionMethod, ProrationBehavior
from services.billing.schemas.base import (
    Blank,
    Count,
    Currency,
    Key,
    Metadata,
    MetadataChange,
    MetadataIn,
    Minor,
    Moment,
    Parameters,
    Period,
    Range,
    RequestParams,
    TaxSwitch,
    Text,
    TimedListParams,
)
from services.billing.schemas.subscriptions import Days, Discounts, ItemChange


class InvoiceChange(RequestParams):
    """What of an invoice can change; most of it only while it is a draft."""

    auto_advance: bool | None = None
    automatic_tax: TaxSwitch | None = None
    collection_method: CollectionMethod | None = None
    days_until_due: Days | None = None
    due_date: Moment | None = None
    default_payment_method: Key | Blank | None = None
    description: Text | None = None
    discounts: Discounts | Blank | None = None
    footer: Text | None = None
    metadata: MetadataChange | None = None
    statement_descriptor: Text | None = None


class InvoiceIn(InvoiceChange):
    """A new draft."""

    customer: Key
    currency: Currency | None = None
    subscription: Key | None = None
    pending_invoice_items_behavior: Literal["exclude", "include"] | None = None


class InvoiceList(TimedListParams):
    """Which invoices."""

    customer: Key | None = None
    collection_method: CollectionMethod | None = None
    due_date: Range | Moment | None = None
    status: InvoiceStatus | None = None
    subscription: Key | None = None


class FinalizeIn(RequestParams):
    """How to finalize."""

    auto_advance: bool | None = None


class PayIn(RequestParams):
    """How to pay."""

    payment_method: Key | None = None
    paid_out_of_band: bool | None = None
    off_session: bool | None = None


class PriceRef(Parameters):
    """Which price."""

    price: Key


class PreviewItemIn(Parameters):
    """An item that is only imagined."""

    amount: Minor | None = None
    currency: Currency | None = None
    description: Text | None = None
    discountable: bool | None = None
    quantity: Count | None = None


class SubscriptionDetailsIn(Parameters):
    """A change to a subscription that is only imagined."""

    items: Annotated[list[ItemChange], Field(max_length=20)] | None = None
    proration_behavior: ProrationBehavior | None = None
    proration_date: Moment | None = None
    billing_cycle_anchor: Literal["now", "unchanged"] | None = None
    cancel_at_period_end: bool | None = None
    cancel_now: bool | None = None
    trial_end: Literal["now"] | Moment | None = None


class PreviewIn(RequestParams):
    """What would the next invoice be?"""

    customer: Key | None = None
    subscription: Key | None = None
    currency: Currency | None = None
    automatic_tax: TaxSwitch | None = None
    discounts: Discounts | Blank | None = None
    invoice_items: Annotated[list[PreviewItemIn], Field(max_length=20)] | None = None
    subscription_details: SubscriptionDetailsIn | None = None
    preview_mode: Literal["next", "recurring"] | None = None


class PaymentQuery(Parameters):
    """By which payment an invoice was paid."""

    type: Literal["payment_intent"]
    payment_intent: Key | None = None


class InvoicePaymentList(TimedListParams):
    """Which payments of invoices."""

    invoice: Key | None = None
    payment: PaymentQuery | None = None
    status: Literal["canceled", "open", "paid"] | None = None


class InvoiceItemIn(RequestParams):
    """Something to bill: on a draft, or with the next invoice."""

    customer: Key
    amount: Minor | None = None
    currency: Currency | None = None
    description: Text | None = None
    discountable: bool | None = None
    invoice: Key | None = None
    metadata: Metadata | None = None
    period: Period | None = None
    pricing: PriceRef | None = None
    quantity: Annotated[int, Field(ge=1, le=999_999)] | None = None
    subscription: Key | None = None


class InvoiceItemChange(MetadataIn):
    """What of an invoice item can change while it is not final."""

    amount: Minor | None = None
    description: Text | None = None
    discountable: bool | None = None
    pricing: PriceRef | None = None
    quantity: Annotated[int, Field(ge=1, le=999_999)] | None = None


class InvoiceItemList(TimedListParams):
    """Which invoice items."""

    customer: Key | None = None
    invoice: Key | None = None
    pending: bool | None = None


class CreditLineIn(Parameters):
    """What is credited: a line of the invoice, or something else."""

    type: CreditLineType
    amount: Minor | None = None
    description: Text | None = None
    invoice_line_item: Key | None = None
    quantity: Annotated[int, Field(ge=1, le=999_999)] | None = None
    unit_amount: Minor | None = None


class LinkedRefundIn(Parameters):
    """A refund that was made already."""

    refund: Key
    amount_refunded: Minor | None = None
    type: Literal["refund"] | None = None


class CreditNoteIn(RequestParams):
    """A credit note for a finalized invoice."""

    invoice: Key
    amount: Minor | None = None
    lines: Annotated[list[CreditLineIn], Field(max_length=50)] | None = None
    credit_amount: Minor | None = None
    refund_amount: Minor | None = None
    out_of_band_amount: Minor | None = None
    refunds: Annotated[list[LinkedRefundIn], Field(max_length=20)] | None = None
    reason: Literal["duplicate", "fraudulent", "order_change", "product_unsatisfactory"] | None = None
    memo: Text | None = None
    metadata: Metadata | None = None


class CreditNoteChange(MetadataIn):
    """What of a credit note can change."""

    memo: Text | None = None


class CreditNoteList(TimedListParams):
    """Which credit notes."""

    customer: Key | None = None
    invoice: Key | None = None
