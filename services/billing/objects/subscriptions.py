"""Subscriptions, their items and schedules."""

from typing import Literal, TypedDict

from services.billing.objects.catalogue import Metadata, Plan, PriceBody, plan_of
from services.billing.rows import (
    CustomerId,
    DiscountId,
    InvoiceId,
    PaymentMethodId,
    PriceId,
    ScheduleId,
    SubscriptionId,
    SubscriptionItemId,
)
from services.kernel.documents import with_nulls

SubscriptionStatus = Literal[
    "active", "canceled", "incomplete", "incomplete_expired", "past_due", "paused", "trialing", "unpaid"
]
ScheduleStatus = Literal["active", "canceled", "completed", "not_started", "released"]
CollectionMethod = Literal["charge_automatically", "send_invoice"]
PauseBehavior = Literal["keep_as_draft", "mark_uncollectible", "void"]
ProrationBehavior = Literal["create_prorations", "always_invoice", "none"]
CancellationReason = Literal["cancellation_requested", "payment_failed"]


class SelfReference(TypedDict):
    """This account, where the vendor allows for another."""

    type: Literal["self"]


class SubscriptionTax(TypedDict):
    """Whether tax is computed for a subscription's invoices."""

    disabled_reason: None
    enabled: bool
    liability: SelfReference | None


class CancellationDetails(TypedDict):
    """Why a subscription ends."""

    comment: str | None
    feedback: str | None
    reason: CancellationReason | None


class PauseCollection(TypedDict):
    """What happens to invoices while collection is paused."""

    behavior: PauseBehavior
    resumes_at: int | None


class BillingMode(TypedDict):
    """How the vendor computes prorations."""

    flexible: dict[str, str]
    type: str


class SubscriptionInvoiceSettings(TypedDict):
    """Who issues a subscription's invoices."""

    account_tax_ids: None
    issuer: SelfReference


class SubscriptionPaymentSettings(TypedDict):
    """How a subscription's invoices are paid."""

    payment_method_options: None
    payment_method_types: None
    save_default_payment_method: str


class SubscriptionBody(TypedDict, total=False):
    """What a customer has bought and until when; its items are rows of their own."""

    object: Literal["subscription"]
    application: None
    application_fee_percent: None
    automatic_tax: SubscriptionTax
    billing_cycle_anchor: int
    billing_cycle_anchor_config: None
    billing_mode: BillingMode
    billing_thresholds: None
    cancel_at: int | None
    cancel_at_period_end: bool
    canceled_at: int | None
    cancellation_details: CancellationDetails
    collection_method: CollectionMethod
    created: int
    currency: str
    customer: CustomerId
    customer_account: None
    days_until_due: int | None
    default_payment_method: PaymentMethodId | None
    default_source: None
    default_tax_rates: list[None]
    description: str | None
    discounts: list[DiscountId]
    ended_at: int | None
    invoice_settings: SubscriptionInvoiceSettings
    latest_invoice: InvoiceId | None
    livemode: bool
    metadata: Metadata
    next_pending_invoice_item_invoice: None
    on_behalf_of: None
    pause_collection: PauseCollection | None
    payment_settings: SubscriptionPaymentSettings
    pending_invoice_item_interval: None
    pending_setup_intent: None
    pending_update: None
    schedule: ScheduleId | None
    start_date: int
    status: SubscriptionStatus
    test_clock: None
    transfer_data: None
    trial_end: int | None
    trial_settings: dict[str, dict[str, str]]
    trial_start: int | None
    # The period is kept here, once; the items show it.
    _period_start: int
    _period_end: int
    # Whether the customer was told that the trial ends.
    _trial_notice: bool
    id: SubscriptionId


class SubscriptionItemBody(TypedDict, total=False):
    """One price that a subscription has, and how many of it."""

    object: Literal["subscription_item"]
    billing_thresholds: None
    created: int
    discounts: list[DiscountId]
    metadata: Metadata
    plan: Plan
    price: PriceBody
    quantity: int
    subscription: SubscriptionId
    tax_rates: list[None]
    id: SubscriptionItemId


class PhaseItem(TypedDict):
    """One price that a subscription has in a phase."""

    billing_thresholds: None
    discounts: list[DiscountId]
    metadata: Metadata
    plan: PriceId
    price: PriceId
    quantity: int
    tax_rates: list[None]


class PhaseDiscount(TypedDict):
    """A discount that holds in a phase."""

    coupon: None
    discount: DiscountId
    promotion_code: None


class Phase(TypedDict):
    """What a subscription is from one date to another."""

    add_invoice_items: list[None]
    application_fee_percent: None
    billing_cycle_anchor: None
    billing_thresholds: None
    collection_method: None
    currency: str
    default_payment_method: None
    default_tax_rates: list[None]
    description: None
    discounts: list[PhaseDiscount]
    end_date: int
    invoice_settings: None
    items: list[PhaseItem]
    metadata: Metadata
    on_behalf_of: None
    proration_behavior: ProrationBehavior
    start_date: int
    transfer_data: None
    trial_end: None


