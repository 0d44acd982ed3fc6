"""Which tax is due on what is sold to whom."""

from dataclasses import dataclass
from fractions import Fraction

from services.billing import money
from services.billing.objects.customers import CustomerBody
from services.billing.objects.invoice_lines import TaxAmount
from services.billing.operations import accounts, records
from services.billing.tables import tax_ids
from services.kernel.world import World


@dataclass(frozen=True, slots=True)
class TaxRate:
    """A percentage and why it is that."""

    percent: Fraction
    reason: str

    def tax_on(self, amount: int) -> int:
        return money.round_half_up(amount * self.percent / 100)


NOT_COLLECTING = TaxRate(Fraction(0), "not_collecting")


def rate_for(world: World, customer: CustomerBody) -> TaxRate:
    """Returns the rate that a customer pays: always at home, elsewhere in the union only without a VAT id."""
    country = customer["address"]["country"] if customer["address"] else None
    account = accounts.billing_account(world)
    percent = Fraction(str(account["tax_percent"].get(country, 0))) if country is not None else Fraction(0)
    if percent == 0:
        return NOT_COLLECTING
    if customer["tax_exempt"] == "exempt":
        return TaxRate(Fraction(0), "customer_exempt")
    if customer["tax_exempt"] == "reverse" or (country != account["country"] and _has_vat_id(world, customer)):
        return TaxRate(Fraction(0), "reverse_charge")
    return TaxRate(percent, "standard_rated")


def tax_amounts(rate: TaxRate, taxable: int, amount: int) -> list[TaxAmount]:
    """Returns taxes as invoices and lines list them."""
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


def _has_vat_id(world: World, customer: CustomerBody) -> bool:
    return any(tax_id["type"] == "eu_vat" for tax_id in records.find_by(world, tax_ids, customer=customer["id"]))
