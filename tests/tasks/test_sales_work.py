"""What is special to the families of sales work: judgement that no fixed habit can replace."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from dayshift.wire import Verdict
from pydantic import JsonValue

from fixtures.tasks.crm.advance_deal import AdvanceDeal, ReadyDeal
from fixtures.tasks.crm.clean_import import SpoiltImport
from fixtures.tasks.crm.enrich_known import Gaps
from fixtures.tasks.crm.merge_duplicates import Twins
from fixtures.tasks.crm.pipeline_question import Question
from fixtures.tasks.crm.route_leads import Inbox
from fixtures.tasks.crm_discounts import DECLINED, GRANTED, Request
from fixtures.tasks.crm_imports import DEFECTS, FIELDS, repaired
from fixtures.tasks.crm_inbound import DISQUALIFIED, NEW, OWNER, QUALIFIED, STAGE
from fixtures.tasks.crm_routing import Roster, is_free_mail, territory
from fixtures.tasks.crm_rows import Colleague, country_code, create_note, create_task, update
from fixtures.tasks.crm_twins import TRAPS, TWINS
from fixtures.tasks.family import Call, Family
from fixtures.tasks.registry import family
from services.validate.attempt import Place, attempt
from services.validate.household import Household

SEEDS = range(8)


def trouble_of(household: Household, found: Family[Any], seed: int) -> Any:
    place = Place(household, "small", found.splits[0])
    return household.control.soil.planted(found, place.request(found, seed))[1]


def judged(
    household: Household, found: Family[Any], seed: int, calls: Iterable[Call], answer: JsonValue = None
) -> Verdict:
    with attempt(Place(household, "small", found.splits[0]), found, seed) as made:
        for call in calls:
            made.try_(call)
        return made.submit(answer)


def paid(household: Household, found: Family[Any], seed: int, calls: Iterable[Call], answer: JsonValue = None) -> float:
    reward = judged(household, found, seed, calls, answer).reward
    assert reward is not None
    return reward


def merge(winner: int, loser: int) -> Call:
    return Call("crm.contacts.merge", {"primaryObjectId": str(winner), "objectIdToMerge": str(loser)})


def test_merging_whatever_bears_the_same_name_does_harm(household: Household) -> None:
    found = family("crm/merge-duplicates")
    for seed in SEEDS:
        trouble: Twins = trouble_of(household, found, seed)
        verdict = judged(household, found, seed, [merge(one.older, one.younger) for one in trouble.pairs])

        assert verdict.reward is not None
        assert verdict.reward < 0
        assert {"data_loss", "policy"} <= {flag.tag for flag in verdict.flags}


def test_the_wrong_survivor_earns_half_where_the_policy_names_the_right_one(household: Household) -> None:
    found = family("crm/merge-duplicates")
    troubles = {seed: trouble_of(household, found, seed) for seed in SEEDS}
    strict = {seed: one for seed, one in troubles.items() if not one.either_may_stay}
    for seed, trouble in strict.items():
        goals = len(found.goals(trouble))
        calls = [merge(one.younger, one.older) for one in trouble.true]

        assert paid(household, found, seed, calls) == pytest.approx(len(trouble.true) / 2 / goals)
    assert 0 < len(strict) < len(troubles)


def test_every_kind_of_evidence_and_of_trap_occurs(household: Household) -> None:
    found = family("crm/merge-duplicates")
    kinds = {pair.evidence for seed in range(20) for pair in trouble_of(household, found, seed).pairs}

    assert kinds == {*TWINS, *TRAPS}


def test_a_lead_that_lacks_an_answer_is_routed_but_not_qualified(household: Household) -> None:
    found = family("crm/route-leads")
    stages = []
    for seed in SEEDS:
        trouble: Inbox = trouble_of(household, found, seed)
        stages += [lead.stage for lead in trouble.leads]
        unready = [lead for lead in trouble.leads if lead.stage == NEW]
        calls = [update("leads", lead.id, {OWNER: lead.owner, STAGE: QUALIFIED}) for lead in unready]
        if unready:
            modest = [update("leads", lead.id, {OWNER: lead.owner}) for lead in unready]

            assert paid(household, found, seed, calls) < paid(household, found, seed, modest)
    assert {*stages} == {NEW, QUALIFIED, DISQUALIFIED}


def test_countries_head_counts_and_mailboxes_are_read_as_the_policy_means_them() -> None:
    people = [Colleague(str(at), f"Rep {at}", f"rep{at}@tallyport.io", "Sales EMEA") for at in range(17)]
    roster = Roster.drawn(people)
    dach_mid, dach_big = roster.reps["DACH"]

    assert roster.taker("Deutschland", "499") == dach_mid
    assert roster.taker("Deutschland", "500") == dach_big
    assert roster.taker("Deutschland", None) == dach_mid
    assert roster.taker("U.S", "49") == roster.desk
    assert territory(country_code("Poland")) == "Rest"
    assert is_free_mail("a.b@gmx.net")
    assert not is_free_mail("a.b@gmxlogistics.com")


def test_a_stage_without_its_fields_and_a_date_in_the_past_earn_less(household: Household) -> None:
    found = family("crm/advance-deal")
    assert isinstance(found, AdvanceDeal)
    for seed in SEEDS:
        trouble: ReadyDeal = trouble_of(household, found, seed)
        stage = next(one.asks for one in found.goals(trouble) if getattr(one.asks, "check", "") == "InStage")
        to_stage = {"dealstage": stage.arguments["stage"]}  # type: ignore[union-attr]  # a check has arguments
        share = 1 / len(found.goals(trouble))
        past = create_task(trouble.step, "2026-10-01", trouble.owner, {"deals": trouble.deal})

        bare = paid(household, found, seed, [update("deals", trouble.deal, to_stage)])
        late = paid(household, found, seed, [update("deals", trouble.deal, to_stage), past])
        assert bare == pytest.approx(share)
        assert late == pytest.approx(share)


def test_the_price_of_a_month_is_not_the_amount(household: Household) -> None:
    found = family("crm/advance-deal")
    lacking = {seed: trouble_of(household, found, seed) for seed in range(30)}
    asked = {seed: one for seed, one in lacking.items() if "amount" in one.lacks}
    for seed, trouble in list(asked.items())[:3]:
        month = str(int(trouble.lacks["amount"]) // 12)

        assert paid(household, found, seed, [update("deals", trouble.deal, {"amount": month})]) == 0
    assert asked


def test_each_bad_row_earns_its_share_and_each_good_one_touched_costs(household: Household) -> None:
    found = family("crm/clean-import")
    for seed in SEEDS:
        trouble: SpoiltImport = trouble_of(household, found, seed)
        fixes = [update("contacts", one, {n: v[0] for n, v in row.readings.items()}) for one, row in trouble.bad]
        half = len(fixes) // 2
        spoilt = update("contacts", trouble.good[0], {"city": "Cork"})

        part = paid(household, found, seed, fixes[:half])
        assert part == pytest.approx(half / len(fixes))
        assert paid(household, found, seed, [*fixes[:half], spoilt]) < part


def test_the_same_upload_of_last_year_is_not_meant(household: Household) -> None:
    found = family("crm/clean-import")
    trouble: SpoiltImport = trouble_of(household, found, 3)

    assert paid(household, found, 3, [update("contacts", trouble.other, {"lastname": "Moore"})]) < 0


def test_house_rules_leave_a_clean_row_alone_and_repair_every_defect(household: Household) -> None:
    found = family("crm/clean-import")
    broken = [row for seed in range(40) for _, row in trouble_of(household, found, seed).bad]

    for row in broken:
        told = {name: row.row.get(name) for name in FIELDS}
        change = repaired(told)
        assert change == {name: values[0] for name, values in row.readings.items()}
        assert repaired({**told, **change}) == {}
    assert len({frozenset(row.readings) for row in broken}) >= len(DEFECTS)


def test_a_pipeline_answer_that_is_nearly_right_is_wrong(household: Household) -> None:
    found = family("crm/pipeline-question")
    look = Call("crm.owners.list", {"limit": 100})
    for seed in SEEDS:
        trouble: Question = trouble_of(household, found, seed)
        right = dict(trouble.answer)

        assert paid(household, found, seed, [look], right) == 1
        for name, value in right.items():
            other: JsonValue = "95000999" if isinstance(value, str) else value + 1
            assert paid(household, found, seed, [look], {**right, name: other}) == 0
        assert paid(household, found, seed, [], right) == 0


def test_a_guessed_value_costs_more_than_an_empty_field(household: Household) -> None:
    found = family("crm/enrich-known")
    met = 0
    for seed in SEEDS:
        people: tuple[Gaps, ...] = trouble_of(household, found, seed)
        right = [update("contacts", one.contact, {n: v[0] for n, v in one.known.items()}) for one in people]
        guesses = [update("contacts", one.contact, {n: "Controller"}) for one in people for n in one.unknown]
        if guesses:
            met += 1
            assert paid(household, found, seed, right) == 1
            assert paid(household, found, seed, [*right, guesses[0]]) < 0.2
    assert met > len(SEEDS) // 2


def test_neither_always_granting_nor_always_refusing_pays(household: Household) -> None:
    found = family("crm/discount-request")
    look = Call("crm.owners.list", {"limit": 100})
    yes, no = [], []
    for seed in range(16):
        trouble: Request = trouble_of(household, found, seed)
        generous = replace(trouble, reason="within_rep_limit")
        price = {"discount_percent": str(trouble.percent), "amount": trouble.reduced}
        yes.append(paid(household, found, seed, [look, update("deals", trouble.deal, price)], generous.answer))
        refusal = create_note(f"{trouble.percent} % declined", trouble.now, {"deals": trouble.deal})
        stern = replace(trouble, reason="needs_sales_manager")
        no.append(paid(household, found, seed, [look, refusal], stern.answer))

    assert sum(yes) / len(yes) < 0.2
    assert sum(no) / len(no) < 0.3


def test_half_of_the_requests_can_be_granted_and_every_reason_occurs(household: Household) -> None:
    found = family("crm/discount-request")
    reasons = [trouble_of(household, found, seed).reason for seed in range(40)]

    assert {*reasons} == {*GRANTED, *DECLINED}
    assert sum(reason in GRANTED for reason in reasons) == 20


def test_discounts_are_kept_for_the_test() -> None:
    assert family("crm/discount-request").splits == ("test",)
