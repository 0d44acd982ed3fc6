"""Credit notes and their lines."""

from typing import Literal, TypedDict

from services.billing.objects.catalogue import Metadata
from services.billing.objects.invoices import InvoiceBody
from services.billing.rows import (
    BalanceEntryId,
    CreditNoteId,
    CreditNoteLineId,
    CustomerId,
    InvoiceId,
    InvoiceLineId,
    RefundId,
)
from services.kernel.documents import with_nulls

CreditNoteType = Literal["pre_payment", "post_payment", "mixed"]


CreditLineType = Literal["custom_line_item", "invoice_line_item"]


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