class CurrentPhase(TypedDict):
    """From when to when the present phase lasts."""

    start_date: int
    end_date: int


class ScheduleInvoiceSettings(TypedDict):
    """How a schedule's invoices are issued."""

    account_tax_ids: None
    days_until_due: int | None
    issuer: SelfReference


class ScheduleDefaults(TypedDict):
    """What holds in every phase."""

    application_fee_percent: None
    billing_cycle_anchor: str
    billing_thresholds: None
    collection_method: CollectionMethod
    default_payment_method: PaymentMethodId | None
    description: str | None
    invoice_settings: ScheduleInvoiceSettings
    on_behalf_of: None
    transfer_data: None


class ScheduleBody(TypedDict, total=False):
    """What a subscription becomes, and when."""

    object: Literal["subscription_schedule"]
    application: None
    billing_mode: BillingMode
    canceled_at: int | None
    completed_at: int | None
    created: int
    current_phase: CurrentPhase | None
    customer: CustomerId
    customer_account: None
    default_settings: ScheduleDefaults
    end_behavior: Literal["cancel", "release"]
    livemode: bool
    metadata: Metadata
    phases: list[Phase]
    released_at: int | None
    released_subscription: SubscriptionId | None
    status: ScheduleStatus
    subscription: SubscriptionId | None
    test_clock: None
    id: ScheduleId


def new_subscription(*, created: int, customer: CustomerId, currency: str, start: int, end: int) -> SubscriptionBody:
    body: SubscriptionBody = {
        "object": "subscription",
        "automatic_tax": {"disabled_reason": None, "enabled": False, "liability": None},
        "billing_cycle_anchor": start,
        "billing_mode": {"flexible": {"proration_discounts": "included"}, "type": "flexible"},
        "cancel_at_period_end": False,
        "cancellation_details": {"comment": None, "feedback": None, "reason": None},
        "collection_method": "charge_automatically",
        "created": created,
        "currency": currency,
        "customer": customer,
        "default_tax_rates": [],
        "discounts": [],
        "invoice_settings": {"account_tax_ids": None, "issuer": {"type": "self"}},
        "livemode": True,
        "metadata": {},
        "payment_settings": {
            "payment_method_options": None,
            "payment_method_types": None,
            "save_default_payment_method": "off",
        },
        "start_date": created,
        "status": "active",
        "trial_settings": {"end_behavior": {"missing_payment_method": "create_invoice"}},
        "_period_start": start,
        "_period_end": end,
        "_trial_notice": False,
    }
    return with_nulls(SubscriptionBody, body)


def new_subscription_item(
    *, created: int, subscription: SubscriptionId, price: PriceBody, quantity: int
) -> SubscriptionItemBody:
    return {
        "object": "subscription_item",
        "billing_thresholds": None,
        "created": created,
        "discounts": [],
        "metadata": {},
        "plan": plan_of(price),
        "price": price,
        "quantity": quantity,
        "subscription": subscription,
        "tax_rates": [],
    }


def new_schedule(
    *, created: int, customer: CustomerId, subscription: SubscriptionId | None, phases: list[Phase]
) -> ScheduleBody:
    body: ScheduleBody = {
        "object": "subscription_schedule",
        "billing_mode": {"flexible": {"proration_discounts": "included"}, "type": "flexible"},
        "created": created,
        "customer": customer,
        "default_settings": {
            "application_fee_percent": None,
            "billing_cycle_anchor": "automatic",
            "billing_thresholds": None,
            "collection_method": "charge_automatically",
            "default_payment_method": None,
            "description": None,
            "invoice_settings": {"account_tax_ids": None, "days_until_due": None, "issuer": {"type": "self"}},
            "on_behalf_of": None,
            "transfer_data": None,
        },
        "end_behavior": "release",
        "livemode": True,
        "metadata": {},
        "phases": phases,
        "status": "not_started",
        "subscription": subscription,
    }
    return with_nulls(ScheduleBody, body)


def new_phase(*, items: list[PhaseItem], start: int, end: int, currency: str, discounts: list[PhaseDiscount]) -> Phase:
    return {
        "add_invoice_items": [],
        "application_fee_percent": None,
        "billing_cycle_anchor": None,
        "billing_thresholds": None,
        "collection_method": None,
        "currency": currency,
        "default_payment_method": None,
        "default_tax_rates": [],
        "description": None,
        "discounts": discounts,
        "end_date": end,
        "invoice_settings": None,
        "items": items,
        "metadata": {},
        "on_behalf_of": None,
        "proration_behavior": "create_prorations",
        "start_date": start,
        "transfer_data": None,
        "trial_end": None,
    }


def new_phase_item(price: PriceId, quantity: int) -> PhaseItem:
    return {
        "billing_thresholds": None,
        "discounts": [],
        "metadata": {},
        "plan": price,
        "price": price,
        "quantity": quantity,
        "tax_rates": [],
    }
