"""Checks for discounts: by what they take off and for how long, whichever coupon says so."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from services.billing.operations import records
from services.billing.rows import CouponId, CustomerId, DiscountId, SubscriptionId
from services.billing.tables import coupons, discounts, subscriptions
from services.kernel.checks import Check, Finding
from services.kernel.world import World


class DiscountTerms(BaseModel):
    """A percentage, and how long it runs: `once`, `forever`, or `repeating` for so many months."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    percent_off: float
    duration: str
    months: int | None = None

    def __str__(self) -> str:
        return f"{self.percent_off:g} % {self.duration}{'' if self.months is None else f' for {self.months} months'}"


class SubscriptionDiscounted(Check):
    """The subscription of this customer has discounts with exactly these terms, in any order."""

    subscription: SubscriptionId
    customer: CustomerId
    terms: tuple[DiscountTerms, ...]

    def run(self, world: World) -> Finding:
        body = records.get(world, subscriptions, self.subscription)
        if body is None or body["customer"] != self.customer:
            return self.fails(f"{self.subscription} is no subscription of {self.customer}")
        present = _terms(world, body["discounts"])
        if sorted(map(str, present)) != sorted(map(str, self.terms)):
            return self.fails(f"{self.subscription} has {_list_terms(present)}, not {_list_terms(self.terms)}")
        return self.holds(f"{self.subscription} has {_list_terms(present)}")


def _terms(world: World, keys: Sequence[DiscountId]) -> list[DiscountTerms]:
    redeemed = [records.must_exist(world, discounts, key)["source"]["coupon"] for key in keys]
    bodies = [records.must_exist(world, coupons, CouponId(key)) for key in redeemed]
    return [
        # An amount off is no percentage: it fits no terms.
        DiscountTerms(
            percent_off=coupon["percent_off"] or 0, duration=coupon["duration"], months=coupon["duration_in_months"]
        )
        for coupon in bodies
    ]


def _list_terms(terms: Sequence[DiscountTerms]) -> str:
    return ", ".join(sorted(map(str, terms))) or "no discount"
