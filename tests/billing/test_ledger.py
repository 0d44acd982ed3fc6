"""Whatever happens in whatever order: the books sum to zero and nobody gets back more than they paid."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.billing.operations import (
    cancellation,
    coupons,
    credit_notes,
    customers,
    disputes,
    drafts,
    due,
    invoice_items,
    invoices,
    payment_intents,
    payment_methods,
    previews,
    records,
    refunds,
    subscription_items,
    subscriptions,
)
from services.billing.operations.delete_customer import delete_customer
from services.billing.operations.records import must_exist
from services.billing.operations.rendering import Body
from services.billing.tables import charges as charge_rows
from services.billing.tables import credit_notes as note_rows
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import payment_methods as method_rows
from services.billing.tables import prices as price_rows
from services.billing.tables import refunds as refund_rows
from services.billing.tables import subscription_items as item_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.errors import Refusal
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.billing.company import DAY, GOOD_CARD

SEQUENCES = 1_000
tried: Counter[str] = Counter()
done: Counter[str] = Counter()


class Clerk:
    """Does things at random, to whatever is there."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.n = number

    def any(self, table) -> Body:
        bodies = records.select(self.world, table)
        if not bodies:
            raise NothingThere
        return bodies[self.n % len(bodies)]

    def invoice(self) -> str:
        """Mostly one that something can still be done to; where there is none, one is written."""
        if self.n % 4 == 0:
            return self.any(invoice_rows)["id"]
        open_invoices = records.find_by(self.world, invoice_rows, status="open")
        return open_invoices[self.n % len(open_invoices)]["id"] if open_invoices else self.open_invoice()

    def open_invoice(self) -> str:
        item = {"customer": self.person(), "amount": self.amount(), "currency": "eur"}
        invoice_items.create(self.world, item)
        draft = drafts.create(self.world, {**item, "pending_invoice_items_behavior": "include"})
        return invoices.finalize(self.world, draft["id"])["id"]

    def amount(self) -> int:
        return (1, 99, 500, 2000, 6000, 12_345)[self.n % 6]

    def person(self) -> str:
        return self.any(customer_rows)["id"]

    def refund(self) -> None:
        wanted = {"charge": self.any(charge_rows)["id"], "amount": self.amount()}
        refunds.create(self.world, wanted if self.n % 3 else {"charge": wanted["charge"]})

    def cancel_refund(self) -> None:
        """Only a transfer can be called back: let the charge have been one."""
        charge = self.any(charge_rows)
        row = self.world.get(charge_rows, charge["id"])
        by_transfer = {"type": "customer_balance", "customer_balance": {}}
        self.world.save(charge_rows, {**row, "body": {**charge, "payment_method_details": by_transfer}}, "planted")
        self.refund()
        refunds.cancel(self.world, self.any(refund_rows)["id"])

    def credit(self) -> None:
        sign = -1 if self.n % 2 else 1
        customers.create_balance_entry(self.world, self.person(), {"amount": sign * self.amount(), "currency": "eur"})

    def set_balance(self) -> None:
        customers.update(self.world, self.person(), {"balance": self.amount() - 3000})

    def bill(self) -> None:
        person = self.person()
        given: dict[str, Any] = {"customer": person, "automatic_tax": {"enabled": bool(self.n % 2)}}
        draft = drafts.create(self.world, {**given, "pending_invoice_items_behavior": "include"})
        for amount in (self.amount(), -500 if self.n % 5 == 0 else 333):
            invoice_items.create(
                self.world, {"customer": person, "invoice": draft["id"], "amount": amount, "currency": "eur"}
            )
        if self.n % 3:
            invoices.finalize(self.world, draft["id"])

    def pay(self) -> None:
        invoices.pay(self.world, self.invoice(), {"paid_out_of_band": True} if self.n % 4 == 0 else {})

    def void(self) -> None:
        invoices.void(self.world, self.invoice())

    def give_up(self) -> None:
        invoices.mark_uncollectible(self.world, self.invoice())

    def credit_note(self) -> None:
        bill = self.any(invoice_rows)
        amount = min(self.amount(), max(bill["total"], 1))
        excess = max(0, amount - (bill["amount_remaining"] if bill["status"] != "paid" else 0))
        way = ("refund_amount", "credit_amount", "out_of_band_amount")[self.n % 3]
        credit_notes.create(self.world, {"invoice": bill["id"], "amount": amount, **({way: excess} if excess else {})})

    def void_note(self) -> None:
        if self.n % 2:
            self.n = 3 * self.n + 1
            self.bill()
            open_invoices = records.find_by(self.world, invoice_rows, status="open")
            if not open_invoices:
                raise NothingThere
            credit_notes.create(self.world, {"invoice": open_invoices[-1]["id"], "amount": 100})
        credit_notes.void(self.world, self.any(note_rows)["id"])

    def subscribe(self) -> None:
        wanted = [{"price": self.any(price_rows)["id"], "quantity": 1 + self.n % 4}]
        more = {"trial_period_days": 7} if self.n % 4 == 0 else {}
        subscriptions.create(self.world, {"customer": self.person(), "items": wanted, **more})

    def change(self) -> None:
        behavior = ("create_prorations", "always_invoice", "none")[self.n % 3]
        change = {"quantity": 1 + self.n % 7} if self.n % 2 else {"price": self.any(price_rows)["id"]}
        subscription_items.update(self.world, self.any(item_rows)["id"], {**change, "proration_behavior": behavior})

    def discount(self) -> None:
        off = {"percent_off": 33} if self.n % 2 else {"amount_off": 700, "currency": "eur"}
        coupon = coupons.create(self.world, {**off, "duration": ("once", "forever")[self.n % 2]})
        subscriptions.update(self.world, self.any(subscription_rows)["id"], {"discounts": [{"coupon": coupon["id"]}]})

    def pause(self) -> None:
        key = self.any(subscription_rows)["id"]
        if self.n % 3 == 0:
            subscriptions.update(
                self.world,
                key,
                {"pause_collection": {"behavior": ("void", "mark_uncollectible", "keep_as_draft")[self.n // 3 % 3]}},
            )
        elif self.n % 3 == 1:
            cancellation.pause(self.world, key, {})
        else:
            cancellation.resume(self.world, key, {})

    def cancel(self) -> None:
        given = {"prorate": bool(self.n % 2), "invoice_now": bool(self.n % 3)}
        cancellation.cancel(self.world, self.any(subscription_rows)["id"], given)

    def charge(self) -> None:
        method = self.any(method_rows)
        wanted = {"amount": 50 + self.amount(), "currency": ("eur", "jpy", "kwd")[self.n % 3], "confirm": True}
        payment_intents.create(self.world, {**wanted, "customer": method["customer"], "payment_method": method["id"]})

    def new_card(self) -> None:
        card = {"number": GOOD_CARD, "exp_month": 1, "exp_year": 2026 + self.n % 3}
        method = payment_methods.create(self.world, {"type": "card", "card": card})
        person = self.person()
        payment_methods.attach(self.world, method["id"], person)
        customers.update(self.world, person, {"invoice_settings": {"default_payment_method": method["id"]}})

    def dispute(self) -> None:
        charge = self.any(charge_rows)
        if charge["status"] == "succeeded" and not charge["disputed"] and not charge["refunded"]:
            at = self.world.clock.now_ms() // 1000 + 5 * DAY
            made = disputes.open_dispute(self.world, charge, "fraudulent", ("won", "lost")[self.n % 2], at)
            disputes.update(self.world, made["id"], {"evidence": {"uncategorized_text": "no"}, "submit": True})

    def preview(self) -> None:
        before = self.world.revision
        previews.preview_invoice(self.world, {"subscription": self.any(subscription_rows)["id"]})
        assert self.world.revision == before

    def leave(self) -> None:
        delete_customer(self.world, self.person())

    def wait(self) -> None:
        self.world.actor = "time"
        due.advance(self.world, self.world.clock.now_ms() + (1, 4, 33)[self.n % 3] * DAY * 1000)
        self.world.actor = "agent"


class NothingThere(Exception):
    """There is no such row to do something to."""


VERBS: dict[str, Callable[[Clerk], None]] = {
    name: verb
    for name, verb in vars(Clerk).items()
    if callable(verb) and name not in ("__init__", "any", "invoice", "open_invoice", "amount", "person")
}


def act(world: World, verb: str, number: int) -> None:
    """One request, as the agent API serves it: kept, or undone when it is refused."""
    tried[verb] += 1
    world.actor = "agent"
    world.clock.tick()
    world.begin()
    try:
        VERBS[verb](Clerk(world, number))
    except NothingThere:
        world.undo()
    except Refusal as refusal:
        (world.keep if refusal.stands else world.undo)()
    else:
        done[verb] += 1
        world.keep()


UNEQUAL = {
    "postings sum to zero": "SELECT posting FROM journal GROUP BY posting, currency HAVING sum(amount) != 0",
    "the ledger sums to zero": "SELECT sum(amount) AS rest FROM journal GROUP BY 1 = 1 HAVING rest != 0",
    "a customer's balance is what the books say": """
        SELECT c.id FROM customers c LEFT JOIN
        (SELECT account, sum(amount) AS booked FROM journal GROUP BY account) j ON j.account = 'credit:' || c.id
        WHERE coalesce(j.booked, 0) != json_extract(c.body, '$.balance')""",
    "what is owed is what is open": """
        SELECT c.id FROM customers c
        LEFT JOIN (SELECT account, sum(amount) AS booked FROM journal GROUP BY account) j ON j.account = 'receivable:' || c.id
        LEFT JOIN (SELECT customer, sum(json_extract(body, '$.amount_remaining')) AS due FROM invoices
                   WHERE status = 'open' GROUP BY customer) i ON i.customer = c.id
        WHERE coalesce(j.booked, 0) != coalesce(i.due, 0)""",
    "cash is the sum of the balance transactions": """
        SELECT b.currency FROM (SELECT currency, sum(json_extract(body, '$.net')) AS net FROM balance_transactions
                                GROUP BY currency) b
        LEFT JOIN (SELECT currency, sum(amount) AS booked FROM journal WHERE account = 'cash' GROUP BY currency) j
        ON j.currency = b.currency WHERE coalesce(j.booked, 0) != b.net""",
    "nobody gets back more than they paid": """
        SELECT id FROM charges WHERE json_extract(body, '$.amount_refunded') NOT BETWEEN 0 AND amount""",
    "a charge counts its refunds": """
        SELECT c.id FROM charges c WHERE json_extract(c.body, '$.amount_refunded') !=
        (SELECT coalesce(sum(json_extract(r.body, '$.amount')), 0) FROM refunds r
         WHERE r.charge = c.id AND json_extract(r.body, '$.status') != 'canceled')""",
    "an invoice adds up": """
        SELECT i.id FROM invoices i WHERE json_extract(i.body, '$.subtotal') !=
        (SELECT coalesce(sum(json_extract(l.body, '$.amount')), 0) FROM invoice_lines l WHERE l.invoice = i.id)
        OR json_extract(i.body, '$.total') != json_extract(i.body, '$.total_excluding_tax') + json_extract(i.body, '$._tax')
        OR json_extract(i.body, '$.amount_remaining') < 0
        OR (i.status IN ('open', 'uncollectible') AND json_extract(i.body, '$.amount_remaining') !=
            json_extract(i.body, '$.amount_due') - json_extract(i.body, '$.amount_paid'))""",
    "no event is without its object": "SELECT id FROM events WHERE json_extract(body, '$.data.object.id') IS NULL",
}


def broken_sums(world: World) -> dict[str, list[Any]]:
    rows_by_promise = {promise: world.rows(sql) for promise, sql in UNEQUAL.items()}
    return {promise: rows for promise, rows in rows_by_promise.items() if rows}


@settings(
    max_examples=SEQUENCES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.tuples(st.sampled_from(sorted(VERBS)), st.integers(0, 10_000)), min_size=2, max_size=9))
def check_sequence(forks: Forks, steps: list[tuple[str, int]]) -> None:
    fork = forks.take()
    try:
        world = World(fork, seed=7)
        for verb, number in steps:
            act(world, verb, number)
            assert not broken_sums(world), (verb, number)
    finally:
        forks.give_back(fork)


@pytest.mark.slow
def test_the_books_balance_after_every_step_of_a_thousand_sequences(forks: Forks) -> None:
    check_sequence(forks)

    assert set(tried) == set(VERBS)
    assert min(done[verb] for verb in VERBS) >= 5, done


def test_a_forged_row_is_found(world: World) -> None:
    assert not broken_sums(world)
    row = world.get(charge_rows, records.select(world, charge_rows)[0]["id"])

    world.save(charge_rows, {**row, "body": {**row["body"], "amount_refunded": row["body"]["amount"] + 1}}, "forged")

    assert set(broken_sums(world)) == {"nobody gets back more than they paid", "a charge counts its refunds"}


def test_a_missing_row_of_our_own_is_an_error(world: World) -> None:
    with pytest.raises(LookupError):
        must_exist(world, charge_rows, "ch_none")
