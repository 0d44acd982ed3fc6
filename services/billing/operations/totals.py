"""What a draft comes to: lines, discounts, tax, and the customer's balance."""

from dataclasses import dataclass
from typing import Any

from services.billing import money
from services.billing.operations import coupons, listing, records, taxes
from services.billing.tables import customers, discounts, invoice_lines, invoices
from services.kernel.world import World

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a total meets the customer's balance: what is due, and the balance after."""

    due: int
    ending_balance: int


def settle(total: int, balance: int) -> Settlement:
    """Credit pays first; a debt is collected along; what is left over becomes credit."""
    combined = total + balance
    return Settlement(max(combined, 0), min(combined, 0))


def recount(world: World, invoice: Body) -> Body:
    """Work the totals of a draft out anew from its lines."""
    lines = listing.of(world, invoice_lines, invoice=invoice["id"])
    customer = records.known(world, customers, invoice["customer"])
    cuts = _discounted(world, invoice, lines)
    rate = taxes.rate_for(world, customer) if invoice["automatic_tax"]["enabled"] else taxes.NOT_COLLECTING
    taxed = 0
    for line, cut in zip(lines, cuts, strict=True):
        taxable = line["amount"] - sum(amount for _, amount in cut)
        tax = rate.on(taxable)
        taxed += tax
        changes = {
            "discount_amounts": [{"amount": amount, "discount": key} for key, amount in cut if amount],
            "taxes": taxes.shown(rate, taxable, tax),
        }
        records.change(world, invoice_lines, line, changes)
    return records.change(world, invoices, invoice, _totals(invoice, lines, cuts, rate, taxed, customer["balance"]))


def _totals(invoice: Body, lines: list[Body], cuts: "list[Cut]", rate: taxes.Rate, tax: int, balance: int) -> Body:
    subtotal = sum(line["amount"] for line in lines)
    off = {key: sum(amount for cut in cuts for k, amount in cut if k == key) for key in invoice["discounts"]}
    net = subtotal - sum(off.values())
    due = settle(net + tax, balance).due
    return {
        "subtotal": subtotal,
        "subtotal_excluding_tax": subtotal,
        "total_discount_amounts": [{"amount": amount, "discount": key} for key, amount in off.items()],
        "total_taxes": taxes.shown(rate, net, tax),
        "total_excluding_tax": net,
        "total": net + tax,
        "_tax": tax,
        "starting_balance": balance,
        "amount_due": due,
        "amount_remaining": due,
    }


# What each discount takes off one line.
Cut = list[tuple[str, int]]


def _discounted(world: World, invoice: Body, lines: list[Body]) -> list[Cut]:
    cuts: list[Cut] = [[] for _ in lines]
    left = [line["amount"] if line["discountable"] else 0 for line in lines]
    for key in invoice["discounts"]:
        discount = records.known(world, discounts, key)
        off = coupons.amount_of(world, discount, sum(left))
        for place, part in enumerate(money.spread(off, left)):
            cuts[place].append((key, part))
            left[place] -= part
    return cuts
