"""Credit notes: a final bill is not edited, it is credited."""

from dataclasses import dataclass
from typing import Any

from services.billing import money
from services.billing.errors import InvalidRequest
from services.billing.operations import customers, journal, listing, records, refunds
from services.billing.operations.records import Body, merged, now
from services.billing.shapes import invoices as shapes
from services.billing.tables import (
    charges,
    credit_note_lines,
    credit_notes,
    invoice_lines,
    invoice_payments,
    invoices,
    payment_intents,
)
from services.billing.tables import customers as customer_rows
from services.billing.tables import refunds as refund_rows
from services.kernel.world import World

Given = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Credited:
    """One line of a credit note: what it takes back, before and after discount and tax."""

    body: Body
    subtotal: int
    discount: int
    tax: int

    @property
    def total(self) -> int:
        return self.subtotal - self.discount + self.tax


@dataclass(frozen=True, slots=True)
class Split:
    """Where the money of a credit note goes."""

    before_payment: int
    refund: int
    linked: list[tuple[Body, int]]
    credit: int
    outside: int

    @property
    def after_payment(self) -> int:
        return self.refund + sum(amount for _, amount in self.linked) + self.credit + self.outside


def create(world: World, given: Given) -> Body:
    invoice = records.refer(world, invoices, given["invoice"], "invoice")
    if invoice["status"] not in ("open", "paid", "uncollectible"):
        raise InvalidRequest(f"You can't create a credit note for an invoice that is {invoice['status']}.", "invoice")
    lines = _lines(world, invoice, given)
    total = sum(line.total for line in lines)
    split = _split(world, invoice, given, total)
    body = _body(world, invoice, given, lines, split)
    body = records.add(world, credit_notes, body)
    for line in lines:
        records.add(world, credit_note_lines, {**line.body, "_credit_note": body["id"]})
    body = _settle(world, invoice, body, split)
    records.tell(world, "credit_note.created", body)
    return body


def update(world: World, key: str, given: Given) -> Body:
    body = records.need(world, credit_notes, key)
    changes: Body = {"memo": given["memo"] or None} if "memo" in given else {}
    if "metadata" in given:
        changes["metadata"] = merged(body["metadata"], given["metadata"])
    return records.change(world, credit_notes, body, changes, "credit_note.updated")


def void(world: World, key: str) -> Body:
    """Only what lowered an open bill can be taken back."""
    body = records.need(world, credit_notes, key)
    invoice = records.known(world, invoices, body["invoice"])
    if body["status"] == "void" or body["type"] != "pre_payment" or invoice["status"] != "open":
        raise InvalidRequest("You can only void issued credit notes of open invoices.", "id")
    amount = body["pre_payment_amount"]
    _lower(world, invoice, -amount)
    changes = {"status": "void", "voided_at": now(world)}
    return records.change(world, credit_notes, body, changes, "credit_note.voided")


# --- what is credited -----------------------------------------------------------------------------------------------


def _lines(world: World, invoice: Body, given: Given) -> list[Credited]:
    if given.get("lines"):
        if given.get("amount") is not None:
            raise InvalidRequest("You may only specify one of these parameters: amount, lines.", "amount")
        return [_line(world, invoice, one, f"lines[{at}]") for at, one in enumerate(given["lines"])]
    amount = given.get("amount")
    if amount is None or amount <= 0:
        raise InvalidRequest("Pass a positive amount, or lines.", "amount", "parameter_missing")
    tax = money.share(amount, invoice["_tax"], invoice["total"]) if invoice["total"] > 0 else 0
    body = shapes.credit_note_line(created=now(world), amount=amount - tax, description=None, kind="custom_line_item")
    body |= {"quantity": 1, "unit_amount": amount - tax, "unit_amount_decimal": str(amount - tax)}
    return [Credited(body, amount - tax, 0, tax)]


def _line(world: World, invoice: Body, given: Given, param: str) -> Credited:
    if given["type"] == "custom_line_item":
        quantity, unit = given.get("quantity") or 1, given.get("unit_amount")
        if unit is None or unit <= 0:
            raise InvalidRequest(
                "A custom line needs a positive unit_amount.", f"{param}[unit_amount]", "parameter_missing"
            )
        body = shapes.credit_note_line(
            created=now(world), amount=unit * quantity, description=given.get("description"), kind=given["type"]
        )
        body |= {"quantity": quantity, "unit_amount": unit, "unit_amount_decimal": str(unit)}
        return Credited(body, unit * quantity, 0, 0)
    if not given.get("invoice_line_item"):
        raise InvalidRequest("Missing required param.", f"{param}[invoice_line_item]", "parameter_missing")
    line = records.refer(world, invoice_lines, given["invoice_line_item"], f"{param}[invoice_line_item]")
    if line["invoice"] != invoice["id"]:
        raise InvalidRequest("This line belongs to another invoice.", f"{param}[invoice_line_item]")
    return _part_of(world, line, given, param)


