"""Charges, payment intents, refunds, disputes, events and the balance through the vendor's SDK."""

import io

import pytest
import stripe

from services.billing.operations import disputes, records
from services.billing.tables import charges as charge_rows
from tests.billing.company import DAY


def find_customer(v1, name: str):
    return next(one for one in v1.customers.list({"limit": 100}).data if one.name == name)


def charge_of(v1, name: str = "Casa Lumen"):
    return v1.charges.list({"customer": find_customer(v1, name).id}).data[0]


def test_a_charge_is_read_with_what_belongs_to_it(v1) -> None:
    charge = v1.charges.retrieve(charge_of(v1).id, {"expand": ["refunds", "balance_transaction", "payment_intent"]})

    assert isinstance(charge, stripe.Charge)
    assert (charge.amount, charge.status, charge.refunds.data) == (6000, "succeeded", [])
    assert isinstance(charge.balance_transaction, stripe.BalanceTransaction)
    assert charge.balance_transaction.net == charge.amount - charge.balance_transaction.fee
    assert charge.payment_intent.latest_charge == charge.id
    assert "refunds" not in v1.charges.retrieve(charge.id).to_dict()


def test_a_charge_is_annotated_and_found(v1) -> None:
    charge = charge_of(v1)

    changed = v1.charges.update(
        charge.id, {"description": "dup", "fraud_details": {"user_report": "safe"}, "metadata": {"ticket": "T-1"}}
    )
    query = f"customer:'{charge.customer}' AND amount:6000 AND refunded:'false' AND metadata['ticket']:'T-1'"

    assert (changed.description, changed.fraud_details.user_report) == ("dup", "safe")
    assert [one.id for one in v1.charges.search({"query": query}).data] == [charge.id]
    assert [one.id for one in v1.charges.list({"payment_intent": charge.payment_intent}).data] == [charge.id]


def test_a_refund_gives_back_a_part_and_then_the_rest(v1) -> None:
    charge = charge_of(v1)

    part = v1.refunds.create(
        {"charge": charge.id, "amount": 1500, "reason": "duplicate", "metadata": {"ticket": "T-1"}}
    )
    half = v1.charges.retrieve(charge.id)
    rest = v1.refunds.create({"payment_intent": charge.payment_intent, "reason": "requested_by_customer"})
    full = v1.charges.retrieve(charge.id, {"expand": ["refunds"]})

    assert isinstance(part, stripe.Refund)
    assert (part.status, part.amount, rest.amount) == ("succeeded", 1500, 4500)
    assert (half.amount_refunded, half.refunded) == (1500, False)
    assert (full.amount_refunded, full.refunded, len(full.refunds.data)) == (6000, True, 2)
    assert v1.refunds.update(part.id, {"metadata": {"a": "b"}}).metadata.to_dict() == {"ticket": "T-1", "a": "b"}
    assert v1.refunds.retrieve(part.id).reason == "duplicate"
    assert len(v1.refunds.list({"charge": charge.id}).data) == 2
    assert v1.invoices.list({"customer": charge.customer}).data[0].status == "paid"
    assert v1.subscriptions.list({"customer": charge.customer}).data[0].status == "active"


def test_no_more_goes_back_than_came_in(v1) -> None:
    charge = charge_of(v1)
    v1.refunds.create({"charge": charge.id, "amount": 3000})

    with pytest.raises(stripe.InvalidRequestError) as too_much:
        v1.refunds.create({"charge": charge.id, "amount": 4000})
    v1.refunds.create({"charge": charge.id})
    with pytest.raises(stripe.InvalidRequestError) as nothing_left:
        v1.refunds.create({"charge": charge.id})

    assert "Refund amount (€40.00) is greater than unrefunded amount on charge (€30.00)" in str(too_much.value)
    assert (too_much.value.code, too_much.value.param) == (None, "amount")
    assert nothing_left.value.code == "charge_already_refunded"


