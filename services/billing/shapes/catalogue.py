"""What is sold, for how much, and what is taken off."""

from typing import Any

Body = dict[str, Any]


def product(*, created: int, name: str) -> Body:
    return {
        "object": "product",
        "active": True,
        "created": created,
        "default_price": None,
        "description": None,
        "images": [],
        "livemode": True,
        "marketing_features": [],
        "metadata": {},
        "name": name,
        "package_dimensions": None,
        "shippable": None,
        "statement_descriptor": None,
        "tax_code": None,
        "type": "service",
        "unit_label": None,
        "updated": created,
        "url": None,
    }


def recurring(interval: str, count: int = 1) -> Body:
    return {
        "interval": interval,
        "interval_count": count,
        "meter": None,
        "trial_period_days": None,
        "usage_type": "licensed",
    }


def price(*, created: int, product: str, currency: str, unit_amount: int, recurring: Body | None) -> Body:
    return {
        "object": "price",
        "active": True,
        "billing_scheme": "per_unit",
        "created": created,
        "currency": currency,
        "custom_unit_amount": None,
        "livemode": True,
        "lookup_key": None,
        "metadata": {},
        "nickname": None,
        "product": product,
        "recurring": recurring,
        "tax_behavior": "exclusive",
        "tiers_mode": None,
        "transform_quantity": None,
        "type": "one_time" if recurring is None else "recurring",
        "unit_amount": unit_amount,
        "unit_amount_decimal": str(unit_amount),
    }


def plan(price: Body) -> Body:
    """The old name of a recurring price, which subscription items still carry."""
    repeated = price["recurring"] or recurring("month")
    return {
        "id": price["id"],
        "object": "plan",
        "active": price["active"],
        "amount": price["unit_amount"],
        "amount_decimal": price["unit_amount_decimal"],
        "billing_scheme": "per_unit",
        "created": price["created"],
        "currency": price["currency"],
        "interval": repeated["interval"],
        "interval_count": repeated["interval_count"],
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


def coupon(*, created: int, duration: str) -> Body:
    return {
        "object": "coupon",
        "amount_off": None,
        "created": created,
        "currency": None,
        "duration": duration,
        "duration_in_months": None,
        "livemode": True,
        "max_redemptions": None,
        "metadata": {},
        "name": None,
        "percent_off": None,
        "redeem_by": None,
        "times_redeemed": 0,
        "valid": True,
    }


def promotion_code(*, created: int, code: str, coupon: str) -> Body:
    return {
        "object": "promotion_code",
        "active": True,
        "code": code,
        "created": created,
        "customer": None,
        "customer_account": None,
        "expires_at": None,
        "livemode": True,
        "max_redemptions": None,
        "metadata": {},
        "promotion": {"coupon": coupon, "type": "coupon"},
        "restrictions": {"first_time_transaction": False, "minimum_amount": None, "minimum_amount_currency": None},
        "times_redeemed": 0,
    }


def discount(*, start: int, end: int | None, coupon: str, customer: str | None, **about: str | None) -> Body:
    return {
        "object": "discount",
        "checkout_session": None,
        "customer": customer,
        "customer_account": None,
        "end": end,
        "invoice": about.get("invoice"),
        "invoice_item": None,
        "promotion_code": about.get("promotion_code"),
        "source": {"coupon": coupon, "type": "coupon"},
        "start": start,
        "subscription": about.get("subscription"),
        "subscription_item": None,
    }
