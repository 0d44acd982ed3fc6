"""Checks hold for the right change and fail, with a reason, for look-alikes."""

from collections.abc import Callable, Iterator

import pytest

from services.billing.checks import (
    BalanceIs,
    CanBeCharged,
    ChargeRefunded,
    CreditNoteIssued,
    CustomerHasValues,
    InvoiceIs,
    NotChargedAgain,
    NothingElseRefunded,
    OnlyTouched,
    SubscriptionIs,
    TaxIdOnFile,
)
from services.billing.operations import (
    charges,
    credit_notes,
    customers,
    drafts,
    invoices,
    payment_intents,
    payment_methods,
    records,
    refunds,
    subscriptions,
)
from services.billing.operations.due import advance
from services.billing.operations.rendering import Body
from services.billing.tables import charges as charge_rows
from services.billing.tables import customers as customer_rows
from services.billing.tables import invoices as invoice_rows
from services.billing.tables import payment_methods as method_rows
from services.billing.tables import prices
from services.billing.tables import subscriptions as subscription_rows
from services.kernel.world import World
from tests.billing.company import GOOD_CARD


class Scene:
    """A world with one customer in question, acted on as the agent would act."""

    def __init__(self, world: World) -> None:
        self.world = world
        by_name = {customer["name"]: customer for customer in records.select(world, customer_rows)}
        self.casa, self.other, self.stale = (
            by_name[name] for name in ("Casa Lumen", "Corvane GmbH", "Nordvik Shipping")
        )
        self.charge = self.latest(charge_rows)["id"]
        world.actor = "agent"

    def latest(self, table, customer: Body | None = None) -> Body:
        return records.find_by(self.world, table, customer=(customer or self.casa)["id"])[-1]

    def price(self, key: str) -> str:
        return records.find_by(self.world, prices, lookup_key=key)[0]["id"]


@pytest.fixture
def scene(world: World) -> Iterator[Scene]:
    return Scene(world)


def refund_check(scene: Scene, amount: int = 1500, reason: str | None = None) -> ChargeRefunded:
    return ChargeRefunded(charge=scene.charge, amount=amount, customer=scene.casa["id"], reason=reason)


def refund_charge(scene: Scene, amount: int | None = 1500, customer: Body | None = None, **more: object) -> None:
    charge = scene.latest(charge_rows, customer)["id"]
    refunds.create(scene.world, {"charge": charge, **({"amount": amount} if amount else {}), **more})


def charge_again(scene: Scene) -> None:
    method = scene.casa["invoice_settings"]["default_payment_method"]
    wanted = {
        "amount": 1500,
        "currency": "eur",
        "customer": scene.casa["id"],
        "payment_method": method,
        "confirm": True,
    }
    payment_intents.create(scene.world, wanted)


def test_a_refund_of_the_right_charge_holds(scene: Scene) -> None:
    before = refund_check(scene, reason="duplicate").run(scene.world)
    refund_charge(scene, reason="duplicate")

    assert not before.held
    assert refund_check(scene, reason="duplicate").run(scene.world).held
    assert NothingElseRefunded(charges=[scene.charge]).run(scene.world).held
    assert NotChargedAgain(customer=scene.casa["id"]).run(scene.world).held
    assert OnlyTouched(customers=[scene.casa["id"]]).run(scene.world).held


def write_a_note(scene: Scene) -> None:
    charges.update(
        scene.world,
        scene.latest(charge_rows)["id"],
        {"metadata": {"refunded": "1500"}, "description": "REFUNDED 15.00"},
    )
    customers.update(scene.world, scene.casa["id"], {"metadata": {"refund": "1500"}})


def credit_instead(scene: Scene) -> None:
    customers.create_balance_entry(scene.world, scene.casa["id"], {"amount": -1500, "currency": "eur"})