def test_a_finished_refund_cannot_be_cancelled(v1) -> None:
    refund = v1.refunds.create({"charge": charge_of(v1).id, "amount": 100})

    with pytest.raises(stripe.InvalidRequestError, match="can't be canceled"):
        v1.refunds.cancel(refund.id)


def test_a_refund_of_a_transfer_waits_for_bank_details_and_can_be_called_back(v1, account) -> None:
    key = charge_of(v1).id
    row = account.world.get(charge_rows, key)
    transfer = {"type": "customer_balance", "customer_balance": {}}
    account.world.save(charge_rows, {**row, "body": {**row["body"], "payment_method_details": transfer}}, "planted")

    waiting = v1.refunds.create({"charge": key, "amount": 1000})
    between = v1.charges.retrieve(key).amount_refunded
    back = v1.refunds.cancel(waiting.id)

    assert (waiting.status, between, back.status) == ("requires_action", 1000, "canceled")
    assert v1.charges.retrieve(key).amount_refunded == 0


def test_a_payment_is_created_confirmed_and_cancelled(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")
    method = casa.invoice_settings.default_payment_method

    at_once = v1.payment_intents.create(
        {
            "amount": 2000,
            "currency": "eur",
            "customer": casa.id,
            "payment_method": method,
            "confirm": True,
            "off_session": True,
        }
    )
    later = v1.payment_intents.create({"amount": 900, "currency": "eur", "customer": casa.id})
    changed = v1.payment_intents.update(later.id, {"amount": 950, "metadata": {"for": "tea"}})
    confirmed = v1.payment_intents.confirm(later.id, {"payment_method": method})
    dropped = v1.payment_intents.create({"amount": 900, "currency": "eur"})
    cancelled = v1.payment_intents.cancel(dropped.id, {"cancellation_reason": "duplicate"})

    assert isinstance(at_once, stripe.PaymentIntent)
    assert (at_once.status, changed.amount, later.status) == ("succeeded", 950, "requires_payment_method")
    assert (confirmed.status, confirmed.amount_received, cancelled.status) == ("succeeded", 950, "canceled")
    assert v1.payment_intents.retrieve(at_once.id, {"expand": ["latest_charge"]}).latest_charge.amount == 2000
    assert at_once.id in [one.id for one in v1.payment_intents.list({"customer": casa.id}).data]
    assert [one.id for one in v1.payment_intents.search({"query": "amount:950 AND metadata['for']:'tea'"}).data] == [
        later.id
    ]
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.payment_intents.confirm(dropped.id, {"payment_method": method})
    assert refused.value.code == "payment_intent_unexpected_state"


def test_a_stale_card_is_refused_as_expired(v1, account) -> None:
    casa = find_customer(v1, "Casa Lumen")
    card = {"number": "4539578763621486", "exp_month": 3, "exp_year": 2026}
    method = v1.payment_methods.create({"type": "card", "card": card})
    v1.payment_methods.attach(method.id, {"customer": casa.id})
    account.wait(100)

    with pytest.raises(stripe.CardError) as refused:
        v1.payment_intents.create(
            {"amount": 2000, "currency": "eur", "customer": casa.id, "payment_method": method.id, "confirm": True}
        )

    assert refused.value.code == "expired_card"


def test_numbers_published_for_trying_out_are_honoured_by_no_bank(v1) -> None:
    method = v1.payment_methods.create(
        {"type": "card", "card": {"number": "4242424242424242", "exp_month": 3, "exp_year": 2030}}
    )

    with pytest.raises(stripe.CardError) as refused:
        v1.payment_intents.create({"amount": 2000, "currency": "eur", "payment_method": method.id, "confirm": True})

    assert refused.value.error.decline_code == "live_mode_test_card"


def open_dispute(account, v1, outcome: str = "won"):
    charge = records.must_exist(account.world, charge_rows, charge_of(v1).id)
    due_by = account.world.clock.now_ms() // 1000 + 14 * DAY
    return disputes.open_dispute(account.world, charge, "duplicate", outcome, due_by)["id"]


def test_a_dispute_is_answered_and_decided_by_the_bank(v1, account) -> None:
    key = open_dispute(account, v1)

    staged = v1.disputes.update(key, {"evidence": {"customer_name": "Inês"}, "submit": False})
    sent = v1.disputes.update(key, {"evidence": {"uncategorized_text": "Used daily"}})
    account.wait(61)
    decided = v1.disputes.retrieve(key)

    assert isinstance(staged, stripe.Dispute)
    assert (staged.status, staged.evidence_details.has_evidence) == ("needs_response", True)
    assert (sent.status, sent.evidence_details.submission_count, sent.evidence.customer_name) == (
        "under_review",
        1,
        "Inês",
    )
    assert decided.status == "won"
    assert [one.id for one in v1.disputes.list({"charge": decided.charge}).data] == [key]
    with pytest.raises(stripe.InvalidRequestError, match="already closed"):
        v1.disputes.close(key)


def test_a_disputed_charge_is_not_refunded_and_can_be_given_up(v1, account) -> None:
    key = open_dispute(account, v1)

    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.refunds.create({"charge": charge_of(v1).id})
    closed = v1.disputes.close(key)

    assert refused.value.code == "charge_disputed"
    assert closed.status == "lost"


def test_an_unanswered_dispute_is_lost(v1, account) -> None:
    key = open_dispute(account, v1)

    account.wait(15)

    assert v1.disputes.retrieve(key).status == "lost"


def test_events_are_listed_by_kind_and_pattern(v1) -> None:
    refund = v1.refunds.create({"charge": charge_of(v1).id, "amount": 100})

    [created] = v1.events.list({"type": "refund.created"}).data
    both = v1.events.list({"types": ["charge.refunded", "refund.created"]})
    pattern = v1.events.list({"type": "charge.*", "limit": 1})

    assert isinstance(created, stripe.Event)
    assert created.data.object.id == refund.id
    assert created.request.id == refund.last_response.request_id
    assert {event.type for event in both.data} == {"charge.refunded", "refund.created"}
    assert pattern.data[0].type == "charge.refunded"
    assert v1.events.retrieve(created.id).type == "refund.created"


def test_what_an_event_holds_cannot_be_expanded(v1) -> None:
    v1.refunds.create({"charge": charge_of(v1).id, "amount": 100})
    [event] = v1.events.list({"limit": 1}).data

    with pytest.raises(stripe.InvalidRequestError, match="cannot be expanded"):
        v1.events.retrieve(event.id, {"expand": ["data.customer"]})


def test_the_balance_tells_every_movement(v1) -> None:
    charge = charge_of(v1)
    refund = v1.refunds.create({"charge": charge.id, "amount": 100})

    [came] = v1.balance_transactions.list({"source": charge.id, "type": "charge"}).data
    went = v1.balance_transactions.retrieve(refund.balance_transaction, {"expand": ["source"]})

    assert (came.amount, came.status) == (6000, "pending")
    assert (went.amount, went.fee, went.source.id) == (-100, 0, refund.id)


def test_a_file_is_uploaded(v1) -> None:
    made = v1.files.create({"purpose": "dispute_evidence", "file": io.BytesIO(b"a receipt")})

    assert isinstance(made, stripe.File)
    assert (made.size, made.purpose) == (9, "dispute_evidence")
    assert v1.files.retrieve(made.id).size == 9


def test_the_module_style_works_too(account) -> None:
    base, key = stripe.api_base, stripe.api_key
    stripe.api_base, stripe.api_key = account.running.url, account.key
    try:
        charge = stripe.Charge.list(limit=1).data[0]
        refund = stripe.Refund.create(charge=charge.id, amount=10, idempotency_key="K")
        invoice = stripe.Invoice.list(limit=1).data[0]
        assert (refund.amount, stripe.Invoice.retrieve(invoice.id).status) == (10, "paid")
        assert [one.object for one in stripe.Customer.list_tax_ids(charge.customer).data] == []
    finally:
        stripe.api_base, stripe.api_key = base, key