def _part_of(world: World, line: Body, given: Given, param: str) -> Credited:
    """A number of its units, an amount of it, or all of it; discount and tax come along in proportion."""
    whole = line["amount"]
    quantity = given.get("quantity")
    if quantity is not None and not 0 < quantity <= (line["quantity"] or 1):
        raise InvalidRequest("The quantity is more than the line has.", f"{param}[quantity]")
    part = given.get("amount")
    if part is None:
        part = whole if quantity is None else whole * quantity // (line["quantity"] or 1)
    if not 0 < part <= whole:
        raise InvalidRequest("The amount is more than the line has.", f"{param}[amount]")
    discount = money.share(sum(one["amount"] for one in line["discount_amounts"]), part, whole)
    tax = money.share(sum(one["amount"] for one in line["taxes"]), part, whole)
    body = shapes.credit_note_line(
        created=now(world), amount=part, description=line["description"], kind="invoice_line_item"
    )
    body |= {"invoice_line_item": line["id"], "quantity": quantity, "discount_amount": discount}
    return Credited(body, part, discount, tax)


# --- where it goes --------------------------------------------------------------------------------------------------


def _split(world: World, invoice: Body, given: Given, total: int) -> Split:
    before = min(total, invoice["amount_remaining"]) if invoice["status"] != "paid" else 0
    linked = [_linked(world, invoice, one, f"refunds[{at}]") for at, one in enumerate(given.get("refunds") or [])]
    amounts = {name: given.get(name) or 0 for name in ("refund_amount", "credit_amount", "out_of_band_amount")}
    if wrong := next((name for name, amount in amounts.items() if amount < 0), None):
        raise InvalidRequest("Invalid non-negative integer", wrong, "parameter_invalid_integer")
    split = Split(before, amounts["refund_amount"], linked, amounts["credit_amount"], amounts["out_of_band_amount"])
    excess = total - before
    if split.after_payment != excess:
        named = money.spelt(split.after_payment, invoice["currency"])
        raise InvalidRequest(
            f"The sum of credit amount, refund amount and out of band amount ({named}) must equal the credit note "
            f"amount that was already paid ({money.spelt(excess, invoice['currency'])}).",
            "refund_amount",
        )
    room = _room(world, invoice) + sum(amount for _, amount in linked)
    if excess > room:
        left = money.spelt(room, invoice["currency"])
        raise InvalidRequest(f"The credit note amount is greater than what can still be credited ({left}).", "amount")
    return split


def _room(world: World, invoice: Body) -> int:
    """What was paid and neither credited nor refunded since; refunds that a note names are counted once."""
    charge = charge_of(world, invoice)
    linked = {
        one["refund"] for note in listing.of(world, credit_notes, invoice=invoice["id"]) for one in note["refunds"]
    }
    alone = 0
    if charge is not None:
        given = listing.of(world, refund_rows, charge=charge["id"])
        alone = sum(one["amount"] for one in given if one["id"] not in linked and one["status"] != "canceled")
    paid = invoice["amount_paid"] + max(invoice["_balance_applied"], 0)
    most = min(paid, invoice["total"] - invoice["pre_payment_credit_notes_amount"])
    return int(most - invoice["post_payment_credit_notes_amount"] - alone)


def charge_of(world: World, invoice: Body) -> Body | None:
    for payment in listing.of(world, invoice_payments, invoice=invoice["id"]):
        intent = records.known(world, payment_intents, payment["payment"]["payment_intent"])
        if intent["status"] == "succeeded":
            return records.known(world, charges, intent["latest_charge"])
    return None


