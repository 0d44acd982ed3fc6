"""Time bills: renewals, retries, consequences, each with its event at its own second."""

import pytest
import sqlalchemy as sa

from services.billing.operations import (
    customers,
    drafts,
    due,
    invoices,
    payment_methods,
    records,
    refunds,
    subscriptions,
)
from services.billing.operations.accounts import ACCOUNT, DEFAULTS
from services.billing.operations.rendering import Body
from services.billing.tables import account, charges, events, prices
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import refunds as refund_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World
from tests.billing.company import DAY, NOW, add_card


def wait(world: World, days: float) -> None:
    world.actor = "time"
    due.advance(world, world.clock.now_ms() + round(days * DAY) * 1000)


def find_customer(world: World, name: str) -> Body:
    return next(one for one in records.select(world, customer_rows) if one["name"] == name)


def latest(world: World, table: sa.Table, customer: Body) -> Body:
    return records.find_by(world, table, customer=customer["id"])[-1]


def event_times(world: World, kind: str) -> list[int]:
    return [one["created"] for one in records.find_by(world, events, type=kind)]


def break_card(world: World, customer: Body) -> None:
    method = add_card(world, customer["id"], refuses="card_declined")
    customers.update(world, customer["id"], {"invoice_settings": {"default_payment_method": method["id"]}})


def test_a_month_later_there_is_a_draft_and_an_hour_later_it_is_paid(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    end = latest(world, subscription_rows, casa)["_period_end"]

    due.advance(world, (end + 60) * 1000)
    draft = latest(world, invoice_rows, casa)
    due.advance(world, (end + 3600) * 1000)
    bill = latest(world, invoice_rows, casa)

    assert (draft["status"], draft["created"], draft["automatically_finalizes_at"]) == ("draft", end, end + 3600)
    assert (bill["id"], bill["status"], bill["status_transitions"]["paid_at"]) == (draft["id"], "paid", end + 3600)
    assert latest(world, subscription_rows, casa)["_period_start"] == end
    assert end in event_times(world, "invoice.created")
    assert end + 3600 in event_times(world, "invoice.paid")


def test_one_long_wait_equals_many_short_ones(world: World, forks) -> None:
    other = forks.take()
    short = World(other, seed=7)
    break_card(world, find_customer(world, "Casa Lumen"))
    break_card(short, find_customer(short, "Casa Lumen"))

    wait(world, 60)
    for _ in range(120):
        wait(short, 0.5)

    assert [(one.table, one.row_id, one.at, one.after) for one in world.changes()] == [
        (one.table, one.row_id, one.at, one.after) for one in short.changes()
    ]
    forks.give_back(other)


@pytest.mark.parametrize("consequence", ["unpaid", "canceled", "past_due"])
def test_a_card_that_stays_broken_is_retried_on_schedule_and_then_bears_the_consequence(
    world: World, consequence: str
) -> None:
    world.save(account, {"id": ACCOUNT, "body": {**DEFAULTS, "after_retries": consequence}}, "planted")
    casa = find_customer(world, "Casa Lumen")
    break_card(world, casa)
    end = latest(world, subscription_rows, casa)["_period_end"]
    start = end + 3600

    due.advance(world, (start + 1) * 1000)
    first = latest(world, subscription_rows, casa)["status"]
    due.advance(world, (start + 15 * DAY) * 1000)
    bill = latest(world, invoice_rows, casa)

    failures = [
        one["created"] for one in records.find_by(world, charges, customer=casa["id"]) if one["status"] == "failed"
    ]
    assert failures == [start, start + 3 * DAY, start + 8 * DAY, start + 15 * DAY]
    assert (first, latest(world, subscription_rows, casa)["status"]) == ("past_due", consequence)
    assert (bill["status"], bill["attempt_count"], bill["next_payment_attempt"]) == ("open", 4, None)
    assert find_customer(world, "Casa Lumen")["delinquent"] is True
    assert len(event_times(world, "invoice.payment_failed")) == 4


def test_a_new_card_before_the_next_try_heals_it(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    break_card(world, casa)
    wait(world, 32)
    assert latest(world, subscription_rows, casa)["status"] == "past_due"

    good = add_card(world, casa["id"])
    customers.update(world, casa["id"], {"invoice_settings": {"default_payment_method": good["id"]}})
    wait(world, 4)

    assert latest(world, invoice_rows, casa)["status"] == "paid"
    assert latest(world, subscription_rows, casa)["status"] == "active"
    assert find_customer(world, "Casa Lumen")["delinquent"] is False


def test_a_sent_invoice_becomes_overdue_and_its_subscription_past_due(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    mine = latest(world, subscription_rows, casa)
    subscriptions.update(world, mine["id"], {"collection_method": "send_invoice", "days_until_due": 5})

    wait(world, 40)
    bill = latest(world, invoice_rows, casa)

    assert (bill["status"], bill["_overdue"]) == ("open", True)
    assert latest(world, subscription_rows, casa)["status"] == "past_due"
    assert event_times(world, "invoice.overdue") == [bill["due_date"]]
    invoices.pay(world, bill["id"], {"paid_out_of_band": True})
    assert latest(world, subscription_rows, casa)["status"] == "active"


def test_without_any_card_a_renewal_fails_and_time_goes_on(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    payment_methods.detach(world, casa["invoice_settings"]["default_payment_method"])

    wait(world, 60)

    assert latest(world, subscription_rows, casa)["status"] == "unpaid"
    assert event_times(world, "invoice.payment_failed")


def test_an_unpaid_subscription_writes_drafts_that_nobody_collects(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    break_card(world, casa)

    wait(world, 100)
    drafts = records.find_by(world, invoice_rows, customer=casa["id"], status="draft")

    assert len(drafts) == 2
    assert not any(one["auto_advance"] for one in drafts)


def test_the_last_of_january_comes_back_in_march(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    world.clock.advance_to((NOW + 30 * DAY) * 1000)
    price = records.find_by(world, prices, lookup_key="team_month")[0]["id"]
    made = subscriptions.create(world, {"customer": casa["id"], "items": [{"price": price}]})

    ends = []
    for _ in range(3):
        ends.append(records.must_exist(world, subscription_rows, made["id"])["_period_end"])
        due.advance(world, (ends[-1] + 7200) * 1000)

    assert [(end - NOW) // DAY for end in ends] == [58, 89, 119]


def test_a_pending_refund_settles(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    row = world.get(charges, latest(world, charges, casa)["id"])
    debit = {"type": "sepa_debit", "sepa_debit": {"last4": "3000"}}
    world.save(charges, {**row, "body": {**row["body"], "payment_method_details": debit}}, "planted")
    made = refunds.create(world, {"charge": row["id"], "amount": 100})

    wait(world, 4)

    assert made["status"] == "pending"
    assert records.must_exist(world, refund_rows, made["id"])["status"] == "succeeded"


def test_draft_with_auto_advance_goes_its_way(world: World) -> None:
    casa = find_customer(world, "Casa Lumen")
    draft = drafts.create(world, {"customer": casa["id"], "auto_advance": True})

    wait(world, 1)

    assert records.must_exist(world, invoice_rows, draft["id"])["status"] == "paid"


def test_years_of_time_pass_in_seconds(world: World) -> None:
    wait(world, 365 * 2 + 1)

    bills = records.select(world, invoice_rows)
    assert len(bills) == 4 * 24 + 4
    assert {one["status"] for one in bills} == {"paid"}