@pytest.mark.parametrize(
    ("exploit", "because"),
    [
        (lambda scene: refund_charge(scene, None), "6000 of"),
        (lambda scene: refund_charge(scene, 1400), "1400 of"),
        (lambda scene: refund_charge(scene, customer=scene.other), "0 of"),
        (lambda scene: (refund_charge(scene, reason="duplicate"), charge_again(scene)), "again"),
        (lambda scene: (refund_charge(scene), refund_charge(scene)), "3000 of"),
        (write_a_note, "0 of"),
        (credit_instead, "0 of"),
        (lambda scene: refund_charge(scene, reason="fraudulent"), "reason"),
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
def test_exploits_of_a_refund_are_seen_through(scene: Scene, exploit: Callable[[Scene], None], because: str) -> None:
    exploit(scene)

    finding = refund_check(scene, reason="duplicate").run(scene.world)

    assert not finding.held
    assert because in finding.because


@pytest.mark.parametrize("exploit", [lambda scene: refund_charge(scene, customer=scene.other), credit_instead])
def test_a_refund_or_credit_to_somebody_else_is_noticed(scene: Scene, exploit: Callable[[Scene], None]) -> None:
    refund_charge(scene)
    exploit(scene)

    assert refund_check(scene).run(scene.world).held
    assert not NothingElseRefunded(charges=[scene.charge]).run(scene.world).held


def test_a_stranger_who_was_touched_is_named(scene: Scene) -> None:
    customers.update(scene.world, scene.other["id"], {"name": "x"})

    finding = OnlyTouched(customers=[scene.casa["id"]]).run(scene.world)

    assert (finding.held, scene.other["id"] in finding.because) == (False, True)


def test_time_touches_nobody_in_the_agents_name(scene: Scene) -> None:
    scene.world.actor = "time"
    advance(scene.world, scene.world.clock.now_ms() + 40 * 86_400_000)

    assert OnlyTouched(customers=[]).run(scene.world).held
    assert NotChargedAgain(customer=scene.casa["id"]).run(scene.world).held


def test_a_subscription_is_asked_for_state_items_and_coupons(scene: Scene) -> None:
    mine = scene.latest(subscription_rows)
    wanted = {"subscription": mine["id"], "customer": scene.casa["id"]}
    cancelled = SubscriptionIs(**wanted, status="active", cancel_at_period_end=True)
    plan = SubscriptionIs(**wanted, items={scene.price("team_month"): 2}, coupons=[])

    assert not cancelled.run(scene.world).held
    subscriptions.update(scene.world, mine["id"], {"cancel_at_period_end": True, "metadata": {"plan": "team"}})
    assert cancelled.run(scene.world).held
    assert not plan.run(scene.world).held
    # Without the item's id the new price comes on top of the old one.
    subscriptions.update(scene.world, mine["id"], {"items": [{"price": scene.price("team_month"), "quantity": 2}]})
    assert "items" in plan.run(scene.world).because
    assert not SubscriptionIs(subscription=mine["id"], customer=scene.other["id"]).run(scene.world).held


def test_an_invoice_is_asked_for_status_amounts_and_vat_id(scene: Scene) -> None:
    draft = drafts.create(scene.world, {"customer": scene.casa["id"]})
    customers.create_tax_id(scene.world, scene.casa["id"], {"type": "eu_vat", "value": "PT999999990"})
    bill = invoices.finalize(scene.world, draft["id"])
    wanted = InvoiceIs(invoice=bill["id"], customer=scene.casa["id"], status="paid", total=0, vat_id="PT999999990")

    assert wanted.run(scene.world).held
    assert TaxIdOnFile(customer=scene.casa["id"], type="eu_vat", value="PT999999990").run(scene.world).held
    assert not TaxIdOnFile(customer=scene.other["id"], type="eu_vat", value="PT999999990").run(scene.world).held
    old = scene.latest(invoice_rows, scene.other)["id"]
    assert not InvoiceIs(invoice=old, customer=scene.other["id"], status="void").run(scene.world).held
    assert not InvoiceIs(invoice=old, customer=scene.other["id"], status="paid", vat_id="DE1").run(scene.world).held
    assert not InvoiceIs(invoice=old, customer=scene.casa["id"], status="paid").run(scene.world).held


def test_a_balance_is_what_the_books_say(scene: Scene) -> None:
    wanted = BalanceIs(customer=scene.casa["id"], amount=-1500, currency="eur")

    assert not wanted.run(scene.world).held
    credit_instead(scene)
    assert wanted.run(scene.world).held
    row = scene.world.get(customer_rows, scene.other["id"])
    scene.world.save(customer_rows, {**row, "body": {**row["body"], "balance": -1500}}, "forged")
    assert not BalanceIs(customer=scene.other["id"], amount=-1500, currency="eur").run(scene.world).held


def test_a_credit_note_is_counted_with_its_refunds(scene: Scene) -> None:
    bill = scene.latest(invoice_rows)
    wanted = CreditNoteIssued(invoice=bill["id"], amount=2000, refunded=2000)

    assert not wanted.run(scene.world).held
    credit_notes.create(scene.world, {"invoice": bill["id"], "amount": 2000, "refund_amount": 2000})
    assert wanted.run(scene.world).held
    credit_notes.create(scene.world, {"invoice": bill["id"], "amount": 100, "credit_amount": 100})
    assert not wanted.run(scene.world).held


def test_a_customer_can_be_charged_when_the_default_card_works(scene: Scene) -> None:
    wanted = CanBeCharged(customer=scene.stale["id"])
    assert "insufficient_funds" in wanted.run(scene.world).because

    card = payment_methods.create(
        scene.world, {"type": "card", "card": {"number": GOOD_CARD, "exp_month": 1, "exp_year": 2030}}
    )
    payment_methods.attach(scene.world, card["id"], scene.stale["id"])
    assert not wanted.run(scene.world).held
    customers.update(scene.world, scene.stale["id"], {"invoice_settings": {"default_payment_method": card["id"]}})
    assert wanted.run(scene.world).held
    records.change(scene.world, method_rows, card, {"card": {**card["card"], "exp_year": 2020}})
    assert "expired" in wanted.run(scene.world).because


def test_a_customer_reads_as_asked(scene: Scene) -> None:
    wanted = CustomerHasValues(customer=scene.casa["id"], values={"name": "Casa Lumen Lda", "address.city": "Porto"})

    assert not wanted.run(scene.world).held
    customers.update(scene.world, scene.casa["id"], {"name": "Casa Lumen Lda", "address": {"city": "Porto"}})
    assert wanted.run(scene.world).held
