"""Credit notes: a finalized invoice is not edited, it is credited."""

from dataclasses import dataclass

from services.billing import money
from services.billing.errors import InvalidRequest
from services.billing.objects.credit_notes import (
    CreditNoteBody,
    CreditNoteLineBody,
    CreditNoteType,
    LinkedRefund,
    new_credit_note,
    new_credit_note_line,
)
from services.billing.objects.invoice_lines import InvoiceLineBody
from services.billing.objects.invoices import InvoiceBody
from services.billing.objects.payments import ChargeBody, RefundBody
from services.billing.operations import customers, journal, records, refunds
from services.billing.operations import invoices as invoicing
from services.billing.operations.params import Params, merge_metadata, pick_changes
from services.billing.operations.records import now
from services.billing.rows import CreditNoteId
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


@dataclass(frozen=True, slots=True)
class CreditLine:
    """One line of a credit note: what it takes back, before and after discount and tax."""

    body: CreditNoteLineBody
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
    linked: list[tuple[RefundBody, int]]
    credit: int
    out_of_band: int

    @property
    def after_payment(self) -> int:
        return self.refund + sum(amount for _, amount in self.linked) + self.credit + self.out_of_band


def create(world: World, params: Params) -> CreditNoteBody:
    invoice = records.refer(world, invoices, params["invoice"], "invoice")
    if invoice["status"] not in ("open", "paid", "uncollectible"):
        raise InvalidRequest(f"You can't create a credit note for an invoice that is {invoice['status']}.", "invoice")
    lines = _lines(world, invoice, params)
    total = sum(line.total for line in lines)
    split = _split(world, invoice, params, total)
    body = records.add(world, credit_notes, _body(world, invoice, params, lines, split))
    for line in lines:
        records.add(world, credit_note_lines, line.body | {"_credit_note": body["id"]})
    body = _settle(world, invoice, body, split)
    records.record_event(world, "credit_note.created", body)
    return body


def update(world: World, key: CreditNoteId, params: Params) -> CreditNoteBody:
    body = records.need(world, credit_notes, key)
    changes: CreditNoteBody = pick_changes(body, params, ("memo",))
    return records.change(world, credit_notes, body, changes, "credit_note.updated")


def void(world: World, key: CreditNoteId) -> CreditNoteBody:
    """Only a note that lowered an open invoice can be voided."""
    body = records.need(world, credit_notes, key)
    invoice = records.must_exist(world, invoices, body["invoice"])
    if body["status"] == "void" or body["type"] != "pre_payment" or invoice["status"] != "open":
        raise InvalidRequest("You can only void issued credit notes of open invoices.", "id")
    _lower_amount_due(world, invoice, -body["pre_payment_amount"])
    changes: CreditNoteBody = {"status": "void", "voided_at": now(world)}
    return records.change(world, credit_notes, body, changes, "credit_note.voided")


# --- what is credited -----------------------------------------------------------------------------------------------


def _lines(world: World, invoice: InvoiceBody, params: Params) -> list[CreditLine]:
    if params.get("lines"):
        if params.get("amount") is not None:
            raise InvalidRequest("You may only specify one of these parameters: amount, lines.", "amount")
        return [_line(world, invoice, line, f"lines[{index}]") for index, line in enumerate(params["lines"])]
    amount = params.get("amount")
    if amount is None or amount <= 0:
        raise InvalidRequest("Pass a positive amount, or lines.", "amount", "parameter_missing")
    tax = money.share(amount, invoice["_tax"], invoice["total"]) if invoice["total"] > 0 else 0
    body = new_credit_note_line(created=now(world), amount=amount - tax, description=None, kind="custom_line_item")
    body |= {"quantity": 1, "unit_amount": amount - tax, "unit_amount_decimal": str(amount - tax)}
    return [CreditLine(body, amount - tax, 0, tax)]


def _line(world: World, invoice: InvoiceBody, params: Params, param: str) -> CreditLine:
    if params["type"] == "custom_line_item":
        quantity, unit = params.get("quantity") or 1, params.get("unit_amount")
        if unit is None or unit <= 0:
            raise InvalidRequest(
                "A custom line needs a positive unit_amount.", f"{param}[unit_amount]", "parameter_missing"
            )
        body = new_credit_note_line(
            created=now(world), amount=unit * quantity, description=params.get("description"), kind=params["type"]
        )
        body |= {"quantity": quantity, "unit_amount": unit, "unit_amount_decimal": str(unit)}
        return CreditLine(body, unit * quantity, 0, 0)
    if not params.get("invoice_line_item"):
        raise InvalidRequest("Missing required param.", f"{param}[invoice_line_item]", "parameter_missing")
    line = records.refer(world, invoice_lines, params["invoice_line_item"], f"{param}[invoice_line_item]")
    if line["invoice"] != invoice["id"]:
        raise InvalidRequest("This line belongs to another invoice.", f"{param}[invoice_line_item]")
    return _part_of(world, line, params, param)


