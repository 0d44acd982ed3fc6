"""Activities and lists are judged by what they say, not by how it is spelt."""

from fractions import Fraction

import pytest

from services.crm.checks import checks
from services.crm.object_types import BY_NAME
from services.crm.operations import associations, lists, records
from services.kernel.checks import Finding, parse
from services.kernel.statements import Row
from services.kernel.world import World
from tests.crm.account import CONTACTS

CALL_TO_CONTACT, TASK_TO_CONTACT = 194, 204


@pytest.fixture(autouse=True)
def the_agent_works(world: World) -> None:
    world.actor = "agent"


def ask(world: World, check: str, /, **arguments: object) -> Finding:
    return parse(checks, check, arguments).run(world)  # type: ignore[return-value]  # none of these waits


def log(world: World, kind: str, type_id: int, **properties: str) -> Row:
    association = records.NewAssociation(str(CONTACTS), (associations.Spec("HUBSPOT_DEFINED", type_id),))
    return records.create(world, BY_NAME[kind], properties, [association])


def test_a_call_reads_so_in_whatever_format_it_was_given(world: World) -> None:
    log(world, "calls", CALL_TO_CONTACT, hs_timestamp="1793974200000", hs_call_duration="720000.0", hs_call_body=" Hi")

    def matches(**values: str) -> bool:
        return ask(world, "ActivityMatches", record_id=CONTACTS, kind="calls", values=values).held

    assert matches(hs_timestamp="2026-11-06T14:10:00Z", hs_call_duration="720000", hs_call_body="HI")
    assert not matches(hs_timestamp="2026-11-06T14:11:00Z")
    assert not matches(hs_call_duration="72000")


def test_a_to_do_is_due_on_the_day_and_still_open(world: World) -> None:
    arguments = {"record_id": CONTACTS, "kind": "tasks", "still_open": True, "words": ["Order form"]}
    due = {"days": {"hs_timestamp": ["2026-11-12", "2026-11-12"]}}
    nothing = ask(world, "ActivityMatches", **arguments)
    log(
        world,
        "tasks",
        TASK_TO_CONTACT,
        hs_timestamp="2026-11-12T16:00:00Z",
        hs_task_subject="Send the order FORM",
        hs_task_status="COMPLETED",
    )
    done = ask(world, "ActivityMatches", **arguments, **due)
    log(world, "tasks", TASK_TO_CONTACT, hs_timestamp="2026-11-13", hs_task_subject="Send the order form")
    late = ask(world, "ActivityMatches", **arguments, **due)
    log(world, "tasks", TASK_TO_CONTACT, hs_timestamp="2026-11-12", hs_task_subject="Send the order form")

    assert "are none" in nothing.because
    assert "do not read so" in done.because
    assert not late.held
    assert ask(world, "ActivityMatches", **arguments, **due).held


def test_nothing_logged_says_where_something_was(world: World) -> None:
    arguments = {"record_ids": [CONTACTS, CONTACTS + 1], "kinds": ["tasks", "calls"]}
    before = ask(world, "NothingLogged", **arguments)

    log(world, "calls", CALL_TO_CONTACT, hs_timestamp="2026-11-06T14:10:00Z")

    assert before.held
    finding = ask(world, "NothingLogged", **arguments)
    assert (finding.score, str(CONTACTS) in finding.because) == (Fraction(1, 2), True)
    assert ask(world, "NothingLogged", record_ids=[CONTACTS], kinds=["tasks"]).held


def test_strangers_on_a_list_cost_their_share(world: World) -> None:
    wanted = [CONTACTS, CONTACTS + 1, CONTACTS + 2]
    arguments = {"name": "Autumn round", "kind": "contacts", "members": wanted}
    none = ask(world, "ListHolds", **arguments)
    made = lists.create(world, {"name": " autumn  Round", "objectTypeId": "0-1", "processingType": "MANUAL"})
    empty = ask(world, "ListHolds", **arguments)
    lists.change_members(world, made, [str(one) for one in (*wanted, CONTACTS + 3)], [])
    crowded = ask(world, "ListHolds", **arguments)
    lists.change_members(world, made, [], [str(CONTACTS + 3)])

    assert none.score == empty.score == 0
    assert crowded.score == Fraction(3, 4)
    assert ask(world, "ListHolds", **arguments).held


def test_a_list_that_follows_filters_is_not_static(world: World) -> None:
    branch = {"filterBranchType": "OR", "filterBranches": [{"filterBranchType": "AND", "filters": []}]}
    lists.create(
        world,
        {"name": "Autumn round", "objectTypeId": "0-1", "processingType": "DYNAMIC", "filterBranch": branch},
    )

    finding = ask(world, "ListHolds", name="Autumn round", kind="contacts", members=[CONTACTS])

    assert finding.score == 0
    assert "by itself" in finding.because
