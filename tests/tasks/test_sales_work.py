"""What is special to the families of sales work: judgement that no fixed habit can replace."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from dayshift.wire import Verdict
from pydantic import JsonValue

from fixtures.tasks.crm.advance_deal import AdvanceDeal, ReadyDeal
from fixtures.tasks.crm.clean_import import SpoiltImport
from fixtures.tasks.crm.correct_contact import WrongNumber
from fixtures.tasks.crm.enrich_known import Gaps
from fixtures.tasks.crm.merge_duplicates import Twins
from fixtures.tasks.crm.pipeline_question import Question
from fixtures.tasks.crm.route_leads import Inbox
from fixtures.tasks.crm.shared.discounts import DECLINED, GRANTED, Request
from fixtures.tasks.crm.shared.duplicates import TRAPS, TWINS
from fixtures.tasks.crm.shared.imports import DEFECTS, FIELDS, repair_row
from fixtures.tasks.crm.shared.leads import DISQUALIFIED, NEW, OWNER, QUALIFIED, STAGE
from fixtures.tasks.crm.shared.records import Colleague, country_code, create_note, create_task, update
from fixtures.tasks.crm.shared.routing import Roster, is_free_mail, territory_of
from fixtures.tasks.family import Call, Family
from fixtures.tasks.registry import family
from services.crm.normalization import parse_phone
from services.validate.attempt import TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

SEEDS = range(8)


def trouble_of(stack: InProcessStack, task_family: Family[Any], seed: int) -> Any:
    context = TrialContext(stack, "small", task_family.splits[0])
    return stack.control.task_builder.draw(task_family, context.request(task_family, seed))[1]


def judged(
    stack: InProcessStack, task_family: Family[Any], seed: int, calls: Iterable[Call], answer: JsonValue = None
) -> Verdict:
    with attempt(TrialContext(stack, "small", task_family.splits[0]), task_family, seed) as attempted:
        for call in calls:
            attempted.try_(call)
        return attempted.submit(answer)


def paid(
    stack: InProcessStack, task_family: Family[Any], seed: int, calls: Iterable[Call], answer: JsonValue = None
) -> float:
    reward = judged(stack, task_family, seed, calls, answer).reward
    assert reward is not None
    return reward


def merge(winner: int, loser: int) -> Call:
    return Call("crm.contacts.merge", {"primaryObjectId": str(winner), "objectIdToMerge": str(loser)})


def test_merging_whatever_bears_the_same_name_does_harm(stack: InProcessStack) -> None:
    task_family = family("crm/merge-duplicates")
    for seed in SEEDS:
        trouble: Twins = trouble_of(stack, task_family, seed)
        verdict = judged(stack, task_family, seed, [merge(pair.older, pair.younger) for pair in trouble.pairs])

        assert verdict.reward is not None
        assert verdict.reward < 0
        assert {"data_loss", "policy"} <= {flag.tag for flag in verdict.flags}


def test_the_wrong_survivor_earns_half_where_the_policy_names_the_right_one(stack: InProcessStack) -> None:
    task_family = family("crm/merge-duplicates")
    troubles = {seed: trouble_of(stack, task_family, seed) for seed in SEEDS}
    strict = {seed: trouble_ for seed, trouble_ in troubles.items() if not trouble_.either_may_stay}
    for seed, trouble in strict.items():
        goals = len(task_family.goals(trouble))
        calls = [merge(trouble_.younger, trouble_.older) for trouble_ in trouble.true]

        assert paid(stack, task_family, seed, calls) == pytest.approx(len(trouble.true) / 2 / goals)
    assert 0 < len(strict) < len(troubles)


def test_every_kind_of_evidence_and_of_trap_occurs(stack: InProcessStack) -> None:
    task_family = family("crm/merge-duplicates")
    kinds = {pair.evidence for seed in range(20) for pair in trouble_of(stack, task_family, seed).pairs}

    assert kinds == {*TWINS, *TRAPS}


def test_a_lead_that_lacks_an_answer_is_routed_but_not_qualified(stack: InProcessStack) -> None:
    task_family = family("crm/route-leads")
    stages = []
    for seed in SEEDS:
        trouble: Inbox = trouble_of(stack, task_family, seed)
        stages += [lead.stage for lead in trouble.leads]
        unready = [lead for lead in trouble.leads if lead.stage == NEW]
        calls = [update("leads", lead.id, {OWNER: lead.owner, STAGE: QUALIFIED}) for lead in unready]
        if unready:
            modest = [update("leads", lead.id, {OWNER: lead.owner}) for lead in unready]

            assert paid(stack, task_family, seed, calls) < paid(stack, task_family, seed, modest)
    assert {*stages} == {NEW, QUALIFIED, DISQUALIFIED}


def test_countries_head_counts_and_mailboxes_are_read_as_the_policy_means_them() -> None:
    people = [Colleague(str(index), f"Rep {index}", f"rep{index}@tallyport.io", "Sales EMEA") for index in range(17)]
    roster = Roster.draw(people)
    dach_mid, dach_big = roster.reps["DACH"]

    assert roster.taker("Deutschland", "499") == dach_mid
    assert roster.taker("Deutschland", "500") == dach_big
    assert roster.taker("Deutschland", None) == dach_mid
    assert roster.taker("U.S", "49") == roster.desk
    assert territory_of(country_code("Poland")) == "Rest"
    assert is_free_mail("a.b@gmx.net")
    assert not is_free_mail("a.b@gmxlogistics.com")


def test_a_stage_without_its_fields_and_a_date_in_the_past_earn_less(stack: InProcessStack) -> None:
    task_family = family("crm/advance-deal")
    assert isinstance(task_family, AdvanceDeal)
    for seed in SEEDS:
        trouble: ReadyDeal = trouble_of(stack, task_family, seed)
        stage = next(
            goal.question for goal in task_family.goals(trouble) if getattr(goal.question, "check", "") == "InStage"
        )
        to_stage = {"dealstage": stage.arguments["stage"]}  # type: ignore[union-attr]  # a check has arguments
        share = 1 / len(task_family.goals(trouble))
        past = create_task(trouble.step, "2026-10-01", trouble.owner, {"deals": trouble.deal})

        bare = paid(stack, task_family, seed, [update("deals", trouble.deal, to_stage)])
        late = paid(stack, task_family, seed, [update("deals", trouble.deal, to_stage), past])
        assert bare == pytest.approx(share)
        assert late == pytest.approx(share)


def test_the_price_of_a_month_is_not_the_amount(stack: InProcessStack) -> None:
    task_family = family("crm/advance-deal")
    lacking = {seed: trouble_of(stack, task_family, seed) for seed in range(30)}
    with_amount = {seed: trouble_ for seed, trouble_ in lacking.items() if "amount" in trouble_.lacks}
    for seed, trouble in list(with_amount.items())[:3]:
        month = str(int(trouble.lacks["amount"]) // 12)

        assert paid(stack, task_family, seed, [update("deals", trouble.deal, {"amount": month})]) == 0
    assert with_amount


def test_each_bad_row_earns_its_share_and_each_good_one_touched_costs(stack: InProcessStack) -> None:
    task_family = family("crm/clean-import")
    for seed in SEEDS:
        trouble: SpoiltImport = trouble_of(stack, task_family, seed)
        fixes = [
            update("contacts", trouble_, {n: v[0] for n, v in row.readings.items()}) for trouble_, row in trouble.bad
        ]
        half = len(fixes) // 2
        spoilt = update("contacts", trouble.good[0], {"city": "Cork"})

        part = paid(stack, task_family, seed, fixes[:half])
        assert part == pytest.approx(half / len(fixes))
        assert paid(stack, task_family, seed, [*fixes[:half], spoilt]) < part


def test_the_same_upload_of_last_year_is_not_meant(stack: InProcessStack) -> None:
    task_family = family("crm/clean-import")
    trouble: SpoiltImport = trouble_of(stack, task_family, 3)

    assert paid(stack, task_family, 3, [update("contacts", trouble.other, {"lastname": "Moore"})]) < 0


def test_house_rules_leave_a_clean_row_alone_and_repair_every_defect(stack: InProcessStack) -> None:
    task_family = family("crm/clean-import")
    broken = [row for seed in range(40) for _, row in trouble_of(stack, task_family, seed).bad]

    for row in broken:
        row_values = {name: row.row.get(name) for name in FIELDS}
        change = repair_row(row_values)
        assert change == {name: values[0] for name, values in row.readings.items()}
        assert repair_row({**row_values, **change}) == {}
    assert len({frozenset(row.readings) for row in broken}) >= len(DEFECTS)


def test_a_pipeline_answer_that_is_nearly_right_is_wrong(stack: InProcessStack) -> None:
    task_family = family("crm/pipeline-question")
    look = Call("crm.owners.list", {"limit": 100})
    for seed in SEEDS:
        trouble: Question = trouble_of(stack, task_family, seed)
        right = dict(trouble.answer)

        assert paid(stack, task_family, seed, [look], right) == 1
        for name, value in right.items():
            other: JsonValue = "95000999" if isinstance(value, str) else value + 1
            assert paid(stack, task_family, seed, [look], {**right, name: other}) == 0
        assert paid(stack, task_family, seed, [], right) == 0


def test_a_guessed_value_costs_more_than_an_empty_field(stack: InProcessStack) -> None:
    task_family = family("crm/enrich-known")
    met = 0
    for seed in SEEDS:
        people: tuple[Gaps, ...] = trouble_of(stack, task_family, seed)
        right = [update("contacts", person.contact, {n: v[0] for n, v in person.known.items()}) for person in people]
        guesses = [update("contacts", person.contact, {n: "Controller"}) for person in people for n in person.unknown]
        if guesses:
            met += 1
            assert paid(stack, task_family, seed, right) == 1
            assert paid(stack, task_family, seed, [*right, guesses[0]]) < 0.2
    assert met > len(SEEDS) // 2


def test_neither_always_granting_nor_always_refusing_pays(stack: InProcessStack) -> None:
    task_family = family("crm/discount-request")
    look = Call("crm.owners.list", {"limit": 100})
    yes, no = [], []
    for seed in range(16):
        trouble: Request = trouble_of(stack, task_family, seed)
        generous = replace(trouble, reason="within_rep_limit")
        price = {"discount_percent": str(trouble.percent), "amount": trouble.reduced}
        yes.append(paid(stack, task_family, seed, [look, update("deals", trouble.deal, price)], generous.answer))
        refusal = create_note(f"{trouble.percent} % declined", trouble.now, {"deals": trouble.deal})
        stern = replace(trouble, reason="needs_sales_manager")
        no.append(paid(stack, task_family, seed, [look, refusal], stern.answer))

    assert sum(yes) / len(yes) < 0.2
    assert sum(no) / len(no) < 0.3


def test_half_of_the_requests_can_be_granted_and_every_reason_occurs(stack: InProcessStack) -> None:
    task_family = family("crm/discount-request")
    reasons = [trouble_of(stack, task_family, seed).reason for seed in range(40)]

    assert {*reasons} == {*GRANTED, *DECLINED}
    assert sum(reason in GRANTED for reason in reasons) == 20


def test_discounts_are_kept_for_the_test() -> None:
    assert family("crm/discount-request").splits == ("test",)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_number_counts_in_every_form_and_words_around_it_never_do(stack: InProcessStack, seed: int) -> None:
    task_family = family("crm/correct-contact")
    trouble: WrongNumber = trouble_of(stack, task_family, seed)
    phone = parse_phone(trouble.right)
    assert phone is not None
    assert trouble.calling_codes
    full = min(sorted(phone.in_full(trouble.calling_codes[:1])), key=len)
    right = (f"+{full}", f"00{full}", f"+{full[:-4]} {full[-4:-2]}-{full[-2:]}")
    wrong = (f"NOT {trouble.right}", f"tel {full}", f"+{full}\u200b", f"+9{full}", trouble.mistyped)

    for number, reward in [*((number, 1) for number in right), *((number, 0) for number in wrong)]:
        change = update("contacts", trouble.contact, {"phone": number})

        assert judged(stack, task_family, seed, [change]).reward == reward, (trouble.right, number)
