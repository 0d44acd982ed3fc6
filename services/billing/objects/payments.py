"""Payment intents, charges, refunds, disputes, and the account's own balance."""

from typing import Any, Literal, TypedDict

from services.billing import money
from services.billing.objects.catalogue import Metadata
from services.billing.objects.customers import BillingDetails, PaymentMethodBody, PaymentMethodType
from services.billing.rows import (
    BalanceTransactionId,
    ChargeId,
    CustomerId,
    DisputeId,
    InvoiceId,
    PaymentIntentId,
    PaymentMethodId,
    RefundId,
)
from services.kernel.documents import with_nulls

PaymentIntentStatus = Literal[
    "canceled", "requires_action", "requires_confirmation", "requires_payment_method", "succeeded"
]
ChargeStatus = Literal["failed", "succeeded"]
RefundStatus = Literal["canceled", "pending", "requires_action", "succeeded"]
DisputeStatus = Literal["lost", "needs_response", "under_review", "won"]
DisputeOutcome = Literal["lost", "won"]

CARD_FIELDS = ("brand", "checks", "country", "exp_month", "exp_year", "fingerprint", "funding", "last4", "wallet")


class PaymentError(TypedDict, total=False):
    """Why the last attempt to pay failed."""

    charge: ChargeId
    code: str | None
    decline_code: str | None
    message: str
    payment_method: dict[str, Any]
    type: Literal["card_error"]


class PaymentIntentBody(TypedDict, total=False):
    """A payment that is to be made."""

    object: Literal["payment_intent"]
    amount: int
    amount_capturable: int
    amount_details: dict[str, dict[str, Any]]
    amount_received: int
    application: None
    application_fee_amount: None
    automatic_payment_methods: None
    canceled_at: int | None
    cancellation_reason: str | None
    capture_method: str
    client_secret: str | None
    confirmation_method: str
    created: int
    currency: str
    customer: CustomerId | None
    customer_account: None
    description: str | None
    last_payment_error: PaymentError | None
    latest_charge: ChargeId | None
    livemode: bool
    metadata: Metadata
    next_action: None
    on_behalf_of: None
    payment_method: PaymentMethodId | None
    payment_method_options: dict[str, Any]
    payment_method_types: list[str]
    processing: None
    receipt_email: str | None
    review: None
    setup_future_usage: str | None
    shipping: None
    source: None
    statement_descriptor: str | None
    statement_descriptor_suffix: None
    status: PaymentIntentStatus
    transfer_data: None
    transfer_group: None
    # The invoice that it pays.
    _invoice: InvoiceId | None
    id: PaymentIntentId


class ChargeOutcome(TypedDict):
    """What the bank said."""

    network_status: str
    reason: str | None
    risk_level: str
    seller_message: str
    type: str


class ChargeBody(TypedDict, total=False):
    """An attempt to take money."""

    object: Literal["charge"]
    amount: int
    amount_captured: int
    amount_refunded: int
    application: None
    application_fee: None
    application_fee_amount: None
    balance_transaction: BalanceTransactionId | None
    billing_details: BillingDetails
    calculated_statement_descriptor: str | None
    captured: bool
    created: int
    currency: str
    customer: CustomerId | None
    description: str | None
    disputed: bool
    failure_balance_transaction: None
    failure_code: str | None
    failure_message: str | None
    fraud_details: dict[str, str]
    livemode: bool
    metadata: Metadata
    on_behalf_of: None
    outcome: ChargeOutcome | None
    paid: bool
    payment_intent: PaymentIntentId
    payment_method: PaymentMethodId
    # `type`, and under its name the card or the account.
    payment_method_details: dict[str, Any]
    radar_options: dict[str, Any]
    receipt_email: str | None
    receipt_number: None
    receipt_url: str | None
    refunded: bool
    review: None
    shipping: None
    source: None
    source_transfer: None
    statement_descriptor: str | None
    statement_descriptor_suffix: None
    status: ChargeStatus
    transfer_data: None
    transfer_group: None
    id: ChargeId


class RefundDestination(TypedDict):
    """By which way a refund goes back."""

    type: PaymentMethodType


class RefundBody(TypedDict, total=False):
    """Money that goes back."""

    object: Literal["refund"]
    amount: int
    balance_transaction: BalanceTransactionId | None
    charge: ChargeId
    created: int
    currency: str
    destination_details: RefundDestination
    metadata: Metadata
    payment_intent: PaymentIntentId
    reason: str | None
    receipt_number: None
    source_transfer_reversal: None
    status: RefundStatus
    transfer_reversal: None
    # When a pending refund succeeds.
    _settles_at: int | None
    id: RefundId
    failure_balance_transaction: BalanceTransactionId


class EvidenceDetails(TypedDict):
    """How far the evidence of a dispute is."""

    due_by: int
    enhanced_eligibility: dict[str, Any]
    has_evidence: bool
    past_due: bool
    submission_count: int


class DisputeBody(TypedDict, total=False):
    """A charge that the cardholder contests."""

    object: Literal["dispute"]
    amount: int
    balance_transactions: list[dict[str, Any]]
    charge: ChargeId
    created: int
    currency: str
    enhanced_eligibility_types: list[None]
    evidence: dict[str, str | None]
    evidence_details: EvidenceDetails
    is_charge_refundable: bool
    livemode: bool
    metadata: Metadata
    payment_intent: PaymentIntentId
    payment_method_details: None
    reason: str
    status: DisputeStatus
    # What the bank decides if evidence reaches it.
    _outcome: DisputeOutcome
    _decided_at: int | None
    id: DisputeId


