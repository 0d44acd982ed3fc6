"""Products, prices, coupons, promotion codes."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from services.billing.objects.catalogue import CouponDuration, Interval
from services.billing.schemas.base import (
    Blank,
    Currency,
    Key,
    Keys,
    Metadata,
    MetadataChange,
    MetadataIn,
    Minor,
    Moment,
    Name,
    Parameters,
    RequestParams,
    Text,
    TimedListParams,
)

TaxBehavior = Literal["exclusive", "inclusive", "unspecified"]
Exact = Annotated[Decimal, Field(ge=0, le=999_999_999_999, max_digits=24)]


class RecurringIn(Parameters):
    """How often a price is charged."""

    interval: Interval
    interval_count: Annotated[int, Field(ge=1, le=1095)] | None = None


class DefaultPriceIn(Parameters):
    """The price that a new product starts with."""

    currency: Currency
    unit_amount: Minor | None = None
    unit_amount_decimal: Exact | None = None
    recurring: RecurringIn | None = None
    tax_behavior: TaxBehavior | None = None
    metadata: Metadata | None = None


class ProductChange(RequestParams):
    """What of a product can change."""

    name: Name | None = None
    active: bool | None = None
    description: Text | None = None
    metadata: MetadataChange | None = None
    images: Keys | Blank | None = None
    shippable: bool | None = None
    statement_descriptor: Annotated[str, StringConstraints(max_length=22)] | None = None
    tax_code: Key | Blank | None = None
    unit_label: Annotated[str, StringConstraints(max_length=12)] | None = None
    url: Text | None = None
    default_price: Key | None = None


class ProductIn(RequestParams):
    """A new product."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=350)]
    id: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_\-]{1,100}$")] | None = None
    active: bool | None = None
    description: Text | None = None
    metadata: Metadata | None = None
    images: Keys | None = None
    shippable: bool | None = None
    statement_descriptor: Annotated[str, StringConstraints(max_length=22)] | None = None
    tax_code: Key | None = None
    unit_label: Annotated[str, StringConstraints(max_length=12)] | None = None
    url: Text | None = None
    default_price_data: DefaultPriceIn | None = None


class ProductList(TimedListParams):
    """Which products."""

    active: bool | None = None
    ids: Keys | None = None


class InlineProductIn(Parameters):
    """A product made along with its price."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=350)]
    active: bool | None = None
    metadata: Metadata | None = None
    unit_label: Annotated[str, StringConstraints(max_length=12)] | None = None


class PriceIn(RequestParams):
    """A new price; what it asks never changes."""

    currency: Currency
    product: Key | None = None
    product_data: InlineProductIn | None = None
    unit_amount: Minor | None = None
    unit_amount_decimal: Exact | None = None
    recurring: RecurringIn | None = None
    active: bool | None = None
    lookup_key: Annotated[str, StringConstraints(max_length=200)] | None = None
    transfer_lookup_key: bool | None = None
    metadata: Metadata | None = None
    nickname: Name | None = None
    tax_behavior: TaxBehavior | None = None


class PriceChange(MetadataIn):
    """What of a price can change."""

    active: bool | None = None
    lookup_key: Annotated[str, StringConstraints(max_length=200)] | None = None
    transfer_lookup_key: bool | None = None
    nickname: Name | None = None
    tax_behavior: TaxBehavior | None = None


class PriceList(TimedListParams):
    """Which prices."""

    active: bool | None = None
    currency: Currency | None = None
    lookup_keys: Keys | None = None
    product: Key | None = None
    type: Literal["one_time", "recurring"] | None = None


class CouponIn(RequestParams):
    """A new coupon."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    name: Annotated[str, StringConstraints(max_length=40)] | None = None
    percent_off: Annotated[Decimal, Field(ge=-1000, le=1000, decimal_places=2)] | None = None
    amount_off: Annotated[int, Field(gt=0, le=999_999_999_999)] | None = None
    currency: Currency | None = None
    duration: CouponDuration | None = None
    duration_in_months: Annotated[int, Field(ge=1, le=36)] | None = None
    max_redemptions: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    redeem_by: Moment | None = None
    metadata: Metadata | None = None


class CouponChange(MetadataIn):
    """What of a coupon can change."""

    name: Annotated[str, StringConstraints(max_length=40)] | None = None


class CouponList(TimedListParams):
    """Which coupons."""


class PromotionIn(Parameters):
    """What a promotion code stands for."""

    type: Literal["coupon"]
    coupon: Key


class RestrictionsIn(Parameters):
    """When a promotion code can be redeemed."""

    first_time_transaction: bool | None = None
    minimum_amount: Minor | None = None
    minimum_amount_currency: Currency | None = None


class PromotionCodeIn(RequestParams):
    """A new promotion code."""

    promotion: PromotionIn
    code: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9\-]{1,500}$")] | None = None
    active: bool | None = None
    customer: Key | None = None
    expires_at: Moment | None = None
    max_redemptions: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    metadata: Metadata | None = None
    restrictions: RestrictionsIn | None = None


class PromotionCodeChange(MetadataIn):
    """What of a promotion code can change."""

    active: bool | None = None


class PromotionCodeList(TimedListParams):
    """Which promotion codes."""

    active: bool | None = None
    code: Text | None = None
    coupon: Key | None = None
    customer: Key | None = None
