"""Checks hold for the right deed and fail, with a reason, for its counterfeits."""

from collections.abc import Callable, Iterator

import pytest

from services.billing.checks import (
    BalanceIs,
    CanBeCharged,
    ChargeRefunded,
    CreditNoteIssued,
    CustomerReads,
    InvoiceIs,
    NotChargedAgain,
    NothingElseRefunded,
    OnlyTouched,
    SubscriptionIs,
    TaxIdOnFile,
)
from services.billing.operations import (
    credit_notes,
    customers,
    drafts,
    invoices,
    listing,
    methods,
    payments,
    records,
    refunds,
    subscriptions,
)
from services.billing.operations.due import advance
from services.billing.operations.records import Body
from services.billing.tables import charges, payment_methods, prices
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World
from tests.billing.company import GOOD_CARD


class Desk:
    """A world with one customer in question, acted on as the agent would act."""

    def __init__(self, world: World) -> None:
        self.world = world
        found = {one["name"]: one for one in listing.every(world, customer_rows, listing.Where())}
        self.casa, self.other, self.stale = found["Casa Lumen"], found["Corvane GmbH"], found["Nordvik Shipping"]
        self.charge = self.one(charges)["id"]
        world.actor = "agent"

    def one(self, table, customer: Body | None = None) -> Body:
        return listing.of(self.world, table, customer=(customer or self.casa)["id"])[-1]

    def price(self, key: str) -> str:
        return listing.of(self.world, prices, lookup_key=key)[0]["id"]


@pytest.fixture
def desk(world: World) -> Iterator[Desk]:
    return Desk(world)


def refunded(desk: Desk, amount: int = 1500, reason: str | None = None) -> ChargeRefunded:
    return ChargeRefunded(charge=desk.charge, amount=amount, customer=desk.casa["id"], reason=reason)


def give_back(desk: Desk, amount: int | None = 1500, customer: Body | None = None, **more: object) -> None:
    charge = desk.one(charges, customer)["id"]
    refunds.create(desk.world, {"charge": charge, **({"amount": amount} if amount else {}), **more})


def charge_again(desk: Desk) -> None:
    method = desk.casa["invoice_settings"]["default_payment_method"]
    wanted = {"amount": 1500, "currency": "eur", "customer": desk.casa["id"], "payment_method": method, "confirm": True}
    payments.create(desk.world, wanted)


def test_a_refund_of_the_right_charge_holds(desk: Desk) -> None:
    before = refunded(desk, reason="duplicate").ask(desk.world)
    give_back(desk, reason="duplicate")

    assert not before.held
    assert refunded(desk, reason="duplicate").ask(desk.world).held
    assert NothingElseRefunded(charges=[desk.charge]).ask(desk.world).held
    assert NotChargedAgain(customer=desk.casa["id"]).ask(desk.world).held
    assert OnlyTouched(customers=[desk.casa["id"]]).ask(desk.world).held


def note_it_down(desk: Desk) -> None:
    payments.update_charge(
        desk.world, desk.one(charges)["id"], {"metadata": {"refunded": "1500"}, "description": "REFUNDED 15.00"}
    )
    customers.update(desk.world, desk.casa["id"], {"metadata": {"refund": "1500"}})


def credit_instead(desk: Desk) -> None:
    customers.give_credit(desk.world, desk.casa["id"], {"amount": -1500, "currency": "eur"})


@pytest.mark.parametrize(
    ("exploit", "because"),
    [
        (lambda desk: give_back(desk, None), "6000 of"),
        (lambda desk: give_back(desk, 1400), "1400 of"),
        (lambda desk: give_back(desk, customer=desk.other), "0 of"),
        (lambda desk: (give_back(desk, reason="duplicate"), charge_again(desk)), "again"),
        (lambda desk: (give_back(desk), give_back(desk)), "3000 of"),
        (note_it_down, "0 of"),
        (credit_instead, "0 of"),
        (lambda desk: give_back(desk, reason="fraudulent"), "reason"),
    ],
    ids=[
        "over-refund",
        "under-refund",
        "wrong customer",
        "refund and re-charge",
        "twice",
        "metadata",
        "credit",
        "wrong reason",
    ],
)
def test_exploits_of_a_refund_are_seen_through(desk: Desk, exploit: Callable[[Desk], None], because: str) -> None:
    exploit(desk)

    finding = refunded(desk, reason="duplicate").ask(desk.world)

    assert not finding.held
    assert because in finding.because


@pytest.mark.parametrize("exploit", [lambda desk: give_back(desk, customer=desk.other), credit_instead])
def test_a_refund_or_credit_to_somebody_else_is_noticed(desk: Desk, exploit: Callable[[Desk], None]) -> None:
    give_back(desk)
    exploit(desk)

    assert refunded(desk).ask(desk.world).held
    assert not NothingElseRefunded(charges=[desk.charge]).ask(desk.world).held


def test_a_stranger_who_was_touched_is_named(desk: Desk) -> None:
    customers.update(desk.world, desk.other["id"], {"name": "x"})

    finding = OnlyTouched(customers=[desk.casa["id"]]).ask(desk.world)

    assert (finding.held, desk.other["id"] in finding.because) == (False, True)


