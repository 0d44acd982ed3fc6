"""Coupons, promotion codes, and the discounts that they become when they are redeemed."""

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from services.billing import money
from services.billing.errors import InvalidRequest, NoSuchObject
from services.billing.objects.catalogue import (
    CouponBody,
    CouponDuration,
    DiscountBody,
    PromotionCodeBody,
    new_coupon,
    new_discount,
    new_promotion_code,
)
from services.billing.operations import periods, records
from services.billing.operations.params import Params, merge_metadata, pick_changes
from services.billing.operations.products import require_currency
from services.billing.operations.records import DeletedObject, now
from services.billing.rows import CouponId, CustomerId, InvoiceId, PromotionCodeId, SubscriptionId
from services.billing.tables import coupons, customers, discounts, promotion_codes, subscriptions
from services.kernel.world import World


def create(world: World, params: Params) -> CouponBody:
    percent, amount = params.get("percent_off"), params.get("amount_off")
    if (percent is None) == (amount is None):
        raise InvalidRequest("You must pass either percent_off or amount_off, and not both.", "percent_off")
    duration: CouponDuration = params.get("duration") or "once"
    months = params.get("duration_in_months")
    if (duration == "repeating") != (months is not None):
        raise InvalidRequest("duration_in_months belongs to a repeating coupon.", "duration_in_months")
    body = new_coupon(created=now(world), duration=duration) | {
        "id": _free_id(world, params.get("id")),
        "percent_off": None if percent is None else _percent(percent),
        "amount_off": amount,
        "currency": _currency(params) if amount is not None else None,
        "duration_in_months": months,
        "max_redemptions": params.get("max_redemptions"),
        "name": params.get("name"),
        "redeem_by": _future(world, params.get("redeem_by"), "redeem_by"),
        "metadata": merge_metadata({}, params.get("metadata")),
    }
    return records.add(world, coupons, body, "coupon.created")


def update(world: World, key: CouponId, params: Params) -> CouponBody:
    body = need_coupon(world, key)
    changes: CouponBody = pick_changes(body, params, ("name",))
    return records.change(world, coupons, body, changes, "coupon.updated")


def delete(world: World, key: CouponId) -> DeletedObject:
    """Deletes a coupon: nobody can redeem it again, discounts that exist run on."""
    body = need_coupon(world, key)
    records.change(world, coupons, body, {"deleted": True})
    records.record_event(world, "coupon.deleted", body)
    return {"id": body["id"], "object": "coupon", "deleted": True}


def need_coupon(world: World, key: CouponId) -> CouponBody:
    """Returns the coupon that a path names; the vendor's own clients write a space in a path as a plus."""
    body = records.get(world, coupons, key) or records.get(world, coupons, CouponId(key.replace("+", " ")))
    if body is None or body.get("deleted"):
        raise NoSuchObject("coupon", key)
    return body


def is_valid(coupon: CouponBody, timestamp: int) -> bool:
    over = coupon["redeem_by"] is not None and timestamp >= coupon["redeem_by"]
    used_up = coupon["max_redemptions"] is not None and coupon["times_redeemed"] >= coupon["max_redemptions"]
    return not (over or used_up or coupon.get("deleted", False))


# --- promotion codes ------------------------------------------------------------------------------------------------


def create_code(world: World, params: Params) -> PromotionCodeBody:
    coupon = records.refer(world, coupons, params["promotion"]["coupon"], "promotion[coupon]")
    if not is_valid(coupon, now(world)):
        raise InvalidRequest(f"Coupon expired: {coupon['id']}", "promotion[coupon]", "coupon_expired")
    code = params.get("code") or records.new_token(world.ids, "code", world.ids.next("code"))[:8].upper()
    if any(promotion["active"] for promotion in records.find_by(world, promotion_codes, code=code)):
        raise InvalidRequest(f"An active promotion code with `code: {code}` already exists.", "code")
    if customer := params.get("customer"):
        records.refer(world, customers, customer, "customer")
    body = new_promotion_code(created=now(world), code=code, coupon=coupon["id"])
    body |= {
        "active": params.get("active", True),
        "customer": customer,
        "max_redemptions": params.get("max_redemptions"),
        "expires_at": _future(world, params.get("expires_at"), "expires_at"),
        "metadata": merge_metadata({}, params.get("metadata")),
    }
    if restrictions := params.get("restrictions"):
        body["restrictions"] = {**body["restrictions"], **restrictions}
    return records.add(world, promotion_codes, body, "promotion_code.created")


def update_code(world: World, key: PromotionCodeId, params: Params) -> PromotionCodeBody:
    body = records.need(world, promotion_codes, key)
    changes: PromotionCodeBody = pick_changes(body, params, ("active",))
    return records.change(world, promotion_codes, body, changes, "promotion_code.updated")


