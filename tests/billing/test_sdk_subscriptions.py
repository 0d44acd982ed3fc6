"""Subscriptions through the vendor's SDK: begin, change, pause, end."""

import pytest
import stripe

from tests.billing.company import DAY


def find_customer(v1, name: str):
    return next(one for one in v1.customers.list({"limit": 100}).data if one.name == name)


def price(v1, key: str) -> str:
    return v1.prices.list({"lookup_keys": [key]}).data[0].id


def subscription_of(v1, name: str):
    return v1.subscriptions.list({"customer": find_customer(v1, name).id}).data[0]


def test_a_subscription_begins_paid(v1) -> None:
    casa = find_customer(v1, "Casa Lumen")

    made = v1.subscriptions.create(
        {
            "customer": casa.id,
            "items": [{"price": price(v1, "team_month"), "quantity": 3}],
            "expand": ["latest_invoice.payments.data.payment.payment_intent", "customer"],
        }
    )

    assert isinstance(made, stripe.Subscription)
    assert (made.status, made.customer.id, made["items"].data[0].quantity) == ("active", casa.id, 3)
    assert made["items"].data[0].current_period_end - made["items"].data[0].current_period_start == 31 * DAY
    assert (made.latest_invoice.total, made.latest_invoice.status) == (15_000, "paid")
    assert made.latest_invoice.payments.data[0].payment.payment_intent.status == "succeeded"
    assert made.latest_invoice.parent.subscription_details.subscription == made.id


def test_a_card_that_refuses_leaves_it_incomplete_until_it_is_paid(v1, account) -> None:
    nordvik = find_customer(v1, "Nordvik Shipping")
    items = [{"price": price(v1, "starter_month")}]

    with pytest.raises(stripe.CardError) as refused:
        v1.subscriptions.create({"customer": nordvik.id, "items": items, "payment_behavior": "error_if_incomplete"})
    assert v1.subscriptions.list({"customer": nordvik.id, "status": "all"}).data == []

    made = v1.subscriptions.create({"customer": nordvik.id, "items": items})
    card = v1.payment_methods.create(
        {"type": "card", "card": {"number": "4539578763621486", "exp_month": 1, "exp_year": 2031}}
    )
    v1.payment_methods.attach(card.id, {"customer": nordvik.id})
    v1.invoices.pay(made.latest_invoice, {"payment_method": card.id})

    assert refused.value.code == "card_declined"
    assert made.status == "incomplete"
    assert v1.subscriptions.retrieve(made.id).status == "active"


def test_an_incomplete_subscription_expires_after_a_day(v1, account) -> None:
    nordvik = find_customer(v1, "Nordvik Shipping")
    made = v1.subscriptions.create(
        {
            "customer": nordvik.id,
            "items": [{"price": price(v1, "starter_month")}],
            "payment_behavior": "default_incomplete",
        }
    )

    account.wait(1)

    assert v1.subscriptions.retrieve(made.id).status == "incomplete_expired"
    assert v1.invoices.retrieve(made.latest_invoice).status == "void"
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.subscriptions.update(made.id, {"description": "x"})
    assert refused.value.code == "invalid_canceled_subscription_fields"


