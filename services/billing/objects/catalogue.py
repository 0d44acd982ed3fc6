"""Products, prices, coupons, promotion codes and discounts."""

from typing import Literal, TypedDict

from services.billing.rows import (
    CouponId,
    CustomerId,
    DiscountId,
    InvoiceId,
    PriceId,
    ProductId,
    PromotionCodeId,
    SubscriptionId,
)
from services.kernel.documents import with_nulls

Metadata = dict[str, str]
Interval = Literal["day", "week", "month", "year"]
CouponDuration = Literal["once", "repeating", "forever"]


class ProductBody(TypedDict, total=False):
    """Something that is sold."""

    object: Literal["product"]
    active: bool
    created: int
    default_price: PriceId | None
    description: str | None
    images: list[str]
    livemode: bool
    marketing_features: list[None]
    metadata: Metadata
    name: str
    package_dimensions: None
    shippable: bool | None
    statement_descriptor: str | None
    tax_code: str | None
    type: str
    unit_label: str | None
    updated: int
    url: str | None
    id: ProductId


class Recurring(TypedDict):
    """How often a price is charged."""

    interval: Interval
    interval_count: int
    meter: None
    trial_period_days: None
    usage_type: str


class PriceBody(TypedDict, total=False):
    """What something costs, and how often."""

    object: Literal["price"]
    active: bool
    billing_scheme: str
    created: int
    currency: str
    custom_unit_amount: None
    livemode: bool
    lookup_key: str | None
    metadata: Metadata
    nickname: str | None
    product: ProductId
    recurring: Recurring | None
    tax_behavior: str
    tiers_mode: None
    transform_quantity: None
    type: Literal["one_time", "recurring"]
    unit_amount: int
    unit_amount_decimal: str
    id: PriceId


class Plan(TypedDict):
    """A recurring price under its old name."""

    id: PriceId
    object: Literal["plan"]
    active: bool
    amount: int
    amount_decimal: str
    billing_scheme: str
    created: int
    currency: str
    interval: Interval
    interval_count: int
    livemode: bool
    metadata: Metadata
    meter: None
    nickname: str | None
    product: ProductId
    tiers_mode: None
    transform_usage: None
    trial_period_days: None
    usage_type: str


class CouponBody(TypedDict, total=False):
    """A percentage or an amount that is taken off."""

    object: Literal["coupon"]
    amount_off: int | None
    created: int
    currency: str | None
    duration: CouponDuration
    duration_in_months: int | None
    livemode: bool
    max_redemptions: int | None
    metadata: Metadata
    name: str | None
    percent_off: float | int | None
    redeem_by: int | None
    times_redeemed: int
    valid: bool
    id: CouponId
    deleted: bool


class CouponReference(TypedDict):
    """The coupon behind a promotion code or a discount."""

    coupon: CouponId
    type: Literal["coupon"]


class PromotionRestrictions(TypedDict):
    """When a promotion code can be redeemed."""

    first_time_transaction: bool
    minimum_amount: int | None
    minimum_amount_currency: str | None


class PromotionCodeBody(TypedDict, total=False):
    """A code that stands for a coupon."""

    object: Literal["promotion_code"]
    active: bool
    code: str
    created: int
    customer: CustomerId | None
    customer_account: None
    expires_at: int | None
    livemode: bool
    max_redemptions: int | None
    metadata: Metadata
    promotion: CouponReference
    restrictions: PromotionRestrictions
    times_redeemed: int
    id: PromotionCodeId


class DiscountBody(TypedDict, total=False):
    """A coupon that was redeemed."""

    object: Literal["discount"]
    checkout_session: None
    customer: CustomerId | None
    customer_account: None
    end: int | None
    invoice: InvoiceId | None
    invoice_item: None
    promotion_code: PromotionCodeId | None
    source: CouponReference
    start: int
    subscription: SubscriptionId | None
    subscription_item: None
    id: DiscountId
    # When it was taken off again.
    _ended: int
    deleted: bool


def new_product(*, created: int, name: str) -> ProductBody:
    body: ProductBody = {
        "object": "product",
        "active": True,
        "created": created,
        "images": [],
        "livemode": True,
        "marketing_features": [],
        "metadata": {},
        "name": name,
        "type": "service",
        "updated": created,
    }
    return with_nulls(ProductBody, body)


def new_recurring(interval: Interval, count: int = 1) -> Recurring:
    return {
        "interval": interval,
        "interval_count": count,
        "meter": None,
        "trial_period_days": None,
        "usage_type": "licensed",
    }


def new_price(
    *, created: int, product: ProductId, currency: str, unit_amount: int, recurring: Recurring | None
) -> PriceBody:
    body: PriceBody = {
        "object": "price",
        "active": True,
        "billing_scheme": "per_unit",
        "created": created,
        "currency": currency,
        "livemode": True,
        "metadata": {},
        "product": product,
        "recurring": recurring,
        "tax_behavior": "exclusive",
        "type": "one_time" if recurring is None else "recurring",
        "unit_amount": unit_amount,
        "unit_amount_decimal": str(unit_amount),
    }
    return with_nulls(PriceBody, body)


def plan_of(price: PriceBody) -> Plan:
    """Returns the price under its old name, which subscription items still carry."""
    recurring = price["recurring"] or new_recurring("month")
    return {
        "id": price["id"],
        "object": "plan",
        "active": price["active"],
        "amount": price["unit_amount"],
        "amount_decimal": price["unit_amount_decimal"],
        "billing_scheme": "per_unit",
        "created": price["created"],
        "currency": price["currency"],
        "interval": recurring["interval"],
        "interval_count": recurring["interval_count"],
        "livemode": True,
        "metadata": price["metadata"],
        "meter": None,
        "nickname": price["nickname"],
        "product": price["product"],
        "tiers_mode": None,
        "transform_usage": None,
        "trial_period_days": None,
        "usage_type": "licensed",
    }


def new_coupon(*, created: int, duration: CouponDuration) -> CouponBody:
    body: CouponBody = {
        "object": "coupon",
        "created": created,
        "duration": duration,
        "livemode": True,
        "metadata": {},
        "times_redeemed": 0,
        "valid": True,
    }
    return with_nulls(CouponBody, body)


def new_promotion_code(*, created: int, code: str, coupon: CouponId) -> PromotionCodeBody:
    body: PromotionCodeBody = {
        "object": "promotion_code",
        "active": True,
        "code": code,
        "created": created,
        "livemode": True,
        "metadata": {},
        "promotion": {"coupon": coupon, "type": "coupon"},
        "restrictions": {"first_time_transaction": False, "minimum_amount": None, "minimum_amount_currency": None},
        "times_redeemed": 0,
    }
    return with_nulls(PromotionCodeBody, body)


def new_discount(
    *,
    start: int,
    end: int | None,
    coupon: CouponId,
    customer: CustomerId | None,
    promotion_code: PromotionCodeId | None = None,
    subscription: SubscriptionId | None = None,
    invoice: InvoiceId | None = None,
) -> DiscountBody:
    body: DiscountBody = {
        "object": "discount",
        "customer": customer,
        "end": end,
        "invoice": invoice,
        "promotion_code": promotion_code,
        "source": {"coupon": coupon, "type": "coupon"},
        "start": start,
        "subscription": subscription,
    }
    return with_nulls(DiscountBody, body)
