"""Coupons, the codes that stand for them, and the discounts they become."""

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from services.billing import money
from services.billing.errors import InvalidRequest, NoSuchObject
from services.billing.operations import listing, periods, records
from services.billing.operations.catalogue import need_currency
from services.billing.operations.records import Body, merged, now
from services.billing.shapes import catalogue
from services.billing.tables import coupons, customers, discounts, promotion_codes, subscriptions
from services.kernel.world import World

Given = dict[str, Any]


def create(world: World, given: Given) -> Body:
    percent, amount = given.get("percent_off"), given.get("amount_off")
    if (percent is None) == (amount is None):
        raise InvalidRequest("You must pass either percent_off or amount_off, and not both.", "percent_off")
    duration = given.get("duration") or "once"
    months = given.get("duration_in_months")
    if (duration == "repeating") != (months is not None):
        raise InvalidRequest("duration_in_months belongs to a repeating coupon.", "duration_in_months")
    body = catalogue.coupon(created=now(world), duration=duration) | {
        "id": _free_id(world, given.get("id")),
        "percent_off": None if percent is None else _percent(percent),
        "amount_off": amount,
        "currency": _currency(given) if amount is not None else None,
        "duration_in_months": months,
        "max_redemptions": given.get("max_redemptions"),
        "name": given.get("name"),
        "redeem_by": _future(world, given.get("redeem_by"), "redeem_by"),
        "metadata": merged({}, given.get("metadata")),
    }
    return records.add(world, coupons, body, "coupon.created")


def update(world: World, key: str, given: Given) -> Body:
    body = read(world, key)
    changes: Body = {"name": given["name"] or None} if "name" in given else {}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    return records.change(world, coupons, body, changes, "coupon.updated")


def delete(world: World, key: str) -> Body:
    """Nobody can redeem it again; discounts that exist run on."""
    body = read(world, key)
    records.change(world, coupons, body, {"deleted": True})
    records.tell(world, "coupon.deleted", body)
    return {"id": body["id"], "object": "coupon", "deleted": True}


def read(world: World, key: str) -> Body:
    """By its name; the vendor's own clients write a space in a path as a plus."""
    body = records.get(world, coupons, key) or records.get(world, coupons, key.replace("+", " "))
    if body is None or body.get("deleted"):
        raise NoSuchObject("coupon", key)
    return body


def valid(coupon: Body, at: int) -> bool:
    over = coupon["redeem_by"] is not None and at >= coupon["redeem_by"]
    used_up = coupon["max_redemptions"] is not None and coupon["times_redeemed"] >= coupon["max_redemptions"]
    return not (over or used_up or coupon.get("deleted", False))


# --- promotion codes ------------------------------------------------------------------------------------------------


def create_code(world: World, given: Given) -> Body:
    coupon = records.refer(world, coupons, given["promotion"]["coupon"], "promotion[coupon]")
    if not valid(coupon, now(world)):
        raise InvalidRequest(f"Coupon expired: {coupon['id']}", "promotion[coupon]", "coupon_expired")
    code = given.get("code") or records.new_id("", world.ids.next("code"))[1:9].upper()
    if any(one["active"] for one in listing.of(world, promotion_codes, code=code)):
        raise InvalidRequest(f"An active promotion code with `code: {code}` already exists.", "code")
    if customer := given.get("customer"):
        records.refer(world, customers, customer, "customer")
    body = catalogue.promotion_code(created=now(world), code=code, coupon=coupon["id"]) | {
        "active": given.get("active", True),
        "customer": customer,
        "max_redemptions": given.get("max_redemptions"),
        "expires_at": _future(world, given.get("expires_at"), "expires_at"),
        "metadata": merged({}, given.get("metadata")),
    }
    if restrictions := given.get("restrictions"):
        body["restrictions"] = {**body["restrictions"], **restrictions}
    return records.add(world, promotion_codes, body, "promotion_code.created")