def test_a_change_of_plan_at_half_time_is_prorated_to_the_second(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    item = mine["items"].data[0]
    half = (item.current_period_start + item.current_period_end) // 2

    changed = v1.subscriptions.update(
        mine.id,
        {
            "items": [{"id": item.id, "price": price(v1, "team_month")}],
            "proration_behavior": "always_invoice",
            "proration_date": half,
            "expand": ["latest_invoice"],
        },
    )
    lines = {line.description: line.amount for line in changed.latest_invoice.lines.data}

    assert lines == {
        "Unused time on Starter after 16 Jan 2026": -1000,
        "Remaining time on Team after 16 Jan 2026": 2500,
    }
    assert (changed.latest_invoice.total, changed.latest_invoice.billing_reason) == (1500, "subscription_update")
    assert changed.latest_invoice.status == "paid"


def test_prorations_wait_for_the_next_bill_and_the_preview_knows(v1, account) -> None:
    mine = subscription_of(v1, "Hollis & Pine")
    item = mine["items"].data[0]
    half = (item.current_period_start + item.current_period_end) // 2
    change = {"items": [{"id": item.id, "quantity": 4}], "proration_date": half}

    seen = v1.invoices.create_preview({"subscription": mine.id, "subscription_details": change})
    before = v1.invoice_items.list({"customer": mine.customer, "pending": True}).data
    v1.subscriptions.update(mine.id, change)
    pending = v1.invoice_items.list({"customer": mine.customer, "pending": True}).data
    account.wait(32)
    bill = v1.invoices.retrieve(v1.subscriptions.retrieve(mine.id).latest_invoice)

    assert before == []
    assert sorted(one.amount for one in pending) == [-2000, 4000]
    assert seen.id.startswith("upcoming_in_")
    assert (seen.total, bill.total, bill.status) == (10_000, 10_000, "paid")
    assert sorted(line.amount for line in bill.lines.data) == [-2000, 4000, 8000]


def test_a_downgrade_becomes_credit_and_not_cash(v1) -> None:
    mine = subscription_of(v1, "Kilbride Foods")
    item = mine["items"].data[0]
    half = (item.current_period_start + item.current_period_end) // 2

    v1.subscription_items.update(
        item.id, {"quantity": 1, "proration_behavior": "always_invoice", "proration_date": half}
    )
    bill = v1.invoices.retrieve(v1.subscriptions.retrieve(mine.id).latest_invoice)

    assert (bill.total, bill.amount_due, bill.status, bill.ending_balance) == (-3000, 0, "paid", -3000)
    assert v1.customers.retrieve(mine.customer).balance == -3000


def test_another_interval_starts_a_new_period_and_is_billed_at_once(v1) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    item = mine["items"].data[0]

    changed = v1.subscriptions.update(
        mine.id, {"items": [{"id": item.id, "price": price(v1, "team_year")}], "expand": ["latest_invoice"]}
    )
    new = changed["items"].data[0]

    assert new.current_period_end - new.current_period_start == 365 * DAY
    assert changed.latest_invoice.status == "paid"
    assert 48_000 <= changed.latest_invoice.total < 50_000


def test_items_are_added_without_an_id_and_dropped_with_one(v1) -> None:
    mine = subscription_of(v1, "Casa Lumen")
    old = mine["items"].data[0]

    both = v1.subscriptions.update(
        mine.id, {"items": [{"price": price(v1, "team_month"), "quantity": 2}], "proration_behavior": "none"}
    )
    left = v1.subscriptions.update(mine.id, {"items": [{"id": old.id, "deleted": True}], "proration_behavior": "none"})
    added = v1.subscription_items.create({"subscription": mine.id, "price": old.price.id, "proration_behavior": "none"})
    listed = v1.subscription_items.list({"subscription": mine.id})

    assert (len(both["items"].data), len(left["items"].data), len(listed.data)) == (2, 1, 2)
    assert v1.subscription_items.retrieve(added.id).subscription == mine.id
    assert v1.subscription_items.delete(added.id, {"proration_behavior": "none"}).deleted
    assert v1.invoice_items.list({"customer": mine.customer, "pending": True}).data == []


def test_it_can_end_with_its_period_and_change_its_mind(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")

    cancelled = v1.subscriptions.update(
        mine.id,
        {"cancel_at_period_end": True, "cancellation_details": {"comment": "by mail", "feedback": "too_expensive"}},
    )
    staying = v1.subscriptions.update(mine.id, {"cancel_at_period_end": False})
    v1.subscriptions.update(mine.id, {"cancel_at_period_end": True})
    account.wait(40)
    ended = v1.subscriptions.retrieve(mine.id)

    assert (cancelled.status, cancelled.cancel_at) == ("active", mine["items"].data[0].current_period_end)
    assert (cancelled.cancellation_details.reason, cancelled.canceled_at is None) == ("cancellation_requested", False)
    assert (staying.cancel_at, staying.canceled_at) == (None, None)
    assert (ended.status, ended.ended_at) == ("canceled", cancelled.cancel_at)
    assert [one.data.object.id for one in v1.events.list({"type": "customer.subscription.deleted"}).data] == [mine.id]


def test_it_can_end_at_once_and_only_once(v1) -> None:
    mine = subscription_of(v1, "Corvane GmbH")

    ended = v1.subscriptions.cancel(mine.id, {"cancellation_details": {"comment": "dup"}})

    assert (ended.status, ended.cancellation_details.comment) == ("canceled", "dup")
    assert v1.subscriptions.list({"customer": mine.customer}).data == []
    assert v1.customers.retrieve(mine.customer).balance == 0
    with pytest.raises(stripe.InvalidRequestError) as refused:
        v1.subscriptions.cancel(mine.id)
    assert (refused.value.http_status, refused.value.code) == (404, "resource_missing")


def test_an_end_with_proration_leaves_credit(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    account.wait(10)

    v1.subscriptions.cancel(mine.id, {"invoice_now": True, "prorate": True})

    assert -1400 < v1.customers.retrieve(mine.customer).balance < -1300


def test_collection_is_paused_until_its_day(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    resumes = account.world.clock.now_ms() // 1000 + 45 * DAY

    paused = v1.subscriptions.update(mine.id, {"pause_collection": {"behavior": "void", "resumes_at": resumes}})
    account.wait(35)
    while_paused = v1.invoices.retrieve(v1.subscriptions.retrieve(mine.id).latest_invoice)
    account.wait(30)
    after = v1.subscriptions.retrieve(mine.id, {"expand": ["latest_invoice"]})

    assert (paused.status, paused.pause_collection.behavior) == ("active", "void")
    assert while_paused.status == "void"
    assert (after.pause_collection, after.latest_invoice.status) == (None, "paid")
    assert v1.subscriptions.update(mine.id, {"pause_collection": ""}).pause_collection is None


def test_a_paused_subscription_writes_no_bills_and_resumes(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    with pytest.raises(stripe.InvalidRequestError, match="paused"):
        v1.subscriptions.resume(mine.id, {"billing_cycle_anchor": {"type": "now"}})

    paused = v1.subscriptions.pause(mine.id, {"bill_for": {"unused_time_from": {"type": "none"}}})
    account.wait(70)
    bills = len(v1.invoices.list({"subscription": mine.id}).data)
    resumed = v1.subscriptions.resume(mine.id, {"billing_cycle_anchor": {"type": "now"}})

    assert (paused.status, bills, resumed.status) == ("paused", 1, "active")
    assert len(v1.invoices.list({"subscription": mine.id, "status": "paid"}).data) == 2


def test_a_trial_is_free_and_then_billed(v1, account) -> None:
    casa = find_customer(v1, "Casa Lumen")

    made = v1.subscriptions.create(
        {
            "customer": casa.id,
            "items": [{"price": price(v1, "team_month")}],
            "trial_period_days": 14,
            "expand": ["latest_invoice"],
        }
    )
    account.wait(12)
    warned = [one.type for one in v1.events.list({"type": "customer.subscription.trial_will_end"}).data]
    account.wait(3)
    after = v1.subscriptions.retrieve(made.id, {"expand": ["latest_invoice"]})

    assert (made.status, made.latest_invoice.total, made.latest_invoice.status) == ("trialing", 0, "paid")
    assert len(warned) == 1
    assert (after.status, after.latest_invoice.total, after.latest_invoice.status) == ("active", 5000, "paid")


def test_discounts_are_replaced_cleared_and_used_up(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    v1.coupons.create({"id": "ONCE", "percent_off": 50, "duration": "once"})
    v1.coupons.create(
        {"id": "TWO", "amount_off": 300, "currency": "eur", "duration": "repeating", "duration_in_months": 2}
    )

    with_two = v1.subscriptions.update(
        mine.id, {"discounts": [{"coupon": "ONCE"}, {"coupon": "TWO"}], "expand": ["discounts"]}
    )
    seen = v1.invoices.create_preview({"subscription": mine.id})
    account.wait(32)
    first = v1.invoices.retrieve(v1.subscriptions.retrieve(mine.id).latest_invoice)
    account.wait(31)
    second = v1.invoices.retrieve(v1.subscriptions.retrieve(mine.id).latest_invoice)
    account.wait(31)
    third = v1.invoices.retrieve(v1.subscriptions.retrieve(mine.id).latest_invoice)

    assert [one.source.coupon for one in with_two.discounts] == ["ONCE", "TWO"]
    assert (seen.total, first.total, second.total, third.total) == (700, 700, 1700, 2000)
    assert v1.coupons.retrieve("ONCE").times_redeemed == 1
    v1.subscriptions.update(mine.id, {"discounts": [{"coupon": "TWO"}]})
    assert v1.subscriptions.delete_discount(mine.id).object == "discount"
    v1.subscriptions.update(mine.id, {"discounts": [{"coupon": "TWO"}]})
    assert v1.subscriptions.update(mine.id, {"discounts": ""}).discounts == []


def test_subscriptions_are_listed_by_state_and_searched(v1) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    v1.subscriptions.update(mine.id, {"metadata": {"team": "ops"}})
    v1.subscriptions.cancel(subscription_of(v1, "Casa Lumen").id)

    assert len(v1.subscriptions.list().data) == 3
    assert len(v1.subscriptions.list({"status": "all"}).data) == 4
    assert len(v1.subscriptions.list({"status": "ended"}).data) == 1
    assert len(v1.subscriptions.list({"price": price(v1, "starter_month"), "status": "active"}).data) == 3
    assert [
        one.id for one in v1.subscriptions.search({"query": "status:'active' AND metadata['team']:'ops'"}).data
    ] == [mine.id]


def test_a_schedule_changes_the_plan_when_its_phase_begins(v1, account) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    made = v1.subscription_schedules.create({"from_subscription": mine.id})
    first = made.phases[0]
    starter, team = price(v1, "starter_month"), price(v1, "team_month")

    v1.subscription_schedules.update(
        made.id,
        {
            "phases": [
                {"items": [{"price": starter}], "start_date": first.start_date, "end_date": first.end_date},
                {"items": [{"price": team}], "start_date": first.end_date, "iterations": 1},
            ],
            "end_behavior": "release",
        },
    )
    preview = v1.invoices.create_preview({"subscription": mine.id})
    account.wait(33)
    changed = v1.subscriptions.retrieve(mine.id, {"expand": ["latest_invoice"]})
    account.wait(31)
    ended = v1.subscription_schedules.retrieve(made.id)

    assert (made.status, changed.schedule) == ("active", made.id)
    assert changed["items"].data[0].price.id == team
    assert changed.latest_invoice.total == preview.total == 5000
    assert (ended.status, ended.released_subscription) == ("released", mine.id)
    assert [one.id for one in v1.subscription_schedules.list({"customer": mine.customer}).data] == [made.id]


def test_a_schedule_that_ends_its_subscription_leaves_no_invoice_to_preview(v1) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    v1.subscription_schedules.create({"from_subscription": mine.id, "end_behavior": "cancel"})

    with pytest.raises(stripe.InvalidRequestError, match="No upcoming invoices"):
        v1.invoices.create_preview({"subscription": mine.id})
    assert v1.subscriptions.retrieve(mine.id).status == "active"


def test_a_schedule_takes_over_how_its_subscription_is_billed(v1) -> None:
    mine = subscription_of(v1, "Corvane GmbH")
    v1.coupons.create({"id": "TENTH", "percent_off": 10, "duration": "forever"})
    billed = v1.subscriptions.update(
        mine.id, {"collection_method": "send_invoice", "days_until_due": 30, "discounts": [{"coupon": "TENTH"}]}
    )

    made = v1.subscription_schedules.create({"from_subscription": mine.id})
    first, item = made.phases[0], {"price": price(v1, "team_month")}
    changed = v1.subscription_schedules.update(
        made.id,
        {
            "phases": [
                {"items": [item], "start_date": first.start_date, "end_date": first.end_date},
                {"items": [item], "start_date": first.end_date, "iterations": 1},
            ]
        },
    )

    assert made.default_settings.collection_method == "send_invoice"
    assert made.default_settings.invoice_settings.days_until_due == 30
    assert [one.discount for one in first.discounts] == billed.discounts
    assert [[one.discount for one in phase.discounts] for phase in changed.phases] == [billed.discounts] * 2


def test_a_schedule_is_released_or_cancelled_by_hand(v1) -> None:
    one, two = subscription_of(v1, "Corvane GmbH"), subscription_of(v1, "Casa Lumen")

    released = v1.subscription_schedules.release(v1.subscription_schedules.create({"from_subscription": one.id}).id)
    cancelled = v1.subscription_schedules.cancel(v1.subscription_schedules.create({"from_subscription": two.id}).id)

    assert (released.status, cancelled.status) == ("released", "canceled")
    assert v1.subscriptions.retrieve(one.id).status == "active"
    assert v1.subscriptions.retrieve(two.id).status == "canceled"