def _linked(world: World, invoice: Body, given: Given, param: str) -> tuple[Body, int]:
    refund = records.refer(world, refund_rows, given["refund"], f"{param}[refund]")
    charge = charge_of(world, invoice)
    if charge is None or refund["charge"] != charge["id"]:
        raise InvalidRequest("This refund does not belong to a payment of the invoice.", f"{param}[refund]")
    notes = listing.of(world, credit_notes, invoice=invoice["id"])
    taken = sum(one["amount_refunded"] for note in notes for one in note["refunds"] if one["refund"] == refund["id"])
    left = refund["amount"] - taken
    amount = left if given.get("amount_refunded") is None else given["amount_refunded"]
    if not 0 < amount <= left:
        raise InvalidRequest(
            "The refund is smaller than that, or another credit note names it.", f"{param}[amount_refunded]"
        )
    return refund, amount


# --- doing it -------------------------------------------------------------------------------------------------------


def _body(world: World, invoice: Body, given: Given, lines: list[Credited], split: Split) -> Body:
    count = len(listing.of(world, credit_notes, invoice=invoice["id"])) + 1
    body = shapes.credit_note(created=now(world), invoice=invoice, number=f"{invoice['number']}-CN-{count:02d}")
    subtotal = sum(line.subtotal for line in lines)
    discount, tax = sum(line.discount for line in lines), sum(line.tax for line in lines)
    kinds = {(True, False): "pre_payment", (False, True): "post_payment"}
    return body | {
        "amount": subtotal - discount + tax,
        "subtotal": subtotal,
        "subtotal_excluding_tax": subtotal,
        "discount_amount": discount,
        "total": subtotal - discount + tax,
        "total_excluding_tax": subtotal - discount,
        "memo": given.get("memo"),
        "reason": given.get("reason"),
        "metadata": merged({}, given.get("metadata")),
        "pre_payment_amount": split.before_payment,
        "post_payment_amount": split.after_payment,
        "out_of_band_amount": split.outside or None,
        "type": kinds.get((split.before_payment > 0, split.after_payment > 0), "mixed"),
    }


def _settle(world: World, invoice: Body, body: Body, split: Split) -> Body:
    changes: Body = {"refunds": [_refund_line(refund, amount) for refund, amount in split.linked]}
    if split.before_payment:
        invoice = _lower(world, invoice, split.before_payment)
    if split.refund:
        charge = charge_of(world, invoice)
        if charge is None or split.refund > charge["amount"] - charge["amount_refunded"]:
            raise InvalidRequest("There is no payment left that could be refunded that much.", "refund_amount")
        refund = refunds.create(world, {"charge": charge["id"], "amount": split.refund})
        changes["refunds"].append(_refund_line(refund, split.refund))
    if split.credit:
        customer = records.known(world, customer_rows, invoice["customer"])
        entry = customers.enter(
            world, customer, -split.credit, invoice["currency"], "credit_note", credit_note=body["id"]
        )
        amounts = {journal.credit(customer["id"]): -split.credit, journal.CREDIT_NOTES: split.credit}
        journal.post(world, body["id"], invoice["currency"], amounts)
        changes["customer_balance_transaction"] = entry["id"]
    if split.outside:
        amounts = {journal.OUT_OF_BAND: -split.outside, journal.CREDIT_NOTES: split.outside}
        journal.post(world, body["id"], invoice["currency"], amounts)
    if split.after_payment:
        credited = {
            "post_payment_credit_notes_amount": invoice["post_payment_credit_notes_amount"] + split.after_payment
        }
        records.change(world, invoices, invoice, credited, "invoice.updated")
    return records.change(world, credit_notes, body, changes)


def _refund_line(refund: Body, amount: int) -> Body:
    return {"amount_refunded": amount, "payment_record_refund": None, "refund": refund["id"], "type": "refund"}


def _lower(world: World, invoice: Body, amount: int) -> Body:
    """What is owed shrinks (or, for a voided note, grows back); nothing left means paid."""
    owed = journal.receivable(invoice["customer"])
    side = journal.WRITTEN_OFF if invoice["status"] == "uncollectible" else owed
    journal.post(world, invoice["id"], invoice["currency"], {journal.CREDIT_NOTES: amount, side: -amount})
    changes = {
        "amount_due": invoice["amount_due"] - amount,
        "amount_remaining": invoice["amount_remaining"] - amount,
        "pre_payment_credit_notes_amount": invoice["pre_payment_credit_notes_amount"] + amount,
    }
    invoice = records.change(world, invoices, invoice, changes, "invoice.updated")
    if invoice["amount_remaining"]:
        return invoice
    from services.billing.operations import invoices as bills  # late: only a note that pays a bill needs them

    return bills.paid_without_money(world, invoice)