def update_code(world: World, key: str, given: Given) -> Body:
    body = records.need(world, promotion_codes, key)
    changes: Body = {"active": given["active"]} if "active" in given else {}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    return records.change(world, promotion_codes, body, changes, "promotion_code.updated")


# --- discounts ------------------------------------------------------------------------------------------------------


def redeem(world: World, given: Given, customer: str, param: str, **about: str | None) -> Body:
    """Turn a coupon, a promotion code or a discount that exists into a discount on something."""
    if discount := given.get("discount"):
        return records.refer(world, discounts, discount, f"{param}[discount]")
    code = _code(world, given.get("promotion_code"), customer, f"{param}[promotion_code]")
    key = code["promotion"]["coupon"] if code else given.get("coupon")
    if key is None:
        raise InvalidRequest("Pass a coupon, a promotion_code or a discount.", param, "parameter_missing")
    coupon = records.refer(world, coupons, key, f"{param}[coupon]")
    if not valid(coupon, now(world)):
        raise InvalidRequest(f"Coupon expired: {key}", f"{param}[coupon]", "coupon_expired")
    records.change(world, coupons, coupon, {"times_redeemed": coupon["times_redeemed"] + 1})
    if code:
        records.change(world, promotion_codes, code, {"times_redeemed": code["times_redeemed"] + 1})
    body = catalogue.discount(
        start=now(world),
        end=_end(coupon, now(world)),
        coupon=key,
        customer=customer,
        promotion_code=code["id"] if code else None,
        **about,
    )
    return records.add(world, discounts, body, "customer.discount.created")


def drop(world: World, discount: Body) -> Body:
    """Off the subscription it was on; the discount itself is kept for the invoices that name it."""
    if subscription := discount["subscription"]:
        owner = records.known(world, subscriptions, subscription)
        left = [key for key in owner["discounts"] if key != discount["id"]]
        records.change(world, subscriptions, owner, {"discounts": left}, "customer.subscription.updated")
    records.change(world, discounts, discount, {"_ended": now(world)})
    records.tell(world, "customer.discount.deleted", discount)
    return {**discount, "deleted": True}


def amount_of(world: World, discount: Body, on: int) -> int:
    """What the discount takes off so much; never more than there is."""
    coupon = records.known(world, coupons, discount["source"]["coupon"])
    if coupon["amount_off"] is not None:
        return int(min(coupon["amount_off"], max(on, 0)))
    return money.half_up(on * Fraction(str(coupon["percent_off"])) / 100)


def is_once(world: World, discount: Body) -> bool:
    return bool(records.known(world, coupons, discount["source"]["coupon"])["duration"] == "once")


def _end(coupon: Body, start: int) -> int | None:
    if coupon["duration"] != "repeating":
        return None
    return periods.later(datetime.fromtimestamp(start, UTC), "month", coupon["duration_in_months"])


def _code(world: World, key: str | None, customer: str, param: str) -> Body | None:
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


def _free_id(world: World, wanted: str | None) -> str:
    if wanted is None:
        return records.new_id("", world.ids.next("coupon"))[1:9]
    if records.get(world, coupons, wanted) is not None:
        raise InvalidRequest("Coupon already exists.", "id", "resource_already_exists")
    return wanted


def _percent(percent: Any) -> float | int:
    if not 0 < percent <= 100:
        raise InvalidRequest("Invalid percent_off: it must be greater than 0 and at most 100.", "percent_off")
    return int(percent) if percent == int(percent) else float(percent)


def _currency(given: Given) -> str:
    if not given.get("currency"):
        raise InvalidRequest("You must pass currency when passing amount_off", "currency", "parameter_missing")
    need_currency(given["currency"])
    return str(given["currency"])


def _future(world: World, at: int | None, param: str) -> int | None:
    if at is not None and at <= now(world):
        raise InvalidRequest(f"{param} must be in the future.", param)
    return at