def _part_of(world: World, line: InvoiceLineBody, params: Params, param: str) -> CreditLine:
    """Credits a number of units, an amount, or all of a line; discount and tax come along in proportion."""
    whole = line["amount"]
    quantity = params.get("quantity")
    if quantity is not None and not 0 < quantity <= (line["quantity"] or 1):
        raise InvalidRequest("The quantity is more than the line has.", f"{param}[quantity]")
    part = params.get("amount")
    if part is None:
        part = whole if quantity is None else whole * quantity // (line["quantity"] or 1)
    if not 0 < part <= whole:
        raise InvalidRequest("The amount is more than the line has.", f"{param}[amount]")
    discount = money.share(sum(off["amount"] for off in line["discount_amounts"]), part, whole)
    tax = money.share(sum(tax["amount"] for tax in line["taxes"]), part, whole)
    body = new_credit_note_line(
        created=now(world), amount=part, description=line["description"], kind="invoice_line_item"
    )
    body |= {"invoice_line_item": line["id"], "quantity": quantity, "discount_amount": discount}
    return CreditLine(body, part, discount, tax)


# --- where it goes --------------------------------------------------------------------------------------------------


def _split(world: World, invoice: InvoiceBody, params: Params, total: int) -> Split:
    before = min(total, invoice["amount_remaining"]) if invoice["status"] != "paid" else 0
    linked = [
        _link_refund(world, invoice, refund, f"refunds[{index}]")
        for index, refund in enumerate(params.get("refunds") or [])
    ]
    amounts = {name: params.get(name) or 0 for name in ("refund_amount", "credit_amount", "out_of_band_amount")}
    if wrong := next((name for name, amount in amounts.items() if amount < 0), None):
        raise InvalidRequest("Invalid non-negative integer", wrong, "parameter_invalid_integer")
    split = Split(before, amounts["refund_amount"], linked, amounts["credit_amount"], amounts["out_of_band_amount"])
    excess = total - before
    if split.after_payment != excess:
        total_sent = money.format_amount(split.after_payment, invoice["currency"])
        raise InvalidRequest(
            f"The sum of credit amount, refund amount and out of band amount ({total_sent}) must equal the credit note "
            f"amount that was already paid ({money.format_amount(excess, invoice['currency'])}).",
            "refund_amount",
        )
    room = _creditable(world, invoice) + sum(amount for _, amount in linked)
    if excess > room:
        left = money.format_amount(room, invoice["currency"])
        raise InvalidRequest(f"The credit note amount is greater than what can still be credited ({left}).", "amount")
    return split


def _creditable(world: World, invoice: InvoiceBody) -> int:
    """Returns what was paid and neither credited nor refunded since; refunds that a note names are counted once."""
    charge = _charge_of(world, invoice)
    notes = records.find_by(world, credit_notes, invoice=invoice["id"])
    linked = {link["refund"] for note in notes for link in note["refunds"]}
    alone = 0
    if charge is not None:
        refund_bodies = records.find_by(world, refund_rows, charge=charge["id"])
        alone = sum(
            refund["amount"]
            for refund in refund_bodies
            if refund["id"] not in linked and refund["status"] != "canceled"
        )
    paid = invoice["amount_paid"] + max(invoice["_balance_applied"], 0)
    most = min(paid, invoice["total"] - invoice["pre_payment_credit_notes_amount"])
    return most - invoice["post_payment_credit_notes_amount"] - alone


def _charge_of(world: World, invoice: InvoiceBody) -> ChargeBody | None:
    for payment in records.find_by(world, invoice_payments, invoice=invoice["id"]):
        intent = records.must_exist(world, payment_intents, payment["payment"]["payment_intent"])
        if intent["status"] == "succeeded" and intent["latest_charge"] is not None:
            return records.must_exist(world, charges, intent["latest_charge"])
    return None


