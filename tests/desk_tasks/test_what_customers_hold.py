"""What customers say of themselves agrees with billing: their last invoice, their country's tax id and postcode."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fixtures.company.pools import country
from fixtures.tasks.desk.shared import records as desk
from fixtures.tasks.desk.shared.charges import delay_to_first_charge
from fixtures.tasks.desk.shared.places import country_of
from fixtures.tasks.registry import family
from services.billing.operations import records
from services.billing.tables import charges, invoices, payment_methods, subscriptions
from services.desk.tables import organizations, tickets
from services.kernel.clock import to_datetime, to_milliseconds
from services.kernel.world import World
from tests.company import small_company
from tests.planting.episodes import Setups

_SEEDS = range(8)
# A draft is no invoice yet, and a void one is none any more.
_NO_INVOICE = ("draft", "void")
# By the ending of billing's name for it, what begins an id of the European Union.
_GREEK = {"GR": "EL"}


@pytest.fixture(scope="module")
def setups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setups]:
    opened = Setups(small_company(tmp_path_factory) / "worlds")
    yield opened
    opened.close()


def plant(setups: Setups, name: str, seeds: range = _SEEDS) -> Iterator[tuple[Mapping[str, World], Any]]:
    found = family(name)
    for seed in seeds:
        with setups.forks(found.products, seed) as worlds:
            yield worlds, found.plant(worlds, found.draw(seed, found.splits[0]))


def test_the_proof_of_who_asks_for_a_deletion_is_the_last_invoice_that_billing_lists(setups: Setups) -> None:
    for worlds, trouble in plant(setups, "desk/data-deletion"):
        account = trouble.case.account
        listed = records.find_by(worlds["billing"], invoices, customer=account.customer)
        issued = sorted((one for one in listed if one["status"] not in _NO_INVOICE), key=lambda one: one["created"])
        proof = next(fact for fact in trouble.case.facts if fact.name == "proof")

        assert desk.format_money(issued[-1]["total"], account.currency) in proof.statement


def test_tax_ids_and_addresses_are_those_of_the_customers_country(setups: Setups) -> None:
    for worlds, trouble in plant(setups, "desk/invoice-details"):
        code = country_of(worlds["billing"], trouble.case.account)
        address = next(fact for fact in trouble.case.facts if fact.name == "address").statement

        if trouble.tax.kinds[0] == "eu_vat":
            assert trouble.vat.startswith(_GREEK.get(code, code))
        assert re.fullmatch(_as_pattern(trouble.tax.pattern), trouble.vat)
        assert trouble.street in address
        assert any(_is_street(pattern, trouble.street) for pattern in country(code).streets)


def test_the_customer_whom_the_queue_of_triage_names_wrote_one_of_its_tickets(setups: Setups) -> None:
    for worlds, trouble in plant(setups, "desk/triage", range(40)):
        at_desk = worlds["desk"]
        queued = [tickets.must_exist(at_desk, ticket) for ticket in trouble.tickets]
        keys = [key for row in queued if (key := row["body"]["organization_id"]) is not None]
        names = [organizations.must_exist(at_desk, key)["body"]["name"] for key in keys]

        assert trouble.organisation in names


def test_nobody_is_charged_for_a_service_before_the_first_charge_of_their_subscription(setups: Setups) -> None:
    for worlds, trouble in plant(setups, "desk/refund-above-limit"):
        account, charge = trouble.case.account, records.must_exist(worlds["billing"], charges, trouble.charge)
        first = min(created for _, _, created, _ in account.charges)

        assert first < charge["created"]
        assert delay_to_first_charge(account, charge["created"]) == charge["created"]
        assert first < delay_to_first_charge(account, first - 86_400) < first + 86_400


def test_whoever_says_that_a_card_expired_has_one_that_had(setups: Setups) -> None:
    for worlds, trouble in plant(setups, "desk/failed-payment", range(40)):
        billing = worlds["billing"]
        old = records.must_exist(billing, payment_methods, trouble.old)
        last_month = (old["card"]["exp_year"], old["card"]["exp_month"])
        written = tickets.must_exist(worlds["desk"], trouble.case.ticket)["body"]["description"] or ""
        first = to_datetime(records.must_exist(billing, invoices, trouble.invoice)["created"] * 1000)

        assert (old["_refuses_with"] == "expired_card") == (last_month < (first.year, first.month))
        assert "expired" not in written or old["_refuses_with"] == "expired_card"
        assert "cancelled" not in written or old["_refuses_with"] == "lost_card"
        if old["_refuses_with"] == "expired_card":
            end = to_milliseconds(first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)) // 1000
            assert all(created < end for _, _, created, _ in trouble.case.account.charges)


def test_programs_have_versions_that_exist(setups: Setups) -> None:
    """By the first two parts; what follows them may be anything."""
    newest = {"Firefox": (155, 0), "Chrome": (151, 0), "Safari": (18, 6), "Edge": (151, 0), "nginx": (1, 28)}
    for _, trouble in plant(setups, "desk/bug-report", range(40)):
        program, _, version = trouble.client.rpartition(" ")
        parts = tuple(map(int, version.split(".")))

        assert len(parts) >= 3
        assert parts[:2] <= newest.get(program, (16, 102))
        assert program not in newest or parts[0] >= newest[program][0] - 20
        assert program not in ("Firefox", "Chrome", "Edge") or parts[1] == 0


def test_an_order_is_confirmed_to_somebody_who_has_the_plan(setups: Setups) -> None:
    for worlds, trouble in plant(setups, "desk/wrong-plan", range(20)):
        subscription = records.must_exist(worlds["billing"], subscriptions, trouble.case.account.subscription)
        order = tickets.must_exist(worlds["desk"], trouble.order)

        assert subscription["start_date"] * 1000 < order["created_at"]


def test_three_months_off_are_offered_to_those_who_pay_by_the_month(setups: Setups) -> None:
    offered = [
        trouble.case.account.interval
        for _, trouble in plant(setups, "desk/cancellation", range(40))
        if trouble.may_be_offered
    ]

    assert set(offered) == {"month"}


def _is_street(pattern: str, street: str) -> bool:
    numbered = re.escape(pattern).replace(re.escape("#"), r"\d+").replace(re.escape("@"), r"\d+")
    return re.fullmatch(numbered, street) is not None


def _as_pattern(shape: str) -> str:
    """`#` stands for a digit, `X` for a letter."""
    return re.escape(shape).replace(re.escape("#"), r"\d").replace("X", "[A-Z]")