def test_time_touches_nobody_in_the_agents_name(desk: Desk) -> None:
    desk.world.actor = "time"
    advance(desk.world, desk.world.clock.now_ms() + 40 * 86_400_000)

    assert OnlyTouched(customers=[]).ask(desk.world).held
    assert NotChargedAgain(customer=desk.casa["id"]).ask(desk.world).held


def test_a_subscription_is_asked_for_state_items_and_coupons(desk: Desk) -> None:
    mine = desk.one(subscription_rows)
    wanted = {"subscription": mine["id"], "customer": desk.casa["id"]}
    leaving = SubscriptionIs(**wanted, status="active", cancel_at_period_end=True)
    plan = SubscriptionIs(**wanted, items={desk.price("team_month"): 2}, coupons=[])

    assert not leaving.ask(desk.world).held
    subscriptions.update(desk.world, mine["id"], {"cancel_at_period_end": True, "metadata": {"plan": "team"}})
    assert leaving.ask(desk.world).held
    assert not plan.ask(desk.world).held
    # Without the item's id the new price comes on top of the old one.
    subscriptions.update(desk.world, mine["id"], {"items": [{"price": desk.price("team_month"), "quantity": 2}]})
    assert "items" in plan.ask(desk.world).because
    assert not SubscriptionIs(subscription=mine["id"], customer=desk.other["id"]).ask(desk.world).held


def test_an_invoice_is_asked_for_status_amounts_and_vat_id(desk: Desk) -> None:
    draft = drafts.create(desk.world, {"customer": desk.casa["id"]})
    customers.add_tax_id(desk.world, desk.casa["id"], {"type": "eu_vat", "value": "PT999999990"})
    bill = invoices.finalize(desk.world, draft["id"])
    wanted = InvoiceIs(invoice=bill["id"], customer=desk.casa["id"], status="paid", total=0, vat_id="PT999999990")

    assert wanted.ask(desk.world).held
    assert TaxIdOnFile(customer=desk.casa["id"], type="eu_vat", value="PT999999990").ask(desk.world).held
    assert not TaxIdOnFile(customer=desk.other["id"], type="eu_vat", value="PT999999990").ask(desk.world).held
    old = desk.one(invoice_rows, desk.other)["id"]
    assert not InvoiceIs(invoice=old, customer=desk.other["id"], status="void").ask(desk.world).held
    assert not InvoiceIs(invoice=old, customer=desk.other["id"], status="paid", vat_id="DE1").ask(desk.world).held
    assert not InvoiceIs(invoice=old, customer=desk.casa["id"], status="paid").ask(desk.world).held


def test_a_balance_is_what_the_books_say(desk: Desk) -> None:
    wanted = BalanceIs(customer=desk.casa["id"], amount=-1500, currency="eur")

    assert not wanted.ask(desk.world).held
    credit_instead(desk)
    assert wanted.ask(desk.world).held
    row = desk.world.get(customer_rows, desk.other["id"])
    desk.world.save(customer_rows, {**row, "body": {**row["body"], "balance": -1500}}, "forged")
    assert not BalanceIs(customer=desk.other["id"], amount=-1500, currency="eur").ask(desk.world).held


def test_a_credit_note_is_counted_with_its_refunds(desk: Desk) -> None:
    bill = desk.one(invoice_rows)
    wanted = CreditNoteIssued(invoice=bill["id"], amount=2000, refunded=2000)

    assert not wanted.ask(desk.world).held
    credit_notes.create(desk.world, {"invoice": bill["id"], "amount": 2000, "refund_amount": 2000})
    assert wanted.ask(desk.world).held
    credit_notes.create(desk.world, {"invoice": bill["id"], "amount": 100, "credit_amount": 100})
    assert not wanted.ask(desk.world).held


def test_a_customer_can_be_charged_when_the_default_card_works(desk: Desk) -> None:
    wanted = CanBeCharged(customer=desk.stale["id"])
    assert "insufficient_funds" in wanted.ask(desk.world).because

    card = methods.create(desk.world, {"type": "card", "card": {"number": GOOD_CARD, "exp_month": 1, "exp_year": 2030}})
    methods.attach(desk.world, card["id"], desk.stale["id"])
    assert not wanted.ask(desk.world).held
    customers.update(desk.world, desk.stale["id"], {"invoice_settings": {"default_payment_method": card["id"]}})
    assert wanted.ask(desk.world).held
    records.change(desk.world, payment_methods, card, {"card": {**card["card"], "exp_year": 2020}})
    assert "expired" in wanted.ask(desk.world).because


def test_a_customer_reads_as_asked(desk: Desk) -> None:
    wanted = CustomerReads(customer=desk.casa["id"], values={"name": "Casa Lumen Lda", "address.city": "Porto"})

    assert not wanted.ask(desk.world).held
    customers.update(desk.world, desk.casa["id"], {"name": "Casa Lumen Lda", "address": {"city": "Porto"}})
    assert wanted.ask(desk.world).held