def _link_refund(world: World, invoice: InvoiceBody, params: Params, param: str) -> tuple[RefundBody, int]:
    refund = records.refer(world, refund_rows, params["refund"], f"{param}[refund]")
    charge = _charge_of(world, invoice)
    if charge is None or refund["charge"] != charge["id"]:
        raise InvalidRequest("This refund does not belong to a payment of the invoice.", f"{param}[refund]")
    notes = records.find_by(world, credit_notes, invoice=invoice["id"])
    taken = sum(link["amount_refunded"] for note in notes for link in note["refunds"] if link["refund"] == refund["id"])
    left = refund["amount"] - taken
    amount = left if params.get("amount_refunded") is None else params["amount_refunded"]
    if not 0 < amount <= left:
        raise InvalidRequest(
            "The refund is smaller than that, or another credit note names it.", f"{param}[amount_refunded]"
        )
    return refund, amount


# --- doing it -------------------------------------------------------------------------------------------------------


def _body(world: World, invoice: InvoiceBody, params: Params, lines: list[CreditLine], split: Split) -> CreditNoteBody:
    count = len(records.find_by(world, credit_notes, invoice=invoice["id"])) + 1
    body = new_credit_note(created=now(world), invoice=invoice, number=f"{invoice['number']}-CN-{count:02d}")
    subtotal = sum(line.subtotal for line in lines)
    discount, tax = sum(line.discount for line in lines), sum(line.tax for line in lines)
    kinds: dict[tuple[bool, bool], CreditNoteType] = {(True, False): "pre_payment", (False, True): "post_payment"}
    return body | {
        "amount": subtotal - discount + tax,
        "subtotal": subtotal,
        "subtotal_excluding_tax": subtotal,
        "discount_amount": discount,
        "total": subtotal - discount + tax,
        "total_excluding_tax": subtotal - discount,
        "memo": params.get("memo"),
        "reason": params.get("reason"),
        "metadata": merge_metadata({}, params.get("metadata")),
        "pre_payment_amount": split.before_payment,
        "post_payment_amount": split.after_payment,
        "out_of_band_amount": split.out_of_band or None,
        "type": kinds.get((split.before_payment > 0, split.after_payment > 0), "mixed"),
    }


def _settle(world: World, invoice: InvoiceBody, body: CreditNoteBody, split: Split) -> CreditNoteBody:
    changes: CreditNoteBody = {"refunds": [_refund_line(refund, amount) for refund, amount in split.linked]}
    if split.before_payment:
        invoice = _lower_amount_due(world, invoice, split.before_payment)
    if split.refund:
        charge = _charge_of(world, invoice)
        if charge is None or split.refund > charge["amount"] - charge["amount_refunded"]:
            raise InvalidRequest("There is no payment left that could be refunded that much.", "refund_amount")
        refund = refunds.create(world, {"charge": charge["id"], "amount": split.refund})
        changes["refunds"].append(_refund_line(refund, split.refund))
    if split.credit:
        customer = records.must_exist(world, customer_rows, invoice["customer"])
        entry = customers.move_balance(
            world, customer, -split.credit, invoice["currency"], "credit_note", credit_note=body["id"]
        )
        amounts = {journal.credit(customer["id"]): -split.credit, journal.CREDIT_NOTES: split.credit}
        journal.post(world, body["id"], invoice["currency"], amounts)
        changes["customer_balance_transaction"] = entry["id"]
    if split.out_of_band:
        amounts = {journal.OUT_OF_BAND: -split.out_of_band, journal.CREDIT_NOTES: split.out_of_band}
        journal.post(world, body["id"], invoice["currency"], amounts)
    if split.after_payment:
        credited: InvoiceBody = {
            "post_payment_credit_notes_amount": invoice["post_payment_credit_notes_amount"] + split.after_payment
        }
        records.change(world, invoices, invoice, credited, "invoice.updated")
    return records.change(world, credit_notes, body, changes)


def _refund_line(refund: RefundBody, amount: int) -> LinkedRefund:
    return {"amount_refunded": amount, "payment_record_refund": None, "refund": refund["id"], "type": "refund"}


def _lower_amount_due(world: World, invoice: InvoiceBody, amount: int) -> InvoiceBody:
    """Lowers what is owed (for a voided note it grows back); an invoice with nothing left is paid."""
    owed = journal.receivable(invoice["customer"])
    side = journal.WRITTEN_OFF if invoice["status"] == "uncollectible" else owed
    journal.post(world, invoice["id"], invoice["currency"], {journal.CREDIT_NOTES: amount, side: -amount})
    changes: InvoiceBody = {
        "amount_due": invoice["amount_due"] - amount,
        "amount_remaining": invoice["amount_remaining"] - amount,
        "pre_payment_credit_notes_amount": invoice["pre_payment_credit_notes_amount"] + amount,
    }
    invoice = records.change(world, invoices, invoice, changes, "invoice.updated")
    if invoice["amount_remaining"]:
        return invoice
    return invoicing.mark_paid_by_credit(world, invoice)
