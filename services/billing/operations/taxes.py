"""Which tax is due on what is sold to whom."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from services.billing import money
from services.billing.operations import accounts, listing
from services.billing.tables import tax_ids
from services.kernel.world import World

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rate:
    """A percentage and why it is that."""

    percent: Fraction
    reason: str

    def on(self, amount: int) -> int:
        return money.half_up(amount * self.percent / 100)


NOT_COLLECTING = Rate(Fraction(0), "not_collecting")


def rate_for(world: World, customer: Body) -> Rate:
    """At home always; elsewhere in the union only from those who name no VAT id: the others account for it."""
    country = (customer["address"] or {}).get("country")
    account = accounts.billing_account(world)
    percent = Fraction(str(account["tax_percent"].get(country, 0)))
    if percent == 0 or country is None:
        return NOT_COLLECTING
    if customer["tax_exempt"] == "exempt":
        return Rate(Fraction(0), "customer_exempt")
    if customer["tax_exempt"] == "reverse":
        return Rate(Fraction(0), "reverse_charge")
    if country != account["country"] and _has_vat_id(world, customer["id"]):
        return Rate(Fraction(0), "reverse_charge")
    return Rate(percent, "standard_rated")


def shown(rate: Rate, taxable: int, amount: int) -> list[Body]:
    """Taxes as invoices and lines list them."""
    if rate is NOT_COLLECTING:
        return []
    key = f"{float(rate.percent):g}".replace(".", "_")
    return [
        {
            "amount": amount,
            "tax_behavior": "exclusive",
            "tax_rate_details": {"tax_rate": f"txr_vat_{key}"},
            "taxability_reason": rate.reason,
            "taxable_amount": taxable,
            "type": "tax_rate_details",
        }
    ]


def _has_vat_id(world: World, customer: str) -> bool:
    return any(one["type"] == "eu_vat" for one in listing.of(world, tax_ids, customer=customer))
