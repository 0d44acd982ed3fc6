"""The totals of a draft: lines, discounts, tax, and the customer's balance."""

from dataclasses import dataclass

from services.billing import money
from services.billing.objects.invoice_lines import InvoiceLineBody
from services.billing.objects.invoices import InvoiceBody
from services.billing.operations import coupons, records, taxes
from services.billing.rows import DiscountId
from services.billing.tables import customers, discounts, invoice_lines, invoices
from services.kernel.world import World

# What each discount takes off one line.
LineDiscounts = list[tuple[DiscountId, int]]


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a total meets the customer's balance: what is due, and the balance after."""

    due: int
    ending_balance: int


def settle(total: int, balance: int) -> Settlement:
    """Applies the customer's balance: credit pays first, a debt is collected, and what is left over becomes credit."""
    combined = total + balance
    return Settlement(max(combined, 0), min(combined, 0))


def recompute(world: World, invoice: InvoiceBody) -> InvoiceBody:
    """Computes the totals of a draft from its lines."""
    lines = records.find_by(world, invoice_lines, invoice=invoice["id"])
    customer = records.must_exist(world, customers, invoice["customer"])
    off_lines = _discount_lines(world, invoice, lines)
    rate = taxes.rate_for(world, customer) if invoice["automatic_tax"]["enabled"] else taxes.NOT_COLLECTING
    total_tax = 0
    for line, off in zip(lines, off_lines, strict=True):
        taxable = line["amount"] - sum(amount for _, amount in off)
        tax = rate.tax_on(taxable)
        total_tax += tax
        line_changes: InvoiceLineBody = {
            "discount_amounts": [{"amount": amount, "discount": key} for key, amount in off if amount],
            "taxes": taxes.tax_amounts(rate, taxable, tax),
        }
        records.change(world, invoice_lines, line, line_changes)
    changes = _totals(invoice, lines, off_lines, rate, total_tax, customer["balance"])
    return records.change(world, invoices, invoice, changes)


def _totals(
    invoice: InvoiceBody,
    lines: list[InvoiceLineBody],
    off_lines: list[LineDiscounts],
    rate: taxes.TaxRate,
    tax: int,
    balance: int,
) -> InvoiceBody:
    subtotal = sum(line["amount"] for line in lines)
    off_total = {
        key: sum(amount for off in off_lines for discount, amount in off if discount == key)
        for key in invoice["discounts"]
    }
    net = subtotal - sum(off_total.values())
    due = settle(net + tax, balance).due
    return {
        "subtotal": subtotal,
        "subtotal_excluding_tax": subtotal,
        "total_discount_amounts": [{"amount": amount, "discount": key} for key, amount in off_total.items()],
        "total_taxes": taxes.tax_amounts(rate, net, tax),
        "total_excluding_tax": net,
        "total": net + tax,
        "_tax": tax,
        "starting_balance": balance,
        "amount_due": due,
        "amount_remaining": due,
    }


def _discount_lines(world: World, invoice: InvoiceBody, lines: list[InvoiceLineBody]) -> list[LineDiscounts]:
    off_lines: list[LineDiscounts] = [[] for _ in lines]
    remaining = [line["amount"] if line["discountable"] else 0 for line in lines]
    for key in invoice["discounts"]:
        discount = records.must_exist(world, discounts, key)
        off = coupons.discount_amount(world, discount, sum(remaining))
        for index, part in enumerate(money.distribute(off, remaining)):
            off_lines[index].append((key, part))
            remaining[index] -= part
    return off_lines
