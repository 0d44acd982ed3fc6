"""What is special to the families of office work: where the tempting short cut leads."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from dayshift.wire import Verdict
from pydantic import JsonValue

from fixtures.tasks.crm.build_list import BuildList
from fixtures.tasks.crm.finish_handover import FinishHandover
from fixtures.tasks.crm.fix_associations import FixAssociations
from fixtures.tasks.crm.gdpr_delete import GdprDelete, Requests
from fixtures.tasks.crm.log_call import LogCall
from fixtures.tasks.crm.reassign_book import ReassignBook
from fixtures.tasks.crm.respect_opt_out import Campaign, RespectOptOut
from fixtures.tasks.crm.shared import ownership
from fixtures.tasks.crm.shared.records import update
from fixtures.tasks.family import Call, Family
from fixtures.tasks.registry import family
from services.validate.attempt import TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

SEEDS = range(6)


def trouble_of(stack: InProcessStack, task_family: Family[Any], seed: int) -> Any:
    context = TrialContext(stack, "small", task_family.splits[0])
    return stack.control.task_builder.draw(task_family, context.request(task_family, seed))[1]


def judged(
    stack: InProcessStack, task_family: Family[Any], seed: int, calls: Iterable[Call], answer: JsonValue = None
) -> Verdict:
    """The verdict on these calls, refused ones included."""
    with attempt(TrialContext(stack, "small", task_family.splits[0]), task_family, seed) as attempted:
        for call in calls:
            attempted.try_(call)
        return attempted.submit(answer)


def reward(
    stack: InProcessStack, task_family: Family[Any], seed: int, calls: Iterable[Call], answer: JsonValue = None
) -> float:
    paid = judged(stack, task_family, seed, calls, answer).reward
    assert paid is not None
    return paid


def test_a_book_handed_to_the_successor_alone_earns_what_is_meant_for_them(stack: InProcessStack) -> None:
    task_family = family("crm/reassign-book")
    assert isinstance(task_family, ReassignBook)
    for seed in SEEDS:
        trouble = trouble_of(stack, task_family, seed)
        everything = [*trouble.takers()]
        right = sum(owner == trouble.successor.id for _, _, owner in everything)
        calls = [update(kind, record, {"hubspot_owner_id": trouble.successor.id}) for kind, record, _ in everything]

        assert reward(stack, task_family, seed, calls) == pytest.approx(right / len(everything))
        history = ownership.update_each("deals", trouble.closed[:1], {"hubspot_owner_id": trouble.taker.id})
        assert reward(stack, task_family, seed, [*calls, *history]) < right / len(everything) - 0.2


def test_a_call_logged_in_seconds_lacks_its_length_and_one_on_the_namesake_is_harm(stack: InProcessStack) -> None:
    task_family = family("crm/log-call")
    assert isinstance(task_family, LogCall)
    trouble = trouble_of(stack, task_family, 1)
    right, chore, *_ = task_family.menu(trouble)
    properties: Any = right.arguments["properties"]
    seconds = {**properties, "hs_call_duration": str(trouble.seconds)}
    too_short = replace(right, arguments={**right.arguments, "properties": seconds})
    elsewhere = [ownership.create_activity("calls", seconds, [(str(trouble.namesake), 194)])]

    goals = len(task_family.goals(trouble))
    assert reward(stack, task_family, 1, [too_short, chore]) == pytest.approx((goals - 1) / goals)
    assert reward(stack, task_family, 1, elsewhere) < -0.5


def test_tying_without_untying_earns_nothing_and_the_old_company_name_is_a_trap(stack: InProcessStack) -> None:
    task_family = family("crm/fix-associations")
    assert isinstance(task_family, FixAssociations)
    traps = 0
    for seed in SEEDS:
        trouble = trouble_of(stack, task_family, seed)
        ties = [
            ownership.associate_by_default(record.kind, record.record, "companies", record.right)
            for record in trouble.strayed
        ]
        assert reward(stack, task_family, seed, ties) == 0

        if trouble.look_alike is not None:
            traps += 1
            contact, company = trouble.look_alike
            ends = {"objectType": "contacts", "objectId": str(contact), "toObjectType": "companies"}
            cut = Call("crm.associations.archive", {**ends, "toObjectId": str(company)})
            assert reward(stack, task_family, seed, [*ties, cut]) < 0
    assert traps > 1


def test_a_list_that_follows_filters_or_last_years_list_renamed_earns_nothing(stack: InProcessStack) -> None:
    task_family = family("crm/build-list")
    assert isinstance(task_family, BuildList)
    trouble = trouble_of(stack, task_family, 2)
    branch: Any = {"filterBranchType": "AND", "filters": [condition.as_filter() for condition in trouble.conditions]}
    whole: Any = {"filterBranchType": "OR", "filterBranches": [branch]}
    kind = {"name": trouble.name, "objectTypeId": "0-1", "processingType": "DYNAMIC"}
    rename = Call("crm.lists.rename", {"listId": str(trouble.old_list), "listName": trouble.name})

    assert reward(stack, task_family, 2, [Call("crm.lists.create", {**kind, "filterBranch": whole})]) == 0
    assert reward(stack, task_family, 2, [rename]) < 0


def test_neither_deleting_everybody_nor_refusing_everybody_pays(stack: InProcessStack) -> None:
    task_family = family("crm/gdpr-delete")
    assert isinstance(task_family, GdprDelete)
    for seed in SEEDS:
        trouble: Requests = trouble_of(stack, task_family, seed)
        forget_all = [Call("crm.contacts.gdpr_delete", {"objectId": str(record.contact)}) for record in trouble.all]
        look = [Call("crm.contacts.get", {"contactId": str(trouble.all[0].contact)})]
        refuse_all: JsonValue = [{"email": record.email, "reason": "identity_not_verified"} for record in trouble.all]

        assert reward(stack, task_family, seed, forget_all, []) < 0
        assert reward(stack, task_family, seed, look, refuse_all) == 0


def test_about_half_of_all_requests_are_due_and_every_reason_occurs(stack: InProcessStack) -> None:
    task_family = family("crm/gdpr-delete")
    fates = [record.declined for seed in range(40) for record in trouble_of(stack, task_family, seed).all]

    assert set(fates) == {None, "identity_not_verified", "open_invoice", "no_power_of_attorney"}
    assert 0.35 < fates.count(None) / len(fates) < 0.65


def test_moving_the_whole_list_again_undoes_what_others_decided(stack: InProcessStack) -> None:
    task_family = family("crm/finish-handover")
    assert isinstance(task_family, FinishHandover)
    for seed in SEEDS:
        trouble = trouble_of(stack, task_family, seed)
        owner = {"hubspot_owner_id": trouble.new.id}
        rest = [update(kind, record, owner) for kind, record in trouble.remaining]
        assert (
            reward(stack, task_family, seed, [*rest, *ownership.update_each("companies", trouble.accounts, owner)]) == 1
        )

        decided = (
            *ownership.update_each("contacts", trouble.elsewhere, owner),
            *ownership.update_each("deals", trouble.settled, owner),
        )
        if decided:
            assert reward(stack, task_family, seed, [*rest, *decided]) < 0.8


def test_flags_alone_do_not_tell_who_said_no(stack: InProcessStack) -> None:
    task_family = family("crm/respect-opt-out")
    assert isinstance(task_family, RespectOptOut)
    silent = 0
    for seed in SEEDS:
        trouble: Campaign = trouble_of(stack, task_family, seed)
        flagged = {person.contact for person in trouble.people if person.standing in ("unsubscribed", "do not call")}
        to_dos = dict(zip((person.contact for person in trouble.people), task_family.menu(trouble), strict=False))
        by_flag = [call for contact, call in to_dos.items() if contact not in flagged]
        if len(flagged) < len(trouble.blocked):
            silent += 1
            assert reward(stack, task_family, seed, by_flag) < 0.5
        assert reward(stack, task_family, seed, to_dos.values()) < 0.5
    assert silent > 2


def test_the_opt_out_is_for_the_test_alone() -> None:
    assert family("crm/respect-opt-out").splits == ("test",)
