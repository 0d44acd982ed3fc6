"""What is answered. The vendor shows more fields than a client needs; those that matter are named here."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

Expandable = str | dict[str, Any]


class Shown(BaseModel):
    """An object; further fields of the vendor's come along."""

    model_config = ConfigDict(extra="allow")

    id: str


class Customer(Shown):
    """Somebody who is billed; a deleted one is only its id."""

    object: Literal["customer"]
    deleted: bool | None = None
    name: str | None = None
    email: str | None = None
    balance: int | None = None
    currency: str | None = None
    delinquent: bool | None = None
    metadata: dict[str, str] | None = None


class TaxId(Shown):
    """A customer's tax id."""

    object: Literal["tax_id"]
    type: str
    value: str
    customer: Expandable | None = None
    verification: dict[str, Any] | None = None


class BalanceEntry(Shown):
    """A line on a customer's balance."""

    object: Literal["customer_balance_transaction"]
    amount: int
    currency: str
    ending_balance: int
    type: str


class PaymentMethod(Shown):
    """A card or a bank account."""

    object: Literal["payment_method"]
    type: str
    customer: Expandable | None = None
    card: dict[str, Any] | None = None
    sepa_debit: dict[str, Any] | None = None


class Product(Shown):
    """Something that is sold."""

    object: Literal["product"]
    name: str
    active: bool
    default_price: Expandable | None = None


class Price(Shown):
    """What something costs, and how often."""

    object: Literal["price"]
    active: bool
    currency: str
    unit_amount: int
    product: Expandable
    recurring: dict[str, Any] | None = None
    lookup_key: str | None = None


class Coupon(Shown):
    """What is taken off."""

    object: Literal["coupon"]
    percent_off: float | None = None
    amount_off: int | None = None
    currency: str | None = None
    duration: str
    valid: bool
    times_redeemed: int


class PromotionCode(Shown):
    """A code that stands for a coupon."""

    object: Literal["promotion_code"]
    code: str
    active: bool
    promotion: dict[str, Any]
    times_redeemed: int


class Discount(Shown):
    """A coupon at work."""

    object: Literal["discount"]
    source: dict[str, Any]
    start: int
    end: int | None = None


class SubscriptionItem(Shown):
    """One thing that is subscribed to."""

    object: Literal["subscription_item"]
    price: dict[str, Any]
    quantity: int
    subscription: str
    current_period_start: int
    current_period_end: int


class Subscription(Shown):
    """What a customer has bought and until when."""

    object: Literal["subscription"]
    customer: Expandable
    status: str
    items: dict[str, Any]
    cancel_at_period_end: bool
    cancel_at: int | None = None
    canceled_at: int | None = None
    currency: str
    latest_invoice: Expandable | None = None
    pause_collection: dict[str, Any] | None = None
    discounts: list[Expandable]


class Schedule(Shown):
    """What a subscription becomes, and when."""

    object: Literal["subscription_schedule"]
    status: str
    phases: list[dict[str, Any]]
    subscription: Expandable | None = None
    end_behavior: str


class Invoice(Shown):
    """A bill."""

    object: Literal["invoice"]
    customer: Expandable
    status: str
    number: str | None = None
    currency: str
    subtotal: int
    total: int
    amount_due: int
    amount_paid: int
    amount_remaining: int
    lines: dict[str, Any]
    parent: dict[str, Any] | None = None


class Line(Shown):
    """A line of a bill."""

    object: Literal["line_item"]
    amount: int
    currency: str
    description: str | None = None
    period: dict[str, Any]


class InvoicePayment(Shown):
    """How a bill is paid."""

    object: Literal["invoice_payment"]
    invoice: Expandable
    amount_requested: int
    payment: dict[str, Any]
    status: str


class InvoiceItem(Shown):
    """Something that is on a bill or will be on the next."""

    object: Literal["invoiceitem"]
    customer: Expandable
    amount: int
    currency: str
    invoice: Expandable | None = None


class CreditNote(Shown):
    """What is taken back of a bill."""

    object: Literal["credit_note"]
    invoice: Expandable
    amount: int
    currency: str
    number: str
    status: str
    refunds: list[dict[str, Any]]


class CreditNoteLine(Shown):
    """A line of a credit note."""

    object: Literal["credit_note_line_item"]
    amount: int
    type: str


class Charge(Shown):
    """Money that was taken, or not."""

    object: Literal["charge"]
    amount: int
    amount_refunded: int
    currency: str
    customer: Expandable | None = None
    status: str
    refunded: bool
    disputed: bool
    payment_intent: Expandable | None = None


class PaymentIntent(Shown):
    """A payment on its way."""

    object: Literal["payment_intent"]
    amount: int
    currency: str
    status: str
    customer: Expandable | None = None
    latest_charge: Expandable | None = None


class Refund(Shown):
    """Money that went back."""

    object: Literal["refund"]
    amount: int
    currency: str
    charge: Expandable
    reason: str | None = None
    status: str


class Dispute(Shown):
    """A charge that the cardholder contests."""

    object: Literal["dispute"]
    amount: int
    charge: Expandable
    evidence: dict[str, Any]
    reason: str
    status: str


class Event(Shown):
    """Something that happened."""

    object: Literal["event"]
    type: str
    created: int
    data: dict[str, Any]


class BalanceTransaction(Shown):
    """A line of the account's balance."""

    object: Literal["balance_transaction"]
    amount: int
    fee: int
    net: int
    currency: str
    source: Expandable | None = None
    type: str


class PortalSession(Shown):
    """A link for a customer."""

    object: Literal["billing_portal.session"]
    customer: str
    url: str


class File(Shown):
    """An uploaded file."""

    object: Literal["file"]
    filename: str | None = None
    purpose: str
    size: int


class Deleted(BaseModel):
    """What is left of a deleted object."""

    id: str
    object: str
    deleted: Literal[True]


Thing = TypeVar("Thing")


class Page(BaseModel, Generic[Thing]):
    """A page of a list."""

    object: Literal["list"]
    data: list[Thing]
    has_more: bool
    url: str


class Found(BaseModel, Generic[Thing]):
    """A page of a search."""

    object: Literal["search_result"]
    data: list[Thing]
    has_more: bool
    next_page: str | None = None
    url: str


class ErrorDetails(BaseModel):
    """What went wrong, and where."""

    model_config = ConfigDict(extra="allow")

    type: str
    message: str
    code: str | None = None
    param: str | None = None
    decline_code: str | None = None
    doc_url: str | None = None


class ErrorOut(BaseModel):
    """A refusal."""

    error: ErrorDetails