# --- discounts ------------------------------------------------------------------------------------------------------


def redeem(
    world: World,
    params: Params,
    customer: CustomerId,
    param: str,
    *,
    subscription: SubscriptionId | None = None,
    invoice: InvoiceId | None = None,
) -> DiscountBody:
    """Turns a coupon, a promotion code or a discount that exists into a discount on a subscription or an invoice."""
    if discount := params.get("discount"):
        return records.refer(world, discounts, discount, f"{param}[discount]")
    code = _usable_code(world, params.get("promotion_code"), customer, f"{param}[promotion_code]")
    key = code["promotion"]["coupon"] if code else params.get("coupon")
    if key is None:
        raise InvalidRequest("Pass a coupon, a promotion_code or a discount.", param, "parameter_missing")
    coupon = records.refer(world, coupons, key, f"{param}[coupon]")
    if not is_valid(coupon, now(world)):
        raise InvalidRequest(f"Coupon expired: {key}", f"{param}[coupon]", "coupon_expired")
    records.change(world, coupons, coupon, {"times_redeemed": coupon["times_redeemed"] + 1})
    if code:
        records.change(world, promotion_codes, code, {"times_redeemed": code["times_redeemed"] + 1})
    body = new_discount(
        start=now(world),
        end=_end(coupon, now(world)),
        coupon=key,
        customer=customer,
        promotion_code=code["id"] if code else None,
        subscription=subscription,
        invoice=invoice,
    )
    return records.add(world, discounts, body, "customer.discount.created")


def remove_discount(world: World, discount: DiscountBody) -> DiscountBody:
    """Takes a discount off its subscription; the discount itself is kept for the invoices that name it."""
    if subscription := discount["subscription"]:
        owner = records.must_exist(world, subscriptions, subscription)
        left = [key for key in owner["discounts"] if key != discount["id"]]
        records.change(world, subscriptions, owner, {"discounts": left}, "customer.subscription.updated")
    records.change(world, discounts, discount, {"_ended": now(world)})
    records.record_event(world, "customer.discount.deleted", discount)
    return {**discount, "deleted": True}


def discount_amount(world: World, discount: DiscountBody, subtotal: int) -> int:
    """Returns what the discount takes off; never more than there is."""
    coupon = records.must_exist(world, coupons, discount["source"]["coupon"])
    if coupon["amount_off"] is not None:
        return min(coupon["amount_off"], max(subtotal, 0))
    return money.round_half_up(subtotal * Fraction(str(coupon["percent_off"])) / 100)


def is_once(world: World, discount: DiscountBody) -> bool:
    return records.must_exist(world, coupons, discount["source"]["coupon"])["duration"] == "once"


def _end(coupon: CouponBody, start: int) -> int | None:
    if coupon["duration"] != "repeating" or coupon["duration_in_months"] is None:
        return None
    return periods.add_intervals(datetime.fromtimestamp(start, UTC), "month", coupon["duration_in_months"])


def _usable_code(
    world: World, key: PromotionCodeId | None, customer: CustomerId, param: str
) -> PromotionCodeBody | None:
    if key is None:
        return None
    body = records.refer(world, promotion_codes, key, param)
    used_up = body["max_redemptions"] is not None and body["times_redeemed"] >= body["max_redemptions"]
    over = body["expires_at"] is not None and now(world) >= body["expires_at"]
    if not body["active"] or used_up or over:
        raise InvalidRequest("This promotion code is expired or inactive.", param, "promotion_code_expired")
    if body["customer"] not in (None, customer):
        raise InvalidRequest("This promotion code cannot be redeemed by this customer.", param)
    return body


def _free_id(world: World, requested: CouponId | None) -> CouponId:
    if requested is None:
        return CouponId(records.new_token(world.ids, "coupon", world.ids.next("coupon"))[:8])
    if records.get(world, coupons, requested) is not None:
        raise InvalidRequest("Coupon already exists.", "id", "resource_already_exists")
    return requested


def _percent(percent: Any) -> float | int:
    if not 0 < percent <= 100:
        raise InvalidRequest("Invalid percent_off: it must be greater than 0 and at most 100.", "percent_off")
    return int(percent) if percent == int(percent) else float(percent)


def _currency(params: Params) -> str:
    if not params.get("currency"):
        raise InvalidRequest("You must pass currency when passing amount_off", "currency", "parameter_missing")
    require_currency(params["currency"])
    return str(params["currency"])


def _future(world: World, timestamp: int | None, param: str) -> int | None:
    if timestamp is not None and timestamp <= now(world):
        raise InvalidRequest(f"{param} must be in the future.", param)
    return timestamp
