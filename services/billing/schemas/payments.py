"""Charges, payment intents, refunds, disputes, and what they leave behind."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from services.billing.schemas.base import (
    Currency,
    Key,
    Keys,
    Metadata,
    MetadataIn,
    Minor,
    Parameters,
    RequestParams,
    Text,
    TimedListParams,
)

Amount = Annotated[int, Field(ge=-999_999_999_999, le=999_999_999_999)]
Evidence = Annotated[str, StringConstraints(max_length=20_000)]


class FraudReport(Parameters):
    """What somebody thinks of a charge."""

    user_report: Literal["fraudulent", "safe", ""]


class ChargeChange(MetadataIn):
    """What of a charge can change."""

    customer: Key | None = None
    description: Text | None = None
    receipt_email: Text | None = None
    fraud_details: FraudReport | None = None


class ChargeList(TimedListParams):
    """Which charges."""

    customer: Key | None = None
    payment_intent: Key | None = None


class PaymentIntentIn(RequestParams):
    """A payment to be made."""

    amount: Minor
    currency: Currency
    customer: Key | None = None
    payment_method: Key | None = None
    confirm: bool | None = None
    off_session: bool | None = None
    description: Text | None = None
    receipt_email: Text | None = None
    statement_descriptor: Annotated[str, StringConstraints(max_length=22)] | None = None
    setup_future_usage: Literal["off_session", "on_session"] | None = None
    metadata: Metadata | None = None
    payment_method_types: Keys | None = None


class PaymentIntentChange(MetadataIn):
    """What of a payment can change before it is made."""

    amount: Annotated[int, Field(ge=1, le=999_999_999_999)] | None = None
    payment_method: Key | None = None
    description: Text | None = None
    receipt_email: Text | None = None


class ConfirmIn(RequestParams):
    """How to pay."""

    payment_method: Key | None = None
    off_session: bool | None = None
    return_url: Text | None = None


class CancelIntentIn(RequestParams):
    """Why it is not to be paid."""

    cancellation_reason: Literal["abandoned", "duplicate", "fraudulent", "requested_by_customer"] | None = None


class PaymentIntentList(TimedListParams):
    """Which payment intents."""

    customer: Key | None = None


class RefundIn(RequestParams):
    """Money back; without an amount, all that is left."""

    charge: Key | None = None
    payment_intent: Key | None = None
    amount: Amount | None = None
    reason: Literal["duplicate", "fraudulent", "requested_by_customer"] | None = None
    metadata: Metadata | None = None


class RefundList(TimedListParams):
    """Which refunds."""

    charge: Key | None = None
    payment_intent: Key | None = None


class EvidenceIn(Parameters):
    """What speaks for us."""

    access_activity_log: Evidence | None = None
    billing_address: Evidence | None = None
    cancellation_policy_disclosure: Evidence | None = None
    cancellation_rebuttal: Evidence | None = None
    customer_communication: Evidence | None = None
    customer_email_address: Evidence | None = None
    customer_name: Evidence | None = None
    duplicate_charge_explanation: Evidence | None = None
    duplicate_charge_id: Evidence | None = None
    product_description: Evidence | None = None
    receipt: Evidence | None = None
    refund_policy_disclosure: Evidence | None = None
    refund_refusal_explanation: Evidence | None = None
    service_date: Evidence | None = None
    service_documentation: Evidence | None = None
    uncategorized_file: Evidence | None = None
    uncategorized_text: Evidence | None = None


class DisputeChange(MetadataIn):
    """Evidence, staged or submitted."""

    evidence: EvidenceIn | None = None
    submit: bool | None = None


class DisputeList(TimedListParams):
    """Which disputes."""

    charge: Key | None = None
    payment_intent: Key | None = None


class EventList(TimedListParams):
    """Which events; a type may hold a *."""

    type: Text | None = None
    types: Keys | None = None
    delivery_success: bool | None = None


class BalanceTransactionList(TimedListParams):
    """Which lines of the account's balance."""

    currency: Currency | None = None
    source: Key | None = None
    type: Text | None = None
