"""Subscriptions, their items and schedules."""

from typing import Annotated, Literal

from pydantic import Field

from services.billing.objects.subscriptions import CollectionMethod, PauseBehavior, ProrationBehavior
from services.billing.schemas.base import (
    Blank,
    Count,
    DiscountIn,
    Key,
    ListParams,
    Metadata,
    MetadataChange,
    MetadataIn,
    Moment,
    Parameters,
    RequestParams,
    TaxSwitch,
    Text,
    TimedListParams,
)

Days = Annotated[int, Field(ge=0, le=730)]
Discounts = Annotated[list[DiscountIn], Field(max_length=20)]


class ItemIn(Parameters):
    """One thing that is subscribed to."""

    price: Key
    quantity: Count | None = None
    metadata: Metadata | None = None


class ItemChange(Parameters):
    """With an id the item changes, without one it is added."""

    id: Key | None = None
    price: Key | None = None
    quantity: Count | None = None
    deleted: bool | None = None
    metadata: MetadataChange | None = None


class CancellationDetails(Parameters):
    """Why somebody leaves."""

    comment: Text | None = None
    feedback: (
        Literal[
            "customer_service",
            "low_quality",
            "missing_features",
            "other",
            "switched_service",
            "too_complex",
            "too_expensive",
            "unused",
        ]
        | Blank
        | None
    ) = None


class PauseCollectionIn(Parameters):
    """What happens to bills in the meantime."""

    behavior: PauseBehavior
    resumes_at: Moment | None = None


class AnchorIn(Parameters):
    """Whether the cycle starts anew."""

    type: Literal["now", "unchanged"]


class SubscriptionIn(RequestParams):
    """A new subscription."""

    customer: Key
    items: Annotated[list[ItemIn], Field(min_length=1, max_length=20)]
    discounts: Discounts | Blank | None = None
    payment_behavior: Literal["allow_incomplete", "default_incomplete", "error_if_incomplete"] | None = None
    collection_method: CollectionMethod | None = None
    days_until_due: Days | None = None
    default_payment_method: Key | None = None
    description: Text | None = None
    metadata: Metadata | None = None
    automatic_tax: TaxSwitch | None = None
    cancel_at: Moment | None = None
    cancel_at_period_end: bool | None = None
    trial_period_days: Days | None = None
    trial_end: Literal["now"] | Moment | None = None
    proration_behavior: ProrationBehavior | None = None
    off_session: bool | None = None


class SubscriptionChange(RequestParams):
    """What of a subscription can change."""

    items: Annotated[list[ItemChange], Field(max_length=20)] | None = None
    proration_behavior: ProrationBehavior | None = None
    proration_date: Moment | None = None
    billing_cycle_anchor: AnchorIn | Literal["now", "unchanged"] | None = None
    payment_behavior: Literal["allow_incomplete", "error_if_incomplete"] | None = None
    cancel_at_period_end: bool | None = None
    cancel_at: Moment | Literal["", "min_period_end", "max_period_end"] | None = None
    cancellation_details: CancellationDetails | None = None
    pause_collection: PauseCollectionIn | Blank | None = None
    default_payment_method: Key | Blank | None = None
    collection_method: CollectionMethod | None = None
    days_until_due: Days | None = None
    discounts: Discounts | Blank | None = None
    description: Text | None = None
    metadata: MetadataChange | None = None
    automatic_tax: TaxSwitch | None = None
    trial_end: Literal["now"] | Moment | None = None
    off_session: bool | None = None


class SubscriptionList(TimedListParams):
    """Which subscriptions; those that are canceled only where that is asked for."""

    customer: Key | None = None
    price: Key | None = None
    collection_method: CollectionMethod | None = None
    status: (
        Literal[
            "active",
            "all",
            "canceled",
            "ended",
            "incomplete",
            "incomplete_expired",
            "past_due",
            "paused",
            "trialing",
            "unpaid",
        ]
        | None
    ) = None


class CancelNow(RequestParams):
    """How to cancel at once."""

    invoice_now: bool | None = None
    prorate: bool | None = None
    cancellation_details: CancellationDetails | None = None


class ResumeIn(RequestParams):
    """How to go on after a pause."""

    billing_cycle_anchor: AnchorIn | Literal["now", "unchanged"] | None = None
    proration_behavior: ProrationBehavior | None = None
    proration_date: Moment | None = None


class UnusedTime(Parameters):
    """From when unused time is credited."""

    type: Literal["item_current_period_start", "none", "now"]


class BillForIn(Parameters):
    """What is settled when a subscription is paused."""

    unused_time_from: UnusedTime | None = None


class PauseIn(RequestParams):
    """How to pause."""

    bill_for: BillForIn | None = None
    invoicing_behavior: Literal["invoice", "pending_invoice_item"] | None = None
    type: Literal["subscription"] | None = None


class SubscriptionItemIn(RequestParams):
    """A new item of a subscription."""

    subscription: Key
    price: Key
    quantity: Count | None = None
    metadata: Metadata | None = None
    proration_behavior: ProrationBehavior | None = None
    proration_date: Moment | None = None
    payment_behavior: Literal["allow_incomplete", "error_if_incomplete"] | None = None


class SubscriptionItemChange(MetadataIn):
    """What of an item can change."""

    price: Key | None = None
    quantity: Count | None = None
    proration_behavior: ProrationBehavior | None = None
    proration_date: Moment | None = None
    payment_behavior: Literal["allow_incomplete", "error_if_incomplete"] | None = None
    off_session: bool | None = None


class SubscriptionItemDrop(RequestParams):
    """How to remove an item."""

    proration_behavior: ProrationBehavior | None = None
    proration_date: Moment | None = None


class SubscriptionItemList(ListParams):
    """Whose items."""

    subscription: Key


class ScheduleIn(RequestParams):
    """A new schedule for a subscription that exists."""

    from_subscription: Key
    end_behavior: Literal["cancel", "release"] | None = None
    metadata: Metadata | None = None


class PhaseItemIn(Parameters):
    """One thing subscribed to in a phase."""

    price: Key
    quantity: Count | None = None


class PhaseIn(Parameters):
    """A stretch of a subscription's future."""

    items: Annotated[list[PhaseItemIn], Field(min_length=1, max_length=20)]
    start_date: Moment | Literal["now"] | None = None
    end_date: Moment | None = None
    iterations: Annotated[int, Field(ge=1, le=36)] | None = None
    proration_behavior: ProrationBehavior | None = None


class ScheduleChange(MetadataIn):
    """What of a schedule can change."""

    end_behavior: Literal["cancel", "release"] | None = None
    phases: Annotated[list[PhaseIn], Field(min_length=1, max_length=10)] | None = None
    proration_behavior: ProrationBehavior | None = None


class ScheduleCancel(RequestParams):
    """How to cancel along with the subscription."""

    invoice_now: bool | None = None
    prorate: bool | None = None


class ScheduleRelease(RequestParams):
    """Let the subscription go on by itself."""

    preserve_cancel_date: bool | None = None


class ScheduleList(TimedListParams):
    """Which schedules."""

    customer: Key | None = None
