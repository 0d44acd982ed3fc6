"""What is answered, as the OpenAPI document describes it.

The vendor shows more fields than a client needs; those that matter are named here, and their types follow from the
objects that we keep: an id may be expanded to its object, and a structure is described as an object.
"""

import types
from typing import Any, Generic, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, create_model

from services.billing.objects.catalogue import CouponBody, DiscountBody, PriceBody, ProductBody, PromotionCodeBody
from services.billing.objects.credit_notes import CreditNoteBody, CreditNoteLineBody
from services.billing.objects.customers import BalanceEntryBody, CustomerBody, PaymentMethodBody, TaxIdBody
from services.billing.objects.events import EventBody, FileBody, PortalSessionBody
from services.billing.objects.invoice_lines import InvoiceItemBody, InvoiceLineBody
from services.billing.objects.invoices import InvoiceBody, InvoicePaymentBody
from services.billing.objects.payments import (
    BalanceTransactionBody,
    ChargeBody,
    DisputeBody,
    PaymentIntentBody,
    RefundBody,
)
from services.billing.objects.subscriptions import ScheduleBody, SubscriptionBody, SubscriptionItemBody

Model = type[BaseModel]
Expandable = str | dict[str, Any]

# For fields that an answer adds to the object, or that differ from it: `name:kind`.
_KINDS: dict[str, Any] = {"id": str, "number": int, "reference": Expandable, "object": dict[str, Any]}


class VendorObject(BaseModel):
    """An object; further fields of the vendor's come along."""

    model_config = ConfigDict(extra="allow")

    id: str


def _describe(body: type[Any], text: str, fields: str, name: str = "") -> Model:
    """Makes the model of an answer from the type of the object; `field?` may be left out of the answer."""
    hints = get_type_hints(body)
    described: dict[str, Any] = {"object": (hints["object"], ...)}
    for entry in fields.split():
        field, _, kind = entry.removesuffix("?").partition(":")
        annotation = _KINDS[kind] if kind else _annotation(hints[field])
        if entry.endswith("?"):
            annotation = annotation | None
        may_be_null = type(None) in get_args(annotation)
        described[field] = (annotation, None if may_be_null else ...)
    name = name or body.__name__.removesuffix("Body")
    return create_model(name, __base__=VendorObject, __doc__=text, __module__=__name__, **described)


def _annotation(hint: Any) -> Any:
    if isinstance(hint, NewType):
        return Expandable
    if is_typeddict(hint):
        return dict[str, Any]
    if get_origin(hint) is Literal:
        return str
    if get_origin(hint) is list:
        return list[_annotation(get_args(hint)[0])]  # type: ignore[misc]  # made at import
    if get_origin(hint) in (types.UnionType, Union):
        parts = [_annotation(part) for part in get_args(hint) if part is not int or float not in get_args(hint)]
        return Union[tuple(parts)]  # noqa: UP007 - of as many parts as there are
    return hint


Customer = _describe(
    CustomerBody,
    "Somebody who is billed; a deleted one is only its id.",
    "deleted? name email balance? currency delinquent? metadata?",
)
TaxId = _describe(TaxIdBody, "A customer's tax id.", "type value customer? verification?")
BalanceEntry = _describe(BalanceEntryBody, "A line on a customer's balance.", "amount currency ending_balance type")
PaymentMethod = _describe(PaymentMethodBody, "A card or a bank account.", "type customer card? sepa_debit?")
Product = _describe(ProductBody, "Something that is sold.", "name active default_price")
Price = _describe(
    PriceBody, "What something costs, and how often.", "active currency unit_amount product recurring lookup_key"
)
Coupon = _describe(CouponBody, "What is taken off.", "percent_off amount_off currency duration valid times_redeemed")
PromotionCode = _describe(PromotionCodeBody, "A code that stands for a coupon.", "code active promotion times_redeemed")
Discount = _describe(DiscountBody, "A coupon at work.", "source start end")
SubscriptionItem = _describe(
    SubscriptionItemBody,
    "One thing that is subscribed to.",
    "price quantity subscription:id current_period_start:number current_period_end:number",
)
Subscription = _describe(
    SubscriptionBody,
    "What a customer has bought and until when.",
    "customer status items:object cancel_at_period_end cancel_at canceled_at currency latest_invoice pause_collection "
    "discounts",
)
Schedule = _describe(ScheduleBody, "What a subscription becomes, and when.", "status phases subscription end_behavior")
Invoice = _describe(
    InvoiceBody,
    "A bill.",
    "customer status number currency subtotal total amount_due amount_paid amount_remaining lines:object parent",
)
Line = _describe(InvoiceLineBody, "A line of a bill.", "amount currency description period", name="Line")
InvoicePayment = _describe(InvoicePaymentBody, "How a bill is paid.", "invoice amount_requested payment status")
InvoiceItem = _describe(
    InvoiceItemBody, "Something that is on a bill or will be on the next.", "customer amount currency invoice"
)
CreditNote = _describe(CreditNoteBody, "What is taken back of a bill.", "invoice amount currency number status refunds")
CreditNoteLine = _describe(CreditNoteLineBody, "A line of a credit note.", "amount type")
Charge = _describe(
    ChargeBody,
    "Money that was taken, or not.",
    "amount amount_refunded currency customer status refunded disputed payment_intent?",
)
PaymentIntent = _describe(PaymentIntentBody, "A payment on its way.", "amount currency status customer latest_charge")
Refund = _describe(RefundBody, "Money that went back.", "amount currency charge reason status")
Dispute = _describe(
    DisputeBody, "A charge that the cardholder contests.", "amount charge evidence:object reason status"
)
Event = _describe(EventBody, "Something that happened.", "type created data")
BalanceTransaction = _describe(
    BalanceTransactionBody, "A line of the account's balance.", "amount fee net currency source:reference? type"
)
PortalSession = _describe(PortalSessionBody, "A link for a customer.", "customer:id url")
File = _describe(FileBody, "An uploaded file.", "filename purpose size")


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


def page_of(model: Model) -> Any:
    return Page[model]  # type: ignore[valid-type]  # made at import


def make_search_page(model: Model) -> Any:
    return Found[model]  # type: ignore[valid-type]  # made at import


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
