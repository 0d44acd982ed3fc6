"""Invoices through their whole life, and credit notes, by the vendor's SDK."""

import pytest
import stripe


def find_customer(v1, name: str):
    return next(one for one in v1.customers.list({"limit": 100}).data if one.name == name)


def create_invoice(v1, name: str = "Casa Lumen", amount: int = 5000, **invoice):
    """An open invoice over some amount."""
    customer = find_customer(v1, name).id
    draft = v1.invoices.create({"customer": customer, **invoice})
    v1.invoice_items.create(
        {"customer": customer, "invoice": draft.id, "amount": amount, "currency": "eur", "description": "Work"}
    )
    return v1.invoices.finalize_invoice(draft.id)


def paid_invoice(v1, name: str = "Casa Lumen"):
    return v1.invoices.list({"customer": find_customer(v1, name).id, "status": "paid"}).data[0]


def charge_of(v1, invoice):
    full = v1.invoices.retrieve(invoice.id, {"expand": ["payments.data.payment.payment_intent.latest_charge"]})
    return full.payments.data[0].payment.payment_intent.latest_charge


def test_a_draft_is_edited_finalized_and_paid(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    draft = v1.invoices.create({"customer": casa.id, "collection_method": "send_invoice", "days_until_due": 30})
    item = v1.invoice_items.create({"customer": casa.id, "invoice": draft.id, "amount": 4000, "currency": "eur"})
    v1.invoice_items.update(item.id, {"amount": 4500, "description": "Workshop"})
    v1.invoices.update(draft.id, {"description": "PO 7", "metadata": {"po": "7"}})

    opened = v1.invoices.finalize_invoice(draft.id, {"auto_advance": False})
    settled = v1.invoices.pay(draft.id)

    assert isinstance(opened, stripe.Invoice)
    assert (opened.status, opened.total, opened.amount_remaining) == ("open", 4500, 4500)
    assert opened.number.startswith(casa.invoice_prefix)
    assert opened.lines.data[0].description == "Workshop"
    assert opened.customer_name == "Casa Lumen"
    assert (settled.status, settled.amount_paid, settled.amount_remaining) == ("paid", 4500, 0)
    with pytest.raises(stripe.InvalidRequestError, match="already finalized"):
        v1.invoices.finalize_invoice(draft.id)
    with pytest.raises(stripe.InvalidRequestError, match="already paid"):
        v1.invoices.pay(draft.id)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.invoice_items.create({"customer": casa.id, "invoice": draft.id, "amount": 1, "currency": "eur"})
    assert refused.value.code == "invoice_not_editable"


def test_a_draft_can_be_deleted_and_a_final_bill_cannot(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    draft = v1.invoices.create({"customer": casa.id})
    item = v1.invoice_items.create({"customer": casa.id, "invoice": draft.id, "amount": 100, "currency": "eur"})

    assert v1.invoice_items.retrieve(item.id).invoice == draft.id
    assert v1.invoice_items.delete(item.id).deleted
    assert v1.invoices.retrieve(draft.id).total == 0
    assert v1.invoices.delete(draft.id).deleted
    with pytest.raises(stripe.InvalidRequestError):
        v1.invoices.delete(paid_invoice(v1).id)


def test_pending_items_wait_for_the_draft_that_includes_them(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    price = v1.prices.create({"product": "prod_team", "currency": "eur", "unit_amount": 700})
    v1.invoice_items.create({"customer": casa.id, "pricing": {"price": price.id}, "quantity": 2})

    without = v1.invoices.create({"customer": casa.id})
    included = v1.invoices.create({"customer": casa.id, "pending_invoice_items_behavior": "include"})

    assert (without.total, included.total) == (0, 1400)
    assert included.lines.data[0].pricing.price_details.price == price.id
    assert v1.invoice_items.list({"customer": casa.id, "pending": True}).data == []
    assert len(v1.invoice_items.list({"invoice": included.id}).data) == 1
    assert v1.invoices.finalize_invoice(without.id).status == "paid"


def test_an_open_bill_is_voided_or_given_up_and_then_paid_after_all(v1) -> None:
    one, two = create_invoice(v1), create_invoice(v1)

    void = v1.invoices.void_invoice(one.id)
    lost = v1.invoices.mark_uncollectible(two.id)
    found = v1.invoices.pay(two.id)

    assert (void.status, lost.status, found.status) == ("void", "uncollectible", "paid")
    for refused in (v1.invoices.void_invoice, v1.invoices.mark_uncollectible):
        with pytest.raises(stripe.InvalidRequestError, match="only pass in open invoices"):
            refused(two.id)


def test_a_bill_is_paid_out_of_band_without_a_charge(v1) -> None:
    bill = create_invoice(v1)
    before = len(v1.charges.list({"customer": bill.customer}).data)

    settled = v1.invoices.pay(bill.id, {"paid_out_of_band": True})

    assert (settled.status, settled.amount_remaining) == ("paid", 0)
    assert len(v1.charges.list({"customer": bill.customer}).data) == before
    assert v1.invoice_payments.list({"invoice": bill.id}).data[0].status == "canceled"


def test_a_refused_card_leaves_the_bill_open_and_its_traces(v1) -> None:
    bill = create_invoice(v1, "Nordvik Shipping")

    with pytest.raises(stripe.CardError) as refused:
        v1.invoices.pay(bill.id)
    after = v1.invoices.retrieve(bill.id, {"expand": ["payments.data.payment.payment_intent"]})

    assert (refused.value.code, refused.value.error.decline_code) == ("card_declined", "insufficient_funds")
    assert isinstance(refused.value.error.payment_intent, stripe.PaymentIntent)
    assert (after.status, after.attempt_count) == ("open", 1)
    assert after.payments.data[0].payment.payment_intent.last_payment_error.code == "card_declined"
    assert v1.charges.retrieve(refused.value.error.charge).status == "failed"
    assert v1.customers.retrieve(bill.customer).delinquent is True


def test_a_bill_is_sent_to_an_address(v1) -> None:
    bill = create_invoice(v1, collection_method="send_invoice", days_until_due=14)

    sent = v1.invoices.send_invoice(bill.id)

    assert sent.status == "open"
    assert [one.data.object.id for one in v1.events.list({"type": "invoice.sent"}).data] == [bill.id]


def test_a_vat_id_is_not_copied_to_a_final_bill(v1) -> None:
    before = create_invoice(v1)
    v1.customers.tax_ids.create(before.customer, {"type": "eu_vat", "value": "PT999999990"})
    after = create_invoice(v1)

    assert v1.invoices.retrieve(before.id).customer_tax_ids == []
    assert [(one.type, one.value) for one in after.customer_tax_ids] == [("eu_vat", "PT999999990")]


@pytest.mark.parametrize(
    ("name", "vat_id", "tax", "reason"),
    [
        ("Kilbride Foods", None, 2300, "standard_rated"),
        ("Kilbride Foods", "IE6388047V", 2300, "standard_rated"),
        ("Corvane GmbH", None, 1900, "standard_rated"),
        ("Corvane GmbH", "DE123456789", 0, "reverse_charge"),
        ("Hollis & Pine", None, 0, None),
    ],
)
def test_tax_follows_country_and_vat_id(v1, name: str, vat_id: str | None, tax: int, reason: str | None) -> None:
    customer = find_customer(v1, name).id
    if vat_id:
        v1.customers.tax_ids.create(customer, {"type": "eu_vat", "value": vat_id})

    bill = create_invoice(v1, name, 10_000, automatic_tax={"enabled": True})

    assert (bill.total, bill.total_excluding_tax) == (10_000 + tax, 10_000)
    assert [one.taxability_reason for one in bill.total_taxes] == ([reason] if reason else [])


def test_credit_pays_first_and_comes_back_when_the_bill_is_void(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    v1.customers.balance_transactions.create(casa.id, {"amount": -2000, "currency": "eur"})

    bill = create_invoice(v1)
    used = v1.customers.retrieve(casa.id).balance
    v1.invoices.void_invoice(bill.id)

    assert (bill.total, bill.starting_balance, bill.ending_balance, bill.amount_due) == (5000, -2000, 0, 3000)
    assert (used, v1.customers.retrieve(casa.id).balance) == (0, -2000)
    kinds = [one.type for one in v1.customers.balance_transactions.list(casa.id).data]
    assert kinds == ["unapplied_from_invoice", "applied_to_invoice", "adjustment"]


def test_lines_and_payments_are_lists_of_their_own(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    draft = v1.invoices.create({"customer": casa.id})
    for number in range(13):
        v1.invoice_items.create({"customer": casa.id, "invoice": draft.id, "amount": 100 + number, "currency": "eur"})
    bill = v1.invoices.retrieve(draft.id)

    assert (bill.lines.has_more, len(bill.lines.data)) == (True, 10)
    assert len(list(v1.invoices.line_items.list(draft.id, {"limit": 5}).auto_paging_iter())) == 13
    [payment] = v1.invoice_payments.list({"invoice": paid_invoice(v1).id, "status": "paid"}).data
    assert v1.invoice_payments.retrieve(payment.id).amount_paid == payment.amount_requested
    intent = payment.payment.payment_intent
    [back] = v1.invoice_payments.list(
        {"payment": {"type": "payment_intent", "payment_intent": intent}, "expand": ["data.invoice"]}
    ).data
    assert back.invoice.id == paid_invoice(v1).id


def test_bills_are_searched_by_number_and_total(v1) -> None:
    bill = create_invoice(v1, amount=77_700)

    assert [one.id for one in v1.invoices.search({"query": f"number:'{bill.number}' AND total>1000"}).data] == [bill.id]
    assert [one.id for one in v1.invoices.search({"query": "total>=77700"}).data] == [bill.id]
    assert bill.id not in [one.id for one in v1.invoices.search({"query": "-status:'open'", "limit": 100}).data]


def test_a_preview_keeps_nothing(v1, account) -> None:
    subscription = v1.subscriptions.list({"customer": find_customer(v1, "Corvane GmbH").id}).data[0]
    revision = account.world.revision

    seen = v1.invoices.create_preview({"customer": subscription.customer, "subscription": subscription.id})
    new = v1.invoices.create_preview(
        {
            "customer": subscription.customer,
            "subscription_details": {"items": [{"price": subscription["items"].data[0].price.id, "quantity": 5}]},
        }
    )

    assert (seen.total, seen.status, seen.number) == (2000, "draft", None)
    assert new.total == 10_000
    assert account.world.revision == revision
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.invoices.create_preview({"customer": find_customer(v1, "Nordvik Shipping").id})
    assert refused.value.code == "invoice_upcoming_none"


def test_a_credit_note_lowers_an_open_bill_and_can_be_taken_back(v1) -> None:
    bill = create_invoice(v1)

    note = v1.credit_notes.create({"invoice": bill.id, "amount": 2000, "reason": "order_change", "memo": "less work"})
    lower = v1.invoices.retrieve(bill.id)
    v1.credit_notes.update(note.id, {"memo": "much less work", "metadata": {"by": "me"}})
    void = v1.credit_notes.void_credit_note(note.id)

    assert isinstance(note, stripe.CreditNote)
    assert (note.type, note.pre_payment_amount, note.status) == ("pre_payment", 2000, "issued")
    assert (lower.amount_remaining, lower.pre_payment_credit_notes_amount) == (3000, 2000)
    assert (void.status, v1.invoices.retrieve(bill.id).amount_remaining) == ("void", 5000)
    v1.credit_notes.create({"invoice": bill.id, "amount": 5000})
    assert v1.invoices.retrieve(bill.id).status == "paid"


def test_a_credit_note_on_a_paid_bill_refunds_a_line(v1) -> None:
    bill = paid_invoice(v1)
    [line] = bill.lines.data
    asked = {
        "invoice": bill.id,
        "lines": [{"type": "invoice_line_item", "invoice_line_item": line.id, "quantity": 1}],
        "refund_amount": 2000,
    }

    seen = v1.credit_notes.preview({**asked})
    note = v1.credit_notes.create({**asked, "reason": "duplicate"})
    charge = charge_of(v1, bill)

    assert (seen.amount, note.amount, note.post_payment_amount) == (2000, 2000, 2000)
    assert charge.amount_refunded == 2000
    assert note.refunds[0].amount_refunded == 2000
    assert [one.id for one in v1.credit_notes.list({"invoice": bill.id}).data] == [note.id]
    assert v1.credit_notes.retrieve(note.id).number.endswith("-CN-01")
    assert v1.credit_notes.line_items.list(note.id).data[0].invoice_line_item == line.id
    assert v1.credit_notes.preview_lines.list({**asked}).data[0].amount == 2000
    with pytest.raises(stripe.InvalidRequestError):
        v1.credit_notes.void_credit_note(note.id)


def test_a_credit_note_can_go_to_the_balance_or_name_a_refund(v1) -> None:
    bill = paid_invoice(v1)
    refund = v1.refunds.create({"charge": charge_of(v1, bill).id, "amount": 1000})

    linked = v1.credit_notes.create(
        {"invoice": bill.id, "amount": 1000, "refunds": [{"refund": refund.id, "amount_refunded": 1000}]}
    )
    credited = v1.credit_notes.create({"invoice": bill.id, "amount": 500, "credit_amount": 500})

    assert linked.refunds[0].refund == refund.id
    assert charge_of(v1, bill).amount_refunded == 1000
    assert v1.customers.retrieve(bill.customer).balance == -500
    assert credited.customer_balance_transaction is not None
    for wrong in ({"amount": 4600, "credit_amount": 4600}, {"amount": 100}, {"amount": 100, "refund_amount": 99}):
        with pytest.raises(stripe.InvalidRequestError):
            v1.credit_notes.create({"invoice": bill.id, **wrong})
