"""Ids and rows of billing's tables; the bodies in the rows are in `objects/`."""

from collections.abc import Mapping
from typing import Any, Generic, Literal, NewType, TypedDict, TypeVar

from services.kernel.statements import RowTable

CustomerId = NewType("CustomerId", str)
TaxIdId = NewType("TaxIdId", str)
BalanceEntryId = NewType("BalanceEntryId", str)
ProductId = NewType("ProductId", str)
PriceId = NewType("PriceId", str)
CouponId = NewType("CouponId", str)
PromotionCodeId = NewType("PromotionCodeId", str)
DiscountId = NewType("DiscountId", str)
SubscriptionId = NewType("SubscriptionId", str)
SubscriptionItemId = NewType("SubscriptionItemId", str)
ScheduleId = NewType("ScheduleId", str)
InvoiceId = NewType("InvoiceId", str)
InvoiceLineId = NewType("InvoiceLineId", str)
InvoiceItemId = NewType("InvoiceItemId", str)
InvoicePaymentId = NewType("InvoicePaymentId", str)
CreditNoteId = NewType("CreditNoteId", str)
CreditNoteLineId = NewType("CreditNoteLineId", str)
ChargeId = NewType("ChargeId", str)
PaymentIntentId = NewType("PaymentIntentId", str)
RefundId = NewType("RefundId", str)
PaymentMethodId = NewType("PaymentMethodId", str)
DisputeId = NewType("DisputeId", str)
EventId = NewType("EventId", str)
BalanceTransactionId = NewType("BalanceTransactionId", str)
FileId = NewType("FileId", str)
PortalSessionId = NewType("PortalSessionId", str)
AccountId = NewType("AccountId", str)
JournalEntryId = NewType("JournalEntryId", int)

IdT = TypeVar("IdT", bound=str)
BodyT = TypeVar("BodyT", bound=Mapping[str, Any])


class BillingRow(TypedDict, Generic[IdT, BodyT]):
    """One object: its id, its place among those that were created in the same second, and itself."""

    id: IdT
    seq: int
    body: BodyT


BillingTable = RowTable[BillingRow[IdT, BodyT], IdT]
# A table of any of the vendor's objects, where the code treats all of them alike.
AnyBillingTable = RowTable[BillingRow[Any, Any], Any]


class AccountBody(TypedDict):
    """The account that bills."""

    name: str
    country: str
    currency: str
    # Days between one attempt to collect a renewal and the next.
    retry_days: list[int]
    # The status of a subscription when the last attempt failed.
    after_retries: Literal["canceled", "unpaid", "past_due"]
    # Percent by country of the customer; elsewhere no tax is due.
    tax_percent: dict[str, int | float]


class AccountRow(TypedDict):
    """The only row of its table."""

    id: AccountId
    body: AccountBody


class JournalRow(TypedDict):
    """One entry of a posting."""

    id: JournalEntryId
    posting: int
    at: int
    account: str
    currency: str
    amount: int
    about: str