class FeeDetail(TypedDict):
    """One fee on a balance transaction."""

    amount: int
    application: None
    currency: str
    description: str
    type: str


class BalanceTransactionBody(TypedDict, total=False):
    """A line on the account's own balance."""

    object: Literal["balance_transaction"]
    amount: int
    available_on: int
    balance_type: str
    created: int
    currency: str
    description: None
    exchange_rate: None
    fee: int
    fee_details: list[FeeDetail]
    net: int
    reporting_category: str
    source: str
    status: Literal["available", "pending"]
    type: str
    id: BalanceTransactionId


def new_payment_intent(*, created: int, amount: int, currency: str, customer: CustomerId | None) -> PaymentIntentBody:
    body: PaymentIntentBody = {
        "object": "payment_intent",
        "amount": amount,
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "capture_method": "automatic",
        "confirmation_method": "automatic",
        "created": created,
        "currency": currency,
        "customer": customer,
        "livemode": True,
        "metadata": {},
        "payment_method_options": {},
        "payment_method_types": ["card"],
        "status": "requires_payment_method",
    }
    return with_nulls(PaymentIntentBody, body)


def new_charge(*, created: int, intent: PaymentIntentBody, method: PaymentMethodBody) -> ChargeBody:
    kind = method["type"]
    details: dict[str, Any] = dict(method[kind])
    if kind == "card":
        details = {name: details.get(name) for name in CARD_FIELDS}
    body: ChargeBody = {
        "object": "charge",
        "amount": intent["amount"],
        "amount_captured": 0,
        "amount_refunded": 0,
        "billing_details": method["billing_details"],
        "captured": False,
        "created": created,
        "currency": intent["currency"],
        "customer": intent["customer"],
        "description": intent["description"],
        "disputed": False,
        "fraud_details": {},
        "livemode": True,
        "metadata": intent["metadata"],
        "paid": False,
        "payment_intent": intent["id"],
        "payment_method": method["id"],
        "payment_method_details": {kind: details, "type": kind},
        "radar_options": {},
        "receipt_email": intent["receipt_email"],
        "refunded": False,
        "statement_descriptor": intent["statement_descriptor"],
        "status": "failed",
    }
    return with_nulls(ChargeBody, body)


APPROVED: ChargeOutcome = {
    "network_status": "approved_by_network",
    "reason": None,
    "risk_level": "normal",
    "seller_message": "Payment complete.",
    "type": "authorized",
}


def make_declined_outcome(decline_code: str | None) -> ChargeOutcome:
    return {
        "network_status": "declined_by_network",
        "reason": decline_code,
        "risk_level": "normal",
        "seller_message": "The bank did not return any further details with this decline.",
        "type": "issuer_declined",
    }


def new_refund(*, created: int, charge: ChargeBody, amount: int) -> RefundBody:
    body: RefundBody = {
        "object": "refund",
        "amount": amount,
        "charge": charge["id"],
        "created": created,
        "currency": charge["currency"],
        "destination_details": {"type": charge["payment_method_details"]["type"]},
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "status": "succeeded",
    }
    return with_nulls(RefundBody, body)


def new_dispute(*, created: int, charge: ChargeBody, reason: str, outcome: DisputeOutcome, due_by: int) -> DisputeBody:
    return {
        "object": "dispute",
        "amount": charge["amount"] - charge["amount_refunded"],
        "balance_transactions": [],
        "charge": charge["id"],
        "created": created,
        "currency": charge["currency"],
        "enhanced_eligibility_types": [],
        "evidence": {},
        "evidence_details": {
            "due_by": due_by,
            "enhanced_eligibility": {},
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
        },
        "is_charge_refundable": False,
        "livemode": True,
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "payment_method_details": None,
        "reason": reason,
        "status": "needs_response",
        "_outcome": outcome,
        "_decided_at": None,
    }


def new_balance_transaction(
    *, created: int, amount: int, currency: str, kind: str, source: str, fee: int = 0
) -> BalanceTransactionBody:
    """`amount` is what moved; money that comes in settles two days later."""
    fees: list[FeeDetail] = [
        {
            "amount": fee,
            "application": None,
            "currency": currency,
            "description": "Processing fees",
            "type": "stripe_fee",
        }
    ]
    return {
        "object": "balance_transaction",
        "amount": amount,
        "available_on": created + 2 * 86_400 if amount > 0 else created,
        "balance_type": "payments",
        "created": created,
        "currency": currency,
        "description": None,
        "exchange_rate": None,
        "fee": fee,
        "fee_details": fees if fee else [],
        "net": amount - fee,
        "reporting_category": {"adjustment": "dispute"}.get(kind, kind),
        "source": source,
        "status": "pending" if amount > 0 else "available",
        "type": kind,
    }


def processing_fee(charge: ChargeBody) -> int:
    """Returns what the processor keeps: cards and debits cost, a transfer is free."""
    if charge["payment_method_details"]["type"] == "customer_balance":
        return 0
    return money.fee(charge["amount"], charge["currency"])
